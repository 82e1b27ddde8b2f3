//! One dequeue and one enqueue in the steady state.
//!
//! Flows hold 2 or 3 packets in turn, of 64 to 1500 bytes. A step dequeues a packet, gives the scheduler the feedback that
//! it wants, as a box would, and enqueues another packet of the same flow. Virtual time advances by the packet's
//! transmission time on the link, so that a link at that speed is always busy and every flow stays backlogged.
//!
//! A second setting is the testbed of the trade-off's paper (Wang et al., CoNEXT 2014, section 6.1): packets of 800 bytes,
//! a third of the flows for each of three modules, a link of 200 Mbit/s.
//!
//! A third setting is a full buffer: the limit on packets of all flows together equals the number queued, and after every dequeue
//! two packets arrive, one of the same flow, which fits, and one of the flow that lost a packet last, which does not: a step is a
//! dequeue, two enqueues and an eviction, or a refusal. Policies without a rule of their own evict from the longest queue.

use dovetail_sched::{
    Admission, Demand, Dispatch, DropPolicy, Feedback, FlowId, Interest, Limits, Nanos, Packet, PolicyError,
    PolicySpec, Scheduler, Setup, Stage,
};

use crate::{
    subject::{SIZES, Subject, packets_of, sizes},
    traffic::cpu_and_link,
};

const RESOURCES: usize = 2;

/// Sizes and costs of packets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Setting {
    /// Many sizes, two costs per byte.
    Mixed,
    /// One size, three costs per packet.
    Testbed,
    /// Many sizes, and one packet too many in every step.
    FullBuffer,
}

impl Setting {
    /// The kind of this flow. Kinds change every two flows, while the number of packets changes with every flow.
    #[inline]
    fn kind(self, flow: FlowId) -> usize {
        // Constant divisors: dividing by a number that only the setting knows would be work that is not the scheduler's.
        match self {
            Self::Mixed | Self::FullBuffer => flow.index() / 2 % 2,
            Self::Testbed => flow.index() / 2 % MODULES.len(),
        }
    }
}

/// CPU time of the testbed's modules: packet checking, statistical monitoring, IPsec.
pub const MODULES: [Nanos; 3] = [Nanos(6_000), Nanos(14_140), Nanos(97_600)];
/// Transmission time of a packet of 800 bytes at 200 Mbit/s.
const TESTBED_LINK: Nanos = Nanos(32_000);

/// A policy with its environment.
#[derive(Debug)]
pub struct Operation {
    scheduler: Box<dyn Scheduler>,
    // Feedback given as soon as a packet is released; its end on the link is reported when the link is free again.
    at_once: Vec<(Stage, u8)>,
    tells_last: bool,
    on_link: Option<Feedback>,
    now: Nanos,
    setting: Setting,
    // Packets to enqueue: those of one kind of flow after those of another.
    packets: Vec<Packet>,
    next: usize,
    // The flow of the excess packet, if there is one in every step.
    lost_last: Option<FlowId>,
    flows: u32,
}

impl Operation {
    /// `policy` with the packets of `flows` flows queued.
    ///
    /// # Errors
    /// [`PolicyError`] if the policy is not suitable.
    pub fn filled(policy: &PolicySpec, setting: Setting, flows: u32) -> Result<Self, PolicyError> {
        let buffer = (setting == Setting::FullBuffer).then(|| (0..flows).map(packets_of).sum());
        let on_full = if buffer.is_some() { DropPolicy::Longest } else { DropPolicy::Tail };
        let limits = Limits { packets: buffer, on_full, ..Limits::UNLIMITED };
        let scheduler = policy.build(&Setup::new(RESOURCES, limits))?;
        let interest = scheduler.interest();
        let stages = [(Stage::Started, 0), (Stage::Finished, 0), (Stage::Started, 1)];
        let packet = |bytes, times: [Nanos; 2]| Packet {
            flow: FlowId(0),
            bytes,
            arrival: Nanos::ZERO,
            handle: 0,
            demand: Demand::new(&times).expect("two resources"),
        };
        let mixed = |kind| sizes().map(|bytes| packet(bytes, cpu_and_link(FlowId(kind), bytes)));
        let packets = match setting {
            Setting::Mixed | Setting::FullBuffer => [0, 1].map(mixed).concat(),
            Setting::Testbed => MODULES.map(|cpu| [packet(800, [cpu, TESTBED_LINK]); SIZES]).concat(),
        };
        let mut filled = Self {
            at_once: stages.into_iter().filter(|&(stage, resource)| wants(interest, stage, resource)).collect(),
            tells_last: wants(interest, Stage::Finished, 1),
            scheduler,
            on_link: None,
            now: Nanos::ZERO,
            setting,
            packets,
            next: 0,
            lost_last: None,
            flows,
        };
        for place in 0..3 {
            for flow in (0..flows).filter(|&flow| place < packets_of(flow)) {
                filled.put(FlowId(flow)).expect("there is room for these");
            }
        }
        filled.lost_last = buffer.map(|_| FlowId(0));
        Ok(filled)
    }

    #[inline]
    fn put(&mut self, flow: FlowId) -> Result<(), String> {
        match self.offer(flow) {
            Admission::QUEUED => Ok(()),
            other => Err(format!("a packet was not queued: {other:?}")),
        }
    }

    #[inline]
    fn offer(&mut self, flow: FlowId) -> Admission {
        let packet = &mut self.packets[self.setting.kind(flow) * SIZES + self.next];
        self.next = if self.next + 1 == SIZES { 0 } else { self.next + 1 };
        packet.flow = flow;
        packet.arrival = self.now;
        self.scheduler.enqueue(packet, self.now)
    }

    /// Offers a packet to the full buffer.
    fn put_one_too_many(&mut self, flow: FlowId) -> Result<(), String> {
        self.lost_last = match self.offer(flow) {
            Admission::QUEUED => return Err("a packet found room in a full buffer".into()),
            Admission { evicted: true, .. } => self.scheduler.poll_evicted().map(|lost| lost.flow),
            _ => Some(FlowId((flow.0 + 1) % self.flows)),
        };
        Ok(())
    }

    /// The policy holds packets back: advance to the time at which it wants to be asked again.
    #[cold]
    fn wait(&mut self, tries: u32) -> Result<(), String> {
        if tries > 1_000 {
            return Err("holds packets back again and again".into());
        }
        let at = self.scheduler.poll_at().ok_or("holds packets back and does not say until when")?;
        self.now = at.max(self.now + Nanos(1));
        Ok(())
    }
}

fn wants(interest: Interest, stage: Stage, resource: u8) -> bool {
    interest.has(stage, resource.into())
}

impl Subject for Operation {
    #[inline]
    fn step(&mut self) -> Result<(), String> {
        if let Some(finished) = self.on_link.take() {
            self.scheduler.feedback(&finished, self.now);
        }
        // Used in place: moving it would be work that is not the scheduler's.
        let mut released = self.scheduler.dequeue(self.now);
        let mut tries = 0;
        while released.is_none() {
            tries += 1;
            self.wait(tries)?;
            released = self.scheduler.dequeue(self.now);
        }
        let Some(Dispatch { packet, ticket }) = &released else { return Ok(()) };
        let (flow, ticket) = (packet.flow, *ticket);
        let times = packet.demand.times();
        for &(stage, resource) in &self.at_once {
            let took = if stage == Stage::Finished { times[usize::from(resource)] } else { Nanos::ZERO };
            self.scheduler.feedback(&Feedback { flow, ticket, resource, stage, took }, self.now);
        }
        let took = times[1];
        if self.tells_last {
            self.on_link = Some(Feedback { flow, ticket, resource: 1, stage: Stage::Finished, took });
        }
        self.now += took;
        self.put(flow)?;
        match self.lost_last {
            Some(flow) => self.put_one_too_many(flow),
            None => Ok(()),
        }
    }

    fn is_as_filled(&self, flows: u32) -> bool {
        if self.lost_last.is_some() {
            return self.scheduler.backlog().packets == (0..flows).map(|flow| u64::from(packets_of(flow))).sum::<u64>();
        }
        (0..flows).all(|flow| self.scheduler.flow_backlog(FlowId(flow)).packets == u64::from(packets_of(flow)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use dovetail_sched::registry::REGISTRY;

    #[test]
    fn every_policy_can_be_stepped() {
        for entry in REGISTRY {
            for setting in [Setting::Mixed, Setting::Testbed, Setting::FullBuffer] {
                let mut policy = Operation::filled(&entry.name.parse().unwrap(), setting, 50).unwrap();
                assert!(policy.is_as_filled(50));
                for _ in 0..2_000 {
                    policy.step().unwrap();
                }
                assert!(policy.is_as_filled(50), "{}", entry.name);
                while policy.scheduler.dequeue(policy.now).is_none() {
                    policy.wait(0).unwrap();
                }
                assert!(!policy.is_as_filled(50), "{}", entry.name);
            }
        }
    }
}
