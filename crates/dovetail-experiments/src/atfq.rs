//! The figures of the ATFQ paper (Zhang et al., *ATFQ: a fair and efficient packet scheduling method in multi-resource
//! environments*, IEEE TNSM 2015). All use a no-wait pipeline of a CPU and a 400 Mbit/s link with the CPU costs of its Table
//! II; "DRFQ" is unbounded dovetailing, which the paper calls strict.

use std::{io::Cursor, sync::OnceLock};

use dovetail_sched::{FlowId, Limits, Nanos, Packet, PolicySpec, Setup, packet::nowait::active_increment};
use dovetail_sim::{
    Observer, Options, Passage, PipelineMode, Profile,
    measure::{DEFAULT_WINDOW, Meters, Summary},
    simulate,
    workload::{Csv, CsvOptions, Workload},
};

use crate::error::Error;
use crate::{
    experiment::{Experiment, Finding, Given, chart},
    row::Row,
};
use dovetail_compare::{
    input::builtin_scenario,
    report::{
        charts::over_time,
        plot::{Axis, Plot, Series},
    },
};

const SOURCE: &str = "Zhang et al., IEEE TNSM 2015";

pub(crate) const FIG1: Experiment = Experiment {
    name: "atfq-fig1",
    title: "two flows, strict and relaxed order",
    source: SOURCE,
    by_trace: false,
    run: fig1,
};
pub(crate) const FIG5: Experiment = Experiment {
    name: "atfq-fig5",
    title: "data rates when demands are swapped",
    source: SOURCE,
    by_trace: false,
    run: fig5,
};
pub(crate) const FIG6: Experiment = Experiment {
    name: "atfq-fig6",
    title: "largest difference in active time",
    source: SOURCE,
    by_trace: false,
    run: fig6,
};
pub(crate) const FIG7: Experiment = Experiment {
    name: "atfq-fig7",
    title: "delay between adjacent packets",
    source: SOURCE,
    by_trace: false,
    run: fig7,
};
pub(crate) const FIG8: Experiment = Experiment {
    name: "atfq-fig8",
    title: "completion of flow 1's packets",
    source: SOURCE,
    by_trace: false,
    run: fig8,
};
pub(crate) const FIG9: Experiment =
    Experiment { name: "atfq-fig9", title: "utilisation of CPU and link", source: SOURCE, by_trace: false, run: fig9 };
pub(crate) const FIG10: Experiment = Experiment {
    name: "atfq-fig10",
    title: "resource occupancy of each flow",
    source: SOURCE,
    by_trace: false,
    run: fig10,
};

/// Tolerance for the paper's percentages, in points.
const POINTS: f64 = 1.5;
/// Relative tolerance for other values.
const SHARE: f64 = 0.03;

/// When each packet of each flow started on the first resource and ended on the last, and the order of all packets.
#[derive(Default)]
struct Passages {
    flows: Vec<Vec<(Nanos, Nanos)>>,
    order: Vec<Packet>,
}

impl Passages {
    /// The largest difference in active time between two flows, checked after every packet while all flows are backlogged. A
    /// flow's first packet is its starting point: by eq. 1 its finish tag is 0.
    fn largest_difference(&self) -> Nanos {
        let mut left: Vec<usize> = self.flows.iter().map(Vec::len).collect();
        let mut active = vec![Nanos::ZERO; self.flows.len()];
        let mut last: Vec<Option<Packet>> = vec![None; self.flows.len()];
        let mut largest = Nanos::ZERO;
        for packet in &self.order {
            let flow = packet.flow.index();
            if let Some(before) = &last[flow] {
                active[flow] += active_increment(Some(before.demand.times()), packet.demand.times());
            }
            last[flow] = Some(*packet);
            left[flow] -= 1;
            if left[flow] == 0 {
                break;
            }
            let most = active.iter().copied().fold(Nanos::ZERO, Nanos::max);
            let least = active.iter().copied().fold(Nanos::MAX, Nanos::min);
            largest = largest.max(most - least);
        }
        largest
    }
}

impl Observer for Passages {
    fn appeared(&mut self, _: FlowId, _: &Profile<'_>) {}
    fn arrived(&mut self, _: &Packet) {}
    fn dropped(&mut self, _: &Packet, _: Nanos) {}
    fn sent(&mut self, packet: &Packet, passage: &Passage) {
        let at = packet.flow.index();
        if at >= self.flows.len() {
            self.flows.resize(at + 1, Vec::new());
        }
        self.flows[at].push((passage.start()[0], passage.done()));
        self.order.push(*packet);
    }
}

/// A run with the data for the figures.
struct RunWithPassages {
    policy: &'static str,
    summary: Summary,
    passages: Passages,
}

fn run(workload: &mut dyn Workload, policy: &'static str, given: &Given<'_>) -> Result<RunWithPassages, Error> {
    let resources = workload.resources().len();
    let mut scheduler = policy.parse::<PolicySpec>()?.build(&Setup::new(resources, Limits::UNLIMITED))?;
    let mut meters = Meters::new(resources, DEFAULT_WINDOW);
    let mut passages = Passages::default();
    let mut both = (&mut meters, &mut passages);
    let options = Options { stop: given.stop(), ..Options::default() };
    simulate(workload, &mut scheduler, PipelineMode::NoWait, &mut both, options).map_err(Error::broken)?;
    Ok(RunWithPassages { policy, summary: meters.finish(), passages })
}

fn run_builtin(
    scenario: &str,
    policy: &'static str,
    packets: Option<u64>,
    given: &Given<'_>,
) -> Result<RunWithPassages, Error> {
    let mut scenario = builtin_scenario(scenario)?;
    scenario.packets = packets.or(scenario.packets);
    run(&mut scenario.workload().map_err(Error::broken)?, policy, given)
}

/// The runs of 20 backlogged flows shared by figures 6 to 10, each made once.
fn twenty_flows(policy: &'static str, given: &Given<'_>) -> Result<&'static RunWithPassages, Error> {
    static RUNS: [(&str, OnceLock<RunWithPassages>); 5] = [
        ("drfq", OnceLock::new()),
        ("atfq:batch=1", OnceLock::new()),
        ("atfq:batch=5", OnceLock::new()),
        ("atfq:batch=10", OnceLock::new()),
        ("atfq:batch=20", OnceLock::new()),
    ];
    let (_, slot) = RUNS
        .iter()
        .find(|(known, _)| *known == policy)
        .ok_or_else(|| Error::broken(format!("no run of {policy} is planned")))?;
    if slot.get().is_none() {
        let done = run_builtin("atfq-fig9", policy, None, given)?;
        return Ok(slot.get_or_init(|| done));
    }
    slot.get().ok_or_else(|| Error::broken("a finished run is missing"))
}

fn paper_name(policy: &str) -> String {
    policy.strip_prefix("atfq:batch=").map_or_else(|| "DRFQ".to_owned(), |batch| format!("ATFQ-{batch}"))
}

fn fig1(given: &Given) -> Result<Finding, Error> {
    let mut finding = Finding::default();
    // U needs <4, 4>, V <2, 1>. The figure shows two orders; FIFO preserves the order of a table.
    let published = [("U V V", [80.0, 60.0], [80.0, 60.0]), ("U U V V V V", [88.9, 66.7], [800.0 / 9.0, 600.0 / 9.0])];
    for (order, paper, expected) in published {
        let mut table = String::from("arrival_ns,flow,bytes,cpu_ns,link_ns\n");
        for flow in order.split(' ').cycle().take(6000) {
            table += if flow == "U" { "0,U,1000,4000,4000\n" } else { "0,V,1000,2000,1000\n" };
        }
        let table = Box::new(Cursor::new(table.into_bytes()));
        let mut workload = Csv::open(table, "figure 1", CsvOptions::default()).map_err(Error::broken)?;
        let run = run(&mut workload, "fifo", given)?;
        rows_of_fig1(&mut finding, &format!("order {order}"), Some(paper), expected, &run);
    }
    // Results of the policies: equal dominant service is the first order, and a loop of six looks beyond its end.
    for (policy, expected) in [("drfq", [80.0, 60.0]), ("atfq:batch=6", [1600.0 / 17.0, 1200.0 / 17.0])] {
        let run = run_builtin("atfq-fig1", policy, None, given)?;
        rows_of_fig1(&mut finding, policy, None, expected, &run);
    }
    finding.remarks.push(
        "atfq:batch=6 does better than the drawn order: it begins each loop with the flow that ended the last, so that \
         only one gap of 2 is left in two loops, 32 of 34 units (expected: by hand)."
            .to_owned(),
    );
    Ok(finding)
}

fn rows_of_fig1(finding: &mut Finding, what: &str, paper: Option<[f64; 2]>, expected: [f64; 2], run: &RunWithPassages) {
    for (j, resource) in ["CPU", "link"].into_iter().enumerate() {
        let what = format!("{resource} utilisation, {what}");
        let measured = run.summary.utilisation[j] * 100.0;
        finding.rows.push(Row::new(what, "%", paper.map(|paper| paper[j]), expected[j], measured, POINTS));
    }
}

/// Names of the four flows, their bytes per packet, and their time per packet when alone, the larger of CPU and link.
const FIG5_FLOWS: [(&str, f64, f64); 4] =
    [("IPSE", 1000.0, 99_500.0), ("SM", 800.0, 16_000.0), ("RE", 600.0, 15_162.2), ("BF", 200.0, 6_772.0)];

fn fig5(given: &Given) -> Result<Finding, Error> {
    let mut finding = Finding::default();
    for policy in ["drfq", "atfq:batch=1"] {
        let run = run_builtin("atfq-fig5", policy, None, given)?;
        let series = &run.summary.series;
        let width = series.width.as_f64();
        // The rate of each flow over its rate when alone, per bin.
        let shares: Vec<Vec<f64>> = FIG5_FLOWS
            .iter()
            .zip(&series.flow_bytes)
            .map(|(&(_, bytes, alone_nanos), (_, sent))| {
                sent.iter().map(|sent| sent / bytes * alone_nanos / width * 100.0).collect()
            })
            .collect();
        let mean = |flow: usize, from: f64, to: f64| {
            let bins = (from * 1e9 / width).ceil() as usize..(to * 1e9 / width) as usize;
            let count = bins.len() as f64;
            bins.map(|bin| shares[flow].get(bin).copied().unwrap_or(0.0)).sum::<f64>() / count
        };
        let name = paper_name(policy);
        let mut row = |what: String, paper, expected, measured| {
            finding.rows.push(Row::new(format!("{name}, {what}"), "%", paper, expected, measured, POINTS));
        };
        for (flow, &(label, ..)) in FIG5_FLOWS.iter().enumerate().take(3) {
            row(format!("{label} of 3 flows, 0–2 s"), Some(34.4), 34.4, mean(flow, 0.1, 1.9));
        }
        for (flow, &(label, ..)) in FIG5_FLOWS.iter().enumerate() {
            row(format!("{label} of 4 flows, 2–4 s"), Some(21.6), 21.7, mean(flow, 2.1, 3.9));
        }
        let after = if policy == "drfq" { [47.8, 12.1, 12.1, 16.3] } else { [21.7; 4] };
        for (flow, &(label, ..)) in FIG5_FLOWS.iter().enumerate() {
            row(format!("{label} after the swap, 4–6 s"), None, after[flow], mean(flow, 4.1, 5.9));
        }
        if policy != "drfq" {
            for (flow, &(label, ..)) in FIG5_FLOWS.iter().enumerate() {
                row(format!("{label} after the swap, 6–12 s"), None, after[flow], mean(flow, 6.0, 11.9));
            }
        }
        if policy == "drfq" {
            let back = settled(&shares, width);
            finding.rows.push(Row::new("DRFQ, fair again at", "s", Some(10.0), 10.0, back, 10.0 * SHARE));
        }
        let lines = FIG5_FLOWS.iter().zip(&shares).map(|(&(label, ..), shares)| {
            let per_point = shares.len().div_ceil(240).max(1);
            let times = (0..shares.len()).step_by(per_point).map(|bin| bin as f64 * width / 1e9).collect();
            let means = shares.chunks(per_point).map(|bins| bins.iter().sum::<f64>() / bins.len() as f64).collect();
            (label.to_owned(), (times, means))
        });
        let plot = over_time(lines, Axis::linear("share of the rate when alone, %"));
        finding.charts.push(chart(&format!("Fig. 5, {name}"), "Each flow's rate over its rate when alone.", plot));
    }
    finding.remarks.push("The paper draws the time after the swap without numbers.".to_owned());
    Ok(finding)
}

/// Time from which every flow stays within half a point of 21.7 %, in seconds; by means over 0.1 s.
fn settled(shares: &[Vec<f64>], width: f64) -> f64 {
    let per_step = (1e8 / width).ceil().max(1.0) as usize;
    let bins = shares.iter().map(Vec::len).min().unwrap_or(0);
    // In the last moments flows run out of packets.
    let steps = (bins / per_step).min((11.5e9 / width) as usize / per_step);
    let fair = |step: usize| {
        shares.iter().all(|flow| {
            let mean = flow[step * per_step..(step + 1) * per_step].iter().sum::<f64>() / per_step as f64;
            (mean - 21.7).abs() <= 0.5
        })
    };
    let first = (0..steps).rev().take_while(|&step| fair(step)).last().unwrap_or(steps);
    (first * per_step) as f64 * width / 1e9
}

/// An independent implementation gave 115 to 118 µs for ATFQ-10 and ATFQ-20, rounded to microseconds: the middle of that
/// range, and half its width plus rounding plus 3 %.
const FIG6_EXPECTED: (f64, f64) = (116.5, 1.5 + 0.5 + 116.5 * SHARE);

fn fig6(given: &Given) -> Result<Finding, Error> {
    let mut finding = Finding::default();
    let mut lines = Vec::new();
    for policy in ["drfq", "atfq:batch=10", "atfq:batch=20"] {
        let run = twenty_flows(policy, given)?;
        let name = paper_name(policy);
        let measured = run.passages.largest_difference().as_micros_f64();
        if policy == "drfq" {
            finding.remarks.push(format!("{name}: {measured:.1} µs; the paper only draws it."));
        } else {
            let what = format!("largest difference in active time, {name}");
            let (expected, tolerance) = FIG6_EXPECTED;
            finding.rows.push(Row::new(what, "µs", Some(100.0), expected, measured, tolerance));
        }
        let series = &run.summary.series;
        let times = (0..series.gap.len()).map(|bin| bin as f64 * series.width.as_secs_f64()).collect();
        lines.push((name, (times, series.gap.iter().map(|gap| gap.as_micros_f64()).collect())));
    }
    finding.remarks.push(
        "The paper says \"roughly below 100 µs\". One packet of flow 5 takes 99.5 µs, so no policy can be under that. The \
         tolerance is 3 % beyond the 115 to 118 µs that an independent implementation gave. Sampled after each packet, \
         from each flow's first packet (finish tag 0 by eq. 1) until the first flow runs dry."
            .to_owned(),
    );
    let plot = over_time(lines.into_iter(), Axis::linear("difference in active time, µs"));
    finding.charts.push(chart(
        "Fig. 6",
        "The largest difference in active time of two flows, after each packet.",
        plot,
    ));
    Ok(finding)
}

fn fig7(given: &Given) -> Result<Finding, Error> {
    let mut finding = Finding::default();
    let delays = |run: &RunWithPassages, flow: usize| -> Vec<f64> {
        let mut delays: Vec<f64> =
            run.passages.flows[flow].windows(2).map(|pair| (pair[1].0 - pair[0].0).as_micros_f64()).collect();
        delays.sort_unstable_by(f64::total_cmp);
        delays
    };
    let mean = |delays: &[f64]| delays.iter().sum::<f64>() / delays.len().max(1) as f64;
    let (drfq, atfq) = (twenty_flows("drfq", given)?, twenty_flows("atfq:batch=20", given)?);
    let mut shorter = 0;
    for flow in 0..20 {
        shorter += u32::from(mean(&delays(atfq, flow)) < mean(&delays(drfq, flow)));
    }
    finding.rows.push(Row::new(
        "flows with a shorter mean delay under ATFQ-20",
        "of 20",
        Some(20.0),
        20.0,
        shorter.into(),
        0.0,
    ));
    for flow in [3, 8, 13, 18] {
        let mut plot = Plot::new(Axis::linear("delay, µs"), Axis::linear("packets, %"));
        let mut means = Vec::new();
        for run in [drfq, atfq] {
            let delays = delays(run, flow - 1);
            means.push(mean(&delays));
            let picks = (0..=200).map(|step| (delays.len() - 1) * step / 200);
            let x = picks.clone().map(|at| delays[at]).collect();
            let y = picks.map(|at| at as f64 / (delays.len() - 1) as f64 * 100.0).collect();
            plot.add(Series::line(paper_name(run.policy), x, y));
        }
        finding.charts.push(chart(&format!("Fig. 7, flow {flow}"), "Delay between adjacent packets.", plot));
        finding
            .remarks
            .push(format!("Flow {flow}: mean delay {:.0} µs under DRFQ, {:.0} µs under ATFQ-20.", means[0], means[1]));
    }
    finding.remarks.push("The paper draws the delays without numbers; its claim is the row.".to_owned());
    Ok(finding)
}

fn fig8(given: &Given) -> Result<Finding, Error> {
    let mut finding = Finding::default();
    let mut plot = Plot::new(Axis::linear("packets of flow 1"), Axis::linear("done at, s"));
    for (policy, paper, expected) in [("drfq", 18.1, 18.04), ("atfq:batch=20", 16.3, 16.29)] {
        // With a million packets in total, flow 1 has slightly too few.
        let run = run_builtin("atfq-fig9", policy, Some(1_300_000), given)?;
        let flow = &run.passages.flows[0];
        let measured = flow.get(9_999).map_or(f64::NAN, |(_, end)| end.as_secs_f64());
        let what = format!("10,000 packets of flow 1, {}", paper_name(policy));
        finding.rows.push(Row::new(what, "s", Some(paper), expected, measured, expected * SHARE));
        let picks = (0..=100).map(|step| (flow.len().min(11_000) - 1) * step / 100);
        let x = picks.clone().map(|at| (at + 1) as f64).collect();
        plot.add(Series::line(paper_name(policy), x, picks.map(|at| flow[at].1.as_secs_f64()).collect()));
    }
    finding.charts.push(chart("Fig. 8", "When flow 1's packets were through.", plot));
    Ok(finding)
}

fn fig9(given: &Given) -> Result<Finding, Error> {
    let mut finding = Finding::default();
    let resources = ["CPU", "link"].map(str::to_owned);
    let mut plot = Plot::new(Axis::names("", resources.into()), Axis::linear("busy, %").range(0.0, 100.0));
    let expected = [
        ("drfq", Some([86.42, 61.84]), [86.83, 62.12]),
        ("atfq:batch=1", None, [87.07, 62.30]),
        ("atfq:batch=5", Some([92.23, 66.0]), [93.07, 66.59]),
        ("atfq:batch=20", Some([96.06, 68.74]), [96.16, 68.80]),
    ];
    for (policy, paper, expected) in expected {
        let run = twenty_flows(policy, given)?;
        let measured: Vec<f64> = run.summary.utilisation.iter().map(|share| share * 100.0).collect();
        for (j, resource) in ["CPU", "link"].into_iter().enumerate() {
            let what = format!("{resource} utilisation, {}", paper_name(policy));
            finding.rows.push(Row::new(what, "%", paper.map(|paper| paper[j]), expected[j], measured[j], POINTS));
        }
        plot.add(Series::bars(paper_name(policy), measured));
    }
    finding.charts.push(chart("Fig. 9", "Utilisation.", plot));
    finding.remarks.push("The paper says of ATFQ-1 only that it is about DRFQ's.".to_owned());
    Ok(finding)
}

fn fig10(given: &Given) -> Result<Finding, Error> {
    let mut finding = Finding::default();
    // Processing time over the end of the flow's last packet, while all flows were backlogged.
    let occupancy = |run: &RunWithPassages, j: usize| -> Vec<f64> {
        let makespan = run.summary.makespan.as_f64();
        run.summary.flows.iter().map(|flow| flow.service[j].as_f64() / makespan * 100.0).collect()
    };
    let (drfq, atfq) = (twenty_flows("drfq", given)?, twenty_flows("atfq:batch=20", given)?);
    for (j, resource) in ["CPU", "link"].into_iter().enumerate() {
        let (before, after) = (occupancy(drfq, j), occupancy(atfq, j));
        let higher = before.iter().zip(&after).filter(|(before, after)| after > before).count() as f64;
        finding.rows.push(Row::new(
            format!("flows with higher {resource} occupancy under ATFQ-20"),
            "of 20",
            Some(20.0),
            20.0,
            higher,
            0.0,
        ));
        let flows: Vec<String> = (1..=before.len()).map(|flow| format!("{flow}")).collect();
        let mut plot = Plot::new(Axis::names("flow", flows), Axis::linear("occupancy, %"));
        plot.add(Series::bars("DRFQ", before));
        plot.add(Series::bars("ATFQ-20", after));
        finding.charts.push(chart(&format!("Fig. 10, {resource}"), "Each flow's share of the resource's time.", plot));
    }
    finding.remarks.push("The paper draws the occupancies without numbers; its claim is the rows.".to_owned());
    Ok(finding)
}
