//! What is under a box, and beside it: the bridge for when it fails, and other boxes.

use std::thread;

use dovetail_box::{
    config::Config,
    live::{
        LiveError, Spawned, check, in_use,
        lab::{BRIDGE, Lab, PORTS, Place},
        switch::ports::PortError,
    },
};
use dovetail_netns::tool;
use rustix::process::Signal;

use crate::{
    live::{by_each_io, config, lab},
    process::Process,
    traffic::{Stream, both_ways, go_on},
};

const SETTINGS: &str = "policy = \"drfq\"\n[link]\nrate = \"1Gbps\"\n";

fn ip(lab: &Lab, words: &str) {
    tool("ip", &format!("-n {} {words}", lab.namespace(Place::Box).name())).unwrap();
}

fn is_in_use(found: Result<(), LiveError>) -> bool {
    matches!(found, Err(LiveError::Port(PortError::InUse { port })) if port == PORTS[0])
}

fn a_second_box_is_refused(io: &str) {
    let Some(lab) = lab("second") else { return };
    let settings = io.to_owned() + SETTINGS;
    let start = || Spawned::start(config(&lab, &settings), |_| {});
    let traffic = both_ways(&lab);
    let first = start().unwrap();
    go_on(&traffic, 200);
    assert!(is_in_use(start().map(drop)));
    let warns =
        || in_use(&config(&lab, &settings)).unwrap().is_some_and(|warning| warning.contains("another middlebox"));
    assert!(warns());
    go_on(&traffic, 200);
    first.stop().unwrap();
    assert!(!warns());
    let next = start().unwrap();
    go_on(&traffic, 200);
    next.stop().unwrap();
    // However the one before ended, and at once.
    let mut killed = Process::start(&lab, &settings, false);
    assert!(is_in_use(start().map(drop)));
    killed.signal(Signal::KILL);
    start().unwrap().stop().unwrap();
    killed.wait();
    assert!(traffic.map(Stream::end).iter().all(|record| record.duplicated() == 0));
}

#[test]
fn interfaces_of_one_index_in_other_namespaces_are_other_interfaces() {
    let (Some(one), Some(other)) = (lab("one"), lab("other")) else { return };
    let boxes = [one, other].map(|lab| {
        let started = Spawned::start(config(&lab, SETTINGS), |_| {}).unwrap();
        (started, lab)
    });
    for (started, _lab) in boxes {
        started.stop().unwrap();
    }
}

fn warnings(lab: &Lab) -> String {
    check(&config(lab, SETTINGS)).unwrap().join("\n")
}

#[test]
fn a_bridge_that_would_not_forward_is_told_before_a_start() {
    let Some(lab) = lab("weak") else { return };
    assert_eq!(warnings(&lab), "");
    let snoop = |value| ip(&lab, &format!("link set {BRIDGE} type bridge mcast_snooping {value}"));
    snoop(1);
    let snoops = warnings(&lab);
    assert!(snoops.contains(&format!("{BRIDGE} snoops on multicast")) && snoops.lines().count() == 1, "{snoops}");
    snoop(0);
    ip(&lab, &format!("link set {} down", PORTS[1]));
    assert!(warnings(&lab).contains("outside is down"), "{}", warnings(&lab));
    ip(&lab, &format!("link set {} up", PORTS[1]));
    ip(&lab, &format!("link set {BRIDGE} down"));
    let down = warnings(&lab);
    assert!(down.contains(&format!("the bridge {BRIDGE} is down")) && down.lines().count() == 1, "{down}");
    // By default it listens and learns for 30 s.
    ip(&lab, &format!("link set {BRIDGE} type bridge stp_state 1"));
    ip(&lab, &format!("link set {BRIDGE} up"));
    assert!(warnings(&lab).contains("does not forward at inside yet"), "{}", warnings(&lab));
}

#[test]
fn a_core_that_is_not_there_is_told_before_a_start() {
    let Some(lab) = lab("core") else { return };
    let error = check(&config(&lab, &format!("{SETTINGS}[cpu]\ncore = 65535\n"))).unwrap_err();
    assert!(matches!(error, LiveError::Core { core: 65535, .. }), "{error}");
}

#[test]
fn interfaces_that_carry_no_ethernet_are_refused() {
    let Some(lab) = lab("tun") else { return };
    ip(&lab, "tuntap add dev tun0 mode tun");
    ip(&lab, &format!("link set {} nomaster", PORTS[0]));
    for name in ["tun0", "lo"] {
        let place = lab.namespace(Place::Box).name();
        let text = format!(
            "[box]\ninside = \"{place}/{}\"\noutside = \"{place}/{name}\"\non_failure = \"closed\"\n{SETTINGS}",
            PORTS[0]
        );
        let config = || Config::parse(&text).unwrap();
        let opened = thread::spawn({
            let config = config();
            move || Spawned::start(config, |_| {}).map(drop)
        });
        for refused in [check(&config()).map(drop), opened.join().unwrap()] {
            let error = refused.unwrap_err();
            assert!(matches!(&error, LiveError::Port(PortError::NotEthernet { port, .. }) if port == name), "{error}");
        }
    }
}

by_each_io!(a_second_box_is_refused);
