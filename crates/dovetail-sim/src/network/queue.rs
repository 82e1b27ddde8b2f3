//! A link: a scheduler, and a transmitter that sends one packet after the other.

use std::mem;

use dovetail_sched::{
    Demand, Dispatch, Feedback, FlowId, Nanos, Packet, PolicySpec, Scheduler, Setup, Stage,
    flow::{FiveTuple, FlowTable, Lookup},
};

use super::{ask_again::AskAgain, error::NetworkError, rates::Rates, spec::Link};

/// A flow is forgotten after this time without a packet: the longest timeout of Claffy, Braun and Polyzos (IEEE JSAC 1995).
const FLOW_TIMEOUT: Nanos = Nanos::from_secs(64);

/// A link and its queue.
pub(super) struct Queue {
    pub(super) scheduler: Box<dyn Scheduler>,
    flows: Flows,
    rates: Rates,
    mark_packets: Option<u64>,
    /// Whether it is on the list of links to poll for a packet.
    pub(super) is_asked: bool,
    // The packet being sent.
    sending: Option<Sending>,
    ask_again: AskAgain,
}

/// How packets are assigned to flows.
enum Flows {
    /// The policy does not distinguish flows.
    One,
    /// By addresses and ports.
    Table(Box<FlowTable<FiveTuple>>),
    /// By traffic; which traffic has been seen.
    Traffic(Vec<bool>),
}

/// How a link distinguishes packets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Tells {
    /// By flow, if the policy requires it.
    AsNeeded,
    /// By flow.
    Flows,
    /// By traffic, which stands for a class.
    Traffic,
}

/// A packet being sent.
#[derive(Debug, Clone, Copy)]
pub(super) struct Sending {
    pub(super) packet: Packet,
    ticket: u64,
    pub(super) begun: Nanos,
    pub(super) ends: Nanos,
}

impl Queue {
    pub(super) fn new(
        link: &Link,
        policy: &PolicySpec,
        tells: Tells,
        hash_key: [u8; 16],
    ) -> Result<Self, NetworkError> {
        let scheduler = policy.build(&Setup::new(1, link.limits))?;
        let flows = match tells {
            Tells::Traffic => Flows::Traffic(Vec::new()),
            Tells::AsNeeded if policy.entry().name == "fifo" => Flows::One,
            Tells::AsNeeded | Tells::Flows => {
                let table = FlowTable::new(link.limits.flows, FLOW_TIMEOUT, hash_key);
                Flows::Table(Box::new(table.map_err(|error| NetworkError::Network(error.to_string()))?))
            }
        };
        let rates = Rates::new(link);
        let mark_packets = link.mark_packets.map(u64::from);
        let ask_again = AskAgain::new();
        Ok(Self { scheduler, flows, rates, mark_packets, is_asked: false, sending: None, ask_again })
    }

    /// The flow of a packet; `None` if there is no room to track it.
    pub(super) fn flow_of(&mut self, tuple: &FiveTuple, traffic: usize, now: Nanos) -> Option<Lookup> {
        match &mut self.flows {
            Flows::Traffic(seen) => {
                seen.resize(seen.len().max(traffic + 1), false);
                Some(Lookup { flow: FlowId(traffic as u32), new: !mem::replace(&mut seen[traffic], true) })
            }
            Flows::One => Some(Lookup { flow: FlowId(0), new: false }),
            Flows::Table(table) => table.lookup(*tuple, now, |flow| self.scheduler.forget(flow)),
        }
    }

    /// Whether arriving packets are marked, if they may be: the queue of all flows together is long (RFC 8257, section 3.1).
    pub(super) fn marks(&self) -> bool {
        self.mark_packets.is_some_and(|most| self.scheduler.backlog().packets >= most)
    }

    /// Converts a packet for the scheduler.
    pub(super) fn packet(&mut self, flow: FlowId, bytes: u32, handle: u64, now: Nanos) -> Packet {
        self.rates.advance(now);
        Packet { flow, bytes, arrival: now, handle, demand: Demand::of_one(self.rates.time(bytes)) }
    }

    /// The packet to send from `now`, if the transmitter is idle and the policy releases one.
    pub(super) fn begin(&mut self, now: Nanos) -> Option<Sending> {
        if self.sending.is_some() {
            return None;
        }
        self.rates.advance(now);
        if self.rates.down_until().is_some() {
            return None;
        }
        let Dispatch { packet, ticket } = self.scheduler.dequeue(now)?;
        let sending = Sending { packet, ticket, begun: now, ends: now + self.rates.time(packet.bytes) };
        self.sending = Some(sending);
        self.tell(&sending, Stage::Started, now);
        Some(sending)
    }

    /// The packet on the transmitter is sent completely.
    pub(super) fn end(&mut self, now: Nanos) -> Option<Packet> {
        let sending = self.sending.take()?;
        self.tell(&sending, Stage::Finished, now);
        Some(sending.packet)
    }

    fn tell(&mut self, sending: &Sending, stage: Stage, now: Nanos) {
        if self.scheduler.interest().has(stage, 0) {
            let took = if stage == Stage::Finished { sending.ends - sending.begun } else { Nanos::ZERO };
            let event = Feedback { flow: sending.packet.flow, ticket: sending.ticket, resource: 0, stage, took };
            self.scheduler.feedback(&event, now);
        }
    }

    /// When to poll again that released nothing, if that must be scheduled.
    pub(super) fn ask_at(&mut self, now: Nanos) -> Option<Nanos> {
        if self.sending.is_some() || self.scheduler.backlog().packets == 0 {
            return None;
        }
        let at = self.rates.down_until().or_else(|| self.scheduler.poll_at())?;
        self.ask_again.at(at, now)
    }

    /// Flows evicted before their timeout to make room for others.
    pub(super) fn evictions(&self) -> u64 {
        match &self.flows {
            Flows::One | Flows::Traffic(_) => 0,
            Flows::Table(table) => table.evictions(),
        }
    }
}
