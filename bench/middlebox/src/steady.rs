//! Losses of a stream within the box's capacity.

use std::{thread, time::Duration};

use crate::{
    Args,
    overload::FLOWS,
    source::{Source, arrived},
    subject::{Failed, Subject, lab},
    table::Table,
};

/// More than the 300,000 that are to pass: it does not send later what it missed while it was kept from running.
const PER_S: f64 = 330e3;
const TIME: Duration = Duration::from_secs(10);

pub fn measure(args: &Args, table: &mut Table) -> Result<(), Failed> {
    let lab = lab()?;
    for policy in ["fifo", "drfq"] {
        let running = Subject::fast(policy, "spin", &args.function).start(&lab)?;
        let (sent, before) = thread::scope(|scope| {
            let source = scope.spawn(|| -> Result<_, String> {
                let once = || -> Result<_, Failed> {
                    let mut source = Source::new(&lab, FLOWS, 60)?;
                    let before = arrived(&lab)?.0;
                    Ok((source.pace(PER_S, TIME)?, before))
                };
                once().map_err(|wrong| wrong.to_string())
            });
            source.join().map_err(|_| "the source ended")?
        })?;
        thread::sleep(Duration::from_millis(500));
        let delivered = arrived(&lab)?.0 - before;
        drop(running);
        let seconds = TIME.as_secs_f64();
        table.push("steady, 60 B, sent", policy, &[sent as f64 / seconds / 1e3], "kpps");
        table.push("steady, 60 B, lost in 10 s", policy, &[sent as f64 - delivered as f64], "packets");
    }
    Ok(())
}
