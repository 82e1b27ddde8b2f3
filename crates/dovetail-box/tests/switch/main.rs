//! The switch between a box and the bridge under it, under traffic in both directions.
//!
//! Needs root, iproute2 and Linux 6.6; skipped, with the reason, if one is missing.

#![cfg(all(target_os = "linux", feature = "live"))]
#![allow(clippy::unwrap_used)]

mod forwarder;
#[allow(dead_code)]
#[path = "../numbered/mod.rs"]
mod numbered;
mod privileges;
mod stream;

use std::{
    process,
    sync::atomic::{AtomicU32, Ordering::Relaxed},
    time::{Duration, Instant},
};

use dovetail_box::live::{
    lab::{BRIDGE, Lab, LabError, LabSpec, PORTS, Place},
    switch::{
        Switch, SwitchError,
        ports::{OnFailure, Port, PortState, check},
    },
};
use dovetail_netns::{NetnsError, tool};
use forwarder::Forwarder;
use numbered::{Record, Stream, go_on, report};
use rustix::process::Signal;
use stream::{introduce, stream};

/// No machine stalls for that long: the bridge takes over only if the box hands over.
const NEVER: Duration = Duration::from_secs(3600);
/// The same as in a box.
const SOON: Duration = Duration::from_millis(20);

/// Whether this kernel supports a switch and permits this process to use it; reports it if not.
fn is_possible() -> bool {
    const LOOPBACK: u32 = 1;
    match Switch::open().and_then(|mut switch| switch.silence(&[LOOPBACK])) {
        Ok(()) => true,
        Err(error @ (SwitchError::NotPermitted { .. } | SwitchError::NotBuilt { .. } | SwitchError::Kernel { .. })) => {
            dovetail_skip::skipped(error);
            false
        }
        Err(error) => panic!("{error}"),
    }
}

/// A lab whose hosts know each other, or `None` if there cannot be one or no switch in it.
fn lab() -> Option<Lab> {
    static NUMBER: AtomicU32 = AtomicU32::new(0);
    let name = format!("dvs{}n{}", process::id(), NUMBER.fetch_add(1, Relaxed));
    match Lab::up(&LabSpec { name, ..LabSpec::default() }) {
        Ok(lab) => is_possible().then(|| {
            introduce(&lab);
            lab
        }),
        Err(error @ (LabError::NotRoot | LabError::Namespace(NetnsError::NoProgram { .. }))) => {
            dovetail_skip::skipped(error);
            None
        }
        Err(error) => panic!("{error}"),
    }
}

/// Both directions.
fn streams(lab: &Lab) -> [Stream; 2] {
    [Place::Inside, Place::Outside].map(|from| stream(lab, from))
}

/// Holds on any machine: no frame is forwarded twice, and without a failure none is lost.
///
/// Order depends on the machine as well: a frame that the box holds when it hands over may be overtaken on the bridge by
/// the next, if the box does not get a processor for so long. So the best of a few runs is judged.
fn in_order(run: impl Fn() -> Option<[Record; 2]>) {
    const RUNS: usize = 4;
    let mut late = Vec::new();
    for _ in 0..RUNS {
        let Some(records) = run() else { return };
        let reordered: usize = records.iter().map(Record::reordered).sum();
        if reordered == 0 {
            return;
        }
        late.push(reordered);
    }
    panic!("in each of {RUNS} runs, some arrived after later ones: {late:?}");
}

#[test]
fn planned_starts_and_stops_go_unnoticed() {
    in_order(|| {
        let lab = lab()?;
        let streams = streams(&lab);
        go_on(&streams, 200);
        let mut forwarded = 0;
        for _ in 0..5 {
            let forwarder = Forwarder::start(&lab, NEVER, OnFailure::Open);
            go_on(&streams, 500);
            forwarded += forwarder.stop();
            go_on(&streams, 200);
        }
        let records = streams.map(Stream::end);
        for record in &records {
            assert_eq!((record.lost(), record.duplicated()), (0, 0), "lost, duplicated");
        }
        let arrivals: u64 = records.iter().map(|record| record.sent).sum();
        println!("planned: {arrivals} arrived, of which boxes forwarded {forwarded}");
        // Includes the hosts' own packets, which are few.
        assert!((5 * 500..arrivals).contains(&forwarded), "the box forwarded {forwarded} of {arrivals}");
        Some(records)
    });
}

#[test]
fn when_the_box_is_killed_the_bridge_forwards() {
    in_order(|| {
        let lab = lab()?;
        let streams = streams(&lab);
        let mut forwarder = Forwarder::start(&lab, SOON, OnFailure::Open);
        go_on(&streams, 500);
        let killed = Instant::now();
        forwarder.signal(Signal::KILL);
        assert!(!forwarder.wait().success());
        go_on(&streams, 1000);
        // And the next box takes over.
        let forwarder = Forwarder::start(&lab, NEVER, OnFailure::Open);
        go_on(&streams, 200);
        forwarder.stop();
        let records = streams.map(Stream::end);
        report("killed", killed, &records);
        for record in &records {
            assert_eq!(record.duplicated(), 0);
        }
        Some(records)
    });
}

#[test]
fn while_the_box_hangs_the_bridge_forwards() {
    in_order(|| {
        let lab = lab()?;
        let streams = streams(&lab);
        let forwarder = Forwarder::start(&lab, SOON, OnFailure::Open);
        go_on(&streams, 500);
        let stopped = Instant::now();
        forwarder.signal(Signal::STOP);
        go_on(&streams, 1000);
        forwarder.signal(Signal::CONT);
        let discarded = forwarder.hear("lapsed").unwrap();
        forwarder.hear("takes over");
        go_on(&streams, 500);
        forwarder.stop();
        let records = streams.map(Stream::end);
        report(&format!("stopped, {discarded} discarded"), stopped, &records);
        for record in &records {
            assert_eq!(record.duplicated(), 0);
        }
        Some(records)
    });
}

#[test]
fn a_box_that_fails_closed_leaves_nothing_open() {
    let Some(lab) = lab() else { return };
    let port = |name| lab.namespace(Place::Box).within(|| Ok(Port::find(name))).unwrap().unwrap();
    let below = |on_failure| check([&port(PORTS[0]), &port(PORTS[1])], on_failure).map_err(|error| error.to_string());
    let bridge = port(PORTS[0]).above.unwrap();
    assert_eq!((&*bridge.name, &*bridge.kind, bridge.state), (BRIDGE, "bridge", Some(PortState::Forwarding)));
    assert_eq!(below(OnFailure::Open), Ok(()));
    assert!(below(OnFailure::Closed).unwrap_err().contains("'ip link set inside nomaster'"));
    let name = lab.namespace(Place::Box).name();
    tool("ip", &format!("-n {name} link set {} nomaster", PORTS[1])).unwrap();
    assert!(below(OnFailure::Open).unwrap_err().contains("'ip link set outside master br0'"));
    tool("ip", &format!("-n {name} link set {} nomaster", PORTS[0])).unwrap();
    assert_eq!(below(OnFailure::Closed), Ok(()));

    let streams = streams(&lab);
    streams.iter().for_each(|stream| stream.send_on(100));
    assert_eq!(streams.each_ref().map(Stream::heard), [0, 0], "nothing forwards");
    let mut forwarder = Forwarder::start(&lab, SOON, OnFailure::Closed);
    go_on(&streams, 500);
    forwarder.signal(Signal::KILL);
    forwarder.wait();
    // The last packets may still be in flight, so they are counted a little later.
    streams.iter().for_each(|stream| stream.send_on(100));
    let heard = streams.each_ref().map(Stream::heard);
    streams.iter().for_each(|stream| stream.send_on(100));
    assert_eq!(streams.each_ref().map(Stream::heard), heard, "nothing forwards any more");
    for record in streams.map(Stream::end) {
        assert_eq!(record.duplicated(), 0);
    }
}
