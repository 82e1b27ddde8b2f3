//! Reports packets to observers in order of release, even if they overtake each other afterwards.
//!
//! A packet's passage is known when it has ended on the last resource. Until then the packet, and all events after its
//! release, are buffered: as many as happen while the slowest packet crosses the pipeline.

use std::collections::VecDeque;

use dovetail_sched::{FlowId, Nanos, Packet, Weight};

use crate::{Observer, Passage, Profile};

/// An observer whose notifications are delayed.
pub(super) struct InOrder<'a, O> {
    observer: &'a mut O,
    kept: VecDeque<Event>,
    // Number of the first buffered event.
    first: u64,
}

enum Event {
    Appeared { flow: FlowId, weight: Weight, label: String, class: Option<String> },
    Arrived(Packet),
    Dropped(Packet, Nanos),
    // Boxed: a passage is far larger than the other events.
    Released(Packet, Option<Box<Passage>>),
}

impl<'a, O: Observer> InOrder<'a, O> {
    pub(super) fn new(observer: &'a mut O) -> Self {
        Self { observer, kept: VecDeque::new(), first: 0 }
    }

    /// A packet was released; returns its number, for [`passed`](Self::passed).
    pub(super) fn released(&mut self, packet: &Packet) -> u64 {
        self.kept.push_back(Event::Released(*packet, None));
        self.first + self.kept.len() as u64 - 1
    }

    /// The packet with this number has crossed the pipeline.
    pub(super) fn passed(&mut self, number: u64, passage: &Passage) {
        if let Some(Event::Released(_, kept)) = self.kept.get_mut((number - self.first) as usize) {
            *kept = Some(Box::new(*passage));
        }
        self.tell();
    }

    fn keep(&mut self, event: Event) {
        self.kept.push_back(event);
        self.tell();
    }

    /// Reports all events that need not be buffered any longer.
    fn tell(&mut self) {
        while let Some(event) = self.kept.pop_front() {
            match &event {
                Event::Appeared { flow, weight, label, class } => {
                    self.observer.appeared(*flow, &Profile { weight: *weight, label, class: class.as_deref() });
                }
                Event::Arrived(packet) => self.observer.arrived(packet),
                Event::Dropped(packet, now) => self.observer.dropped(packet, *now),
                Event::Released(packet, Some(passage)) => self.observer.sent(packet, passage),
                Event::Released(_, None) => {
                    self.kept.push_front(event);
                    return;
                }
            }
            self.first += 1;
        }
    }
}

impl<O: Observer> Observer for InOrder<'_, O> {
    fn appeared(&mut self, flow: FlowId, profile: &Profile<'_>) {
        let Profile { weight, label, class } = *profile;
        self.keep(Event::Appeared { flow, weight, label: label.to_owned(), class: class.map(str::to_owned) });
    }
    fn arrived(&mut self, packet: &Packet) {
        self.keep(Event::Arrived(*packet));
    }
    fn dropped(&mut self, packet: &Packet, now: Nanos) {
        self.keep(Event::Dropped(*packet, now));
    }
    /// Not called: see [`InOrder::released`].
    fn sent(&mut self, _: &Packet, _: &Passage) {}
}
