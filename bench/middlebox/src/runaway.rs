//! How long a program in an endless loop has, until its fuel is spent.

use std::time::Instant;

use dovetail_box::{
    functions::{NetworkFunction, Reason, Verdict},
    programs::{Library, ProgramLimits},
};

use crate::{
    Args, churn,
    subject::{BOX_CORE, Failed, stay_on},
    table::Table,
};

/// Packets for a row.
const PACKETS: u32 = 200;

pub fn measure(_: &Args, table: &mut Table) -> Result<(), Failed> {
    stay_on(BOX_CORE)?;
    // None is to be in quarantine before it is measured.
    let limits = ProgramLimits { traps: PACKETS + 1, ..ProgramLimits::default() };
    let mut library = Library::new(limits)?;
    let loops = [
        ("an empty loop", "(loop (br 0))"),
        ("a loop that fills memory", "(loop (memory.fill (i32.const 4096) (i32.const 7) (i32.const 65536)) (br 0))"),
        ("a loop that divides", "(loop (drop (i64.div_s (i64.const 7) (i64.load (local.get $frame)))) (br 0))"),
    ];
    for (what, body) in loops {
        library.insert("endless", &churn::program(body)?, None)?;
        let mut program = library.instantiate("endless")?;
        let mut stopped = Vec::new();
        for _ in 0..PACKETS {
            let mut frame = vec![7; 600];
            let begun = Instant::now();
            let verdict = program.process(&mut frame);
            // A new instance is made as well, as in a box.
            stopped.push(begun.elapsed().as_secs_f64() * 1e3);
            if verdict != Verdict::Drop(Reason::OutOfFuel) {
                return Err(format!("{what}: {verdict:?}").into());
            }
        }
        table.push("an endless program is stopped after", what, &stopped, "ms");
    }
    Ok(())
}
