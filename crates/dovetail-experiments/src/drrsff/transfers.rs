//! Durations and losses of transfers, by size.

use dovetail_sim::network::{NetworkOutcome, Transfer};

use super::{
    paper::FAR,
    runs::{Runs, Setting, runs},
};
use crate::{
    error::Error,
    experiment::{Finding, Given, chart},
    row::Row,
    spread::Spread,
};
use dovetail_compare::{
    network::times::{SizeClass, Times},
    report::{Block, charts},
    table::Table,
};

/// The policies of the paper, and RuN2C, which it discusses.
const POLICIES: [&str; 4] = ["fifo", "las", "run2c", "drr-sff"];

pub(super) fn fig5(given: &Given<'_>) -> Result<Finding, Error> {
    let all = runs(Setting::Transfers, POLICIES, given)?;
    let [fifo, las, _, sff] = &all;
    let short = |runs: &Runs| means(runs, SizeClass::Short);
    let (to_fifo, to_las) = (ratio(&short(sff), &short(fifo)), ratio(&short(sff), &short(las)));
    let (fifo_s, sff_s) = (Spread::of(short(fifo)).median, Spread::of(short(sff)).median);
    let rows = vec![
        Row::at_most("short, DRR-SFF / FIFO", "", None, 0.65, to_fifo.median),
        Row::at_most("short, DRR-SFF / LAS", "", None, 1.10, to_las.median),
        near("short, DRR-SFF / FIFO: beside ns-3", "", 0.53, to_fifo.median),
        near("short, DRR-SFF / LAS: beside ns-3", "", 1.04, to_las.median),
        near("short, FIFO: beside ns-3", "s", NS3_SHORT_S[0], fifo_s),
        near("short, DRR-SFF: beside ns-3", "s", NS3_SHORT_S[1], sff_s),
    ];
    Ok(Finding {
        rows,
        tables: vec![times_table(&POLICIES, &all), by_packets(fifo, sff)],
        charts: vec![by_size("Short transfers", &POLICIES, &all, |transfer| transfer.bytes < 20_000)],
        remarks: vec![OVER.into(), hosts_2005(given)?],
    })
}

pub(super) fn fig6(given: &Given<'_>) -> Result<Finding, Error> {
    let all = runs(Setting::Transfers, POLICIES, given)?;
    let [fifo, las, _, sff] = &all;
    let of = |runs: &Runs, class| means(runs, class);
    let long = ratio(&of(sff, SizeClass::Long), &of(las, SizeClass::Long));
    let long_fifo = ratio(&of(sff, SizeClass::Long), &of(fifo, SizeClass::Long));
    let middle = ratio(&of(sff, SizeClass::Middle), &of(las, SizeClass::Middle));
    let rows = vec![
        Row::at_most("over 1,000 packets, DRR-SFF / LAS", "", Some(0.74), 0.90, long.median),
        Row::at_most("over 1,000 packets, DRR-SFF / FIFO", "", None, 1.10, long_fifo.median),
        near("over 1,000 packets, DRR-SFF / LAS: beside ns-3", "", 0.72, long.median),
        near("over 1,000 packets, DRR-SFF / FIFO: beside ns-3", "", 0.955, long_fifo.median),
        near("20 to 1,000 packets, DRR-SFF / LAS: beside ns-3", "", 1.305, middle.median),
    ];
    let spreads = format!(
        "DRR-SFF / LAS over 1,000 packets {}, 20 to 1,000 packets {}; DRR-SFF / FIFO over 1,000 packets {}.",
        long.text(),
        middle.text(),
        long_fifo.text()
    );
    Ok(Finding {
        rows,
        tables: vec![times_table(&POLICIES, &all)],
        charts: vec![by_size("All transfers", &POLICIES, &all, |_| true)],
        remarks: vec![spreads, OVER.into()],
    })
}

pub(super) fn fig7(given: &Given<'_>) -> Result<Finding, Error> {
    let all = runs(Setting::Transfers, POLICIES, given)?;
    let [fifo, las, _, sff] = &all;
    let drops = |runs: &Runs, class: SizeClass| -> Vec<f64> {
        runs.iter().map(|run| class.transfers(run).map(|transfer| transfer.dropped).sum::<u64>() as f64).collect()
    };
    let (to_las, to_fifo) = (
        ratio(&drops(sff, SizeClass::Long), &drops(las, SizeClass::Long)),
        ratio(&drops(sff, SizeClass::Long), &drops(fifo, SizeClass::Long)),
    );
    let rows = vec![
        Row::at_most("over 1,000 packets, DRR-SFF / LAS", "", None, 1.0, to_las.median),
        near("over 1,000 packets, DRR-SFF / LAS: beside ns-3", "", 0.50, to_las.median),
        Row::at_most(
            "short, DRR-SFF / FIFO",
            "",
            None,
            1.0,
            ratio(&drops(sff, SizeClass::Short), &drops(fifo, SizeClass::Short)).median,
        ),
    ];
    let mut table = Table::new(&["policy", "short", "20 to 1,000 packets", "over 1,000 packets"], 1);
    for (policy, runs) in POLICIES.iter().zip(&all) {
        let shown = SizeClass::ALL.map(|class| Spread::of(drops(runs, class)).text());
        table.push([(*policy).to_owned()].into_iter().chain(shown));
    }
    let spreads =
        format!("Drops of over 1,000 packets: DRR-SFF / LAS {}, DRR-SFF / FIFO {}.", to_las.text(), to_fifo.text());
    Ok(Finding {
        rows,
        tables: vec![("Packets dropped in a run, median [least..most]".into(), table)],
        charts: Vec::new(),
        remarks: vec![spreads],
    })
}

/// The quantum ratios of figure 9, and a practically infinite one.
const RATIOS: [&str; 4] = ["drr-sff:ratio=1", "drr-sff", "drr-sff:ratio=30", "drr-sff:ratio=1000000"];

pub(super) fn fig9(given: &Given<'_>) -> Result<Finding, Error> {
    let all = runs(Setting::Transfers, RATIOS, given)?;
    let [_, two, thirty, _] = &all;
    let short = ratio(&means(thirty, SizeClass::Short), &means(two, SizeClass::Short));
    Ok(Finding {
        rows: vec![
            Row::new("short, ratio 30 / ratio 2", "", None, 1.0, short.median, 0.06),
            near("short, ratio 30 / ratio 2: beside ns-3", "", 0.976, short.median),
        ],
        tables: vec![times_table(&RATIOS, &all)],
        charts: vec![by_size("Short transfers", &RATIOS, &all, |transfer| transfer.bytes < 20_000)],
        remarks: vec![format!("Ratio 30 / ratio 2, short: {}.", short.text())],
    })
}

pub(super) fn fig10(given: &Given<'_>) -> Result<Finding, Error> {
    const SHOWN: [&str; 5] = ["fifo", "las", "run2c", "drr-sff", "drr-sff:ratio=30"];
    let all = runs(Setting::ManyShort, SHOWN, given)?;
    let [fifo, las, _, sff, thirty] = &all;
    let short = |runs: &Runs| means(runs, SizeClass::Short);
    let (to_las, to_fifo) = (ratio(&short(sff), &short(las)), ratio(&short(sff), &short(fifo)));
    let ratios = ratio(&short(thirty), &short(sff));
    Ok(Finding {
        rows: vec![
            Row::at_most("short, DRR-SFF / FIFO", "", None, 1.0, to_fifo.median),
            near("short, DRR-SFF / LAS: beside ns-3", "", 1.21, to_las.median),
            near("short, ratio 30 / ratio 2: beside ns-3", "", 0.86, ratios.median),
        ],
        tables: vec![times_table(&SHOWN, &all)],
        charts: vec![by_size("Short transfers", &SHOWN, &all, |transfer| transfer.bytes < 20_000)],
        remarks: vec![format!(
            "Short: DRR-SFF / LAS {}, DRR-SFF / FIFO {}, ratio 30 / ratio 2 {}.",
            to_las.text(),
            to_fifo.text(),
            ratios.text()
        )],
    })
}

const OVER: &str = "Times are from the first packet, a handshake's, to the last byte; FIFO drops at the tail.";

/// The mean times of short transfers in ns-3, in seconds, under FIFO and DRR-SFF.
const NS3_SHORT_S: [f64; 2] = [0.333, 0.177];

/// The same between hosts of the paper's time.
fn hosts_2005(given: &Given<'_>) -> Result<String, Error> {
    let [fifo, las, sff] = runs(Setting::Hosts2005, ["fifo", "las", "drr-sff"], given)?;
    let short = |runs: &Runs| means(runs, SizeClass::Short);
    Ok(format!(
        "Between hosts with transport = \"2005\" (no SACK, a first window of three segments, timeouts of a second at \
         least), short: FIFO {:.3} s, DRR-SFF {:.3} s; DRR-SFF / FIFO {}, DRR-SFF / LAS {}.",
        Spread::of(short(&fifo)).median,
        Spread::of(short(&sff)).median,
        ratio(&short(&sff), &short(&fifo)).text(),
        ratio(&short(&sff), &short(&las)).text(),
    ))
}

/// Composition of the ratio: short transfers by the number of round trips they need with this TCP.
fn by_packets(fifo: &Runs, sff: &Runs) -> (String, Table) {
    let mut table = Table::new(&["packets", "FIFO ms", "DRR-SFF ms", "DRR-SFF / FIFO"], 1);
    for (least, most) in [(1, 2), (3, 6), (7, 19)] {
        let within = |transfer: &&Transfer| (least * 1000..=most * 1000).contains(&transfer.bytes);
        let mean =
            |run: &NetworkOutcome| Times::of(run.transfers.iter().filter(within), run.ended).mean_s.unwrap_or(f64::NAN);
        let means = |runs: &Runs| -> Vec<f64> { runs.iter().map(|run| mean(run) * 1e3).collect() };
        let (fifo, sff) = (means(fifo), means(sff));
        table.push([
            format!("{least} to {most}"),
            Spread::of(fifo.iter().copied()).text(),
            Spread::of(sff.iter().copied()).text(),
            ratio(&sff, &fifo).text(),
        ]);
    }
    ("Short transfers by packets, median [least..most] over the runs".into(), table)
}

/// A row next to a value from ns-3: holds within [`FAR`] of it.
pub(super) fn near(what: &str, unit: &'static str, ns3: f64, measured: f64) -> Row {
    Row::new(what, unit, None, ns3, measured, FAR * ns3)
}

/// The mean time of a class in each run, in seconds.
fn means(runs: &Runs, class: SizeClass) -> Vec<f64> {
    let mean = |run: &NetworkOutcome| Times::of(class.transfers(run), run.ended).mean_s;
    runs.iter().map(|run| mean(run).unwrap_or(f64::NAN)).collect()
}

/// The ratio of one policy to another, run by run.
pub(super) fn ratio(above: &[f64], below: &[f64]) -> Spread {
    Spread::of(above.iter().zip(below).map(|(above, below)| above / below))
}

fn times_table(policies: &[&str], all: &[Runs]) -> (String, Table) {
    let mut table = Table::new(&["policy", "short ms", "20 to 1,000 packets s", "over 1,000 packets s", "dropped"], 1);
    for (policy, runs) in policies.iter().zip(all) {
        let [short, middle, long] = SizeClass::ALL.map(|class| means(runs, class));
        table.push([
            (*policy).to_owned(),
            Spread::of(short.into_iter().map(|seconds| seconds * 1e3)).text(),
            Spread::of(middle).text(),
            Spread::of(long).text(),
            Spread::of(runs.iter().map(|run| run.link.dropped as f64)).text(),
        ]);
    }
    ("Mean times in a run, median [least..most] over the runs".into(), table)
}

fn by_size(title: &str, policies: &[&'static str], all: &[Runs], shown: fn(&Transfer) -> bool) -> Block {
    let pooled = all.iter().map(|runs| NetworkOutcome {
        transfers: runs.iter().flat_map(|run| run.transfers.iter().copied().filter(shown)).collect(),
        ..NetworkOutcome::default()
    });
    let pooled: Vec<_> = pooled.collect();
    let plot = charts::time_by_size(policies.iter().copied().zip(&pooled));
    chart(title, "Mean time by size, all runs together.", plot)
}
