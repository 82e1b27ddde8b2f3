//! Attribution of packets' waiting time, checked by a replay of the records that integrates over every pair of packets.

use std::collections::BTreeMap;

use dovetail_sched::{FlowId, Limits, Nanos, Packet, PolicySpec, Setup, registry::REGISTRY};
use dovetail_sim::{
    Observer, Options, Passage, PipelineMode,
    blame::{Blame, Cause, Ended, Explanation, FLOW_COLUMNS, HELD, Row, STALLED, Selection, WITHOUT_FLOW},
    simulate,
};
use proptest::prelude::*;

use crate::support::{
    Listed, Seen,
    events::{Job, one_after_another},
};

/// One packet's parts, as reported.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Told {
    latency: u64,
    own: Vec<u64>,
    same_flow: u64,
    causes: Vec<u64>,
}

struct Run {
    seen: Seen,
    told: BTreeMap<u64, Told>,
    ended: BTreeMap<u64, u64>,
    explanation: Explanation,
}

fn run(
    policy: &str,
    jobs: &[Job],
    mode: PipelineMode,
    limits: Limits,
    flow_columns: usize,
    selection: Selection,
) -> Run {
    let resources = jobs[0].demand.len();
    let spec: PolicySpec = policy.parse().expect("a policy");
    let mut scheduler = spec.build(&Setup::new(resources, limits)).expect("valid");
    let mut seen = Seen::default();
    let mut ended = BTreeMap::new();
    let each =
        |packet: &Ended| assert!(ended.insert(packet.packet, packet.latency.0).is_none(), "{packet:?} ends twice");
    let mut blame = Blame::new(resources, flow_columns, selection, 1000, each);
    let mut both = (&mut seen, &mut blame);
    simulate(&mut Listed::new(jobs, &[]), &mut scheduler, mode, &mut both, Options::default()).expect("runs");
    let explanation = blame.finish();
    let nanos = |times: &[Nanos]| times.iter().map(|time| time.0).collect::<Vec<_>>();
    let told = explanation.slowest.iter().map(|packet| {
        let (own, causes) = (nanos(&packet.own), nanos(&packet.causes));
        (packet.packet, Told { latency: packet.latency.0, own, same_flow: packet.same_flow.0, causes })
    });
    Run { seen, told: told.collect(), ended, explanation }
}

/// Duration of the overlap of two spans.
fn overlap(one: (Nanos, Nanos), other: (Nanos, Nanos)) -> u64 {
    one.1.min(other.1).0.saturating_sub(one.0.max(other.0).0)
}

/// What a packet waited for, computed from the other packets' times on the resources: per flow, stalled, and in total.
fn replay(of: &(Packet, Passage), sent: &[(Packet, Passage)]) -> (BTreeMap<u32, u64>, u64, u64) {
    let (packet, passage) = of;
    let (mut behind, mut stalled, mut waited) = (BTreeMap::new(), 0, 0);
    for j in 0..passage.start().len() {
        let came = if j == 0 { packet.arrival } else { passage.end()[j - 1] };
        let wait = (came, passage.start()[j]);
        waited += (wait.1 - wait.0).0;
        for (other, taken) in sent {
            *behind.entry(other.flow.0).or_default() += overlap(wait, (taken.start()[j], taken.end()[j]));
            stalled += overlap(wait, (taken.end()[j], taken.freed()[j]));
            if j == 0 {
                stalled += overlap(wait, (taken.released(), taken.start()[0]));
            }
        }
    }
    (behind, stalled, waited)
}

fn jobs() -> impl Strategy<Value = Vec<Job>> {
    (1usize..=4).prop_flat_map(|m| {
        let job = (0u32..5, 1u32..1600, 0u64..60, prop::collection::vec(0u64..50, m));
        prop::collection::vec(job, 1..60).prop_map(one_after_another)
    })
}

fn modes() -> impl Strategy<Value = PipelineMode> {
    prop_oneof![Just(PipelineMode::NoWait), Just(PipelineMode::Unbounded), (0u32..4).prop_map(PipelineMode::Buffer),]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]
    #[test]
    fn parts_sum_to_the_latency_and_are_what_a_replay_finds(
        jobs in jobs(), mode in modes(), queue in prop::option::of(1u32..6),
        flow_columns in prop_oneof![Just(0usize), Just(2), Just(FLOW_COLUMNS)],
    ) {
        let limits = Limits { flow_packets: queue, ..Limits::UNLIMITED };
        for entry in REGISTRY {
            let Run { seen, told, ended, explanation } = run(entry.name, &jobs, mode, limits, flow_columns, Selection::All);
            prop_assert_eq!(told.len(), seen.sent.len(), "{}", entry.name);
            let latencies = told.iter().map(|(&packet, told)| (packet, told.latency)).collect::<BTreeMap<_, _>>();
            prop_assert_eq!(&ended, &latencies, "{}", entry.name);
            let column_of = |flow: u32| {
                explanation.flows.iter().find(|known| known.flow == FlowId(flow)).expect("it appeared").column
            };
            let mut sums = vec![Row::default(); explanation.columns.len()];
            for one in &seen.sent {
                let (packet, passage) = one;
                let told = &told[&packet.handle];
                let at = format!("{} in {mode}: packet {}", entry.name, packet.handle);
                let all = told.own.iter().sum::<u64>() + told.same_flow + told.causes.iter().sum::<u64>();
                prop_assert_eq!(all, (passage.done() - packet.arrival).0, "{}", at);
                prop_assert_eq!(told.latency, all, "{}", at);
                let (mut behind, stalled, waited) = replay(one, &seen.sent);
                prop_assert_eq!(told.same_flow, behind.remove(&packet.flow.0).unwrap_or(0), "{}", at);
                let mut columns = vec![0; explanation.columns.len()];
                for (flow, nanos) in &behind {
                    columns[column_of(*flow)] += nanos;
                }
                columns[STALLED] = stalled;
                columns[HELD] = waited - told.same_flow - behind.values().sum::<u64>() - stalled;
                columns.truncate(told.causes.len());
                prop_assert!(entry.name != "fifo" || told.causes[HELD] == 0, "{}: held by {:?}", at, entry.name);
                prop_assert_eq!(&told.causes, &columns, "{}", at);
                let own: Vec<_> = packet.demand.times().iter().map(|time| time.0).collect();
                prop_assert_eq!(&told.own, &own, "{}", at);
                for sum in [column_of(packet.flow.0), 0] {
                    let sum = &mut sums[sum];
                    sum.packets += 1;
                    sum.latency_nanos += u128::from(all);
                    sum.same_flow_nanos += u128::from(told.same_flow);
                    sum.causes_nanos.resize(columns.len(), 0);
                    for (sum, nanos) in sum.causes_nanos.iter_mut().zip(&columns) {
                        *sum += u128::from(*nanos);
                    }
                }
            }
            // The sums over all packets are in row 0, where no flow has its column.
            let rows = [&explanation.selected].into_iter().chain(&explanation.rows[1..]);
            for (row, sum) in rows.zip(&sums) {
                let figures = |row: &Row| (row.packets, row.latency_nanos, row.same_flow_nanos, causes(row));
                prop_assert_eq!(figures(row), figures(sum), "{} in {}", entry.name, mode);
                let parts = row.own_nanos.iter().sum::<u128>() + row.same_flow_nanos;
                prop_assert_eq!(parts + row.causes_nanos.iter().sum::<u128>(), row.latency_nanos);
            }
            let dropped: u64 = explanation.rows.iter().map(|row| row.dropped).sum();
            prop_assert_eq!(dropped, seen.dropped.len() as u64);
            prop_assert_eq!(explanation.selected.packets, seen.sent.len() as u64);
        }
    }
}

/// What a row's packets waited for, without zero columns.
fn causes(row: &Row) -> Vec<(usize, u128)> {
    row.causes_nanos.iter().copied().enumerate().filter(|(_, nanos)| *nanos > 0).collect()
}

fn job(arrival: u64, flow: u32, demand: &[u64]) -> Job {
    Job { arrival, flow, bytes: 100, demand: demand.to_vec() }
}

fn under(policy: &str, jobs: &[Job], mode: PipelineMode) -> Run {
    run(policy, jobs, mode, Limits::UNLIMITED, FLOW_COLUMNS, Selection::All)
}

/// Nanoseconds behind the flow of this number.
fn behind(run: &Run, packet: u64, flow: u32) -> u64 {
    let label = Cause::Flow(format!("flow {}", FlowId(flow)));
    let column = run.explanation.columns.iter().position(|column| column.cause == label).expect("a column");
    run.told[&packet].causes[column]
}

#[test]
fn one_resource_is_shared_by_those_who_wait() {
    // 0: [0, 4) of flow 0; 1 and 2 arrive at 1 and 2: flow 0 again from 4 to 8, then flow 1.
    let run = under("fifo", &[job(0, 0, &[4]), job(1, 0, &[4]), job(2, 1, &[3])], PipelineMode::NoWait);
    assert_eq!(run.told[&0], Told { latency: 4, own: vec![4], same_flow: 0, causes: vec![0; WITHOUT_FLOW + 2] });
    assert_eq!((run.told[&1].latency, run.told[&1].same_flow), (7, 3));
    assert_eq!((run.told[&2].latency, run.told[&2].same_flow, behind(&run, 2, 0)), (9, 0, 6));
}

#[test]
fn without_waiting_between_resources_the_first_one_stalls_for_the_second() {
    // 0 is on the CPU until 1 and on the link until 6; 1 is released at 1 and starts at 5.
    let run = under("fifo", &[job(0, 0, &[1, 5]), job(0, 1, &[1, 5])], PipelineMode::NoWait);
    let told = &run.told[&1];
    assert_eq!((told.latency, told.own.as_slice(), told.causes[STALLED]), (11, &[1, 5][..], 4));
    assert_eq!((behind(&run, 1, 0), told.causes[HELD]), (1, 0));
}

#[test]
fn a_full_buffer_blocks_the_first_resource() {
    // Without a buffer between them, 1 leaves the CPU at 6; 2 waits for it from 2 to 6.
    let jobs = [job(0, 0, &[1, 5]), job(0, 1, &[1, 5]), job(2, 2, &[1, 5])];
    let run = under("fifo", &jobs, PipelineMode::Buffer(0));
    let told = &run.told[&2];
    // On the CPU from 6 to 7, then behind 1's packet on the link from 7 to 11, which began there at 6.
    assert_eq!((told.latency, told.causes[STALLED], behind(&run, 2, 1), behind(&run, 2, 0)), (14, 4, 4, 0));
    // 1 itself ended on the CPU at 2 and waits there until 6 for the link, which serves 0.
    assert_eq!((behind(&run, 1, 0), run.told[&1].causes[STALLED]), (1 + 4, 0));
}

#[test]
fn a_later_resource_has_a_queue_of_its_own() {
    let jobs = [job(0, 0, &[1, 5]), job(0, 1, &[1, 5])];
    let run = under("fifo", &jobs, PipelineMode::Unbounded);
    assert_eq!((behind(&run, 1, 0), run.told[&1].causes[STALLED]), (1 + 4, 0));
}

#[test]
fn a_packet_a_flow_or_a_class_is_selected() {
    let jobs = [job(0, 0, &[4]), job(1, 0, &[4]), job(2, 1, &[3])];
    let of = |selection| run("fifo", &jobs, PipelineMode::NoWait, Limits::UNLIMITED, 0, selection).explanation;
    let one = of(Selection::Packet(1));
    assert_eq!((one.selected.packets, one.selected.latency_nanos, one.slowest.len()), (1, 7, 1));
    let flow = of(Selection::Flow(format!("flow {}", FlowId(1))));
    assert_eq!(causes(&flow.selected), [(WITHOUT_FLOW, 6)]);
    assert_eq!((flow.selected.packets, flow.selected.latency_nanos, flow.slowest[0].packet), (1, 9, 2));
    assert_eq!(of(Selection::Class("none".into())).selected.packets, 0);
}

#[test]
fn a_packet_that_starves_is_left() {
    let mut blame = Blame::new(1, 1, Selection::All, 1, |_: &Ended| ());
    let mut scheduler = "fifo".parse::<PolicySpec>().unwrap().build(&Setup::new(1, Limits::UNLIMITED)).unwrap();
    let options = Options { stop_at: Some(Nanos(3)), progress: None, stop: None };
    let jobs = [job(0, 0, &[4]), job(1, 0, &[4]), job(2, 1, &[3])];
    simulate(&mut Listed::new(&jobs, &[]), &mut scheduler, PipelineMode::NoWait, &mut blame, options).unwrap();
    let explanation = blame.finish();
    let left: Vec<_> = explanation.rows.iter().map(|row| row.left).collect();
    assert_eq!(
        (left.as_slice(), explanation.selected.left, explanation.selected.packets),
        (&[0, 0, 0, 0, 0, 0, 0, 1, 1][..], 2, 1)
    );
}

/// Blame can be boxed together with other observers.
#[test]
fn blame_watches_beside_other_observers() {
    fn observer<O: Observer>(_: &O) {}
    observer(&Blame::new(1, 1, Selection::All, 1, |_: &Ended| ()));
}

#[test]
fn the_slowest_are_as_many_as_are_wanted_and_the_slowest() {
    let jobs: Vec<_> = (0..50).map(|at| job(at * 3, (at % 3) as u32, &[1 + at * 7 % 11])).collect();
    let all = under("drr", &jobs, PipelineMode::NoWait).explanation.slowest;
    assert_eq!(all.len(), 50);
    assert!(all.windows(2).all(|pair| (pair[1].latency, pair[0].packet) <= (pair[0].latency, pair[1].packet)));
    let mut scheduler = "drr".parse::<PolicySpec>().unwrap().build(&Setup::new(1, Limits::UNLIMITED)).unwrap();
    let mut blame = Blame::new(1, FLOW_COLUMNS, Selection::All, 7, |_: &Ended| ());
    simulate(&mut Listed::new(&jobs, &[]), &mut scheduler, PipelineMode::NoWait, &mut blame, Options::default())
        .unwrap();
    assert_eq!(blame.finish().slowest, all[..7]);
}

/// More history than is kept at once, with an early slow packet: what it waited for is computed before its history is
/// discarded.
#[test]
fn what_is_long_ago_is_not_lost() {
    let early = [job(0, 0, &[1_000_000]), job(1, 1, &[10])];
    let late = (0..300_000u64).map(|at| job(2_000_000 + at * 20, (at % 3) as u32, &[10]));
    let jobs: Vec<_> = early.into_iter().chain(late).collect();
    let mut scheduler = "fifo".parse::<PolicySpec>().unwrap().build(&Setup::new(1, Limits::UNLIMITED)).unwrap();
    let mut blame = Blame::new(1, FLOW_COLUMNS, Selection::All, 2, |_: &Ended| ());
    simulate(&mut Listed::new(&jobs, &[]), &mut scheduler, PipelineMode::NoWait, &mut blame, Options::default())
        .unwrap();
    let slowest = blame.finish().slowest;
    assert_eq!(
        (slowest[0].packet, slowest[0].latency, slowest[0].causes[WITHOUT_FLOW]),
        (1, Nanos(1_000_009), Nanos(999_999))
    );
}
