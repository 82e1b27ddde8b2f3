//! Events of packets in the pipeline, and which of them a scheduler needs.

use crate::{FlowId, MAX_RESOURCES, Nanos};

/// What happened to a packet on a resource.
///
/// A packet crosses its resources in order, so its events are a sequence of `Started` and `Finished`. It ends with `Finished`
/// on the last resource, or early with *one* of [`Dropped`](Self::Dropped) and [`Aborted`](Self::Aborted), after which there
/// are no more events of it:
///
/// ```text
/// Started 0, Finished 0, Started 1, Finished 1        it crossed both resources
/// Started 0, Finished 0, Dropped 1                    a firewall on resource 0 said no: its work there was done
/// Started 0, Aborted 0                                the function crashed while it worked on it
/// Started 0, Finished 0, Started 1, Aborted 1         the link went down in the middle of it
/// ```
///
/// A firewall on the CPU that lets nothing of flow 7 through:
///
/// ```
/// use dovetail_sched::{Demand, Feedback, FlowId, Limits, Nanos, Packet, PolicySpec, Setup, Stage};
///
/// let mut scheduler = "mr3:estimator=ses".parse::<PolicySpec>()?.build(&Setup::new(2, Limits::UNLIMITED))?;
/// let (cpu, link) = (Nanos::from_micros(10), Nanos::from_micros(12));
/// for (handle, flow) in [7, 7, 3].into_iter().enumerate() {
///     let demand = Demand::new(&[Nanos::ZERO, link])?;
///     let packet =
///         Packet { flow: FlowId(flow), bytes: 1500, arrival: Nanos::ZERO, handle: handle as u64, demand };
///     assert!(scheduler.enqueue(&packet, Nanos::ZERO).is_queued());
/// }
/// let (mut now, mut through) = (Nanos::ZERO, vec![]);
/// while let Some(out) = scheduler.dequeue(now) {
///     let flow = out.packet.flow;
///     let mut tell = |stage, resource, took, now| {
///         if scheduler.interest().has(stage, resource) {
///             let event = Feedback { flow, ticket: out.ticket, resource: resource as u8, stage, took };
///             scheduler.feedback(&event, now);
///         }
///     };
///     now += cpu;
///     tell(Stage::Finished, 0, cpu, now);
///     if flow == FlowId(7) {
///         tell(Stage::Dropped, 1, Nanos::ZERO, now);
///         continue;
///     }
///     tell(Stage::Started, 1, Nanos::ZERO, now);
///     now += link;
///     tell(Stage::Finished, 1, link, now);
///     through.push(out.packet.handle);
/// }
/// assert_eq!((through, scheduler.backlog().packets), (vec![2], 0));
/// # Ok::<(), Box<dyn core::error::Error>>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Stage {
    /// The packet started on the resource.
    Started,
    /// The packet finished on the resource.
    Finished,
    /// The packet left the pipeline after the previous resource and will never start on this one.
    Dropped,
    /// The packet left the pipeline while it was on the resource.
    Aborted,
}

/// An event of a dispatched packet in the pipeline.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Feedback {
    /// The packet's flow.
    pub flow: FlowId,
    /// The ticket of its [`Dispatch`](crate::Dispatch).
    pub ticket: u64,
    /// The resource, from 0 in pipeline order.
    pub resource: u8,
    /// The event.
    pub stage: Stage,
    /// The time that the packet really took on the resource, for [`Stage::Finished`] and, up to the end, for
    /// [`Stage::Aborted`]; else zero.
    pub took: Nanos,
}

impl Feedback {
    /// Whether this event settles `stage` ([`Stage::Started`] or [`Stage::Finished`]) on `resource`: it has happened with this
    /// event, or will never happen because of it. True exactly once for each packet.
    #[inline]
    #[must_use]
    pub fn settles(&self, stage: Stage, resource: usize) -> bool {
        let at = usize::from(self.resource);
        match self.stage {
            Stage::Started | Stage::Finished => at == resource && self.stage == stage,
            Stage::Dropped => at <= resource,
            Stage::Aborted => at < resource || (at == resource && stage == Stage::Finished),
        }
    }

    /// Whether the packet left the pipeline early.
    #[inline]
    #[must_use]
    pub fn is_death(&self) -> bool {
        matches!(self.stage, Stage::Dropped | Stage::Aborted)
    }
}

/// The feedback that a scheduler needs; an environment may omit all other. A scheduler that needs any is also told of packets
/// that leave the pipeline early, [`Stage::Dropped`] and [`Stage::Aborted`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Interest(u16);

impl Interest {
    /// No feedback at all.
    pub const NONE: Self = Self(0);

    /// `stage` on `resource` (from 0, below [`MAX_RESOURCES`]); nothing for `Dropped` and `Aborted`, which need no interest.
    ///
    /// # Panics
    /// If no pipeline has this resource.
    #[must_use]
    pub const fn of(stage: Stage, resource: usize) -> Self {
        assert!(resource < MAX_RESOURCES);
        match stage {
            Stage::Started => Self(1 << resource),
            Stage::Finished => Self(1 << (resource + MAX_RESOURCES)),
            Stage::Dropped | Stage::Aborted => Self::NONE,
        }
    }

    /// The union of both.
    #[must_use]
    pub const fn and(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Whether it includes `stage` on `resource`; false on resources that no pipeline has.
    #[inline]
    #[must_use]
    pub const fn has(self, stage: Stage, resource: usize) -> bool {
        match stage {
            Stage::Started | Stage::Finished => resource < MAX_RESOURCES && self.0 & Self::of(stage, resource).0 != 0,
            Stage::Dropped | Stage::Aborted => self.0 != 0,
        }
    }

    /// As bits, for hosts that store them: bit `r` is `Started` on resource `r`, bit `8 + r` is `Finished` there.
    #[must_use]
    pub const fn bits(self) -> u16 {
        self.0
    }

    /// The interest that has these [`bits`](Self::bits).
    #[must_use]
    pub const fn from_bits(bits: u16) -> Self {
        Self(bits)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(stage: Stage, resource: u8) -> Feedback {
        Feedback { flow: FlowId(0), ticket: 0, resource, stage, took: Nanos::ZERO }
    }

    /// Every way through three resources, complete or cut off: every stage is settled exactly once.
    #[test]
    fn whatever_is_waited_for_is_settled_once() {
        let whole: std::vec::Vec<_> =
            (0..3).flat_map(|at| [event(Stage::Started, at), event(Stage::Finished, at)]).collect();
        let mut lives = std::vec![whole.clone()];
        for cut in 0..whole.len() {
            let stage = if cut % 2 == 0 { Stage::Dropped } else { Stage::Aborted };
            let mut life = whole[..cut].to_vec();
            life.push(event(stage, (cut / 2) as u8));
            lives.push(life);
        }
        for life in lives {
            for at in 0..3 {
                for stage in [Stage::Started, Stage::Finished] {
                    let settled = life.iter().filter(|event| event.settles(stage, at)).count();
                    assert_eq!(settled, 1, "{stage:?} on {at} in {life:?}");
                }
            }
        }
    }

    #[test]
    fn interest_keeps_its_bits() {
        let interest = Interest::of(Stage::Started, 1).and(Interest::of(Stage::Finished, 7));
        assert_eq!(interest.bits(), 1 << 1 | 1 << 15);
        assert_eq!(Interest::from_bits(interest.bits()), interest);
        assert!(interest.has(Stage::Dropped, 0) && !Interest::NONE.has(Stage::Aborted, 0));
    }

    #[test]
    fn nothing_is_of_interest_on_a_resource_that_no_pipeline_has() {
        let all = Interest::from_bits(u16::MAX);
        for stage in [Stage::Started, Stage::Finished] {
            assert!(all.has(stage, MAX_RESOURCES - 1));
            assert!(!all.has(stage, MAX_RESOURCES) && !all.has(stage, usize::MAX));
        }
    }
}
