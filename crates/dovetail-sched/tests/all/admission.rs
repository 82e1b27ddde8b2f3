//! Admission control against the published example, against a naive model that recomputes everything from the list of
//! admitted flows, and at the limits themselves.
#![allow(clippy::unwrap_used)]

use dovetail_sched::{
    Nanos,
    cost::admission::{
        Admission, Amount, Amounts, BestEffort, Bound, Broken, FlowHandle, Mismatch, Node, Refusal, Reservation,
        Resource, UnknownFlow, Whose, delay,
    },
};
use proptest::prelude::*;

fn amounts(units: &[f64]) -> Amounts {
    Amounts::new(units).unwrap()
}

fn amount(units: f64) -> Amount {
    Amount::new(units).unwrap()
}

fn node(resources: &[(f64, f64)]) -> Node {
    let resources: Vec<_> =
        resources.iter().map(|&(capacity, target)| Resource::new(capacity, target).unwrap()).collect();
    Node::new(&resources, BestEffort::default()).unwrap()
}

fn flow(rate: &[f64], packet: &[f64], most: Option<Nanos>) -> Reservation {
    Reservation::new(amounts(rate), &[amounts(packet)], most, 0).unwrap()
}

const MS: fn(u64) -> Nanos = Nanos::from_millis;

#[test]
fn table_2() {
    let node = node(&[(1000.0, 1.0), (1000.0, 1.0)]);
    let flows = [flow(&[750.0, 250.0], &[30.0, 10.0], None), flow(&[250.0, 750.0], &[10.0, 30.0], None)];
    let mut admission = Admission::new(node.clone());
    let handles = flows.clone().map(|flow| admission.admit(&flow).unwrap().flow);
    for (flow, handle) in flows.iter().zip(handles) {
        assert_eq!(delay::separate(&node, flow, &flows), Ok(MS(140)));
        assert_eq!(delay::composite(&node, flow, &flows), Ok(MS(120)));
        assert_eq!(admission.delay(handle, Bound::Separate), Some(MS(140)));
        assert_eq!(admission.delay(handle, Bound::Composite), Some(MS(120)));
    }
}

/// Eq. 14 takes the costliest packet as a whole, eq. 13 the costliest on each resource, which may be another packet.
#[test]
fn kinds_of_packet_are_told_apart() {
    let node = node(&[(100.0, 1.0), (100.0, 1.0)]);
    let kinds = [amounts(&[10.0, 1.0]), amounts(&[1.0, 10.0]), amounts(&[6.0, 6.0])];
    let flow = Reservation::new(amounts(&[50.0, 50.0]), &kinds, None, 0).unwrap();
    assert_eq!(delay::separate(&node, &flow, []), Ok(MS(200 + 200 + 100 + 100)));
    assert_eq!(delay::composite(&node, &flow, []), Ok(MS(240 + 120)));
}

#[test]
fn exactly_at_the_target_is_in_and_a_billionth_over_is_not() {
    let part = flow(&[0.1], &[0.0], None);
    let mut admission = Admission::new(node(&[(1.0, 0.3)]));
    for _ in 0..3 {
        admission.admit(&part).unwrap();
    }
    assert_eq!(admission.left()[0], Amount::ZERO);
    let least = flow(&[1e-9], &[0.0], None);
    let refusal = admission.admit(&least).unwrap_err();
    assert_eq!(refusal, Refusal::Rate { resource: 0, requested_per_s: amount(1e-9), left_per_s: Amount::ZERO });
    assert_eq!(refusal.rule(), 1);

    let mut admission = Admission::new(node(&[(1e9, 0.95)]));
    assert!(admission.admit(&flow(&[950_000_000.000_001], &[0.0], None)).is_err());
    assert!(admission.admit(&flow(&[950_000_000.0], &[0.0], None)).is_ok());
}

#[test]
fn a_delay_exactly_as_long_as_bearable_is_in_and_a_nanosecond_over_is_not() {
    // 100 ms of its own and 10 ms for the packet ahead.
    let asks = |most| flow(&[100.0], &[10.0], Some(Nanos(most)));
    let mut admission = Admission::new(node(&[(1000.0, 1.0)]));
    let refusal = admission.admit(&asks(109_999_999)).unwrap_err();
    let broken = Broken { whose: Whose::New, by: Bound::Composite, bound: MS(110), most: Nanos(109_999_999) };
    assert_eq!((refusal, broken.over()), (Refusal::Delay(broken), Nanos(1)));
    let first = admission.admit(&asks(110_000_000)).unwrap().flow;

    // A packet a billionth of a unit larger makes the first flow's bound a nanosecond longer.
    let larger = flow(&[100.0], &[10.000_000_001], None);
    let broken = Broken { whose: Whose::Admitted(first), bound: Nanos(110_000_001), most: MS(110), ..broken };
    assert_eq!(admission.admit(&larger), Err(Refusal::Delay(broken)));
    assert!(admission.admit(&flow(&[100.0], &[10.0], None)).is_ok());
    admission.release(first).unwrap();
    assert!(admission.admit(&larger).is_ok(), "nobody minds any more");
}

#[test]
fn of_all_that_would_wait_too_long_the_worst_is_named() {
    let mut admission = Admission::new(node(&[(1000.0, 1.0)]));
    let mut admit = |most| admission.admit(&flow(&[100.0], &[10.0], Some(MS(most)))).unwrap().flow;
    let (_, worst, _) = (admit(140), admit(115), admit(120));
    let refusal = admission.admit(&flow(&[100.0], &[30.0], None)).unwrap_err();
    let broken = Broken { whose: Whose::Admitted(worst), by: Bound::Composite, bound: MS(130), most: MS(115) };
    assert_eq!(refusal, Refusal::Delay(broken));
}

#[test]
fn a_flow_that_can_bear_nothing_is_refused_with_its_own_term() {
    let mut admission = Admission::new(node(&[(1000.0, 1.0)]));
    let refusal = admission.admit(&flow(&[100.0], &[10.0], Some(Nanos::ZERO))).unwrap_err();
    assert!(matches!(refusal, Refusal::Delay(broken) if broken.over() == MS(110)), "{refusal}");
}

#[test]
fn the_two_formulas_decide_differently() {
    let flows =
        [flow(&[750.0, 250.0], &[30.0, 10.0], Some(MS(130))), flow(&[250.0, 750.0], &[10.0, 30.0], Some(MS(130)))];
    let node = node(&[(1000.0, 1.0), (1000.0, 1.0)]);
    let admitted = |by| {
        let mut admission = Admission::going_by(node.clone(), by);
        flows.iter().filter(|flow| admission.admit(flow).is_ok()).count()
    };
    assert_eq!(admitted(Bound::Composite), 2);
    // The first alone has 120 ms; the second would make it 140.
    assert_eq!(admitted(Bound::Separate), 1);
}

#[test]
fn another_level_is_warned_of_and_not_asked() {
    let mut admission = Admission::new(node(&[(1000.0, 1.0)]));
    let first = admission.admit(&flow(&[100.0], &[10.0], Some(MS(110)))).unwrap();
    assert_eq!((first.breaks, first.exhausts), (None, [false; 8]));
    let dear = Reservation::new(amounts(&[900.0]), &[amounts(&[30.0])], None, 1).unwrap();
    let admitted = admission.admit(&dear).unwrap();
    let whose = Whose::Admitted(first.flow);
    assert_eq!(admitted.breaks, Some(Broken { whose, by: Bound::Composite, bound: MS(130), most: MS(110) }));
    assert_eq!(admitted.exhausts[..2], [true, false], "nothing is left for best-effort flows");
}

#[test]
fn best_effort_packets_stand_in_the_way_too() {
    let resource = Resource::new(1000.0, 1.0).unwrap();
    let best_effort = BestEffort { packets: vec![amounts(&[50.0])], ..BestEffort::default() };
    let mut admission = Admission::new(Node::new(&[resource], best_effort).unwrap());
    let asked = flow(&[100.0], &[10.0], None);
    let admitted = admission.admit(&asked).unwrap();
    assert_eq!(admission.delay(admitted.flow, Bound::Composite), Some(MS(150)));
    assert_eq!(delay::composite(admission.node(), &asked, []), Ok(MS(150)));
}

#[test]
fn best_effort_flows_share_what_is_left() {
    let resource = [Resource::new(1000.0, 0.9).unwrap(), Resource::new(500.0, 1.0).unwrap()];
    let best_effort = BestEffort { most_flows: 3, queue_packets: 2, packets: Vec::new() };
    let mut admission = Admission::new(Node::new(&resource, best_effort).unwrap());
    assert_eq!(admission.best_effort_share(0), None, "nobody is there to share");
    for _ in 0..3 {
        admission.admit_best_effort().unwrap();
    }
    let refusal = admission.admit_best_effort().unwrap_err();
    assert_eq!((refusal, refusal.rule()), (Refusal::BestEffortFlows { most: 3 }, 3));
    let shares = |admission: &Admission| [0, 1].map(|resource| admission.best_effort_share(resource).unwrap());
    let free = [amount(300.0), amount(166.666_666_666)];
    assert_eq!(shares(&admission), free);
    let flow = admission.admit(&flow(&[600.0, 200.0], &[1.0, 1.0], None)).unwrap().flow;
    assert_eq!(shares(&admission), [amount(100.0), amount(100.0)]);
    admission.release(flow).unwrap();
    assert_eq!(shares(&admission), free, "all is as it was");
    assert_eq!(admission.best_effort_share(2), None);
    admission.release_best_effort().unwrap();
    assert_eq!(shares(&admission), [amount(450.0), amount(250.0)]);

    assert_eq!(admission.admit_packet(1), Ok(()));
    let refusal = admission.admit_packet(2).unwrap_err();
    assert_eq!((refusal, refusal.rule()), (Refusal::Queue { waiting: 2, most: 2 }, 4));
}

#[test]
fn what_is_not_in_cannot_leave() {
    let mut admission = Admission::new(node(&[(1.0, 1.0)]));
    assert_eq!(admission.release_best_effort(), Err(UnknownFlow));
    let handle = admission.admit(&flow(&[1.0], &[1.0], None)).unwrap().flow;
    assert_eq!(admission.release(handle), Ok(()));
    assert_eq!(admission.release(handle), Err(UnknownFlow));
    assert_eq!((admission.delay(handle, Bound::Composite), admission.flows()), (None, 0));
}

#[test]
fn a_reservation_for_another_node_is_refused() {
    let mut admission = Admission::new(node(&[(1.0, 1.0)]));
    let asked = flow(&[0.1, 0.1], &[1.0, 1.0], None);
    let mismatch = Mismatch { given: 2, node: 1 };
    assert_eq!(admission.admit(&asked), Err(Refusal::Resources(mismatch)));
    assert_eq!(delay::composite(admission.node(), &asked, []), Err(mismatch));
    assert_eq!(admission.delay_if_admitted(&asked, Bound::Separate), None);
}

#[test]
fn sums_do_not_drift() {
    let mut admission = Admission::new(node(&[(1e15, 1.0), (1.0, 1.0)]));
    let stays = admission.admit(&flow(&[1e-9, 0.1], &[0.0, 0.0], None)).unwrap().flow;
    let comes_and_goes = flow(&[9.99e14, 1.0 / 3.0], &[1.0, 1.0], Some(MS(1_000_000)));
    for _ in 0..100_000 {
        let handle = admission.admit(&comes_and_goes).unwrap().flow;
        admission.release(handle).unwrap();
    }
    assert_eq!(admission.reserved_per_s().as_slice(), [amount(1e-9), amount(0.1)]);
    admission.release(stays).unwrap();
    assert_eq!(admission.reserved_per_s().as_slice(), [Amount::ZERO; 2]);
}

/// The rules as they are written in the paper, over a list and from scratch each time.
mod model {
    use super::*;

    pub const BILLION: u128 = 1_000_000_000;

    fn ceil_ns(cost: u128, rate: u128) -> u128 {
        if cost == 0 {
            return 0;
        }
        let whole = cost * BILLION / rate;
        if whole * rate == cost * BILLION { whole } else { whole + 1 }
    }

    fn costs(packet: &Amounts, rate: &[u128]) -> Vec<u128> {
        packet.as_slice().iter().zip(rate).map(|(cost, &rate)| ceil_ns(cost.billionths(), rate)).collect()
    }

    fn raw(amounts: &Amounts) -> Vec<u128> {
        amounts.as_slice().iter().map(|amount| amount.billionths()).collect()
    }

    pub fn capacity(node: &Node) -> Vec<u128> {
        node.resources().iter().map(|resource| resource.capacity_per_s().billionths()).collect()
    }

    /// Eqs. 13 and 14.
    pub fn bound(by: Bound, node: &Node, flow: &Reservation, all: &[&Reservation]) -> u128 {
        let dearest = |packets: &mut dyn Iterator<Item = Vec<u128>>| {
            let packets: Vec<_> = packets.collect();
            match by {
                Bound::Composite => packets.iter().map(|times| times.iter().sum()).max().unwrap_or(0),
                Bound::Separate => (0..node.resources().len())
                    .map(|j| packets.iter().map(|times| times[j]).max().unwrap_or(0))
                    .sum::<u128>(),
            }
        };
        let own = raw(flow.rate_per_s());
        let full = capacity(node);
        let everybody = all.iter().flat_map(|other| other.packets()).chain(&node.best_effort().packets);
        dearest(&mut flow.packets().iter().map(|packet| costs(packet, &own)))
            + dearest(&mut everybody.map(|packet| costs(packet, &full)))
    }

    pub fn left(node: &Node, admitted: &[&Reservation], j: usize) -> i128 {
        let target = node.resources()[j].target().billionths();
        let reserved: u128 = admitted.iter().map(|flow| flow.rate_per_s()[j].billionths()).sum();
        (capacity(node)[j] * target / BILLION) as i128 - reserved as i128
    }

    pub enum Verdict {
        In,
        Rate {
            resource: usize,
            over: u128,
        },
        OwnDelay {
            over: u128,
        },
        /// The most that the bound of any flow of the level is too long.
        Others {
            over: u128,
        },
    }

    pub fn judge(by: Bound, node: &Node, admitted: &[&Reservation], asked: &Reservation) -> Verdict {
        for j in 0..node.resources().len() {
            let over = asked.rate_per_s()[j].billionths() as i128 - left(node, admitted, j);
            if over > 0 {
                return Verdict::Rate { resource: j, over: over as u128 };
            }
        }
        let all = [admitted, &[asked]].concat();
        let over = |flow: &Reservation| {
            let most = u128::from(flow.most_delay()?.0);
            bound(by, node, flow, &all).checked_sub(most).filter(|&over| over > 0)
        };
        if let Some(over) = over(asked) {
            return Verdict::OwnDelay { over };
        }
        let level = admitted.iter().filter(|flow| flow.priority() == asked.priority());
        match level.filter_map(|flow| over(flow)).max() {
            Some(over) => Verdict::Others { over },
            None => Verdict::In,
        }
    }
}

#[derive(Debug, Clone)]
enum Step {
    Admit(Reservation),
    Release(usize),
}

/// Round numbers and odd ones, so that limits are met exactly and by the smallest margin.
fn units(most: u32) -> impl Strategy<Value = f64> {
    prop_oneof![(1..=most / 10).prop_map(|tens| f64::from(tens) * 10.0), (0.001..f64::from(most)), Just(1.0 / 3.0)]
}

fn cost() -> impl Strategy<Value = f64> {
    prop_oneof![1 => Just(0.0), 4 => units(40)]
}

fn packets(resources: usize) -> impl Strategy<Value = Vec<Amounts>> {
    prop::collection::vec(prop::collection::vec(cost(), resources).prop_map(|units| amounts(&units)), 1..4)
}

/// A flow whose limit leaves little beyond its own term, so that others' packets decide.
fn reservation(resources: usize) -> impl Strategy<Value = Reservation> {
    let rate = prop::collection::vec(units(100), resources).prop_map(|units| amounts(&units));
    let patience = prop::option::of((1.0..1.5f64, prop_oneof![Just(0.0), 0.0..0.3f64]));
    (rate, packets(resources), patience, 0..3u8).prop_map(|(rate, packets, patience, priority)| {
        let time = |packet: &Amounts| -> f64 {
            packet.as_slice().iter().zip(rate.as_slice()).map(|(cost, rate)| cost.as_f64() / rate.as_f64()).sum()
        };
        let longest = packets.iter().map(time).fold(0.0, f64::max);
        let most = patience.map(|(times, more)| Nanos::from_f64((longest * times + more) * 1e9));
        Reservation::new(rate, &packets, most, priority).unwrap()
    })
}

fn step(resources: usize) -> impl Strategy<Value = Step> {
    prop_oneof![3 => reservation(resources).prop_map(Step::Admit), 1 => (0..100usize).prop_map(Step::Release)]
}

fn runs() -> impl Strategy<Value = (Node, Vec<Step>, Bound, u32)> {
    (1..=8usize).prop_flat_map(|resources| {
        let resource =
            (prop::sample::select(vec![300.0, 1000.0, 1000.0 / 3.0]), prop::sample::select(vec![1.0, 0.95, 0.3]));
        let best_effort = prop_oneof![3 => Just(Vec::new()), 1 => packets(resources)];
        let node = (prop::collection::vec(resource, resources), best_effort).prop_map(|(resources, packets)| {
            let resources: Vec<_> =
                resources.iter().map(|&(capacity, target)| Resource::new(capacity, target).unwrap()).collect();
            Node::new(&resources, BestEffort { packets, ..BestEffort::default() }).unwrap()
        });
        let bound = prop::sample::select(vec![Bound::Composite, Bound::Separate]);
        (node, prop::collection::vec(step(resources), 1..40), bound, 0..5u32)
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(600))]

    #[test]
    fn admission_follows_the_rules((node, steps, by, best_effort) in runs()) {
        let mut admission = Admission::going_by(node.clone(), by);
        for _ in 0..best_effort {
            admission.admit_best_effort().unwrap();
        }
        let mut admitted: Vec<(FlowHandle, Reservation)> = Vec::new();
        for step in steps {
            match step {
                Step::Release(which) => {
                    if !admitted.is_empty() {
                        let (handle, _) = admitted.remove(which % admitted.len());
                        prop_assert_eq!(admission.release(handle), Ok(()));
                    }
                }
                Step::Admit(asked) => {
                    let flows: Vec<_> = admitted.iter().map(|(_, flow)| flow).collect();
                    let with_it = [&flows[..], &[&asked]].concat();
                    for other in [Bound::Composite, Bound::Separate] {
                        let want = model::bound(other, &node, &asked, &with_it);
                        prop_assert_eq!(u128::from(admission.delay_if_admitted(&asked, other).unwrap().0), want);
                    }
                    let verdict = model::judge(by, &node, &flows, &asked);
                    match (admission.admit(&asked), verdict) {
                        (Ok(yes), model::Verdict::In) => {
                            for (j, last) in yes.exhausts.into_iter().enumerate() {
                                let there = j < node.resources().len();
                                let want = there && model::left(&node, &with_it, j) == 0 && model::left(&node, &flows, j) > 0;
                                prop_assert_eq!(last, want);
                            }
                            admitted.push((yes.flow, asked));
                        }
                        (Err(Refusal::Rate { resource, requested_per_s, left_per_s }), model::Verdict::Rate { resource: want, over }) => {
                            prop_assert_eq!((resource, requested_per_s.minus(left_per_s).billionths()), (want, over));
                        }
                        (Err(Refusal::Delay(broken)), model::Verdict::OwnDelay { over }) => {
                            prop_assert_eq!((broken.whose, broken.by, u128::from(broken.over().0)), (Whose::New, by, over));
                        }
                        (Err(Refusal::Delay(broken)), model::Verdict::Others { over }) => {
                            let Whose::Admitted(whose) = broken.whose else { panic!("the newcomer's own is short enough") };
                            let (_, flow) = admitted.iter().find(|(handle, _)| *handle == whose).unwrap();
                            prop_assert_eq!((flow.priority(), flow.most_delay()), (asked.priority(), Some(broken.most)));
                            prop_assert_eq!(u128::from(broken.over().0), over);
                        }
                        (answer, _) => prop_assert!(false, "{:?} is against the rules", answer),
                    }
                }
            }
            let flows: Vec<_> = admitted.iter().map(|(_, flow)| flow).collect();
            prop_assert_eq!(admission.flows(), flows.len());
            for (handle, flow) in &admitted {
                for other in [Bound::Composite, Bound::Separate] {
                    let want = model::bound(other, &node, flow, &flows);
                    prop_assert_eq!(admission.delay(*handle, other).map(|delay| u128::from(delay.0)), Some(want));
                }
                let others = flows.iter().copied();
                let both = (delay::composite(&node, flow, others.clone()), delay::separate(&node, flow, others));
                prop_assert_eq!(both, (Ok(admission.delay(*handle, Bound::Composite).unwrap()), Ok(admission.delay(*handle, Bound::Separate).unwrap())));
                prop_assert!(both.0.unwrap() <= both.1.unwrap(), "eq. 14 is never larger");
            }
            for j in 0..node.resources().len() {
                let left = model::left(&node, &flows, j);
                prop_assert!(left >= 0);
                let share = (left as u128).checked_div(best_effort.into());
                prop_assert_eq!(admission.best_effort_share(j).map(Amount::billionths), share);
            }
        }
    }

    /// A warning is given exactly when a new flow breaks the bound of a flow at another level, or exceeds it further.
    #[test]
    fn other_levels_are_warned_of((node, steps, by, _) in runs()) {
        let mut admission = Admission::going_by(node.clone(), by);
        let mut admitted: Vec<(FlowHandle, Reservation)> = Vec::new();
        for step in steps {
            let Step::Admit(asked) = step else { continue };
            let flows: Vec<_> = admitted.iter().map(|(_, flow)| flow.clone()).collect();
            let Ok(yes) = admission.admit(&asked) else { continue };
            let before: Vec<_> = flows.iter().collect();
            let after = [&before[..], &[&asked]].concat();
            let worst = flows.iter().filter(|flow| flow.priority() != asked.priority()).filter_map(|flow| {
                let most = u128::from(flow.most_delay()?.0);
                let (old, new) = (model::bound(by, &node, flow, &before), model::bound(by, &node, flow, &after));
                (new > most && new > old).then(|| new - most)
            });
            prop_assert_eq!(yes.breaks.map(|broken| u128::from(broken.over().0)), worst.max());
            admitted.push((yes.flow, asked));
        }
    }
}
