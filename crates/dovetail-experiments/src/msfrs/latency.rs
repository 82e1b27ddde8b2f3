//! Fig. 9: how long users wait. The paper's -23 % is not reproduced, and this explains why.
//!
//! A user who keeps `N` requests outstanding, thinking `Z` in between, waits `N/X - Z` on average in whatever order (Little),
//! `X` being how many requests per second the link carries. A closed loop's mean therefore shows how much of the link was
//! wasted, not how well it was scheduled. The paper's 8.83 s and 6.76 s at `Z` = 5 s differ by 18 % in `X`: that is what an
//! ordinary gateway's drops cost there. In open loop order matters: processor sharing is good for short responses among long
//! ones, first come first served is not, and a window turns the former into the latter.

use std::sync::Arc;

use dovetail_sched::Nanos;
use dovetail_sim::network::Exchange;

use super::runs::{Made, Setting, median, runs, spread};
use crate::{
    error::Error,
    experiment::{Finding, Given, chart},
    row::Row,
    spread::Spread,
};
use dovetail_compare::{
    network::users::{LONG_BYTES, Latency, counted},
    report::charts,
    table::Table,
};

const GATEWAYS: [&str; 3] = ["none", "msf-rs", "grants"];
const SEEDS: u64 = 10;

/// MSF-RS's mean latency and the ordinary gateway's, in seconds (section 5.3).
const PAPER: [f64; 2] = [6.76, 8.83];

const OPEN_LOADS: [u32; 2] = [90, 120];

/// The change of a gateway relative to the ordinary one in the same run, in percent: the median over the runs.
fn change(runs: &[Arc<Made>], ordinary: &[Arc<Made>], value: fn(&Made) -> f64) -> f64 {
    let change = |(made, ordinary): (&Arc<Made>, &Arc<Made>)| (value(made) / value(ordinary) - 1.0) * 100.0;
    Spread::of(runs.iter().zip(ordinary).map(change)).median
}

/// Over all requests that count: an unanswered one counts with its age.
fn mean(made: &Made) -> f64 {
    let ended = made.outcome.ended;
    let waits = counted(&made.network, &made.outcome).map(|one| one.took().unwrap_or(ended - one.wanted).as_secs_f64());
    let (sum, count) = waits.fold((0.0, 0.0), |(sum, count), wait| (sum + wait, count + 1.0));
    sum / count
}

fn median_s(made: &Made) -> f64 {
    made.figures.all.median_s.unwrap_or(f64::NAN)
}

fn p99(made: &Made) -> f64 {
    made.figures.all.p99_s.unwrap_or(f64::NAN)
}

fn long(made: &Made) -> f64 {
    made.figures.long_mean_s.unwrap_or(f64::NAN)
}

pub(super) fn fig9(given: &Given<'_>) -> Result<Finding, Error> {
    let paper = (PAPER[0] / PAPER[1] - 1.0) * 100.0;
    let mut rows = Vec::new();
    let mut table = Table::new(
        &[
            "setting",
            "gateway",
            "mean s",
            "queued s",
            "median s",
            "p99 s",
            "long s",
            "link %",
            "dropped %",
            "unanswered",
        ],
        2,
    );
    let mut settings = Vec::new();
    for equal in [true, false] {
        let sizes = if equal { "equal" } else { "lognormal" };
        settings.push((format!("closed, {sizes}"), Setting::Thinking { equal }));
        for percent in OPEN_LOADS {
            settings.push((format!("open {}, {sizes}", f64::from(percent) / 100.0), Setting::Open { percent, equal }));
        }
    }
    let mut drawn = None;
    for (name, setting) in settings {
        let all = runs(setting, &GATEWAYS, SEEDS, given)?;
        let [ordinary, msf_rs, grants] = all.as_slice() else { return Err(Error::broken("a finished run is missing")) };
        let closed = matches!(setting, Setting::Thinking { .. });
        let what = format!("{name}: mean latency, MSF-RS against ordinary");
        rows.push(Row::at_most(what, "%", closed.then_some(paper), paper, change(msf_rs, ordinary, mean)));
        if let Setting::Open { percent, equal: false } = setting {
            rows.extend([
                Row::at_most(format!("{name}: mean, grants"), "%", None, -25.0, change(grants, ordinary, mean)),
                Row::at_most(format!("{name}: median, grants"), "%", None, -30.0, change(grants, ordinary, median_s)),
                Row::at_most(format!("{name}: p99, grants"), "%", None, 10.0, change(grants, ordinary, p99)),
                Row::at_most(format!("{name}: dropped, grants"), "%", None, 5.0, median(grants, dropped)),
            ]);
            if percent == 90 {
                let what = format!("{name}: responses over {} kB, grants", LONG_BYTES / 1000);
                rows.push(Row::at_most(what, "%", None, 0.0, change(grants, ordinary, long)));
            }
        }
        for (gateway, runs) in GATEWAYS.iter().zip(&all) {
            table.push([
                name.clone(),
                (*gateway).to_owned(),
                spread(runs, 2, mean),
                spread(runs, 2, |made| made.figures.all.queued_s.unwrap_or(f64::NAN)),
                spread(runs, 2, median_s),
                spread(runs, 1, p99),
                spread(runs, 1, long),
                spread(runs, 1, |made| made.figures.utilisation * 100.0),
                spread(runs, 1, dropped),
                spread(runs, 0, |made| made.figures.all.unfinished as f64),
            ]);
        }
        if setting == (Setting::Open { percent: 90, equal: false }) {
            drawn = Some(all);
        }
    }
    let (by_class, little) = closed(given)?;
    rows.extend(little);
    let waits = drawn.iter().flatten().zip(GATEWAYS).filter_map(|(runs, gateway)| {
        let made = runs.first()?;
        let took = counted(&made.network, &made.outcome).map(|exchange| (exchange.bytes, exchange.took()));
        Some((gateway, took.collect::<Vec<_>>()))
    });
    let waits: Vec<_> = waits.collect();
    Ok(Finding {
        rows,
        tables: vec![
            ("Median [least..most] over ten runs; the mean counts those that are not answered with their age".into(), table),
            ("Closed loop by class, as the figure has it".into(), by_class),
        ],
        charts: vec![
            chart("Open loop at 0.9", "Share of requests answered within the time, first run.", charts::waits(&waits)),
            chart("Open loop at 0.9, by size", "Mean latency, first run.", charts::wait_by_size(&waits)),
        ],
        remarks: vec![
            "In the long run a closed loop's mean follows from how many requests a second the link carries (Little): the order of \
             requests cannot change it, only what drops waste. In 200 s it can: what is deferred is answered later."
                .into(),
            "Section 5.3 says that all classes have requests waiting, and section 5.1 that clients think for five \
             seconds: closed is the latter, with as many clients as the former takes."
                .into(),
            "In open loop MSF-RS turns processor sharing into first come first served within a class. With equal \
             sizes that helps where the load is over the link's capacity; below that, and with lognormal sizes, \
             requests wait at the gateway for earlier responses, and the mean grows."
                .into(),
        ],
    })
}

fn dropped(made: &Made) -> f64 {
    made.figures.dropped * 100.0
}

/// Latency by class in closed loop, and whether Little's law explains the mean.
fn closed(given: &Given<'_>) -> Result<(Table, Vec<Row>), Error> {
    let mut table = Table::new(&["gateway", "class", "latency s", "queued s", "served s"], 2);
    let mut rows = Vec::new();
    let all = runs(Setting::Thinking { equal: false }, &GATEWAYS, SEEDS, given)?;
    for (gateway, runs) in GATEWAYS.iter().zip(&all) {
        let mut push = |class: &str, latency: &dyn Fn(&Made) -> Latency| {
            let mean = median(runs, |made| latency(made).mean_s.unwrap_or(f64::NAN));
            let queued = median(runs, |made| latency(made).queued_s.unwrap_or(f64::NAN));
            table.push([
                (*gateway).to_owned(),
                class.to_owned(),
                format!("{mean:.2}"),
                format!("{queued:.2}"),
                format!("{:.2}", mean - queued),
            ]);
        };
        for at in 0..3 {
            let name = runs.first().map_or("", |made| made.figures.classes[at].class.as_str());
            push(name, &|made| made.figures.classes[at].latency);
        }
        push("all", &|made| made.figures.all);
    }
    for (gateway, runs) in GATEWAYS.iter().zip(&all) {
        let explained = median(runs, little_s);
        let seen = median(runs, seen_s);
        let what = format!("closed, {gateway}: mean latency by Little's law");
        rows.push(Row::new(what, "s", None, explained, seen, 0.1 * explained));
    }
    Ok((table, rows))
}

/// The users of each client, and their think times.
const LOOPS: f64 = 120.0;
const THINK_S: f64 = 5.0;

/// From the middle of the run on, when no new users start.
fn late(made: &Made) -> impl Iterator<Item = &Exchange> {
    let half = Nanos(made.outcome.ended.0 / 2);
    let exchanges = made.outcome.access.iter().flat_map(|access| &access.exchanges);
    exchanges.filter(move |one| one.ended.is_none_or(|ended| ended >= half))
}

/// N/X - Z for requests answered in the second half.
fn little_s(made: &Made) -> f64 {
    let half = made.outcome.ended.as_secs_f64() / 2.0;
    let answered = late(made).filter(|one| one.ended.is_some()).count();
    LOOPS / (answered as f64 / half) - THINK_S
}

/// The mean over requests answered in the second half or not at all, the latter with their age.
fn seen_s(made: &Made) -> f64 {
    let waits = late(made).map(|one| one.took().unwrap_or(made.outcome.ended - one.wanted).as_secs_f64());
    let (sum, count) = waits.fold((0.0, 0.0), |(sum, count), took| (sum + took, count + 1.0));
    sum / count
}
