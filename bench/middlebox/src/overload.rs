//! Throughput of 60 flows that offer more than anything carries.

use std::{
    thread,
    time::{Duration, Instant},
};

use crate::{
    Args,
    source::{Injector, arrived},
    subject::{Failed, Subject, lab},
    table::Table,
};

pub const FLOWS: u16 = 60;
const BYTES: [usize; 2] = [60, 1514];
pub const POLICIES: [&str; 6] = ["fifo", "drr", "mr3", "drfq", "atfq", "tradeoff"];
/// Policies that are measured with AF_XDP as well.
const BY_AF_XDP: [&str; 2] = ["fifo", "drfq"];

pub fn measure(args: &Args, table: &mut Table) -> Result<(), Failed> {
    let lab = lab()?;
    let fast = |policy| Subject::fast(policy, "sleep", &args.function);
    let mut boxes = POLICIES.map(fast).to_vec();
    boxes.extend(BY_AF_XDP.iter().map(|policy| fast(policy).by_af_xdp()));
    let mut subjects = vec![Subject::bridge()];
    subjects.extend(Subject::beside(boxes, args.beside.as_ref()));
    subjects.push(Subject::alone());
    let boxes = subjects.len();
    subjects.extend(args.click.as_deref().map(Subject::click));
    for bytes in BYTES {
        let mut kpps = vec![Vec::new(); subjects.len()];
        let mut offered = Vec::new();
        for _ in 0..args.rounds {
            for (subject, kpps) in subjects.iter().zip(&mut kpps) {
                let running = subject.start(&lab)?;
                let source = Injector::start(&lab, FLOWS, bytes)?;
                let (begun, before, made_before) = (Instant::now(), arrived(&lab)?.0, Injector::sent(&lab)?);
                thread::sleep(Duration::from_secs_f64(args.seconds));
                let (after, made, time) = (arrived(&lab)?.0, Injector::sent(&lab)?, begun.elapsed().as_secs_f64());
                let delivered = (after - before) as f64 / time / 1e3;
                let sent = (made - made_before) as f64 / time / 1e3;
                drop(source);
                drop(running);
                eprintln!("{bytes} B, {}: {delivered:.0} kpps of {sent:.0}", subject.label);
                kpps.push(delivered);
                offered.push(sent);
            }
        }
        table.push(format!("overload, {bytes} B, offered"), "all", &offered, "kpps");
        for (subject, of_subject) in subjects.iter().zip(&kpps) {
            table.push(format!("overload, {bytes} B"), &subject.label, of_subject, "kpps");
        }
        let what = || format!("overload, {bytes} B");
        for (at, subject) in subjects.iter().enumerate().take(boxes).skip(1) {
            table.push_ratio(what(), &subject.label, &kpps[at], &kpps[0], "the bridge's");
            // Relative to the first box, and to the same policy with packet sockets.
            if at > 1 {
                table.push_ratio(what(), &subject.label, &kpps[at], &kpps[1], "fifo's");
            }
            if let Some(click) = kpps.get(boxes) {
                table.push_ratio(what(), &subject.label, &kpps[at], click, "Click's");
            }
            let other = subjects.iter().position(|other| other.by_af_xdp().label == subject.label);
            if let Some(other) = other {
                table.push_ratio(what(), &subject.label, &kpps[at], &kpps[other], "AF_PACKET's");
            }
        }
    }
    Ok(())
}
