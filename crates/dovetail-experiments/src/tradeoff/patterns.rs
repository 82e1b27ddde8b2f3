//! Assigns modules to the flows of a trace so that a given traffic pattern results.
//!
//! The paper randomly assigns one of three modules to each flow and sorts the results by the total demand for CPU and link.
//! The mean ratio of the demands depends on the packets' sizes and on the modules' probabilities. Here forwarding and
//! monitoring are equally likely, and the probability of IPsec is chosen so that the mean ratio `R` lies in the middle of the
//! pattern: with `C_m` the CPU time if all traffic went through module `m`, and `L` the link's,
//!
//! ```text
//! p C_ipsec + (1 - p) (C_forwarding + C_monitoring) / 2 = R L        R = 3/2, 1, 2/3
//! ```
//!
//! Then modules are drawn, seed after seed, until the ratio of the draw itself is in the pattern.

use dovetail_sim::workload::{Class, ClassSet};

use super::replay::{Offered, module_of, scramble};
use crate::error::Error;

/// The resource that the traffic demands most.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Pattern {
    CpuBound,
    LinkBound,
    Balanced,
}

pub(super) const PATTERNS: [Pattern; 3] = [Pattern::CpuBound, Pattern::LinkBound, Pattern::Balanced];

/// If traffic is bound by a resource, the demand for it is at least this many times the other's.
const BOUND: f64 = 1.2;

/// After this many unsuccessful draws the pattern is considered not to occur.
const MAX_DRAWS: u64 = 1000;

/// Indices of the modules in the scenario.
const FORWARDING: usize = 0;
const MONITORING: usize = 1;
const IPSEC: usize = 2;

impl Pattern {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::CpuBound => "CPU-bound",
            Self::LinkBound => "bandwidth-bound",
            Self::Balanced => "balanced",
        }
    }

    /// The pattern of traffic with this ratio of CPU time to link time.
    fn of(ratio: f64) -> Self {
        if ratio > BOUND {
            Self::CpuBound
        } else if ratio < 1.0 / BOUND {
            Self::LinkBound
        } else {
            Self::Balanced
        }
    }

    fn mean_ratio(self) -> f64 {
        match self {
            Self::CpuBound => 1.5,
            Self::LinkBound => 1.0 / 1.5,
            Self::Balanced => 1.0,
        }
    }
}

/// An assignment of modules.
#[derive(Debug, Clone)]
pub(super) struct Draw {
    pub(super) classes: ClassSet,
    pub(super) seed: u64,
    /// Demand for CPU and link, in seconds.
    pub(super) asked: [f64; 2],
}

/// `count` draws of a pattern, or fewer if it does not occur, and the probability of IPsec.
pub(super) fn draws(
    pattern: Pattern,
    classes: &ClassSet,
    offered: &Offered,
    count: u64,
) -> Result<(Vec<Draw>, f64), Error> {
    let chance = chance_of_ipsec(pattern, classes, offered);
    let classes = with_shares(classes, [(1.0 - chance) / 2.0, (1.0 - chance) / 2.0, chance])?;
    let mut found = Vec::new();
    let mut missed = 0;
    for number in 0.. {
        if found.len() as u64 == count || missed == MAX_DRAWS {
            break;
        }
        let seed = scramble(number);
        let asked = asked(&classes, offered, seed)?;
        if Pattern::of(asked[0] / asked[1]) == pattern {
            found.push(Draw { classes: classes.clone(), seed, asked });
            missed = 0;
        } else {
            missed += 1;
        }
    }
    Ok((found, chance))
}

fn chance_of_ipsec(pattern: Pattern, classes: &ClassSet, offered: &Offered) -> f64 {
    let all = |module: usize| {
        let flows = offered.flows.iter().map(|&(packets, bytes)| time(classes, module, packets, bytes));
        flows.fold([0.0, 0.0], |[cpu, link], [more_cpu, more_link]| [cpu + more_cpu, link + more_link])
    };
    let [forwarding, monitoring, ipsec] = [FORWARDING, MONITORING, IPSEC].map(all);
    let light = (forwarding[0] + monitoring[0]) / 2.0;
    let chance = (pattern.mean_ratio() * ipsec[1] - light) / (ipsec[0] - light);
    if chance.is_finite() { chance.clamp(0.0, 1.0) } else { 0.0 }
}

/// A draw's demand for CPU and link, in seconds.
fn asked(classes: &ClassSet, offered: &Offered, seed: u64) -> Result<[f64; 2], Error> {
    let mut sum = [0.0, 0.0];
    for (flow, &(packets, bytes)) in offered.flows.iter().enumerate() {
        let module = usize::from(module_of(classes, seed, flow)?);
        for (sum, nanos) in sum.iter_mut().zip(time(classes, module, packets, bytes)) {
            *sum += nanos / 1e9;
        }
    }
    Ok(sum)
}

/// Nanoseconds of CPU and link for packets that go through a module. Costs are linear, so a mean packet suffices.
fn time(classes: &ClassSet, module: usize, packets: u64, bytes: u64) -> [f64; 2] {
    let mut means = classes.mean_ns(module as u16, bytes as f64 / packets as f64);
    [(); 2].map(|()| means.next().unwrap_or(0.0) * packets as f64)
}

fn with_shares(classes: &ClassSet, shares: [f64; 3]) -> Result<ClassSet, Error> {
    let with_share = |(class, share): (&Class, f64)| Class { share: Some(share), ..class.clone() };
    let shared = classes.classes().iter().zip(shares).map(with_share).collect();
    ClassSet::new(classes.resources().to_vec(), shared).map_err(Error::broken)
}

#[cfg(test)]
mod tests {
    use super::*;
    use dovetail_compare::input::builtin_scenario;

    /// A thousand flows of ten packets of 500 bytes.
    fn offered() -> Offered {
        Offered { flows: vec![(10, 5000); 1000], packets: 10_000, bytes: 5_000_000, ..Offered::default() }
    }

    #[test]
    fn every_pattern_is_drawn_and_is_what_it_says() {
        let classes = builtin_scenario("tradeoff-trace").unwrap().classes;
        let modules = [("forwarding", FORWARDING), ("monitoring", MONITORING), ("ipsec", IPSEC)];
        assert!(modules.iter().all(|&(name, at)| classes.find(name) == Some(at as u16)));
        for pattern in PATTERNS {
            let (draws, chance) = draws(pattern, &classes, &offered(), 10).unwrap();
            assert_eq!(draws.len(), 10, "{pattern:?}");
            // By hand: 500 bytes take 20 us of the link and 7.63, 12.5 or 92 us of CPU.
            let want = (pattern.mean_ratio() * 20.0 - 10.065) / (92.0 - 10.065);
            assert!((chance - want).abs() < 1e-9, "{pattern:?}: {chance}");
            for draw in &draws {
                let ratio = draw.asked[0] / draw.asked[1];
                let fits = match pattern {
                    Pattern::CpuBound => ratio > 1.2,
                    Pattern::LinkBound => ratio < 1.0 / 1.2,
                    Pattern::Balanced => (1.0 / 1.2..=1.2).contains(&ratio),
                };
                assert!(fits, "{pattern:?}: {ratio}");
                assert!((draw.asked[1] - 0.2).abs() < 1e-9, "5 MB take 0.2 s at 200 Mbit/s");
            }
            assert!(draws.windows(2).all(|pair| pair[0].seed != pair[1].seed));
        }
    }

    #[test]
    fn a_pattern_that_cannot_be_is_not_found() {
        let classes = builtin_scenario("tradeoff-trace").unwrap().classes;
        // Packets of 40 bytes take more CPU than link in every module.
        let tiny = Offered { flows: vec![(10, 400); 100], ..Offered::default() };
        assert_eq!(draws(Pattern::LinkBound, &classes, &tiny, 10).unwrap().0.len(), 0);
    }
}
