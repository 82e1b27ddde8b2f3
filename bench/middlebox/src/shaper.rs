//! How much of a narrow shaper behind the box is used.

use std::{
    thread,
    time::{Duration, Instant},
};

use dovetail_box::live::lab::{Lab, Place};
use dovetail_netns::tool;

use crate::{
    Args,
    overload::FLOWS,
    source::{Source, arrived},
    subject::{BOX_CORE, Failed, Subject, lab},
    table::Table,
};

const RATE_BPS: f64 = 20e6;
const WARM_UP: Duration = Duration::from_millis(500);

pub fn measure(args: &Args, table: &mut Table) -> Result<(), Failed> {
    let lab = lab()?;
    let name = lab.namespace(Place::Box).name();
    tool("tc", &format!("-n {name} qdisc add dev outside root tbf rate 20mbit burst 5kb limit 30kb"))?;
    let settings = format!(
        "policy = \"drr\"\n[cpu]\ncore = {BOX_CORE}\n[link]\nrate = \"20Mbps\"\npace = \"device\"\n\
         [queues]\npackets_per_flow = 50\n"
    );
    let subject = Subject { label: "drr".into(), settings: Some(settings), program: None };
    let (mut used, mut dropped) = (Vec::new(), Vec::new());
    for _ in 0..args.rounds {
        let running = subject.start(&lab)?;
        let before = drops(&lab)?;
        used.push(thread::scope(|scope| {
            let source = scope.spawn(|| use_of(&lab, args.seconds).map_err(|wrong| wrong.to_string()));
            source.join().map_err(|_| "the source ended")?
        })?);
        dropped.push((drops(&lab)? - before) as f64);
        drop(running);
    }
    table.push("shaper of 20 Mbit/s behind the box, used", "drr", &used, "%");
    table.push("shaper of 20 Mbit/s behind the box, its drops", "drr", &dropped, "packets");
    Ok(())
}

fn use_of(lab: &Lab, seconds: f64) -> Result<f64, Failed> {
    let mut source = Source::new(lab, FLOWS, 1514)?;
    let per_s = 1.5 * RATE_BPS / 8.0 / 1514.0;
    source.pace_singly(per_s, WARM_UP)?;
    let (begun, before) = (Instant::now(), arrived(lab)?.1);
    source.pace_singly(per_s, Duration::from_secs_f64(seconds))?;
    let (time, after) = (begun.elapsed().as_secs_f64(), arrived(lab)?.1);
    Ok(100.0 * (after - before) as f64 * 8.0 / time / RATE_BPS)
}

/// What the shaper has dropped so far.
fn drops(lab: &Lab) -> Result<u64, Failed> {
    let shown = tool("tc", &format!("-n {} -s qdisc show dev outside", lab.namespace(Place::Box).name()))?;
    let shown = String::from_utf8(shown)?;
    let (_, rest) = shown.split_once("dropped ").ok_or("tc says nothing of drops")?;
    Ok(rest.split(',').next().unwrap_or_default().parse()?)
}
