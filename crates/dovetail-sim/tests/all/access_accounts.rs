//! What is counted of users behind a gateway, and until when: losses, the shares of classes, and the end of a run.

#![allow(clippy::unwrap_used)]

use dovetail_sched::Nanos;

use crate::described::{exchanged, parse};
use crate::watch::{access, run_access};

/// Two users of one class and one of another, over links without losses.
const BED: &str = r#"name = "accounts"
seed = 1
[network]
stop = "60s"
[access]
gateway = "g"
[[link]]
between = ["p", "g"]
rate = "2Mbps"
delay = "1ms"
watched = true
[[link]]
between = ["g", "lan"]
rate = "100Mbps"
[[link]]
between = ["lan", ["a1", "a2", "b"]]
rate = "100Mbps"
[[link]]
between = ["s", "p"]
rate = "100Mbps"
delay = "10ms"
[[traffic]]
name = "a"
weight = 3
from = "s"
to = ["a1", "a2"]
stop = "30s"
requests = { each = 4, size = "50kB" }
[[traffic]]
name = "b"
from = "s"
to = "b"
stop = "30s"
requests = { each = 4, size = "50kB" }
"#;

/// A transfer beside them.
const TRANSFER: &str =
    "[[traffic]]\nname = \"transfer\"\nfrom = \"s\"\nto = \"lan\"\ntransfers = { count = 1, size = 100 }\n";

/// Rates are by class: it does not matter which traffic describes a user's demand.
#[test]
fn users_of_another_class_are_no_class_of_their_own() {
    let together = parse(BED).unwrap();
    let apart = exchanged(BED, "to = [\"a1\", \"a2\"]", "to = \"a1\"");
    let second = "[[traffic]]\nname = \"a-too\"\nfrom = \"s\"\nto = \"a2\"\nstop = \"30s\"\n\
                  requests = { each = 4, size = \"50kB\", class = \"a\" }\n";
    let apart = parse(&format!("{apart}{second}")).unwrap();
    for gateway in ["delay-pools", "msf-rs", "grants"] {
        let of_b = [&together, &apart].map(|network| access(&run_access(network, gateway)).classes[1].mean_bps(5, 30));
        assert!((of_b[1] / of_b[0] - 1.0).abs() < 0.1, "{gateway}: {of_b:?}");
    }
}

/// A link whose flow table has room for one flow drops packets of others while that flow is queued.
#[test]
fn what_a_full_flow_table_drops_among_users_is_lost_too() {
    let narrow = "between = [\"g\", \"lan\"]\nrate = \"1Mbps\"\npolicy = \"drr\"\nflows = 1";
    let network = parse(&exchanged(BED, "between = [\"g\", \"lan\"]\nrate = \"100Mbps\"", narrow)).unwrap();
    let run = run_access(&network, "none");
    assert!(access(&run).open > 0 && access(&run).lost_among_users > 0, "{:?}", access(&run).lost_among_users);
}

/// Without a time to stop, a run lasts until transfers and requests are done.
#[test]
fn responses_are_waited_for_if_no_stop_is_given() {
    let text = exchanged(&format!("{BED}{TRANSFER}"), "stop = \"60s\"\n", "");
    let run = run_access(&parse(&text).unwrap(), "none");
    assert!(run.outcome.ended >= Nanos::from_secs(30), "{}", run.outcome.ended);
    assert_eq!(access(&run).open, 0);
    assert!(access(&run).exchanges.iter().all(|one| one.ended.is_some()));
}

/// Users who never stop are not waited for, as unlimited connections are not.
#[test]
fn who_never_stops_ends_with_the_last_transfer() {
    let text = format!("{BED}{TRANSFER}").replace("stop = \"60s\"\n", "").replacen("stop = \"30s\"\n", "", 1);
    let run = run_access(&parse(&text).unwrap(), "none");
    assert!(run.outcome.ended < Nanos::from_secs(1), "{}", run.outcome.ended);
}

/// Without TCP among users, a response of which a packet was lost never ends.
#[test]
fn what_is_lost_among_users_is_not_waited_for() {
    let narrow = "between = [\"g\", \"lan\"]\nrate = \"1Mbps\"\nbuffer_packets = 2";
    let text = exchanged(BED, "between = [\"g\", \"lan\"]\nrate = \"100Mbps\"", narrow);
    let run = run_access(&parse(&exchanged(&format!("{text}{TRANSFER}"), "stop = \"60s\"\n", "")).unwrap(), "none");
    assert!(access(&run).open > 0 && access(&run).lost_among_users >= access(&run).open);
    assert!((30..40).contains(&(run.outcome.ended.0 / 1_000_000_000)), "{}", run.outcome.ended);
}

/// Before the users' links a flow is a class, and a link has room for all classes however few flows it distinguishes.
#[test]
fn every_class_has_a_queue_at_the_users_side() {
    let few = "between = [\"g\", \"lan\"]\nrate = \"100Mbps\"\nflows = 1";
    let network = parse(&exchanged(BED, "between = [\"g\", \"lan\"]\nrate = \"100Mbps\"", few)).unwrap();
    let run = run_access(&network, "drr");
    assert_eq!((access(&run).open, access(&run).lost_among_users), (0, 0));
}
