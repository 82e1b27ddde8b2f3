//! Generalised processor sharing simulated in real time: every backlogged flow is served at once, at its weight's share of a
//! server of rate 1, from one event to the next. No virtual time, no tags, O(flows) an event: an oracle.
#![allow(dead_code)]

use std::collections::{BTreeMap, HashMap, VecDeque};

#[derive(Debug, Clone, Default)]
pub struct Gps {
    now: f64,
    weights: HashMap<u32, f64>,
    // Packet and work left, in order of arrival.
    queues: BTreeMap<u32, VecDeque<(usize, f64)>>,
    /// When each packet was first served, and when it was done.
    pub started: HashMap<usize, f64>,
    pub finished: HashMap<usize, f64>,
    /// Served work by flow at every event, a piecewise linear function.
    pub history: Vec<(f64, HashMap<u32, f64>)>,
    served: HashMap<u32, f64>,
}

impl Gps {
    pub fn new(weights: &[f64]) -> Self {
        Self { weights: (0..).zip(weights.iter().copied()).collect(), ..Self::default() }
    }

    fn weight(&self, flow: u32) -> f64 {
        self.weights.get(&flow).copied().unwrap_or(1.0)
    }

    pub fn now(&self) -> f64 {
        self.now
    }

    pub fn advance(&mut self, to: f64) {
        while self.now < to {
            let total: f64 = self.queues.keys().map(|&flow| self.weight(flow)).sum();
            let step = self
                .queues
                .iter()
                .map(|(&flow, queue)| queue[0].1 * total / self.weight(flow))
                .fold(to - self.now, f64::min);
            self.now = if step >= to - self.now { to } else { self.now + step };
            for (&flow, queue) in &mut self.queues {
                let share = step * self.weights.get(&flow).copied().unwrap_or(1.0) / total;
                *self.served.entry(flow).or_default() += share;
                queue[0].1 -= share;
            }
            self.settle();
            self.history.push((self.now, self.served.clone()));
        }
    }

    /// Removes packets that are done.
    fn settle(&mut self) {
        for queue in self.queues.values_mut() {
            while let Some(&(packet, left)) = queue.front() {
                self.started.entry(packet).or_insert(self.now);
                if left > 1e-9 {
                    break;
                }
                self.finished.insert(packet, self.now);
                queue.pop_front();
            }
        }
        self.queues.retain(|_, queue| !queue.is_empty());
    }

    pub fn arrive(&mut self, flow: u32, packet: usize, work: f64) {
        self.queues.entry(flow).or_default().push_back((packet, work));
        self.settle();
    }

    pub fn set_weight(&mut self, flow: u32, weight: f64) {
        self.weights.insert(flow, weight);
    }

    /// Removes the packet with the rest of its work.
    pub fn evict(&mut self, packet: usize) {
        for queue in self.queues.values_mut() {
            queue.retain(|&(other, _)| other != packet);
        }
        self.queues.retain(|_, queue| !queue.is_empty());
        self.settle();
    }

    pub fn forget(&mut self, flow: u32) {
        self.queues.remove(&flow);
        self.weights.remove(&flow);
    }

    /// When each packet is done, if nothing else happens.
    pub fn drained(&self) -> Self {
        let mut rest = Self { history: Vec::new(), ..self.clone() };
        while !rest.queues.is_empty() {
            let work: f64 = rest.queues.values().flatten().map(|&(_, left)| left).sum();
            rest.advance(rest.now + work + 1.0);
        }
        rest
    }

    /// The flow's service until `at`.
    pub fn served(&self, flow: u32, at: f64) -> f64 {
        let after = self.history.partition_point(|&(time, _)| time < at);
        let of = |entry: Option<&(f64, HashMap<u32, f64>)>| {
            entry.map_or((0.0, 0.0), |(time, served)| (*time, served.get(&flow).copied().unwrap_or(0.0)))
        };
        let (t0, s0) = of(after.checked_sub(1).and_then(|before| self.history.get(before)));
        match self.history.get(after) {
            None => s0,
            entry => {
                let (t1, s1) = of(entry);
                if t1 > t0 { s0 + (s1 - s0) * (at - t0) / (t1 - t0) } else { s1 }
            }
        }
    }
}
