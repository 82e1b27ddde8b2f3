//! What is known about a program.
//!
//! Packets on a programmable node reference the code to run on them. What the node has learnt about a program is the starting
//! point for every flow that references it (CBCS-WFQ, section 3.4).

use alloc::{string::String, vec::Vec};

use super::Cost;

/// A program's id: its index in a [`ProgramTable`], assigned by the environment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct ProgramId(pub u32);

impl ProgramId {
    /// Any program that is not in the table: packets that reference no program, or an unknown one.
    pub const UNKNOWN: Self = Self(u32::MAX);

    /// As an index.
    #[inline]
    #[must_use]
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

/// The part of a packet that a program reads and writes (CBCS-WFQ, section 3.1).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Processing {
    /// Its header only: the cost is independent of the length.
    Header,
    /// All of it: the cost grows with the length.
    #[default]
    Payload,
}

/// A program that packets reference.
#[derive(Debug, Clone, PartialEq)]
pub struct Program {
    /// Its name.
    pub name: String,
    /// What it processes.
    pub processing: Processing,
    /// The cost of a packet on the first resource, if measured.
    pub cost: Option<Cost>,
    /// The expansion factor: mean length after processing over length before, in [range](Self::is_expansion).
    pub expansion: f64,
}

impl Program {
    /// A program with nothing known but its name.
    #[must_use]
    pub fn new(name: &str) -> Self {
        Self { name: name.into(), processing: Processing::default(), cost: None, expansion: 1.0 }
    }

    /// Whether an expansion factor is in range: above 0 and finite.
    #[must_use]
    pub fn is_expansion(factor: f64) -> bool {
        factor > 0.0 && factor.is_finite()
    }
}

/// The programs that a node knows, by [`ProgramId`]. Packets may reference others, for which nothing is known at first.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ProgramTable {
    programs: Vec<Program>,
}

impl ProgramTable {
    /// An empty table.
    pub const EMPTY: Self = Self { programs: Vec::new() };

    /// These programs, numbered from 0.
    #[must_use]
    pub const fn new(programs: Vec<Program>) -> Self {
        Self { programs }
    }

    /// The program, if the node knows it.
    #[must_use]
    pub fn find(&self, id: ProgramId) -> Option<&Program> {
        self.programs.get(id.index())
    }

    /// Replaces what is known of programs that `other` has under the same name. O(n·m).
    pub fn take_over(&mut self, other: &Self) {
        for program in &mut self.programs {
            if let Some(known) = other.programs.iter().find(|known| known.name == program.name) {
                *program = known.clone();
            }
        }
    }

    /// All programs, in order of id.
    #[must_use]
    pub fn programs(&self) -> &[Program] {
        &self.programs
    }
}
