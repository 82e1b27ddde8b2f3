//! Every figure recomputed from rows of records, the slow way and sharing no code with the simulator.
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

/// The value that a share `quantile` of `sorted` is not above.
pub fn quantile(sorted: &[u64], quantile: f64) -> u64 {
    sorted[((quantile * sorted.len() as f64).ceil() as usize).max(1) - 1]
}

/// Mean of Jain's index over the windows that count.
pub fn jain(rows: &[Row], weights: impl Fn(u32) -> f64, window: u64) -> Option<f64> {
    #[derive(Default)]
    struct Flow<'a> {
        // From when until when it waited, merged where spells touch.
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
    // A window counts once something happens at or after its end.
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

/// The largest gap in active time, with positions kept in a plain map and every packet's alone-run recomputed.
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
    // Rows are in order of release; at one instant arrivals come first, and a packet of no length starts in order.
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
                // Alone in a no-wait pipeline: as early as no resource is met busy.
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
