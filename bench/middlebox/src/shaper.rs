//! Utilisation of a bottleneck shaper behind the box.

use std::{
    thread,
    time::{Duration, Instant},
};

use dovetail_box::live::lab::{Lab, Place};
use dovetail_netns::tool;
use dovetail_stats::{Quantile, quantile};

use crate::{
    Args,
    cores::BOX_CORE,
    overload::FLOWS,
    source::{Source, arrived},
    subject::{Failed, Subject, lab},
    table::Table,
};

const RATE_BPS: f64 = 20e6;
/// Interval of sampling its queue: each sample is a run of tc.
const LOOK_EVERY: Duration = Duration::from_millis(20);
const WARM_UP: Duration = Duration::from_millis(500);

pub fn measure(args: &Args, table: &mut Table) -> Result<(), Failed> {
    let lab = lab()?;
    let name = lab.namespace(Place::Box).name();
    tool("tc", &format!("-n {name} qdisc add dev outside root tbf rate 20mbit burst 5kb limit 30kb"))?;
    let settings = format!(
        "policy = \"drr\"\n[cpu]\ncore = {BOX_CORE}\n[link]\nrate = \"20Mbps\"\npace = \"device\"\n\
         [queues]\npackets_per_flow = 50\n"
    );
    let subject = Subject::configured("drr", settings);
    let (mut used, mut dropped, mut queued) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..args.rounds {
        let running = subject.start(&lab)?;
        let before = drops(&lab)?;
        let (of_round, queues) = thread::scope(|scope| {
            let source = scope.spawn(|| use_of(&lab, args.seconds).map_err(|wrong| wrong.to_string()));
            let mut queues = Vec::new();
            while !source.is_finished() {
                queues.push(queue(&lab)?);
                thread::sleep(LOOK_EVERY);
            }
            let used = source.join().map_err(|_| "the source ended")??;
            Ok::<_, Failed>((used, queues))
        })?;
        used.push(of_round);
        queued.push(queues);
        dropped.push((drops(&lab)? - before) as f64);
        drop(running);
    }
    table.push("shaper of 20 Mbit/s behind the box, used", "drr", &used, "%");
    table.push("shaper of 20 Mbit/s behind the box, its drops", "drr", &dropped, "packets");
    for (what, at) in [("p50", Quantile::MEDIAN), ("p99", Quantile::P99)] {
        let millis: Vec<f64> = queued
            .iter_mut()
            .filter_map(|queues| {
                queues.sort_by(f64::total_cmp);
                quantile(queues, at)
            })
            .collect();
        table.push(format!("shaper of 20 Mbit/s behind the box, its queue, {what}"), "drr", &millis, "ms");
    }
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

/// Packets that the shaper has dropped so far.
fn drops(lab: &Lab) -> Result<u64, Failed> {
    Ok(told(lab, "dropped ")?.trim_end_matches(',').parse()?)
}

/// Time that the shaper needs for its current queue, in milliseconds.
fn queue(lab: &Lab) -> Result<f64, Failed> {
    let told = told(lab, "backlog ")?;
    let bytes = told.strip_suffix('b').ok_or("tc says nothing of bytes")?;
    // tc abbreviates values above 10 KiB.
    let (number, factor) = bytes.strip_suffix('K').map_or((bytes, 1.0), |number| (number, 1024.0));
    Ok(number.parse::<f64>()? * factor * 8.0 / RATE_BPS * 1e3)
}

/// The value after these words in the shaper's statistics.
fn told(lab: &Lab, words: &str) -> Result<String, Failed> {
    let shown = tool("tc", &format!("-n {} -s qdisc show dev outside", lab.namespace(Place::Box).name()))?;
    let shown = String::from_utf8(shown)?;
    let (_, rest) = shown.split_once(words).ok_or("tc does not say it")?;
    Ok(rest.split_whitespace().next().unwrap_or_default().to_owned())
}
