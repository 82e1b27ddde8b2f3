//! Figs. 7 to 9: captured traffic through randomly assigned modules.

use super::{
    patterns::Pattern,
    queues::with_deviations,
    replays::{ALPHAS, FlowReplayed, PatternRuns, RIVALS, Replayed, Replays, replays},
    watch::Moments,
};
use crate::{
    error::Error,
    experiment::{Finding, Given, chart},
    row::Row,
};
use dovetail_compare::report::plot::{Axis, Plot, Series};

/// The setting on which the paper focuses.
const RELAXED: f64 = 0.8;

/// Tolerance of rivals' utilisation relative to that of alpha = 1, in points.
const RIVAL_POINTS: f64 = 2.5;

/// The paper reports a decrease of the drop rate by 15 to 20 %.
const DECREASE: (f64, f64) = (17.5, 2.5);

/// A small flow has at most this many packets; its latency may be at most this many times that of alpha = 1.
const SMALL: u64 = 10;
const UNAFFECTED: f64 = 1.1;

/// Classes of flows by their number of packets.
const SIZES: [(u64, u64); 4] = [(1, 1), (2, SMALL), (SMALL + 1, 100), (101, u64::MAX)];

pub(super) fn fig7(given: &Given<'_>) -> Result<Finding, Error> {
    let replays = replays(given)?;
    let mut finding = begin(replays);
    let mut gains = Vec::new();
    for runs in occurring(replays) {
        let name = runs.pattern.name();
        let (mut gain, mut further) = (0.0, 0.0);
        let mut under_load = Vec::new();
        for (j, resource) in RESOURCES.into_iter().enumerate() {
            let [fair, relaxed, least] = [1.0, RELAXED, 0.5].map(|alpha| busy(runs.at(alpha), j).mean());
            gain += relaxed - fair;
            further += least - relaxed;
            let what = format!("{name}: {resource} utilisation, alpha={RELAXED}, against alpha=1");
            finding.rows.push(Row::at_least(what, "%", None, fair, relaxed));
            for rival in RIVALS {
                let measured = busy(runs.under(rival), j).mean();
                let what = format!("{name}: {resource} utilisation, {rival}, as alpha=1");
                finding.rows.push(Row::new(what, "%", None, fair, measured, RIVAL_POINTS));
            }
            let loaded = |runs: &[Replayed]| Moments::of(runs.iter().map(|run| run.utilisation_under_load[j] * 100.0));
            let [fair, relaxed] = [1.0, RELAXED].map(|alpha| loaded(runs.at(alpha)).mean());
            under_load.push(format!("the {resource} {fair:.2} % at alpha=1 and {relaxed:.2} % at alpha={RELAXED}"));
        }
        let what = format!("{name}: both gain until alpha={RELAXED}, against beyond");
        finding.rows.push(Row::at_least(what, "points", None, further, gain));
        gains.push((runs.pattern, gain));
        finding.remarks.push(format!("{name}, only while packets arrive: {}.", under_load.join(", ")));
        finding.charts.push(utilisation_chart(runs));
    }
    let gain_of = |pattern| gains.iter().find(|(known, _)| *known == pattern).map(|&(_, gain)| gain);
    if let Some(balanced) = gain_of(Pattern::Balanced) {
        for pattern in [Pattern::CpuBound, Pattern::LinkBound] {
            let Some(gain) = gain_of(pattern) else { continue };
            let what = format!("balanced: both gain until alpha={RELAXED}, against {}", pattern.name());
            finding.rows.push(Row::at_most(what, "points", None, gain, balanced));
        }
    }
    finding.remarks.push(
        "Rows are over the whole run, from the first arrival until everything has left, as the mean of ten draws; the \
         gain is the sum over CPU and link from alpha=1 to 0.8, and from there to 0.5. The paper draws them and says: \
         both resources gain in all patterns, less and less, and balanced traffic least; DRFQ and MR³ are almost \
         where alpha=1 is. Balanced here refers to the demand of all flows together; fair shares depend on the number \
         of flows with packets waiting, and these are not balanced where few flows demand much."
            .to_owned(),
    );
    Ok(finding)
}

pub(super) fn fig8(given: &Given<'_>) -> Result<Finding, Error> {
    let replays = replays(given)?;
    let mut finding = begin(replays);
    let mut bars = [const { Vec::new() }; 3];
    let policies = [
        (format!("alpha={RELAXED}"), super::runs::tradeoff(RELAXED)),
        ("alpha=1".to_owned(), super::runs::tradeoff(1.0)),
        ("MR³".to_owned(), "mr3".to_owned()),
    ];
    for runs in occurring(replays) {
        let name = runs.pattern.name();
        let [fair, relaxed] = [1.0, RELAXED].map(|alpha| runs.at(alpha));
        let late = |runs: &[Replayed]| Moments::of(runs.iter().map(|run| run.mean_latency_ms)).mean();
        let what = format!("{name}: mean latency over that of alpha=1, alpha={RELAXED}");
        finding.rows.push(Row::at_most(what, "", None, 1.0, late(relaxed) / late(fair)));
        let dropped = |runs: &[Replayed]| Moments::of(runs.iter().map(|run| run.drop_rate * 100.0)).mean();
        let decrease = (1.0 - dropped(relaxed) / dropped(fair)) * 100.0;
        let of_draws = Moments::of(
            fair.iter().zip(relaxed).map(|(fair, relaxed)| (1.0 - relaxed.drop_rate / fair.drop_rate) * 100.0),
        );
        if dropped(fair) > 0.0 {
            let what = format!("{name}: decrease of the drop rate from alpha=1 to {RELAXED}");
            finding.rows.push(Row::new(what, "%", Some(DECREASE.0), DECREASE.0, decrease, DECREASE.1));
        } else {
            finding.remarks.push(format!("{name}: nothing is dropped at alpha=1, so no drop rate can fall."));
        }
        finding.remarks.push(format!(
            "{name}: {:.2} % of the packets are dropped at alpha=1, {:.2} % at alpha={RELAXED} and {:.2} % under MR³; mean \
             latencies are {:.1}, {:.1} and {:.1} ms. The decrease of single draws has a standard deviation of {:.1} %.",
            dropped(fair),
            dropped(relaxed),
            dropped(runs.under("mr3")),
            late(fair),
            late(relaxed),
            late(runs.under("mr3")),
            of_draws.deviation()
        ));
        let mut cdf = Plot::new(Axis::log("latency, ms"), Axis::linear("packets, %").range(0.0, 100.0));
        for ((label, policy), bars) in policies.iter().zip(&mut bars) {
            bars.push(dropped(runs.under(policy)));
            let (x, y) = mean_cdf(runs.under(policy));
            cdf.add(Series::line(label, x, y));
        }
        finding.charts.push(chart(&format!("Fig. 8, {name}"), "Latency, the mean distribution of ten runs.", cdf));
    }
    let names = occurring(replays).map(|runs| runs.pattern.name().to_owned()).collect();
    let mut plot = Plot::new(Axis::names("", names), Axis::linear("dropped, %"));
    for ((label, _), bars) in policies.iter().zip(bars) {
        plot.add(Series::bars(label, bars));
    }
    finding.charts.push(chart("Fig. 8d", "Packets dropped.", plot));
    Ok(finding)
}

pub(super) fn fig9(given: &Given<'_>) -> Result<Finding, Error> {
    let replays = replays(given)?;
    let mut finding = begin(replays);
    let Some(runs) = occurring(replays).find(|runs| runs.pattern == Pattern::CpuBound) else { return Ok(finding) };
    let [fair, relaxed] = [1.0, RELAXED].map(|alpha| runs.at(alpha));
    let mean = |runs: &[Replayed], (from, to): (u64, u64), of: fn(&FlowReplayed) -> f64| {
        let flows = runs.iter().flat_map(|run| &run.flows).filter(|flow| (from..=to).contains(&flow.packets));
        Moments::of(flows.map(of).filter(|ms| ms.is_finite())).mean()
    };
    for (size, what) in [(SIZES[0], "1 packet".to_owned()), (SIZES[1], format!("2 to {SMALL} packets"))] {
        let what = format!("mean latency of flows of {what} over that of alpha=1, alpha={RELAXED}");
        let ratio = mean(relaxed, size, |flow| flow.latency_ms) / mean(fair, size, |flow| flow.latency_ms);
        if ratio.is_finite() {
            finding.rows.push(Row::at_most(what, "", Some(1.0), UNAFFECTED, ratio));
        } else {
            finding.remarks.push(format!("No row on the {what}: there are no such flows."));
        }
    }
    let (mut shorter, mut longer) = (0.0, 0.0);
    for (fair, relaxed) in fair.iter().zip(relaxed) {
        for (before, after) in fair.flows.iter().zip(&relaxed.flows).filter(|(flow, _)| flow.packets > SMALL) {
            shorter += f64::from(u8::from(after.latency_ms < before.latency_ms));
            longer += f64::from(u8::from(after.latency_ms > before.latency_ms));
        }
    }
    let changed = shorter + longer;
    for (what, count) in [("shorter", shorter), ("longer", longer)].into_iter().filter(|_| changed > 0.0) {
        let what = format!("larger flows with a {what} mean latency at alpha={RELAXED}");
        finding.rows.push(Row::at_least(what, "%", None, 1.0, count / changed * 100.0));
    }
    let policies = [
        ("alpha=1", fair),
        (&format!("alpha={RELAXED}"), relaxed),
        ("MR³", runs.under("mr3")),
        ("DRFQ", runs.under("drfq")),
    ];
    for (name, runs) in policies {
        let latencies = SIZES.map(|size| format!("{:.2}", mean(runs, size, |flow| flow.latency_ms))).join(", ");
        finding.remarks.push(format!(
            "{name}: flows of 1, 2 to 10, 11 to 100 and more packets have a mean latency of {latencies} ms; those of 1 packet \
             wait {:.2} ms of it before the link.",
            mean(runs, SIZES[0], |flow| flow.link_wait_ms)
        ));
    }
    finding.remarks.push(
        "The paper's first 20 s are the whole run here; \"no impact\" is taken as at most 10 % more. A flow of 1 \
         packet never waits for its own: it waits for packets of others that started in the fluid before it, up to \
         one for every backlogged flow. When fairness is relaxed the link is kept busy as well, and there is a wait \
         before it, too. Of larger flows \"some see shorter latency while others experience longer delay\"."
            .to_owned(),
    );
    let mut plot = Plot::new(Axis::log("bytes of the flow"), Axis::log("mean latency, ms"));
    for (name, runs) in [("alpha=1".to_owned(), fair), (format!("alpha={RELAXED}"), relaxed)] {
        let sent = runs.iter().take(1).flat_map(|run| &run.flows).filter(|flow| flow.latency_ms.is_finite());
        let (x, y): (Vec<f64>, Vec<f64>) = sent.map(|flow| (flow.bytes as f64, flow.latency_ms)).unzip();
        plot.add(Series::cloud(name, x, y));
    }
    finding.charts.push(chart("Fig. 9", "Each flow's mean latency against its size, in the first draw.", plot));
    Ok(finding)
}

const RESOURCES: [&str; 2] = ["CPU", "link"];

/// Describes the replayed traffic and its demand.
fn begin(replays: &Replays) -> Finding {
    let mut finding = Finding { remarks: vec![replays.traffic.clone()], ..Finding::default() };
    for runs in &replays.patterns {
        let name = runs.pattern.name();
        finding.remarks.push(if runs.draws.is_empty() {
            format!("{name}: no draw of modules gave this traffic.")
        } else {
            format!(
                "{name}: {} draws with IPsec for {:.1} % of the flows, the rest in equal parts; the CPU's load is \
                 {:.0} %, the link's {:.0} %.",
                runs.draws.len(),
                runs.chance_of_ipsec * 100.0,
                runs.loads[0] * 100.0,
                runs.loads[1] * 100.0
            )
        });
    }
    finding
}

/// The patterns with runs.
fn occurring(replays: &Replays) -> impl Iterator<Item = &PatternRuns> {
    replays.patterns.iter().filter(|runs| !runs.draws.is_empty())
}

/// Utilisation of a resource over runs, in percent.
fn busy(runs: &[Replayed], resource: usize) -> Moments {
    Moments::of(runs.iter().map(|run| run.utilisation[resource] * 100.0))
}

fn utilisation_chart(runs: &PatternRuns) -> dovetail_compare::report::Block {
    let mut plot = Plot::new(Axis::linear("alpha"), Axis::linear("busy, %"));
    for (j, resource) in RESOURCES.into_iter().enumerate() {
        let over_alphas: Vec<Moments> = ALPHAS.iter().map(|&alpha| busy(runs.at(alpha), j)).collect();
        plot.add(with_deviations(resource, ALPHAS.to_vec(), &over_alphas, 1.0));
        for rival in RIVALS {
            let mean = busy(runs.under(rival), j).mean();
            plot.add(Series::dashed(format!("{resource}, {rival}"), vec![0.5, 1.0], vec![mean; 2]));
        }
    }
    let note = "Utilisation, mean and standard deviation over ten draws; DRFQ and MR³ have no alpha.";
    chart(&format!("Fig. 7, {}", runs.pattern.name()), note, plot)
}

/// The mean of the runs' distributions, on a logarithmic scale from 10 us to 100 s: milliseconds and percent.
fn mean_cdf(runs: &[Replayed]) -> (Vec<f64>, Vec<f64>) {
    let times: Vec<f64> = (0..=280).map(|step| 10f64.powf(-2.0 + f64::from(step) / 40.0)).collect();
    let share = |run: &Replayed, ms: f64| {
        let at = run.latency_cdf.partition_point(|(late, _)| late.as_f64() <= ms * 1e6);
        at.checked_sub(1).map_or(0.0, |at| run.latency_cdf[at].1 * 100.0)
    };
    let means = times.iter().map(|&ms| Moments::of(runs.iter().map(|run| share(run, ms))).mean()).collect::<Vec<_>>();
    // Omit what is below the first packet and beyond the last.
    let from = means.iter().position(|&mean| mean > 0.0).unwrap_or(0);
    let to = means.iter().position(|&mean| mean >= 100.0).map_or(means.len(), |at| at + 1);
    (times[from..to].to_vec(), means[from..to].to_vec())
}
