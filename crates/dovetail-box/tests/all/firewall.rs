//! The generated nftables ruleset is valid, and its comments are true.
//!
//! Needs nft, and for the rules' effect root and iproute2; skipped, with the reason, if one is missing.

use std::{
    io::Write,
    process::{Command, Stdio},
};

use dovetail_box::config::Config;

const BOX: &str = "[box]\ninside = \"eth1\"\noutside = \"eth2\"\npolicy = \"drfq\"\n[link]\nrate = \"200Mbps\"\n";

/// The messages of `nft` about a file: empty if it is valid. `None` if there is no working `nft`.
fn nft(arguments: &[&str], text: &str) -> Option<Result<(), String>> {
    let mut command = Command::new("nft");
    command.args(arguments).args(["-f", "-"]).stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::piped());
    let mut child = match command.spawn() {
        Ok(child) => child,
        Err(wrong) => {
            dovetail_skip::skipped(format!("nft: {wrong}"));
            return None;
        }
    };
    child.stdin.take().unwrap().write_all(text.as_bytes()).unwrap();
    let done = child.wait_with_output().unwrap();
    let said = String::from_utf8_lossy(&done.stderr).into_owned();
    if done.status.success() { Some(Ok(())) } else { Some(Err(said)) }
}

#[test]
fn nft_understands_it() {
    // A user may not even try, and a kernel may lack nftables.
    match nft(&["-c"], "table inet try { }\n") {
        None => return,
        Some(Err(wrong)) => return dovetail_skip::skipped(format!("nft -c: {wrong}")),
        Some(Ok(())) => {}
    }
    assert!(nft(&["-c"], "table inet try { chain wrong { frobnicate } }\n").unwrap().is_err(), "it does look");
    let names = [("eth1", "eth2"), ("lab/eth1", "lab/eth2"), ("wan.7@", "x-_+!#$%&()")];
    for (inside, outside) in names {
        for more in ["", "on_failure = \"closed\"\n", "toward = \"inside\"\n"] {
            let text = BOX.replace("eth1", inside).replace("eth2", outside).replace("[link]", &format!("{more}[link]"));
            let tables = Config::parse(&text).unwrap().nftables().unwrap();
            assert_eq!(nft(&["-c"], &tables), Some(Ok(())), "{tables}");
        }
    }
}

#[test]
fn names_that_mean_something_else_there_are_refused() {
    for odd in ["eth*", "a\\\\b", "a\\\"b", "ä"] {
        let config = Config::parse(&BOX.replace("eth2", odd)).unwrap();
        let refused = config.nftables();
        assert!(refused.as_ref().is_err_and(|wrong| wrong.contains("give the interface another name")), "{refused:?}");
    }
}

/// The comments on hooks are true: while a box runs its frames pass egress, and the bridge's rules do not apply to them.
#[cfg(all(target_os = "linux", feature = "live"))]
#[test]
fn frames_of_a_box_pass_egress_and_not_the_bridges_rules() {
    use dovetail_box::live::lab::Place;

    use crate::{
        live::{Running, config, lab},
        traffic::frames,
    };

    let Some(lab) = lab("nft") else { return };
    let settings = "policy = \"drfq\"\n[link]\nrate = \"1Gbps\"\n";
    let tables = config(&lab, settings).nftables().unwrap();
    let load = |text: &str| lab.namespace(Place::Box).within(|| Ok(nft(&[], text))).unwrap();
    match load(&tables) {
        None => return,
        Some(Err(wrong)) => return dovetail_skip::skipped(format!("nft: {wrong}")),
        Some(Ok(())) => {}
    }
    let running = Running::start(&lab, settings);
    let traffic = frames(&lab, Place::Inside, 3, 200);
    traffic.go_on(200);
    // The bridge drops everything, which does not affect the box.
    let shut = tables.replacen("policy accept;\n\t\tiifname", "policy drop;\n\t\tiifname", 1);
    assert!(shut != tables && load(&shut) == Some(Ok(())));
    traffic.go_on(200);
    // The interface outside drops everything, which does.
    let outside = tables.replacen("policy accept;", "policy drop;", 1);
    assert!(outside != tables && load(&outside) == Some(Ok(())));
    traffic.send_on(100);
    let heard = traffic.heard();
    traffic.send_on(200);
    assert_eq!(traffic.heard(), heard, "egress drops them");
    // Without a box, the rules for the bridge apply.
    assert_eq!(load(&shut), Some(Ok(())));
    traffic.go_on(200);
    drop(running.stop());
    traffic.send_on(100);
    let heard = traffic.heard();
    traffic.send_on(200);
    assert_eq!(traffic.heard(), heard, "the bridge forwards nothing");
    assert_eq!(load(&tables), Some(Ok(())));
    traffic.go_on(200);
    let _ = traffic.end();
}
