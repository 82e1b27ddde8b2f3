//! The configuration of a middlebox for a trial.

use std::fmt::Write as _;

use dovetail_sched::{
    Nanos, Weight,
    cost::{Cost, Program, ProgramTable},
};

use crate::error::Error;

/// A class of a trial's traffic.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct Class {
    pub name: &'static str,
    /// The port that its packets go to.
    pub port: u16,
    /// How its packets are processed.
    pub work: Work,
    pub weight: u32,
}

/// How a packet is processed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Work {
    /// Not at all, with this nominal cost: a line such as `2.86ns*bytes + 6.2us`.
    Counts(&'static str),
    /// By the program of this name, whose time is measured.
    #[cfg(feature = "programs")]
    Program(&'static str),
}

/// A middlebox for a trial.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct Setting {
    pub policy: String,
    /// The rate of the link.
    pub link: &'static str,
    /// Places for packets between CPU and link.
    pub places: u32,
    /// Limit of queued packets per flow.
    pub packets_per_flow: u32,
    pub classes: Vec<Class>,
    /// How long the machine may delay the middlebox for a run to count.
    pub most_late: Nanos,
    /// Further sections, as TOML.
    pub more: String,
}

impl Setting {
    /// For a run of several seconds: one percent of five.
    pub(super) const MAX_LATENESS_OF_SECONDS: Nanos = Nanos::from_millis(50);

    /// The part of the middlebox's configuration that follows the interfaces.
    pub(super) fn text(&self) -> String {
        let Self { policy, link, places, packets_per_flow, classes, more, .. } = self;
        // Practically no limit for all flows together.
        let mut text = format!(
            "policy = \"{policy}\"\n[link]\nrate = \"{link}\"\nbuffer_packets = {places}\n\
             [queues]\npackets_per_flow = {packets_per_flow}\npackets = 200000\n"
        );
        for Class { name, port, work, weight } in classes {
            let work = match work {
                Work::Counts(line) => format!("time = \"{line}\""),
                #[cfg(feature = "programs")]
                Work::Program(name) => format!("program = \"{name}\"\neffect = \"discard\""),
            };
            // Writing to a string cannot fail.
            let _ = writeln!(text, "[[class]]\nname = \"{name}\"\nports = [{port}]\nweight = {weight}\n{work}");
        }
        text + more
    }

    /// The class with this name; traffic that matches none, such as address resolution, has a separate class.
    pub(super) fn class(&self, name: &str) -> Option<u16> {
        self.classes.iter().position(|class| class.name == name).map(|at| at as u16)
    }

    /// A flow's weight; 1 without a class.
    pub(super) fn weight(&self, class: Option<u16>) -> Weight {
        let weight = class.and_then(|class| Weight::new(self.classes[usize::from(class)].weight.into()));
        weight.unwrap_or(Weight::ONE)
    }

    /// The nominal CPU cost of a packet of a class; `None` if it is measured.
    pub(super) fn counts(&self, class: Option<u16>, bytes: u32) -> Result<Option<Nanos>, Error> {
        let Some(class) = class else { return Ok(None) };
        match self.classes[usize::from(class)].work {
            Work::Counts(line) => Ok(Some(line.parse::<Cost>().map_err(Error::broken)?.of(bytes))),
            #[cfg(feature = "programs")]
            Work::Program(_) => Ok(None),
        }
    }

    /// One program per class, of which nothing is known in advance.
    pub(super) fn programs(&self) -> ProgramTable {
        ProgramTable::new(self.classes.iter().map(|class| Program::new(class.name)).collect())
    }
}
