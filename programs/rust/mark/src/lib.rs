//! The program `mark`: routers are less likely to drop the first packets of a flow than later ones.
#![no_std]

mod mark;

use dovetail_program::{Frame, Program, Verdict, program};
use mark::Marker;

struct Mark(Marker);

impl Program for Mark {
    const NEW: Self = Self(Marker::NEW);

    fn process(&mut self, frame: &mut Frame<'_>) -> Verdict {
        if self.0.mark(frame) { Verdict::Forward } else { Verdict::Untouched }
    }
}

program!(Mark);
