//! Identification of users, and the effect of a host's class and a quota, between network namespaces with realistic
//! addresses: users of IPv6, groups of addresses, hosts with a rate, quotas. Skipped without root.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used)]

mod narrow;

use std::{thread::sleep, time::Duration};

use dovetail_bed::patiently;
use narrow::{Curl, Narrow, possible};

const RATE_BPS: u64 = 8_000_000;
/// The fraction of a full frame that is TCP payload, with IPv4.
const PAYLOAD: f64 = 1448.0 / 1514.0;
const SECONDS: f64 = 12.0;

fn narrow() -> Narrow {
    Narrow::new(RATE_BPS).unwrap_or_else(|error| panic!("{error}"))
}

/// Bytes of downloads that each of these starts at once, from the twentieth second on: before that windows grow, and a user
/// may be ahead by what the policy permits.
fn downloads(narrow: &Narrow, of: &[(&str, &str)]) -> Vec<f64> {
    let begin = |&(from, server): &(&str, &str)| narrow.curl(from, &format!("http://{server}/100000000"), 60.0, false);
    let curls: Vec<_> = of.iter().map(begin).collect();
    sleep(Duration::from_secs(20));
    let before: Vec<_> = curls.iter().map(Curl::so_far).collect();
    sleep(Duration::from_secs_f64(SECONDS));
    curls.iter().zip(before).map(|(curl, before)| curl.so_far() - before).collect()
}

#[test]
fn of_ipv6_a_64_is_one_user() {
    if possible() {
        patiently(of_ipv6_a_64_is_one_user_once);
    }
}

fn of_ipv6_a_64_is_one_user_once() {
    let narrow = narrow();
    let _gateway = narrow.gateway(RATE_BPS, "");
    let many = (1..=4).map(|last| format!("fd00:1:0:1::{last}"));
    let froms: Vec<_> = many.clone().chain(many).chain(["fd00:1:0:2::1".to_owned()]).collect();
    let asks: Vec<_> = froms.iter().map(|from| (&**from, "[fd00:9::2]")).collect();
    let came = downloads(&narrow, &asks);
    let (one, many) = (came[8], came[..8].iter().sum::<f64>());
    let used = (one + many) * 8.0 / SECONDS / (RATE_BPS as f64 * 1428.0 / 1514.0);
    println!(
        "IPv6: four addresses of a /64 with eight downloads had {:.3} of what one with one had; link {used:.3}",
        many / one
    );
    assert!((0.8..1.25).contains(&(many / one)), "eight where each is for itself: {came:?}");
    assert!(used > 0.8, "{used}");
}

#[test]
fn a_group_is_one_user_and_a_host_has_its_rate() {
    if possible() {
        patiently(a_group_is_one_user_and_a_host_has_its_rate_once);
    }
}

fn a_group_is_one_user_and_a_host_has_its_rate_once() {
    let narrow = narrow();
    let _gateway = narrow.gateway(
        RATE_BPS,
        "[[group]]\nname = \"family\"\nclients = [\"10.1.1.1\", \"10.1.1.2\", \"10.1.1.3\"]\n\
         [[class]]\nname = \"updates\"\nhosts = [\"10.9.0.3\"]\nrate = \"1Mbps\"\n",
    );
    let came = downloads(
        &narrow,
        &[
            ("10.1.1.1", "10.9.0.2"),
            ("10.1.1.2", "10.9.0.2"),
            ("10.1.1.3", "10.9.0.2"),
            ("10.1.2.1", "10.9.0.2"),
            ("10.1.1.1", "10.9.0.3"),
            ("10.1.2.1", "10.9.0.3"),
        ],
    );
    let (group, one, updates) = (came[..3].iter().sum::<f64>(), came[3], came[4] + came[5]);
    let part = updates * 8.0 / SECONDS / (1e6 * PAYLOAD);
    let used = came.iter().sum::<f64>() * 8.0 / SECONDS / (RATE_BPS as f64 * PAYLOAD);
    println!(
        "three addresses of a group had {:.3} of what one user had; a class of 1 Mbit/s {part:.3} of its rate, of which one of its \
         two users {:.3} of the other's; link {used:.3}",
        group / one,
        came[4] / came[5]
    );
    assert!((0.8..1.25).contains(&(group / one)), "three where each is for itself: {came:?}");
    assert!((0.85..1.05).contains(&part), "{part}");
    assert!((0.8..1.25).contains(&(came[4] / came[5])), "{came:?}");
    assert!(used > 0.8, "{used}");
}

#[test]
fn a_quota_is_a_user_s_whatever_address_they_have() {
    if !possible() {
        return;
    }
    let narrow = narrow();
    let _gateway = narrow.gateway(
        RATE_BPS,
        "[[group]]\nname = \"family\"\nclients = [\"10.1.1.1\", \"10.1.1.2\"]\n\
         [[quota]]\nname = \"q\"\nbytes = \"1MB\"\nevery = \"day\"\n",
    );
    for (first, second, other, server) in [
        ("10.1.1.1", "10.1.1.2", "10.1.2.1", "10.9.0.2"),
        ("fd00:1:0:1::1", "fd00:1:0:1::4", "fd00:1:0:2::1", "[fd00:9::2]"),
    ] {
        let get = |from: &str, bytes: u64| narrow.curl(from, &format!("http://{server}/{bytes}"), 30.0, false).came();
        let (status, bytes) = get(first, 5_000_000);
        // Its header counts, too, and at most one read more.
        assert!(status == 200 && (980_000.0..1_020_000.0).contains(&bytes), "{first}: {status}, {bytes}");
        assert_eq!(get(second, 1_000).0, 429, "{second}: it is the same user");
        assert_eq!(get(other, 300_000), (200, 300_000.0), "{other}");
    }
}
