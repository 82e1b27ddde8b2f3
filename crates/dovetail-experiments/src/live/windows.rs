//! What flows received of CPU and link in each part of a run.

use std::collections::BTreeMap;

use dovetail_sched::Nanos;

use super::again::Way;

/// Parts of equal length, the first of which begins with the trial's traffic.
pub(super) struct Windows {
    width: Nanos,
    /// Busy time of CPU and link in each.
    busy: [Vec<Nanos>; 2],
    /// Time of each flow of the trial on its dominant resource, and its class.
    dominant: BTreeMap<u32, (Option<u16>, Vec<Nanos>)>,
}

impl Windows {
    pub(super) fn of(ways: &[Way], width: Nanos, count: usize) -> Self {
        let traffic = || ways.iter().filter(|way| way.class.is_some());
        let begin = traffic().map(|way| way.arrival).min().unwrap_or_default();
        let none = vec![Nanos::ZERO; count];
        let mut windows = Self { width, busy: [none.clone(), none.clone()], dominant: BTreeMap::new() };
        for way in ways {
            spread(&mut windows.busy[0], begin, width, way.cpu);
            spread(&mut windows.busy[1], begin, width, way.link);
        }
        for way in traffic() {
            let [cpu, link] = [way.cpu, way.link].map(|[from, to]| to - from);
            let (_, had) = windows.dominant.entry(way.flow).or_insert_with(|| (way.class, none.clone()));
            spread(had, begin, width, if cpu >= link { way.cpu } else { way.link });
        }
        windows
    }

    /// Utilisation of CPU (0) or link (1) in each part, in percent.
    pub(super) fn utilisation(&self, resource: usize) -> Vec<f64> {
        self.busy[resource].iter().map(|busy| busy.as_f64() / self.width.as_f64() * 100.0).collect()
    }

    /// Each flow's class, and its dominant share in each part, 0 to 1.
    pub(super) fn shares(&self) -> impl Iterator<Item = (Option<u16>, Vec<f64>)> {
        let share = |had: &Nanos| had.as_f64() / self.width.as_f64();
        self.dominant.values().map(move |(class, had)| (*class, had.iter().map(share).collect()))
    }
}

/// Distributes the time between two instants over the parts that contain it.
fn spread(parts: &mut [Nanos], begin: Nanos, width: Nanos, [from, to]: [Nanos; 2]) {
    let [from, to] = [from, to].map(|at| at.0.saturating_sub(begin.0));
    for (at, part) in parts.iter_mut().enumerate().skip((from / width.0) as usize) {
        let start = at as u64 * width.0;
        if start >= to {
            break;
        }
        *part += Nanos(to.min(start + width.0) - from.max(start));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_taken_apart_at_the_ends_of_windows() {
        let way = |flow, cpu: [u64; 2], link: [u64; 2]| {
            let (cpu, link) = (cpu.map(Nanos), link.map(Nanos));
            Way { flow, class: Some(0), arrival: Nanos(100), cpu, link }
        };
        let ways = [way(1, [100, 130], [130, 140]), way(2, [130, 150], [150, 190])];
        let windows = Windows::of(&ways, Nanos(20), 4);
        // CPU from 0 to 50, link from 30 to 40 and from 50 to 90, of which 10 are beyond the end.
        assert_eq!(windows.utilisation(0), [100.0, 100.0, 50.0, 0.0]);
        assert_eq!(windows.utilisation(1), [0.0, 50.0, 50.0, 100.0]);
        let shares: Vec<_> = windows.shares().map(|(_, shares)| shares).collect();
        assert_eq!(shares, [[1.0, 0.5, 0.0, 0.0], [0.0, 0.0, 0.5, 1.0]]);
    }
}
