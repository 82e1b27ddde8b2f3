//! What is remembered about a program.
//!
//! Packets on a programmable node reference the code that is run on them. What the node has learnt about a program is
//! the starting point for every flow that references it (CBCS-WFQ, section 3.4).

use alloc::{string::String, vec::Vec};

use super::Cost;

/// Names a program: its place in a [`ProgramTable`], given out by the environment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct ProgramId(pub u32);

impl ProgramId {
    /// Whatever no program table lists: packets that reference no program, or an unknown one.
    pub const UNKNOWN: Self = Self(u32::MAX);

    /// As an index.
    #[inline]
    #[must_use]
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

/// What of a packet a program reads and writes (CBCS-WFQ, section 3.1).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Processing {
    /// Its header only: the cost is that of any other packet, whatever its length.
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
    /// What it reads.
    pub processing: Processing,
    /// What a packet costs on the first resource, if it has been measured.
    pub cost: Option<Cost>,
    /// Length after processing over length before, on average: the expansion factor.
    pub expansion: f64,
}

impl Program {
    /// A program of which nothing is known but its name.
    #[must_use]
    pub fn new(name: &str) -> Self {
        Self { name: name.into(), processing: Processing::default(), cost: None, expansion: 1.0 }
    }
}

/// The programs that a node knows, by [`ProgramId`]. Packets may reference others: those start from nothing.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ProgramTable {
    programs: Vec<Program>,
}

impl ProgramTable {
    /// No programs.
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

    /// What `other` knows of programs of the same name takes the place of what is known here. O(n·m).
    pub fn take_over(&mut self, other: &Self) {
        for program in &mut self.programs {
            if let Some(known) = other.programs.iter().find(|known| known.name == program.name) {
                *program = known.clone();
            }
        }
    }

    /// All programs, in order.
    #[must_use]
    pub fn programs(&self) -> &[Program] {
        &self.programs
    }
}
