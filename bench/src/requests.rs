//! The cost per event of a request policy.
//!
//! Every class has a user with two requests queued; eight responses are outstanding. A step is four events: units of the
//! oldest outstanding response arrive, it ends, its user sends another request, and the next request is released. `msf-rs`
//! is compared with the same arbiter with a linear search; `grants` keeps more state per request.

use std::collections::VecDeque;

use dovetail_bench_counts::subject::Subject;
use dovetail_sched::{
    Nanos, PolicyError, Weight,
    request::{ClassId, Request, RequestId, RequestScheduler, RequestSetup, RequestSpec, UserId},
};

use crate::{
    operations::take_turns,
    row::{Row, Unit},
    spread::Spread,
};

const CLASSES: [u32; 5] = [10, 100, 1_000, 10_000, 100_000];
const OUTSTANDING: u32 = 8;
/// Names and policies, each of which releases one request per step: with a window longer than a run, and unlimited tokens.
const POLICIES: [(&str, &str, f64); 2] =
    [("msf-rs", "msf-rs:window=8,period=1000000s", 1e6), ("grants", "grants:learn=off", 1e15)];
const SCAN: &str = "a linear search";

/// One row for each number of classes.
pub fn rows(mut failed: impl FnMut(String)) -> Vec<Row> {
    let mut rows = Vec::new();
    for classes in CLASSES {
        eprintln!("requests, {classes} classes");
        let mut subjects: Vec<(String, Box<dyn Subject>)> = vec![(SCAN.into(), Box::new(Scan::filled(classes)))];
        for (label, policy, rate) in POLICIES {
            match Gateway::filled(policy, rate, classes) {
                Ok(gateway) => subjects.push((label.into(), Box::new(gateway))),
                Err(error) => failed(format!("{label}: {error}")),
            }
        }
        for measured in take_turns(subjects, classes, &mut failed) {
            let spread = Spread::of(&measured.nanos);
            rows.extend(spread.map(|spread| Row {
                benchmark: "four events of a request".into(),
                subject: measured.subject,
                flows: classes,
                spread,
                unit: Unit::Nanos,
                goal: None,
            }));
        }
    }
    let place = |row: &Row| POLICIES.iter().position(|(label, ..)| *label == row.subject).unwrap_or(POLICIES.len());
    rows.sort_by_key(|row| (place(row), row.flows));
    rows
}

/// Units of a class's responses, and its weight.
fn of_class(class: u32) -> (u64, f64) {
    (2_000 + u64::from(class % 61) * 997, f64::from(1 + class % 4))
}

/// A policy with its environment. Request ids are three per class.
struct Gateway {
    policy: Box<dyn RequestScheduler>,
    outstanding: VecDeque<RequestId>,
    now: Nanos,
}

impl Gateway {
    fn filled(policy: &str, rate: f64, classes: u32) -> Result<Self, PolicyError> {
        let mut policy =
            policy.parse::<RequestSpec>()?.build(&RequestSetup { rate, ..RequestSetup::for_bytes(1e6) })?;
        for class in 0..classes {
            let weight = Weight::new(of_class(class).1).unwrap_or_default();
            policy.set_class(ClassId(class), weight, Nanos::ZERO);
            policy.set_user(UserId(class), ClassId(class), Nanos::ZERO);
            for id in 3 * class..3 * class + 3 {
                policy.enqueue(&Request { id: RequestId(id), user: UserId(class), length: None }, Nanos::ZERO);
            }
        }
        let mut gateway = Self { policy, outstanding: VecDeque::new(), now: Nanos::ZERO };
        let turns = std::iter::from_fn(|| gateway.policy.dequeue(Nanos::ZERO)).take(OUTSTANDING as usize);
        gateway.outstanding.extend(turns.map(|turn| turn.request));
        Ok(gateway)
    }
}

impl Subject for Gateway {
    fn step(&mut self) -> Result<(), String> {
        let request = self.outstanding.pop_front().ok_or("nothing is outstanding")?;
        let class = request.0 / 3;
        self.now += Nanos(1_000);
        self.policy.received(request, of_class(class).0, self.now);
        self.policy.ended(request, self.now);
        self.policy.enqueue(&Request { id: request, user: UserId(class), length: None }, self.now);
        let turn = self.policy.dequeue(self.now).ok_or("no request was released")?;
        self.outstanding.push_back(turn.request);
        Ok(())
    }

    fn is_as_filled(&self, classes: u32) -> bool {
        let mut waiting = 0.0;
        self.policy.figures(&mut |name, value| waiting += if name == "waiting" { value } else { 0.0 });
        self.outstanding.len() as u32 == OUTSTANDING && waiting == f64::from(3 * classes - OUTSTANDING)
    }
}

/// The arbiter as published: finds the next class by a linear search.
struct Scan {
    classes: Vec<ScannedClass>,
    outstanding: VecDeque<u32>,
}

struct ScannedClass {
    weight: f64,
    service: f64,
    waiting: u32,
}

impl Scan {
    fn filled(classes: u32) -> Self {
        let class = |class| ScannedClass { weight: of_class(class).1, service: 0.0, waiting: 3 };
        let mut scan = Self { classes: (0..classes).map(class).collect(), outstanding: VecDeque::new() };
        (0..OUTSTANDING).for_each(|_| scan.release());
        scan
    }

    fn release(&mut self) {
        let waiting = self.classes.iter().enumerate().filter(|(_, class)| class.waiting > 0);
        let order = |class: &ScannedClass| (class.service, -class.weight);
        let least =
            waiting.min_by(|(_, a), (_, b)| order(a).partial_cmp(&order(b)).unwrap_or(std::cmp::Ordering::Equal));
        if let Some((at, _)) = least {
            self.classes[at].waiting -= 1;
            self.outstanding.push_back(at as u32);
        }
    }
}

impl Subject for Scan {
    fn step(&mut self) -> Result<(), String> {
        let at = self.outstanding.pop_front().ok_or("nothing is outstanding")?;
        let class = &mut self.classes[at as usize];
        class.service += of_class(at).0 as f64 / class.weight;
        class.waiting += 1;
        self.release();
        Ok(())
    }

    fn is_as_filled(&self, classes: u32) -> bool {
        let waiting: u32 = self.classes.iter().map(|class| class.waiting).sum();
        self.outstanding.len() as u32 == OUTSTANDING && waiting == 3 * classes - OUTSTANDING
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_policy_and_the_search_release_the_same() {
        let (mut gateway, mut scan) = (Gateway::filled(POLICIES[0].1, POLICIES[0].2, 50).unwrap(), Scan::filled(50));
        for _ in 0..2_000 {
            let released: Vec<u32> = gateway.outstanding.iter().map(|id| id.0 / 3).collect();
            assert!(released.iter().eq(&scan.outstanding));
            gateway.step().unwrap();
            scan.step().unwrap();
        }
        assert!(gateway.is_as_filled(50) && scan.is_as_filled(50));
    }
}
