//! How a box is set up for a trial.

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
    /// What is done with its packets.
    pub work: Work,
    pub weight: u32,
}

/// What is done with a packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Work {
    /// Nothing, which counts as this long: a line such as `2.86ns*bytes + 6.2us`.
    Counts(&'static str),
    /// It is run through the program of this name, and that is timed.
    #[cfg(feature = "programs")]
    Program(&'static str),
}

/// A box for a trial.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct Setting {
    pub policy: String,
    /// The rate of the link.
    pub link: &'static str,
    /// Packets that may wait between CPU and link.
    pub places: u32,
    /// How many packets of each flow may wait.
    pub packets_per_flow: u32,
    pub classes: Vec<Class>,
    /// How much time the machine may take from the box for a run to count.
    pub most_late: Nanos,
    /// Sections besides, as TOML.
    pub more: String,
}

impl Setting {
    /// For a run of several seconds: one per cent of five.
    pub(super) const MOST_LATE_OF_SECONDS: Nanos = Nanos::from_millis(50);

    /// What follows the interfaces in the box's configuration.
    pub(super) fn text(&self) -> String {
        let Self { policy, link, places, packets_per_flow, classes, more, .. } = self;
        // As good as no limit of all flows together.
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
            // Writing to a text cannot fail.
            let _ = writeln!(text, "[[class]]\nname = \"{name}\"\nports = [{port}]\nweight = {weight}\n{work}");
        }
        text + more
    }

    /// The class of this name; traffic of none, such as questions for addresses, has a class of its own.
    pub(super) fn class(&self, name: &str) -> Option<u16> {
        self.classes.iter().position(|class| class.name == name).map(|at| at as u16)
    }

    /// A flow's weight; one of no class has 1.
    pub(super) fn weight(&self, class: Option<u16>) -> Weight {
        let weight = class.and_then(|class| Weight::new(self.classes[usize::from(class)].weight.into()));
        weight.unwrap_or(Weight::ONE)
    }

    /// What a packet of a class counts as on the CPU; none where that is measured.
    pub(super) fn counts(&self, class: Option<u16>, bytes: u32) -> Result<Option<Nanos>, Error> {
        let Some(class) = class else { return Ok(None) };
        match self.classes[usize::from(class)].work {
            Work::Counts(line) => Ok(Some(line.parse::<Cost>().map_err(Error::broken)?.of(bytes))),
            #[cfg(feature = "programs")]
            Work::Program(_) => Ok(None),
        }
    }

    /// One program for each class, of which nothing is known beforehand.
    pub(super) fn programs(&self) -> ProgramTable {
        ProgramTable::new(self.classes.iter().map(|class| Program::new(class.name)).collect())
    }
}
