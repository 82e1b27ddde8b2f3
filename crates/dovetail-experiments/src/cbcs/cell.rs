//! A setting of the grid: the node's load and the kind of traffic.

use std::fmt;

use dovetail_sched::units::Rate;
use dovetail_sim::workload::{Class, ClassSet, Expansion, Noise, Scenario};

use super::{packets::Packets, paper::SCENARIO};
use crate::error::Error;
use dovetail_compare::input::{builtin_scenario, builtin_scenario_with};

/// How costs on the CPU vary around each class's line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Costs {
    Exact,
    /// A log-normal factor with mean 1 and this standard deviation, in percent.
    Spread(u8),
    /// Two packets in a hundred cost four times as much.
    Spikes,
}

/// When packets arrive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Arriving {
    /// Equally spaced.
    Constant,
    Poisson,
    /// 4 to 12 packets of a flow at the same instant.
    Bursts,
}

/// Length of the MPEG encoder's output.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Output {
    /// 0.11 to 0.36 of the input (Table 3).
    Encoded,
    /// As long as the input.
    Unchanged,
}

/// A setting of the grid.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Cell {
    /// Load of both CPU and link, in percent.
    pub(super) load: u8,
    pub(super) costs: Costs,
    pub(super) arriving: Arriving,
    pub(super) output: Output,
}

impl fmt::Display for Costs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Exact => f.write_str("exact"),
            Self::Spread(percent) => write!(f, "± {percent} %"),
            Self::Spikes => f.write_str("2 % x 4"),
        }
    }
}

impl fmt::Display for Arriving {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Constant => "constant",
            Self::Poisson => "Poisson",
            Self::Bursts => "bursts",
        })
    }
}

impl fmt::Display for Output {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Encoded => "0.11–0.36",
            Self::Unchanged => "1",
        })
    }
}

impl fmt::Display for Cell {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} %, costs {}, {}, output {}", self.load, self.costs, self.arriving, self.output)
    }
}

impl Costs {
    fn noise(self) -> Noise {
        match self {
            Self::Exact => Noise::default(),
            Self::Spread(percent) => Noise { spread: f64::from(percent) / 100.0, ..Noise::default() },
            Self::Spikes => Noise { spike_share: 0.02, spike_factor: 4.0, ..Noise::default() },
        }
    }
}

impl Cell {
    /// The paper's setting, with costs that vary slightly.
    pub(super) const BASE: Self =
        Self { load: 97, costs: Costs::Spread(10), arriving: Arriving::Constant, output: Output::Encoded };

    /// The paper's flows in this setting. The link's rate is chosen so that its load equals the CPU's.
    pub(super) fn scenario(&self, seed: u64) -> Result<Scenario, Error> {
        let mut scenario = match self.arriving {
            Arriving::Poisson => builtin_scenario_with(SCENARIO, |text| text.replace("{ constant = ", "{ poisson = "))?,
            Arriving::Constant | Arriving::Bursts => builtin_scenario(SCENARIO)?,
        };
        let changed = |class: &Class| Class {
            noise: self.costs.noise(),
            expansion: if self.output == Output::Unchanged { Expansion::default() } else { class.expansion },
            ..class.clone()
        };
        let classes = scenario.classes.classes().iter().map(changed).collect();
        scenario.classes = ClassSet::new(scenario.classes.resources().to_vec(), classes).map_err(Error::broken)?;
        let [cpu, link] = scenario.offered_loads()[..] else { return Err(Error::broken("the node has two resources")) };
        let rate = scenario.classes.resources()[1].rate.ok_or_else(|| Error::broken("the link has a rate"))?;
        let rate = Rate::from_bps(rate.bps() * link / cpu).map_err(Error::broken)?;
        scenario.classes.set_rate("link", rate).map_err(Error::broken)?;
        scenario.load = Some(f64::from(self.load) / 100.0);
        scenario.seed = seed;
        Ok(scenario)
    }

    /// Its packets. With the same seed all policies get the same packets.
    pub(super) fn packets(&self, seed: u64) -> Result<Packets, Error> {
        let packets = Packets::of(&mut self.scenario(seed)?.workload().map_err(Error::broken)?)?;
        Ok(if self.arriving == Arriving::Bursts { packets.in_bursts(4, 12, seed) } else { packets })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Offered loads, and the fraction of packets with the same gap to the flow's next packet as before.
    fn examined(cell: Cell) -> ([f64; 2], f64) {
        let mut load = [0.0; 2];
        let mut regular = Vec::new();
        for seed in 0..4 {
            let packets = cell.packets(seed).unwrap();
            for (at, load) in load.iter_mut().enumerate() {
                let asked: f64 = packets.arrivals.iter().map(|arrival| arrival.demand.times()[at].as_secs_f64()).sum();
                *load += asked / 50.0 / 4.0;
            }
            let own: Vec<_> = packets.arrivals.iter().filter(|arrival| arrival.flow.0 == 9).collect();
            let gaps: Vec<_> = own.windows(2).map(|pair| pair[1].at - pair[0].at).collect();
            regular.extend(gaps.windows(2).map(|pair| f64::from(u8::from(pair[0].0.abs_diff(pair[1].0) <= 1))));
        }
        (load, regular.iter().sum::<f64>() / regular.len() as f64)
    }

    #[test]
    fn a_cell_is_what_it_says() {
        for arriving in [Arriving::Constant, Arriving::Poisson, Arriving::Bursts] {
            for (load, costs, output) in [
                (90, Costs::Exact, Output::Unchanged),
                (97, Costs::Spikes, Output::Encoded),
                (99, Costs::Spread(40), Output::Encoded),
            ] {
                let cell = Cell { load, costs, arriving, output };
                let (loads, regular) = examined(cell);
                for got in loads {
                    // Sizes, costs and Poisson counts vary by a few percent between runs.
                    assert!((got - f64::from(load) / 100.0).abs() < 0.03, "{cell}: {loads:?}");
                }
                match arriving {
                    Arriving::Constant => assert!(regular > 0.999, "{cell}: {regular}"),
                    Arriving::Poisson => assert!(regular < 0.01, "{cell}: {regular}"),
                    Arriving::Bursts => assert!((0.6..0.9).contains(&regular), "{cell}: {regular}"),
                }
            }
        }
    }

    #[test]
    fn a_seed_gives_the_same_packets_again_and_another_others() {
        let cell = Cell { arriving: Arriving::Bursts, ..Cell::BASE };
        let arrivals = |seed| cell.packets(seed).unwrap().arrivals;
        assert_eq!(arrivals(3), arrivals(3));
        assert_ne!(arrivals(3), arrivals(4));
    }
}
