//! Bytes as calls of packet and request schedulers, each made through the functions of `dovetail.h` and directly: both have to
//! give the same answers, whatever is called in whatever order.
#![no_main]

#[path = "../../bindings/c/tests/all/both_packets.rs"]
mod both_packets;
#[path = "../../bindings/c/tests/all/both_requests.rs"]
mod both_requests;
#[path = "../../bindings/c/tests/all/through_c.rs"]
#[allow(dead_code, reason = "the tests also look at errors")]
mod through_c;

use std::iter;

use both_packets::{Call, FLOWS, PROGRAMS};
use both_requests::{CLASSES, Event, IDS, USERS};
use dovetail_sched::{DropPolicy, Limits, MAX_RESOURCES, Nanos, request::FarDelay};
use libfuzzer_sys::fuzz_target;

/// Calls of an input at most.
const MAX_CALLS: usize = 1000;
const ON_FULL: [DropPolicy; 3] = [DropPolicy::Tail, DropPolicy::Head, DropPolicy::Longest];

/// Takes numbers off an input, one after the other.
struct Input<'a>(&'a [u8]);

impl Input<'_> {
    fn byte(&mut self) -> Option<u8> {
        let (&first, rest) = self.0.split_first()?;
        self.0 = rest;
        Some(first)
    }

    fn short(&mut self) -> Option<u16> {
        Some(u16::from_le_bytes([self.byte()?, self.byte()?]))
    }

    fn below(&mut self, bound: u32) -> Option<u32> {
        Some(u32::from(self.byte()?) % bound)
    }

    /// A number of two bytes, times a power of two.
    fn number(&mut self, most_doubled: u32) -> Option<u64> {
        Some(u64::from(self.short()?) << self.below(most_doubled + 1)?)
    }

    /// More than 0, less than 20.
    fn weight(&mut self) -> Option<f64> {
        Some((f64::from(self.short()?) + 1.0) / 3277.0)
    }

    fn weights(&mut self) -> Option<[f64; MAX_RESOURCES]> {
        let mut weights = [1.0; MAX_RESOURCES];
        for weight in &mut weights {
            *weight = self.weight()?;
        }
        Some(weights)
    }

    fn maybe<T>(&mut self, some: impl FnOnce(&mut Self) -> Option<T>) -> Option<Option<T>> {
        if self.byte()? % 2 == 0 { Some(None) } else { some(self).map(Some) }
    }

    fn limits(&mut self) -> Option<Limits> {
        let packets = |input: &mut Self| Some(1 + input.below(12)?);
        let bytes = |input: &mut Self| Some(800 + u64::from(input.short()?) % 8200);
        Some(Limits {
            flow_packets: self.maybe(packets)?,
            flow_bytes: self.maybe(bytes)?,
            packets: self.maybe(packets)?,
            bytes: self.maybe(bytes)?,
            flows: FLOWS,
            on_full: ON_FULL[self.below(3)? as usize],
        })
    }

    fn call(&mut self) -> Option<Call> {
        Some(match self.byte()? % 25 {
            0..=2 => Call::Wait(u64::from(self.short()?)),
            3..=6 => {
                let (conversation, bytes) = (self.below(9)? as u8, 1 + u32::from(self.short()?) % 1600);
                let mut times = [0; MAX_RESOURCES];
                for time in &mut times[..4] {
                    *time = u64::from(self.short()?);
                }
                Call::Arrive(conversation, bytes, times)
            }
            7 => Call::WrongDemand(self.below(FLOWS)?),
            8 => Call::TooManyFlows,
            9..=12 => Call::Dequeue,
            13 => Call::Peek,
            14 | 15 => Call::GoOn(self.below(8)? as usize, u64::from(self.short()?)),
            16 => Call::Die(self.below(8)? as usize),
            17 => Call::Weight(self.below(FLOWS)?, self.weight()?),
            18 => Call::Weights(self.below(FLOWS)?, self.weights()?),
            19 => Call::Forget(self.below(FLOWS)?),
            20 => Call::Program(self.below(FLOWS)?, self.below(PROGRAMS + 1)?),
            21 => Call::Retune(self.byte()?.into()),
            22 => Call::Expire(self.below(4)?),
            23 => Call::Discard(self.below(FLOWS)?),
            _ => {
                let resource = self.below(4)? as usize;
                if resource == 0 { Call::Look } else { Call::DequeueBefore(resource) }
            }
        })
    }

    fn event(&mut self) -> Option<Event> {
        // One more of each than there are, as a careless caller has it.
        Some(match self.byte()? % 20 {
            0 => Event::Wait(self.number(12)?),
            1 => Event::Class(self.below(CLASSES + 1)?, self.weight()?),
            2 => Event::User(self.below(USERS + 1)?, self.below(CLASSES + 1)?),
            3 => Event::Forget(self.below(USERS + 1)?),
            4 => Event::Rate(1e3 + self.number(8)? as f64),
            5 => {
                let (id, user) = (self.below(IDS + 1)?, self.below(USERS + 1)?);
                Event::Enqueue(id, user, self.maybe(|input| input.number(2))?)
            }
            6 => Event::Length(self.below(IDS + 1)?, self.number(2)?),
            7 => Event::Received(self.below(IDS + 1)?, self.number(2)?),
            8 => Event::Offers(self.below(IDS + 1)?, self.number(2)?),
            9 => Event::Ready(self.below(IDS + 1)?),
            10 => Event::Ended(self.below(IDS + 1)?),
            11 => Event::Cancel(self.below(IDS + 1)?),
            12 => Event::Uplink(self.byte()? % 2 == 1),
            13 => Event::Stray(self.maybe(|input| input.below(CLASSES + 1))?, self.number(2)?),
            14 => Event::Probe,
            15 => Event::Back(self.below(20)?.into()),
            16 => Event::AnotherPath,
            17 => Event::Far(self.maybe(|input| {
                let room = |input: &mut Self| Some(Nanos(input.number(12)?));
                Some(FarDelay { delay: Nanos(input.number(12)?), room: input.maybe(room)? })
            })?),
            18 => {
                let class = self.below(CLASSES + 1)?;
                Event::Cap(class, self.maybe(|input| Some(1e3 + input.number(8)? as f64))?)
            }
            _ => Event::Retune(self.below(8)? as usize),
        })
    }
}

fn packets(input: &mut Input) -> Option<()> {
    let policies = both_packets::policies();
    let policy = &policies[usize::from(input.byte()?) % policies.len()];
    let (resources, flags) = (1 + input.below(4)? as usize, input.below(2)?);
    let limits = input.limits()?;
    let calls: Vec<Call> = iter::from_fn(|| input.call()).take(MAX_CALLS).collect();
    both_packets::play(policy, resources, limits, flags, &calls, &policies);
    Some(())
}

fn requests(input: &mut Input) -> Option<()> {
    let policies = both_requests::policies();
    let policy = &policies[usize::from(input.byte()?) % policies.len()];
    let events: Vec<Event> = iter::from_fn(|| input.event()).take(MAX_CALLS).collect();
    both_requests::play(policy, &events, &policies);
    Some(())
}

fuzz_target!(|bytes: &[u8]| {
    let mut input = Input(bytes);
    // What is too short for a setup is no input.
    let _ = match input.byte() {
        Some(kind) if kind % 4 == 0 => requests(&mut input),
        Some(_) => packets(&mut input),
        None => None,
    };
});
