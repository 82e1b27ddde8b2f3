//! Memory of a box with full queues.

use std::{fs, thread, time::Duration};

use crate::{
    Args,
    cores::BOX_CORE,
    overload::FLOWS,
    source::Source,
    subject::{Failed, Subject, lab},
    table::Table,
};

pub fn measure(_: &Args, table: &mut Table) -> Result<(), Failed> {
    let lab = lab()?;
    // A link that takes days to send them. 60 flows of 200 packets are the 12,000 that there is room for.
    let settings = format!("policy = \"drfq\"\n[cpu]\ncore = {BOX_CORE}\n[link]\nrate = \"1kbps\"\n");
    let running = Subject::configured("drfq", settings).start(&lab)?;
    let id = running.id()?;
    table.push("memory, idle", "drfq", &[resident_mb(id)?], "MB");
    thread::scope(|scope| {
        let source = scope.spawn(|| {
            let once =
                || -> Result<_, Failed> { Ok(Source::new(&lab, FLOWS, 1514)?.pace(20e3, Duration::from_secs(2))?) };
            once().map_err(|wrong| wrong.to_string())
        });
        source.join().map_err(|_| "the source ended")?
    })?;
    thread::sleep(Duration::from_millis(200));
    table.push("memory, 12,000 packets of 1,514 B queued", "drfq", &[resident_mb(id)?], "MB");
    Ok(())
}

/// Resident memory of a process.
pub fn resident_mb(id: u32) -> Result<f64, Failed> {
    let status = fs::read_to_string(format!("/proc/{id}/status"))?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).ok_or("no VmRSS")?;
    Ok(line.trim().trim_end_matches(" kB").parse::<f64>()? / 1e3)
}
