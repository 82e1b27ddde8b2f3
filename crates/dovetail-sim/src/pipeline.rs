//! When a packet starts and ends on each resource.
//!
//! Resources serve packets in order of release, one at a time, so a packet's whole passage follows from earlier passages by a
//! max-plus recursion; no event queue is needed. Let `S_j(n)` and `E_j(n)` be start and end of packet `n` on resource `j`,
//! `D_j(n)` the time at which it frees the resource, `L_j(n)` its demand, and `E = S + L`:
//!
//! ```text
//! no-wait      S_1(n) = max(now, max_j (E_j(n-1) - sum_{i<j} L_i(n))),  S_{j+1}(n) = E_j(n)         (ATFQ, rule 4)
//! unbounded    S_j(n) = max(E_{j-1}(n), E_j(n-1)),                      D_j(n) = E_j(n)
//! buffer=K     S_j(n) = max(D_{j-1}(n), D_j(n-1)),                      D_j(n) = max(E_j(n), S_{j+1}(n-K))
//! ```
//!
//! The last is a tandem of queues with blocking after service: a packet stays on its resource until one of the `K` places
//! behind it is free. With `K = 0` it stays until the next resource takes it: `D_j(n) = S_{j+1}(n)`.

use std::{collections::VecDeque, fmt, str::FromStr};

use dovetail_sched::{Demand, MAX_RESOURCES, Nanos};

/// Buffering between one resource and the next.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum PipelineMode {
    /// None: a packet that leaves a resource enters the next at once. It starts on the first only when this is ensured.
    NoWait,
    /// Any number of packets may wait.
    Unbounded,
    /// This many packets may wait; a resource whose packet finds no place is blocked.
    Buffer(u32),
}

/// Not a pipeline mode.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("'{0}' is not a pipeline: use no-wait, unbounded or buffer=K")]
pub struct ModeError(String);

impl FromStr for PipelineMode {
    type Err = ModeError;

    fn from_str(text: &str) -> Result<Self, ModeError> {
        match text {
            "no-wait" => Ok(Self::NoWait),
            "unbounded" => Ok(Self::Unbounded),
            _ => text
                .strip_prefix("buffer=")
                .and_then(|places| places.parse().ok())
                .map(Self::Buffer)
                .ok_or_else(|| ModeError(text.chars().take(60).collect())),
        }
    }
}

impl fmt::Display for PipelineMode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoWait => f.write_str("no-wait"),
            Self::Unbounded => f.write_str("unbounded"),
            Self::Buffer(places) => write!(f, "buffer={places}"),
        }
    }
}

/// The passage of a packet through the pipeline.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Passage {
    resources: usize,
    released: Nanos,
    start: [Nanos; MAX_RESOURCES],
    end: [Nanos; MAX_RESOURCES],
    freed: [Nanos; MAX_RESOURCES],
}

impl Passage {
    /// Chosen by the scheduler at `released`, not on any resource yet.
    pub(crate) const fn new(resources: usize, released: Nanos) -> Self {
        let never = [Nanos::ZERO; MAX_RESOURCES];
        Self { resources, released, start: never, end: never, freed: never }
    }

    /// It takes `resource` from `start` to `end`, and is not blocked there.
    pub(crate) const fn takes(&mut self, resource: usize, start: Nanos, end: Nanos) {
        self.start[resource] = start;
        self.end[resource] = end;
        self.freed[resource] = end;
    }

    /// It is blocked on `resource` until `freed`.
    pub(crate) const fn frees(&mut self, resource: usize, freed: Nanos) {
        self.freed[resource] = freed;
    }

    /// When the scheduler chose it. With no-wait it may start later: once no resource will make it wait.
    #[inline]
    #[must_use]
    pub fn released(&self) -> Nanos {
        self.released
    }

    /// When it starts on each resource.
    #[inline]
    #[must_use]
    pub fn start(&self) -> &[Nanos] {
        &self.start[..self.resources]
    }

    /// When it ends on each resource.
    #[inline]
    #[must_use]
    pub fn end(&self) -> &[Nanos] {
        &self.end[..self.resources]
    }

    /// When it frees each resource for the next packet: at its end there, or when it is no longer blocked.
    #[inline]
    #[must_use]
    pub fn freed(&self) -> &[Nanos] {
        &self.freed[..self.resources]
    }

    /// When it starts on the first resource.
    #[inline]
    pub(crate) const fn starts(&self) -> Nanos {
        self.start[0]
    }

    /// How long it is on each of the first two resources; 0 on the second if there is only one.
    #[inline]
    pub(crate) fn first_two(&self) -> [Nanos; 2] {
        // Times on resources that a pipeline lacks are 0.
        [self.end[0] - self.start[0], self.end[1] - self.start[1]]
    }

    /// When it ends on the last resource.
    #[inline]
    #[must_use]
    pub fn done(&self) -> Nanos {
        self.end[self.resources - 1]
    }
}

/// The resources, and until when each is occupied.
#[derive(Debug)]
pub struct Pipeline {
    mode: PipelineMode,
    free: [Nanos; MAX_RESOURCES],
    // For `buffer=K`: number and start on resource j of the packets that may still occupy a place in front of it.
    starts: Vec<VecDeque<(u64, Nanos)>>,
    packets: u64,
    // The last packet's passage, kept here because it is large to move.
    passage: Passage,
}

impl Pipeline {
    /// An idle pipeline of `resources` resources, 1 to [`MAX_RESOURCES`].
    ///
    /// # Panics
    /// If `resources` is out of range.
    #[must_use]
    pub fn new(mode: PipelineMode, resources: usize) -> Self {
        assert!((1..=MAX_RESOURCES).contains(&resources));
        Self {
            mode,
            free: [Nanos::ZERO; MAX_RESOURCES],
            starts: (0..resources).map(|_| VecDeque::new()).collect(),
            packets: 0,
            passage: Passage::new(resources, Nanos::ZERO),
        }
    }

    /// When the first resource can take another packet.
    #[inline]
    #[must_use]
    pub fn ready(&self) -> Nanos {
        self.free[0]
    }

    /// Sends a packet with this demand into the pipeline at `now`, which is not before [`ready`](Self::ready). O(m).
    #[inline]
    pub fn admit(&mut self, now: Nanos, demand: &Demand) -> &Passage {
        self.passage.released = now;
        match self.mode {
            PipelineMode::NoWait => self.no_wait(now, demand.times()),
            PipelineMode::Unbounded => self.unbounded(now, demand.times()),
            PipelineMode::Buffer(places) => self.blocking(now, demand.times(), u64::from(places)),
        }
        self.packets += 1;
        &self.passage
    }

    #[inline]
    fn no_wait(&mut self, now: Nanos, times: &[Nanos]) {
        let mut start = now;
        let mut before = Nanos::ZERO;
        for (&free, &time) in self.free.iter().zip(times) {
            start = start.max(free - before);
            before += time;
        }
        for (j, &time) in times.iter().enumerate() {
            self.passage.takes(j, start, start + time);
            start += time;
            self.free[j] = start;
        }
    }

    #[inline]
    fn unbounded(&mut self, now: Nanos, times: &[Nanos]) {
        let mut at = now;
        for (j, &time) in times.iter().enumerate() {
            let start = at.max(self.free[j]);
            at = start + time;
            self.passage.takes(j, start, at);
            self.free[j] = at;
        }
    }

    fn blocking(&mut self, now: Nanos, times: &[Nanos], places: u64) {
        let number = self.packets;
        let last = times.len() - 1;
        let mut at = now;
        for (j, &time) in times.iter().enumerate() {
            let start = at.max(self.free[j]);
            let end = start + time;
            self.passage.takes(j, start, end);
            if places == 0 && j > 0 {
                self.free[j - 1] = start;
                self.passage.frees(j - 1, start);
            } else if places > 0 && j > 0 {
                self.starts[j].push_back((number, start));
            }
            // A packet that has started on the next resource by the time this one ends here occupies no place.
            at = end;
            if j < last && places > 0 {
                let next = &mut self.starts[j + 1];
                while next.front().is_some_and(|&(other, started)| other + places < number || started <= now) {
                    next.pop_front();
                }
                if let Some(&(other, started)) = next.front()
                    && other + places == number
                {
                    at = at.max(started);
                }
            }
            self.free[j] = at;
            self.passage.frees(j, at);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(mode: PipelineMode, demands: &[[u64; 2]]) -> Vec<([u64; 2], [u64; 2])> {
        let mut pipeline = Pipeline::new(mode, 2);
        demands
            .iter()
            .map(|demand| {
                let demand = Demand::new(&demand.map(Nanos)).expect("two resources");
                let passage = pipeline.admit(pipeline.ready(), &demand);
                ([passage.start[0].0, passage.start[1].0], [passage.end[0].0, passage.end[1].0])
            })
            .collect()
    }

    #[test]
    fn no_wait_leaves_the_gap_of_equation_3() {
        let passages = run(PipelineMode::NoWait, &[[4, 4], [2, 1], [2, 1]]);
        assert_eq!(passages, [([0, 4], [4, 8]), ([6, 8], [8, 9]), ([8, 10], [10, 11])]);
    }

    #[test]
    fn a_place_lets_the_first_resource_go_on() {
        let demands = [[1, 5], [1, 5], [1, 5], [1, 5]];
        let starts = |mode| run(mode, &demands).iter().map(|(start, _)| start[0]).collect::<Vec<_>>();
        assert_eq!(starts(PipelineMode::Unbounded), [0, 1, 2, 3]);
        assert_eq!(starts(PipelineMode::Buffer(1)), [0, 1, 2, 6]);
        assert_eq!(starts(PipelineMode::Buffer(0)), [0, 1, 6, 11]);
        assert_eq!(starts(PipelineMode::NoWait), [0, 5, 10, 15]);
    }

    #[test]
    fn modes_read_and_print() {
        for text in ["no-wait", "unbounded", "buffer=0", "buffer=64"] {
            assert_eq!(text.parse::<PipelineMode>().map(|mode| mode.to_string()), Ok(text.to_string()));
        }
        assert!("buffer=-1".parse::<PipelineMode>().is_err());
        assert!("nowait".parse::<PipelineMode>().is_err());
    }
}
