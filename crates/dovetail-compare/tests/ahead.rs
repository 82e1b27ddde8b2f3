//! Packets drawn ahead on another thread: a run sees the same as without.
#![allow(clippy::unwrap_used)]

use std::{
    fmt::Write as _,
    fs,
    io::Cursor,
    path::Path,
    sync::atomic::{AtomicUsize, Ordering},
};

use dovetail_compare::drawn_ahead;
use dovetail_sched::{FlowId, Limits, Nanos, Packet, PolicySpec, Setup};
use dovetail_sim::{
    Observer, Options, Passage, PipelineMode, Profile, simulate,
    workload::{Csv, CsvOptions, Notice, Scenario, Workload, WorkloadError},
};

/// Every call of a run, as text.
#[derive(Default)]
struct Log(String);

impl Observer for Log {
    fn appeared(&mut self, flow: FlowId, profile: &Profile<'_>) {
        writeln!(self.0, "appeared {flow} {profile:?}").unwrap();
    }
    fn arrived(&mut self, packet: &Packet) {
        writeln!(self.0, "arrived {packet:?}").unwrap();
    }
    fn dropped(&mut self, packet: &Packet, now: Nanos) {
        writeln!(self.0, "dropped {} {now}", packet.handle).unwrap();
    }
    fn sent(&mut self, packet: &Packet, passage: &Passage) {
        writeln!(self.0, "sent {} {passage:?}", packet.handle).unwrap();
    }
}

fn run(workload: &mut dyn Workload, policy: &str, until: Nanos) -> (String, Vec<Notice>) {
    let limits = Limits { packets: Some(50), ..Limits::UNLIMITED };
    let setup = Setup { programs: workload.programs(), ..Setup::new(workload.resources().len(), limits) };
    let mut scheduler = policy.parse::<PolicySpec>().unwrap().build(&setup).unwrap();
    let (mut log, options) = (Log::default(), Options { stop_at: Some(until), ..Options::default() });
    let done = simulate(workload, scheduler.as_mut(), PipelineMode::Buffer(2), &mut log, options);
    writeln!(log.0, "{:?} {:?} {:?}", workload.resources(), workload.packets_hint(), done.map_err(|e| e.to_string()))
        .unwrap();
    (log.0, workload.notices())
}

/// Checks that the log is the same both ways, and returns it.
fn agree(open: impl Fn() -> Box<dyn Workload> + Sync, policy: &str, until: Nanos) -> String {
    let (plain, notices) = run(open().as_mut(), policy, until);
    let ahead = drawn_ahead(|| Ok::<_, ()>(open()), |workload| run(workload, policy, until)).unwrap();
    assert!(plain == ahead.0, "the run is another one");
    if until == Nanos::MAX {
        assert_eq!(notices, ahead.1);
    }
    plain
}

fn table(rows: u64, last: &'static str) -> impl Fn() -> Box<dyn Workload> + Sync {
    let mut text = String::from("arrival_ns,flow,bytes,cpu_ns,link_ns\n");
    for row in 0..rows {
        // New flows throughout, times that run backwards and packets without length, which cause notices.
        let at = row * 900 - row % 7 * 100;
        let (flow, bytes) = (row % (row / 5 + 1), row % 1500);
        writeln!(text, "{at},name-{flow},{bytes},{},{}", 300 + row % 800, 500 + row % 1100).unwrap();
    }
    text.push_str(last);
    move || {
        let csv = Csv::open(Box::new(Cursor::new(text.clone())), "table.csv", CsvOptions::default());
        Box::new(csv.unwrap())
    }
}

#[test]
fn a_table_is_the_same_table() {
    for policy in ["fifo", "wfq", "drfq"] {
        // Fewer than a batch, exactly one batch, and several with a remainder.
        for rows in [0, 1, 4096, 20_000] {
            let log = agree(table(rows, ""), policy, Nanos::MAX);
            let says = |what: &str| log.matches(what).count();
            assert!(rows < 20_000 || says("dropped") > 100 && says("appeared") > 100, "the log says little");
        }
    }
}

#[test]
fn an_error_comes_where_it_is() {
    let log = agree(table(5_000, "5000000,late,many,1,1\n"), "drr", Nanos::MAX);
    assert!(log.contains("table.csv, line 5002"), "{}", &log[log.len() - 300..]);
}

#[test]
fn every_scenario_is_the_same_run() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios");
    let (mut open_loops, mut others) = (0, 0);
    for file in fs::read_dir(folder).unwrap() {
        let path = file.unwrap().path();
        let Ok(text) = fs::read_to_string(&path) else { continue };
        // Files that describe networks are not scenarios.
        let Ok(scenario) = Scenario::parse(&text, "scenario", &mut |_| Err(std::io::ErrorKind::NotFound.into())) else {
            continue;
        };
        let open = || Box::new(scenario.workload().unwrap()) as Box<dyn Workload>;
        *(if open().is_open_loop() { &mut open_loops } else { &mut others }) += 1;
        agree(open, "drfq", Nanos::from_millis(30));
    }
    assert!(open_loops > 3 && others > 1, "{open_loops} {others}");
}

#[test]
fn what_cannot_be_opened_is_told_once() {
    let opened = AtomicUsize::new(0);
    let failed = drawn_ahead(
        || {
            opened.fetch_add(1, Ordering::Relaxed);
            Csv::open(Box::new(Cursor::new("no,header")), "table.csv", CsvOptions::default())
                .map(|csv| Box::new(csv) as Box<dyn Workload>)
        },
        |_| (),
    );
    assert!(matches!(failed, Err(WorkloadError::Line { .. })), "{failed:?}");
    assert_eq!(opened.into_inner(), 1);
}

#[test]
fn who_stops_early_does_not_wait_for_the_rest() {
    let open = table(100_000, "");
    let first = drawn_ahead(|| Ok::<_, ()>(open()), |workload| workload.next().unwrap().unwrap().at).unwrap();
    assert_eq!(first, Nanos::ZERO);
}
