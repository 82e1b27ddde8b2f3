//! The gain of a sender that knows how costs are estimated.
//!
//! An honest flow always has packets queued, all of the same cost. A hostile one chooses the cost, the length and the program
//! of every packet and when it arrives, and has at most `Q` packets queued or in service. With `settle=yes` and the same weight
//! it gets no more of the CPU, at any time, than the honest one plus
//!
//! ```text
//! 2·(Q + 1)·P_max + P_honest
//! ```
//!
//! `(Q + 1)·P_max` for what it was not charged yet (see [`Estimating`](dovetail_sched::cost::Estimating)), as much again for
//! the largest charge, by which a policy that orders by charges may be unfair, and likewise a packet of the honest flow. That
//! does not grow with time; with `settle=no` it does.

use dovetail_sched::{
    Demand, Feedback, FlowId, Limits, Nanos, Packet, PolicySpec, Scheduler, Setup, Stage,
    cost::{Cost, Processing, Program, ProgramId, ProgramTable},
    registry::with_knobs,
};
use proptest::prelude::*;

const HONEST: FlowId = FlowId(0);
const HOSTILE: FlowId = FlowId(1);
const HONEST_COST: u64 = 1000;

/// What the hostile flow does before the next packet is released.
#[derive(Debug, Clone, Copy)]
enum Move {
    Wait,
    /// Waits until everything that it sent has been measured, or for a long time.
    WaitForMeasurement,
    Send {
        cost: u64,
        bytes: u32,
        program: u32,
    },
}

/// A CPU, its scheduler, and the service of the two flows.
struct Cpu {
    scheduler: Box<dyn Scheduler>,
    costs: Vec<u64>,
    now: u64,
    served: [u64; 2],
    outstanding: usize,
}

/// A program that is known to cost next to nothing, whatever the hostile flow's packets that name it cost.
fn programs() -> ProgramTable {
    let cheap = Program {
        processing: Processing::Header,
        cost: Some(Cost::new(0.0, 1.0).expect("in range")),
        ..Program::new("cheap")
    };
    ProgramTable::new(vec![Program::new("honest"), cheap])
}

impl Cpu {
    fn new(policy: &str) -> Self {
        let setup = Setup { programs: programs(), ..Setup::new(1, Limits::UNLIMITED) };
        let scheduler = policy.parse::<PolicySpec>().expect("a policy").build(&setup).expect("one resource");
        let mut it = Self { scheduler, costs: Vec::new(), now: 0, served: [0; 2], outstanding: 0 };
        for _ in 0..4 {
            it.send(HONEST, HONEST_COST, 1000, 0);
        }
        it
    }

    fn send(&mut self, flow: FlowId, cost: u64, bytes: u32, program: u32) {
        if let Some(learning) = self.scheduler.learning() {
            learning.set_program(flow, ProgramId(program));
        }
        let handle = self.costs.len() as u64;
        self.costs.push(cost);
        let demand = Demand::new(&[Nanos::ZERO]).expect("one resource");
        let packet = Packet { flow, bytes, arrival: Nanos(self.now), handle, demand };
        let _ = self.scheduler.enqueue(&packet, Nanos(self.now));
        self.outstanding += usize::from(flow == HOSTILE);
    }

    /// Serves one packet to its end.
    fn serve(&mut self) {
        let out = loop {
            match self.scheduler.dequeue(Nanos(self.now)) {
                Some(out) => break out,
                None => self.now = self.scheduler.poll_at().expect("the honest flow always has some waiting").0,
            }
        };
        let (flow, took) = (out.packet.flow, self.costs[out.packet.handle as usize]);
        for (stage, took, at) in [(Stage::Started, 0, self.now), (Stage::Finished, took, self.now + took)] {
            if self.scheduler.interest().has(stage, 0) {
                let event = Feedback { flow, ticket: out.ticket, resource: 0, stage, took: Nanos(took) };
                self.scheduler.feedback(&event, Nanos(at));
            }
        }
        self.now += took;
        self.served[flow.index()] += took;
        if flow == HONEST {
            self.send(HONEST, HONEST_COST, 1000, 0);
        } else {
            self.outstanding -= 1;
        }
    }

    /// How much more service the hostile flow has had.
    fn lead(&self) -> i128 {
        i128::from(self.served[1]) - i128::from(self.served[0])
    }
}

/// The largest lead that these moves ever gain, over `rounds` repetitions.
fn play(policy: &str, moves: &[Move], most: usize, rounds: usize) -> i128 {
    let mut cpu = Cpu::new(policy);
    let mut lead = 0;
    for _ in 0..rounds {
        for &step in moves {
            match step {
                Move::Send { cost, bytes, program } if cpu.outstanding < most => {
                    cpu.send(HOSTILE, cost, bytes, program)
                }
                Move::WaitForMeasurement => {
                    // A packet of a new length may be estimated at hours: its sender waits that long.
                    for _ in 0..200 {
                        if cpu.outstanding > 0 {
                            cpu.serve();
                        }
                    }
                }
                Move::Send { .. } | Move::Wait => cpu.serve(),
            }
            lead = lead.max(cpu.lead());
        }
    }
    lead
}

const Q: usize = 20;

fn stated(largest: u64) -> i128 {
    2 * (Q as i128 + 1) * i128::from(largest) + i128::from(HONEST_COST)
}

/// Policies whose unfairness in charges is at most one of the largest charges, and which do not simulate a fluid that is served
/// in real time.
const FAIR: [&str; 5] = ["cbcs:clock=self", "drfq", "sfq:resource=first", "scfq:resource=first", "atfq:batch=1"];

fn moves() -> impl Strategy<Value = Vec<Move>> {
    let send = (
        prop::sample::select(&[0, 1, 10, 1000, 30_000][..]),
        prop::sample::select(&[0, 1, 64, 1500, u32::MAX][..]),
        prop::sample::select(&[0, 1, 2, 77, u32::MAX][..]),
    );
    let send = send.prop_map(|(cost, bytes, program)| Move::Send { cost, bytes, program });
    prop::collection::vec(prop_oneof![2 => Just(Move::Wait), 1 => Just(Move::WaitForMeasurement), 3 => send], 1..60)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn nobody_takes_more_than_stated(moves in moves(), estimator in prop::sample::select(&["ses", "llsr", "line"][..])) {
        for policy in FAIR {
            let lead = play(&with_knobs(policy, format_args!("estimator={estimator}")), &moves, Q, 40);
            prop_assert!(lead <= stated(30_000), "{policy}: {lead} ns ahead");
        }
    }
}

/// Cheap packets, each measured before the next, until the estimate is low; then as many costly ones at once as may be queued.
fn batches() -> Vec<Move> {
    let packet = |cost| Move::Send { cost, bytes: 1000, program: 0 };
    let mut moves: Vec<Move> = (0..14).flat_map(|_| [packet(10), Move::WaitForMeasurement]).collect();
    moves.extend([packet(30_000); Q]);
    moves.push(Move::WaitForMeasurement);
    moves
}

#[test]
fn batches_at_the_price_of_cheap_packets_are_settled() {
    for policy in FAIR {
        let settled = play(&with_knobs(policy, "estimator=ses"), &batches(), Q, 100);
        assert!(settled <= stated(30_000), "{policy}: {settled} ns ahead");
        let paper = play(&with_knobs(policy, "estimator=ses,settle=no"), &batches(), Q, 100);
        assert!(paper > 10 * stated(30_000), "{policy}: {paper} ns ahead: the attack is too weak to show anything");
    }
}

/// A program whose stated cost is 0 is believed for ever without settling.
#[test]
fn a_lie_about_the_program_is_settled() {
    let moves = [Move::Send { cost: 30_000, bytes: 100, program: 1 }, Move::Wait];
    for policy in FAIR {
        let settled = play(&with_knobs(policy, "estimator=line"), &moves, Q, 5000);
        assert!(settled <= stated(30_000), "{policy}: {settled} ns ahead");
        let paper = play(&with_knobs(policy, "estimator=line,settle=no"), &moves, Q, 5000);
        assert!(paper > 10 * stated(30_000), "{policy}: {paper} ns ahead: the attack is too weak to show anything");
    }
}

/// A fluid that is served in real time is empty by the time that late charges arrive: the sender's lead is forgotten with it.
/// These policies are available where costs are believed rather than measured; the trade-off also where they are measured.
#[test]
fn policies_with_a_fluid_forget_what_is_settled_late() {
    let moves = [Move::Send { cost: 30_000, bytes: 100, program: 1 }, Move::Wait];
    let lead = |policy, estimator| play(&with_knobs(policy, estimator), &moves, Q, 5000);
    for policy in ["wfq:resource=first", "wfq-split", "tradeoff:alpha=1"] {
        let believed = lead(policy, "estimator=line");
        assert!(believed > 10 * stated(30_000), "{policy}: {believed} ns ahead");
    }
    for policy in ["wfq:resource=first", "wfq-split"] {
        let measured = lead(policy, "estimator=ses");
        assert!(measured <= stated(30_000), "{policy}: {measured} ns ahead");
    }
    let measured = lead("tradeoff:alpha=1", "estimator=ses");
    assert!(measured > 10 * stated(30_000), "tradeoff: {measured} ns ahead");
}

/// The same holds for CBCS-WFQ's published virtual time: it runs while costly packets that were stamped as cheap are served,
/// and the flow's charges for them then lie behind it.
#[test]
fn the_published_clock_of_cbcs_forgives_what_is_charged_late() {
    let send = |cost, program| Move::Send { cost, bytes: 0, program };
    let mut moves = vec![send(30_000, 0), Move::WaitForMeasurement];
    moves.extend([(30_000, 0), (30_000, 0), (30_000, 1), (30_000, 1), (0, 0), (30_000, 1)].map(|(c, p)| send(c, p)));
    moves.extend([send(0, 1), send(0, 1), send(0, 0), Move::Wait, Move::WaitForMeasurement, send(30_000, 77)]);
    moves.extend([Move::Wait, Move::Wait, Move::WaitForMeasurement, Move::Wait]);
    let lead = |policy: &str| play(policy, &moves, Q, 4000);
    assert!(lead("cbcs:estimator=ses") > 10 * stated(30_000));
    assert!(lead("cbcs:clock=self,estimator=ses") <= stated(30_000));
}
