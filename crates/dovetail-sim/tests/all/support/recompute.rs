//! Every figure recomputed from rows of records, in a straightforward way that shares no code with the simulator.
#![allow(dead_code)]

use std::collections::BTreeMap;

/// A packet that was sent.
#[derive(Debug, Clone)]
pub struct Row {
    pub flow: u32,
    pub bytes: u32,
    pub arrival: u64,
    pub start: Vec<u64>,
    pub end: Vec<u64>,
}

/// First arrival to last end.
pub fn makespan(rows: &[Row]) -> u64 {
    let last = rows.iter().map(|row| row.end[row.end.len() - 1]).max().unwrap_or(0);
    last - rows.iter().map(|row| row.arrival).min().unwrap_or(0)
}

/// The sum of processing times on resource `j`.
pub fn busy(rows: &[Row], j: usize) -> u64 {
    rows.iter().map(|row| row.end[j] - row.start[j]).sum()
}

/// Arrival to the end on the last resource, in order.
pub fn latencies(rows: &[Row]) -> Vec<u64> {
    let mut late: Vec<u64> = rows.iter().map(|row| row.end[row.end.len() - 1] - row.arrival).collect();
    late.sort_unstable();
    late
}

/// The value that a share `quantile` of `sorted` does not exceed.
pub fn quantile(sorted: &[u64], quantile: f64) -> u64 {
    sorted[((quantile * sorted.len() as f64).ceil() as usize).max(1) - 1]
}

/// Mean of Jain's index over the windows that count.
pub fn jain(rows: &[Row], weights: impl Fn(u32) -> f64, window: u64) -> Option<f64> {
    #[derive(Default)]
    struct Flow<'a> {
        // Spans during which it waited, merged if adjacent.
        waits: Vec<(u64, u64)>,
        rows: Vec<&'a Row>,
    }
    let mut flows: BTreeMap<u32, Flow> = BTreeMap::new();
    for row in rows {
        let flow = flows.entry(row.flow).or_default();
        match flow.waits.last_mut() {
            Some((_, until)) if row.arrival <= *until => *until = row.start[0],
            _ => flow.waits.push((row.arrival, row.start[0])),
        }
        flow.rows.push(row);
    }
    // A window counts if something happens at or after its end.
    let last = rows.iter().map(|row| row.start[0].max(row.arrival)).max()?;
    let mut values = Vec::new();
    for number in 0..last / window {
        let (from, to) = (number * window, (number + 1) * window);
        let mut shares = Vec::new();
        for (&flow, Flow { waits, rows: own }) in &flows {
            if !waits.iter().any(|&(since, until)| since <= from && until >= to) {
                continue;
            }
            let mut service = vec![0; rows[0].start.len()];
            let first = own.partition_point(|row| row.start[0] < from);
            for row in own[first..].iter().take_while(|row| row.start[0] < to) {
                for (j, total) in service.iter_mut().enumerate() {
                    *total += row.end[j] - row.start[j];
                }
            }
            shares.push(service.into_iter().max().unwrap_or(0) as f64 / weights(flow));
        }
        let squares: f64 = shares.iter().map(|x| x * x).sum();
        if shares.len() >= 2 && squares > 0.0 {
            values.push(shares.iter().sum::<f64>().powi(2) / (shares.len() as f64 * squares));
        }
    }
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}

/// The largest gap in active time, with positions in a plain map and every packet's run alone recomputed.
pub fn largest_gap(rows: &[Row], weights: impl Fn(u32) -> f64) -> Option<f64> {
    enum Event {
        Arrives(usize),
        Starts(usize),
    }
    let mut events: Vec<(u64, u8, usize, Event)> = Vec::new();
    for (at, row) in rows.iter().enumerate() {
        events.push((row.arrival, 0, at, Event::Arrives(at)));
        events.push((row.start[0], 1, at, Event::Starts(at)));
    }
    // Rows are in order of release; at the same instant arrivals come first, and packets without length start in order.
    events.sort_by_key(|&(at, kind, row, _)| (at, kind, row));
    let mut waiting: BTreeMap<u32, u32> = BTreeMap::new();
    let mut position: BTreeMap<u32, f64> = BTreeMap::new();
    let mut last_end: BTreeMap<u32, Vec<u64>> = BTreeMap::new();
    let mut largest = None;
    for (_, _, _, event) in events {
        match event {
            Event::Arrives(at) => {
                let flow = rows[at].flow;
                let count = waiting.entry(flow).or_default();
                *count += 1;
                if *count == 1 {
                    let mean = position.values().sum::<f64>() / position.len().max(1) as f64;
                    position.insert(flow, mean);
                    last_end.remove(&flow);
                }
            }
            Event::Starts(at) => {
                let row = &rows[at];
                let weight = weights(row.flow);
                let times: Vec<u64> = (0..row.start.len()).map(|j| row.end[j] - row.start[j]).collect();
                // Alone in a no-wait pipeline: as early as no resource is found busy.
                let before = last_end.get(&row.flow);
                let finished = before.map_or(0, |ends| *ends.last().expect("at least one resource"));
                let mut start = 0;
                let mut prefix = 0;
                for (j, &time) in times.iter().enumerate() {
                    start = start.max(before.map_or(0, |ends| ends[j]).saturating_sub(prefix));
                    prefix += time;
                }
                let ends: Vec<u64> = times
                    .iter()
                    .scan(start, |at, &time| {
                        *at += time;
                        Some(*at)
                    })
                    .collect();
                let active = (ends.last().expect("at least one resource") - finished) as f64;
                last_end.insert(row.flow, ends);
                let moved = position[&row.flow] + active / weight;
                position.insert(row.flow, moved);
                let others = position.iter().filter(|&(&flow, _)| flow != row.flow).map(|(_, &at)| at);
                if let Some(least) = others.min_by(f64::total_cmp) {
                    largest = Some(f64::max(largest.unwrap_or(0.0), moved - least));
                }
                let count = waiting.get_mut(&row.flow).expect("it waited");
                *count -= 1;
                if *count == 0 {
                    position.remove(&row.flow);
                }
            }
        }
    }
    largest
}

/// A packet's wait, and its result.
#[derive(Debug, Clone)]
pub struct Wait {
    pub flow: u32,
    pub from: u64,
    pub until: u64,
    /// Processing time on each resource.
    pub times: Vec<u64>,
    /// When it was on its dominant resource, if it was sent.
    pub dominant: Option<(u64, u64)>,
}

impl Wait {
    pub fn of(row: &Row) -> Self {
        let times: Vec<u64> = row.start.iter().zip(&row.end).map(|(start, end)| end - start).collect();
        let longest = times.iter().copied().max().unwrap_or(0);
        let at = times.iter().position(|&time| time == longest).expect("at least one resource");
        let dominant = Some((row.start[at], row.end[at]));
        Self { flow: row.flow, from: row.arrival, until: row.start[0], times, dominant }
    }
}

/// A flow's time as head-of-line packets of some cost: from, until, and w tau_r / tau* on each resource.
type Head = (u64, u64, Vec<f64>);

/// State of one flow: its heads in order, and when dominant service began and ended.
struct Queue {
    weight: f64,
    heads: Vec<Head>,
    begins: Moments,
    ends: Moments,
}

/// Moments in order, each with the sum of all moments up to it.
#[derive(Default)]
struct Moments(Vec<(u64, u128)>);

impl Moments {
    fn new(mut moments: Vec<u64>) -> Self {
        moments.sort_unstable();
        let mut sum = 0;
        let with_sum = |at| {
            sum += u128::from(at);
            (at, sum)
        };
        Self(moments.into_iter().map(with_sum).collect())
    }

    /// The total time since all moments before `at`.
    fn since(&self, at: u64) -> u128 {
        let before = self.0.partition_point(|&(moment, _)| moment < at);
        u128::from(at) * before as u128 - before.checked_sub(1).map_or(0, |last| self.0[last].1)
    }
}

impl Queue {
    fn received(&self, from: u64, until: u64) -> u64 {
        let by = |at| self.begins.since(at) - self.ends.since(at);
        (by(until) - by(from)) as u64
    }

    /// Spans during which it waited without interruption.
    fn spells(&self) -> Vec<(u64, u64)> {
        let mut spells: Vec<(u64, u64)> = Vec::new();
        for &(from, until, _) in &self.heads {
            match spells.last_mut() {
                Some((_, last)) if *last == from => *last = until,
                _ => spells.push((from, until)),
            }
        }
        spells
    }
}

/// Everything about shares of the fair dominant share.
#[derive(Debug)]
pub struct Shares {
    /// Share, flow and beginning of the window, for every flow and window through which it waited.
    pub windows: Vec<(f64, u32, u64)>,
    /// The most that any flow was behind `promise` over any interval between moments of events.
    pub shortfall: f64,
    pub flows_at_once: usize,
    pub longest: u64,
}

/// Shares from waits, each flow's in order of arrival: heads packet by packet, the fair share between moments at which any
/// head changes, one window and one moment at a time.
pub fn shares(waits: &[Wait], weights: impl Fn(u32) -> f64, window: u64, promise: f64) -> Shares {
    let mut queues: BTreeMap<u32, Queue> = BTreeMap::new();
    let mut services: BTreeMap<u32, (Vec<u64>, Vec<u64>)> = BTreeMap::new();
    let mut ahead: BTreeMap<u32, u64> = BTreeMap::new();
    for wait in waits {
        let weight = weights(wait.flow);
        let new = || Queue { weight, heads: Vec::new(), begins: Moments::default(), ends: Moments::default() };
        let queue = queues.entry(wait.flow).or_insert_with(new);
        // It becomes first when all before it have gone.
        let gone = ahead.entry(wait.flow).or_default();
        let from = wait.from.max(*gone);
        *gone = (*gone).max(wait.until);
        let longest = wait.times.iter().copied().max().unwrap_or(0);
        if from < wait.until && longest > 0 {
            let claims = wait.times.iter().map(|&time| weight * time as f64 / longest as f64).collect();
            queue.heads.push((from, wait.until, claims));
        }
        services.entry(wait.flow).or_default().extend(wait.dominant);
    }
    for (flow, (begins, ends)) in services {
        let queue = queues.get_mut(&flow).expect("it has waits");
        (queue.begins, queue.ends) = (Moments::new(begins), Moments::new(ends));
    }
    let m = waits.first().map_or(1, |wait| wait.times.len());
    // The integral of the fair share at each moment at which a head arrives or leaves.
    let mut changes: BTreeMap<u64, Vec<(f64, &Head)>> = BTreeMap::new();
    for head in queues.values().flat_map(|queue| &queue.heads) {
        changes.entry(head.0).or_default().push((1.0, head));
        changes.entry(head.1).or_default().push((-1.0, head));
    }
    // Moment, integral until then, fair share from then on.
    let mut integral: Vec<(u64, f64, f64)> = vec![(0, 0.0, 0.0)];
    let (mut claims, mut waiting, mut most) = (vec![0.0; m], 0i64, 0i64);
    for (&at, changes) in &changes {
        let &(before, sum, fair) = integral.last().expect("the first is there");
        for (sign, (_, _, claim)) in changes {
            claims.iter_mut().zip(claim).for_each(|(sum, claim)| *sum += sign * claim);
            waiting += *sign as i64;
        }
        if waiting == 0 {
            claims.fill(0.0);
        }
        most = most.max(waiting);
        let largest = claims.iter().copied().fold(0.0, f64::max);
        integral.push((at, sum + fair * (at - before) as f64, if waiting > 0 { 1.0 / largest } else { 0.0 }));
    }
    let fair_until = |at: u64| {
        let &(since, sum, fair) = &integral[integral.partition_point(|&(since, _, _)| since <= at) - 1];
        sum + fair * (at - since) as f64
    };
    let mut found = Shares {
        windows: Vec::new(),
        shortfall: 0.0,
        flows_at_once: most as usize,
        longest: waits.iter().filter(|wait| wait.dominant.is_some()).flat_map(|w| w.times.clone()).max().unwrap_or(0),
    };
    for (&flow, queue) in &queues {
        for (since, until) in queue.spells() {
            for from in (since.div_ceil(window)..until / window).map(|number| number * window) {
                let fair = queue.weight * (fair_until(from + window) - fair_until(from));
                found.windows.push((queue.received(from, from + window) as f64 / fair, flow, from));
            }
            let turns = queue.begins.0.iter().chain(&queue.ends.0).map(|&(at, _)| at);
            let mut moments: Vec<u64> = turns.filter(|at| (since..=until).contains(at)).chain([since, until]).collect();
            moments.sort_unstable();
            moments.dedup();
            let mut least = f64::INFINITY;
            for at in moments {
                let behind = promise * queue.weight * fair_until(at) - queue.received(0, at) as f64;
                // An interval may begin at any earlier moment.
                least = least.min(behind);
                found.shortfall = found.shortfall.max(behind - least);
            }
        }
    }
    found.windows.sort_by(|a, b| a.0.total_cmp(&b.0));
    found
}
