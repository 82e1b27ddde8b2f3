//! Whatever happens at a dispatcher in any order, its counts match those of a list of all events, and no request waits forever.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use crate::support::{arrive, dispatcher, pass, poll_allowed, tokens};
use dovetail_sched::{
    Nanos, Weight,
    request::{ClassId, REGISTRY, RequestSetup},
};
use dovetail_tower::{Dispatcher, Ticket};
use proptest::prelude::*;

const USERS: u32 = 5;
const MINUTE: Nanos = Nanos::from_secs(60);

#[derive(Debug, Clone, Copy)]
enum Event {
    Arrive(u32, u32),
    Drop(usize),
    End(usize),
    Received(usize, u64),
    Length(usize, u64),
    Ask(usize),
    Pass(u64),
    Reclassify([u32; USERS as usize]),
    Weight(u32, f64),
    AddClass,
    Rate(f64),
    Stray(Option<u32>, u64),
    Probe,
    Probed(u64),
}

fn event() -> impl Strategy<Value = Event> {
    let ticket = || 0..8_usize;
    let units = || prop_oneof![8 => 0..5_000_u64, 1 => Just(u64::MAX)];
    let time = prop_oneof![8 => 1..400_u64, 1 => 20_000..70_000_u64];
    prop_oneof![
        10 => (0..USERS, 0..4_u32).prop_map(|(who, class)| Event::Arrive(who, class)),
        3 => ticket().prop_map(Event::Drop),
        4 => ticket().prop_map(Event::End),
        8 => (ticket(), units()).prop_map(|(at, units)| Event::Received(at, units)),
        2 => (ticket(), units()).prop_map(|(at, units)| Event::Length(at, units)),
        8 => ticket().prop_map(Event::Ask),
        6 => time.prop_map(Event::Pass),
        2 => prop::array::uniform5(0..4_u32).prop_map(Event::Reclassify),
        1 => (0..4_u32, 0.1..10.0).prop_map(|(class, weight)| Event::Weight(class, weight)),
        1 => Just(Event::AddClass),
        1 => prop_oneof![8 => 1e3..1e6, 1 => Just(f64::NAN)].prop_map(Event::Rate),
        1 => (prop::option::of(0..4_u32), units()).prop_map(|(class, units)| Event::Stray(class, units)),
        1 => Just(Event::Probe),
        1 => (0..10_u64).prop_map(Event::Probed),
    ]
}

/// An event; classes are those at its time.
#[derive(Debug, Clone, Copy)]
enum Line {
    Asked { class: u32, who: u32 },
    Came { class: u32, who: u32, units: u64 },
    GaveUp { class: u32 },
    Stray { class: Option<u32>, units: u64 },
}

struct Book {
    dispatcher: Dispatcher<u32>,
    lines: Vec<Line>,
    open: Vec<(u32, Ticket<u32>)>,
    class_of: [u32; USERS as usize],
    classes: u32,
    /// For each known user, the line at which they became known, and when their last request ended.
    known: BTreeMap<u32, (usize, Nanos)>,
}

impl Book {
    fn new(dispatcher: Dispatcher<u32>) -> Self {
        let (lines, open, known) = (Vec::new(), Vec::new(), BTreeMap::new());
        Self { dispatcher, lines, open, class_of: [0; USERS as usize], classes: 2, known }
    }

    fn over(&mut self, at: usize, cancelled: bool) {
        if at >= self.open.len() {
            return;
        }
        let (who, ticket) = self.open.swap_remove(at);
        if cancelled {
            drop(ticket);
            self.lines.push(Line::GaveUp { class: self.class_of[who as usize] });
        } else {
            ticket.end();
        }
        self.known.get_mut(&who).expect("he had a request").1 = self.dispatcher.now();
    }

    async fn play(&mut self, event: Event) {
        let ticket = |at: usize| self.open.get(at).map(|(_, ticket)| ticket);
        match event {
            Event::Arrive(who, class) => {
                self.open.push((who, arrive(&self.dispatcher, who, class)));
                let class = if class < self.classes { class } else { 0 };
                self.class_of[who as usize] = class;
                self.known.entry(who).or_insert((self.lines.len(), Nanos::ZERO));
                self.lines.push(Line::Asked { class, who });
            }
            Event::Drop(at) => self.over(at, true),
            Event::End(at) => self.over(at, false),
            Event::Received(at, units) => {
                if let Some((who, ticket)) = self.open.get(at) {
                    ticket.received(units);
                    self.lines.push(Line::Came { class: self.class_of[*who as usize], who: *who, units });
                }
            }
            Event::Length(at, units) => {
                if let Some(ticket) = ticket(at) {
                    ticket.length(units);
                }
            }
            Event::Ask(at) => {
                if let Some(ticket) = ticket(at) {
                    poll_allowed(ticket);
                }
            }
            Event::Pass(ms) => pass(Duration::from_millis(ms)).await,
            Event::Reclassify(classes) => {
                self.dispatcher.reclassify(|&who| ClassId(classes[who as usize]));
                for (&who, _) in self.known.iter().filter(|&(&who, _)| classes[who as usize] < self.classes) {
                    self.class_of[who as usize] = classes[who as usize];
                }
            }
            Event::Weight(class, weight) => {
                self.dispatcher.set_weight(ClassId(class), Weight::new(weight).expect("in range"))
            }
            Event::AddClass => {
                assert_eq!(self.dispatcher.add_class(Weight::ONE), ClassId(self.classes));
                self.classes += 1;
            }
            Event::Rate(rate) => self.dispatcher.set_rate(rate),
            Event::Stray(class, units) => {
                self.dispatcher.stray(class.map(ClassId), units);
                // If the class does not exist yet, they belong to no class.
                let class = class.filter(|&class| class < self.classes);
                self.lines.push(Line::Stray { class, units });
            }
            Event::Probe => drop(self.dispatcher.probe()),
            Event::Probed(number) => self.dispatcher.probed(number),
        }
    }

    /// A sum over the events since a line.
    fn sum(&self, from: usize, amount: impl Fn(Line) -> Option<u64>) -> u64 {
        self.lines[from..].iter().filter_map(|&line| amount(line)).fold(0, u64::saturating_add)
    }

    fn check(&mut self) -> Result<(), TestCaseError> {
        let now = self.dispatcher.now();
        let has_requests = |who: u32| self.open.iter().any(|(of, _)| *of == who);
        self.known.retain(|&who, (_, idle_since)| has_requests(who) || now - *idle_since < MINUTE);
        let view = self.dispatcher.view();
        prop_assert_eq!(view.totals.classes.len(), self.classes as usize);
        for (number, class) in (0..).zip(&view.totals.classes) {
            let of_class = |&&(who, _): &&(u32, Ticket<u32>)| self.class_of[who as usize] == number;
            let outstanding = self.open.iter().filter(of_class).filter(|(_, ticket)| ticket.is_released()).count();
            prop_assert_eq!(class.outstanding as usize, outstanding);
            prop_assert_eq!(class.waiting as usize, self.open.iter().filter(of_class).count() - outstanding);
            let users: BTreeSet<u32> = self.open.iter().filter(of_class).map(|(who, _)| *who).collect();
            prop_assert_eq!(view.active_users()[number as usize] as usize, users.len());
            prop_assert_eq!(
                class.requests,
                self.sum(0, |line| matches!(line, Line::Asked { class, .. } if class == number).then_some(1))
            );
            prop_assert_eq!(
                class.cancelled,
                self.sum(0, |line| matches!(line, Line::GaveUp { class } if class == number).then_some(1))
            );
            let came = |line| match line {
                Line::Came { class, units, .. } | Line::Stray { class: Some(class), units } if class == number => {
                    Some(units)
                }
                _ => None,
            };
            prop_assert_eq!(class.units, self.sum(0, came));
        }
        let came = |line| match line {
            Line::Came { units, .. } | Line::Stray { units, .. } => Some(units),
            _ => None,
        };
        prop_assert_eq!(view.totals.units, self.sum(0, came));
        prop_assert_eq!(view.users.len(), self.known.len());
        for user in &view.users {
            let Some(&(from, _)) = self.known.get(&user.who) else { panic!("{user:?} is not known") };
            prop_assert_eq!(user.class.0, self.class_of[user.who as usize]);
            prop_assert_eq!(user.live as usize, self.open.iter().filter(|(who, _)| *who == user.who).count());
            let asked = |line| matches!(line, Line::Asked { who, .. } if who == user.who).then_some(1);
            prop_assert_eq!(user.requests, self.sum(from, asked));
            let came = |line| match line {
                Line::Came { who, units, .. } if who == user.who => Some(units),
                _ => None,
            };
            prop_assert_eq!(user.units, self.sum(from, came));
        }
        prop_assert_eq!((view.live.len(), self.dispatcher.live()), (self.open.len(), self.open.len()));
        Ok(())
    }

    /// All that wait are released if others end.
    async fn wind_up(&mut self) -> Result<(), TestCaseError> {
        for _ in 0..1_000 {
            while let Some(at) = self.open.iter().position(|(_, ticket)| ticket.is_released()) {
                self.over(at, false);
            }
            if self.open.is_empty() {
                return self.check();
            }
            pass(Duration::from_secs(1)).await;
        }
        Err(TestCaseError::fail(format!("{} wait for ever", self.open.len())))
    }
}

proptest! {
    #[test]
    fn it_counts_what_happened(
        policy in prop::sample::select(REGISTRY),
        bytes in any::<bool>(),
        events in prop::collection::vec(event(), 1..120),
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build();
        runtime.expect("a runtime").block_on(async {
            let setup = if bytes { RequestSetup::for_bytes(239_000.0) } else { tokens(1_000.0) };
            let mut book = Book::new(dispatcher(policy.name, &setup, &[1.0, 2.0]));
            for event in events {
                book.play(event).await;
                book.check()?;
            }
            book.wind_up().await
        })?;
    }
}
