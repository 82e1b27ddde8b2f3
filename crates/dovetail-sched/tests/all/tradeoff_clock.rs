//! `tradeoff` against moments worked out by hand: when packets start in the fluid, and for how long its clock stops, as alpha is
//! turned, packets come late, are evicted half served, and flows are forgotten.

use dovetail_sched::{
    Demand, DropPolicy, FlowId, Limits, Nanos, Packet, PolicySpec, Queued, Scheduler, Weight,
    fluid::{Alpha, VirtualTime},
    packet::tradeoff::Tradeoff,
};

/// The policy, and the number of packets that came, which are their handles.
struct Clocked {
    inner: Queued<Tradeoff<VirtualTime>>,
    came: u64,
}

impl Clocked {
    fn new(resources: usize, limits: Limits) -> Self {
        Self { inner: Queued::new(Tradeoff::new(resources, Alpha::FAIR), resources, limits), came: 0 }
    }

    fn put(&mut self, flow: u32, times: &[u64], now: u64) -> u64 {
        let times: Vec<Nanos> = times.iter().copied().map(Nanos).collect();
        let demand = Demand::new(&times).expect("a demand");
        let packet = Packet { flow: FlowId(flow), bytes: 100, arrival: Nanos(now), handle: self.came, demand };
        assert!(self.inner.enqueue(&packet, Nanos(now)).is_queued());
        self.came += 1;
        packet.handle
    }

    fn take(&mut self, now: u64) -> Option<u64> {
        self.inner.dequeue(Nanos(now)).map(|out| out.packet.handle)
    }

    /// When the next packet starts, none having started that waits at `now`, and its handle.
    fn next(&mut self, mut now: u64) -> Option<(u64, u64)> {
        assert_eq!(self.take(now), None, "at {now}");
        loop {
            now = self.inner.poll_at()?.0;
            if let Some(handle) = self.take(now) {
                return Some((now, handle));
            }
        }
    }

    fn stopped_ns(&self) -> f64 {
        let mut stopped = f64::NAN;
        self.inner.figures(&mut |name, value| {
            if name == "fluid_stopped_s" {
                stopped = value;
            }
        });
        (stopped * 1e9).round()
    }
}

/// The paper's Fig. 1: dominant shares of 3/5 each at alpha = 1, of 24/25 and 9/25 at alpha = 1/2.
#[test]
fn alpha_acts_from_the_moment_in_which_it_is_turned() {
    let mut tradeoff = Clocked::new(2, Limits::UNLIMITED);
    for _ in 0..8 {
        tradeoff.put(0, &[2000, 3000], 0);
    }
    let other = [tradeoff.put(1, &[9000, 1000], 0), tradeoff.put(1, &[9000, 1000], 0)];
    assert_eq!([tradeoff.take(0), tradeoff.take(0)], [Some(0), Some(other[0])]);
    // Until 2500 either flow gets 1500. What is left takes 1500 / (24/25) and 7500 / (9/25).
    let half: PolicySpec = "tradeoff:alpha=0.5".parse().expect("in range");
    tradeoff.inner.retune(&half.knobs(), Nanos(2500)).expect("alpha can be turned");
    let mut now = 2500;
    let starts = [4063, 7188, 10_313, 13_438, 16_563, 19_688, 22_813];
    for (handle, start) in (1..).zip(starts) {
        assert_eq!(tradeoff.next(now), Some((start, handle)));
        now = start;
    }
    assert_eq!(tradeoff.next(now), Some((23_334, other[1])));
    assert_eq!(tradeoff.stopped_ns(), 0.0);
}

#[test]
fn a_weight_acts_from_the_last_call_before() {
    let mut tradeoff = Clocked::new(1, Limits::UNLIMITED);
    for flow in [0, 1, 0, 1] {
        tradeoff.put(flow, &[1000], 0);
    }
    assert_eq!([tradeoff.take(0), tradeoff.take(0)], [Some(0), Some(1)]);
    assert_eq!(tradeoff.take(600), None);
    // Of the 700 that either flow has left, one gets three quarters from now on.
    tradeoff.inner.set_weight(FlowId(1), Weight::new(3.0).expect("in range"));
    assert_eq!(tradeoff.next(600), Some((600 + 934, 3)));
}

/// A packet alone in the fluid may leave 2 ns after its start, and others may as much later as the packets take that the fluid
/// serves beside it.
#[test]
fn the_clock_stops_for_as_long_as_a_packet_is_late() {
    let mut tradeoff = Clocked::new(1, Limits::UNLIMITED);
    tradeoff.put(0, &[10], 0);
    assert_eq!(tradeoff.take(1000), Some(0));
    assert_eq!(tradeoff.stopped_ns(), 998.0);
    // Everything is empty at 5000, and times count anew; the figure is a sum.
    tradeoff.put(0, &[10], 5000);
    assert_eq!(tradeoff.take(5100), Some(1));
    assert_eq!(tradeoff.stopped_ns(), 998.0 + 98.0);
    // Beside a packet of 300, one of 10 can leave until 302 later.
    tradeoff.put(1, &[300], 9000);
    tradeoff.put(0, &[10], 9000);
    assert_eq!([tradeoff.take(9002), tradeoff.take(9302)], [Some(2), Some(3)]);
    assert_eq!(tradeoff.stopped_ns(), 998.0 + 98.0);
    tradeoff.put(1, &[300], 19_000);
    tradeoff.put(0, &[10], 19_000);
    assert_eq!([tradeoff.take(19_002), tradeoff.take(19_303)], [Some(4), Some(5)]);
    assert_eq!(tradeoff.stopped_ns(), 998.0 + 98.0 + 1.0);
}

#[test]
fn the_clock_does_not_make_up_for_what_it_lost_twice() {
    let mut tradeoff = Clocked::new(1, Limits::UNLIMITED);
    for _ in 0..3 {
        tradeoff.put(0, &[10], 0);
    }
    // The first is 998 late, the second another 90: it starts at 10 of the fluid's clock.
    assert_eq!([tradeoff.take(1000), tradeoff.take(1100)], [Some(0), Some(1)]);
    assert_eq!(tradeoff.next(1100), Some((20 + 998 + 90, 2)));
    assert_eq!(tradeoff.stopped_ns(), 998.0 + 90.0);
}

#[test]
fn times_do_not_count_anew_while_a_packet_waits_that_the_fluid_has_served() {
    let mut tradeoff = Clocked::new(1, Limits::UNLIMITED);
    tradeoff.put(0, &[100], 0);
    // 1000 are lost; the fluid's 2 is 1002.
    assert_eq!(tradeoff.take(1002), Some(0));
    // It may leave until 152 of the fluid's clock, and at 110 the fluid has served everything.
    tradeoff.put(1, &[10], 1050);
    tradeoff.put(2, &[100], 1120);
    tradeoff.put(2, &[100], 1120);
    assert_eq!([tradeoff.take(1122), tradeoff.take(1122)], [Some(1), Some(2)]);
    assert_eq!(tradeoff.next(1122), Some((1220, 3)));
    assert_eq!(tradeoff.stopped_ns(), 1000.0);
}

/// One resource with a packet of 5000 of flow 2 in the pipeline, so that flow 0 has half of it in the fluid.
fn beside_a_long_packet(limits: Limits) -> Clocked {
    let mut tradeoff = Clocked::new(1, limits);
    let long = tradeoff.put(2, &[5000], 0);
    assert_eq!(tradeoff.take(0), Some(long));
    tradeoff
}

#[test]
fn a_head_that_the_fluid_has_served_is_evicted_at_no_cost_to_the_next() {
    let limits = Limits { flow_packets: Some(2), on_full: DropPolicy::Head, ..Limits::UNLIMITED };
    let mut tradeoff = beside_a_long_packet(limits);
    let [_lost, half_served] = [tradeoff.put(0, &[10], 0), tradeoff.put(0, &[1000], 0)];
    // At 100 the fluid has served 40 of the second.
    let last = tradeoff.put(0, &[10], 100);
    assert_eq!(tradeoff.take(100), Some(half_served));
    assert_eq!(tradeoff.next(100), Some((100 + 2 * 960, last)));
}

/// Its place goes to the next at that moment: none of it starts before.
#[test]
fn a_head_that_is_evicted_half_served_ends_in_the_fluid_then() {
    let limits = Limits { flow_packets: Some(2), on_full: DropPolicy::Head, ..Limits::UNLIMITED };
    let mut tradeoff = beside_a_long_packet(limits);
    let [_half_served, next] = [tradeoff.put(0, &[1000], 0), tradeoff.put(0, &[300], 50)];
    let last = tradeoff.put(0, &[10], 100);
    assert_eq!(tradeoff.take(100), Some(next));
    assert_eq!(tradeoff.next(100), Some((100 + 2 * 300, last)));
    assert_eq!(tradeoff.stopped_ns(), 0.0);
}

#[test]
fn a_tail_that_is_evicted_half_served_leaves_the_fluid() {
    let limits = Limits { packets: Some(2), on_full: DropPolicy::Longest, ..Limits::UNLIMITED };
    let mut tradeoff = beside_a_long_packet(limits);
    let [first, _half_served] = [tradeoff.put(0, &[10], 0), tradeoff.put(0, &[1000], 0)];
    let other = tradeoff.put(1, &[1], 100);
    assert_eq!([tradeoff.take(100), tradeoff.take(100)], [Some(first), Some(other)]);
    let next = tradeoff.put(0, &[10], 110);
    assert_eq!(tradeoff.take(110), Some(next));
}

#[test]
fn a_tail_that_is_evicted_before_it_starts_changes_nothing() {
    let limits = Limits { packets: Some(2), on_full: DropPolicy::Longest, ..Limits::UNLIMITED };
    let mut tradeoff = beside_a_long_packet(limits);
    let [first, _lost] = [tradeoff.put(0, &[1000], 0), tradeoff.put(0, &[10], 0)];
    // It needs nothing of the resource, and so leaves the fluid to the two others.
    let other = tradeoff.put(1, &[0], 100);
    assert_eq!([tradeoff.take(100), tradeoff.take(100)], [Some(first), Some(other)]);
    let next = tradeoff.put(0, &[10], 110);
    assert_eq!(tradeoff.next(110), Some((2000, next)));
}

#[test]
fn a_flow_that_is_forgotten_leaves_the_fluid() {
    let mut tradeoff = Clocked::new(1, Limits::UNLIMITED);
    tradeoff.put(0, &[1000], 0);
    let [first, second] = [tradeoff.put(1, &[1000], 0), tradeoff.put(1, &[1000], 0)];
    assert_eq!([tradeoff.take(0), tradeoff.take(0)], [Some(0), Some(first)]);
    assert_eq!(tradeoff.take(0), None);
    assert!(tradeoff.inner.forget(FlowId(0)));
    // Flow 1 has the fluid to itself, so its second packet, too, is late after 2 ns.
    assert_eq!((tradeoff.take(0), tradeoff.inner.poll_at()), (None, Some(Nanos(1000))));
    assert_eq!(tradeoff.take(1500), Some(second));
    assert_eq!(tradeoff.stopped_ns(), 498.0);
    // The flow begins anew at once.
    let again = tradeoff.put(0, &[10], 1500);
    assert_eq!(tradeoff.take(1500), Some(again));
}
