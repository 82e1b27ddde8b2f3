//! `dovetail gateway`: explaining a configuration, and running it at a narrow link.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used)]

mod support;

use std::{
    fs,
    process::{Command, Output},
    time::Duration,
};

use dovetail_bed::{Bed, BedSpec, Load, LoadSpec, Measured, Proxy, Via, check, patiently};
use support::{dovetail, folder, written};

const DOVETAIL: &str = env!("CARGO_BIN_EXE_dovetail");

fn checked(name: &str, config: &str) -> Output {
    dovetail(&["gateway", "--check", "--config", &written(&folder("gateway"), name, config)])
}

#[test]
fn a_check_says_what_a_file_means_or_what_is_wrong_with_it() {
    let fine = checked("fine.toml", "[downlink]\nrate = \"2Mbps\"\n[access]\nclients = [\"10.0.0.0/16\"]\n");
    let said = String::from_utf8(fine.stdout).unwrap();
    assert!(fine.status.success() && said.contains("2 Mbit/s") && said.contains("10.0.0.0/16"), "{said}");
    let wrong =
        checked("wrong.toml", "[downlink]\nrate = \"2Mbps\"\n[access]\nclients = [\"10.0.0.0/16\"]\nclient = []\n");
    let said = String::from_utf8(wrong.stderr).unwrap();
    assert_eq!(wrong.status.code(), Some(1), "{said}");
    assert!(said.contains("line 5") && said.contains("client") && said.contains("connect_ports"), "{said}");
}

/// Two classes of weights 2 and 1, with two users each, who always have three requests, at a link of 2 Mbit/s.
fn run(policy: &str, via: Via) -> Measured {
    let mut bed = Bed::new(&BedSpec { users: vec![2, 2], ..BedSpec::default() }).unwrap();
    let proxy = Proxy::command("dovetail", |site| {
        let file = site.folder.join("gateway.toml");
        let text = format!(
            "[proxy]\nlisten = \"{}\"\n[downlink]\nrate = \"{}bps\"\nprobe = \"{}\"\npolicy = \"{policy}\"\n\
             [access]\nclients = [\"10.0.0.0/16\"]\nconnect_ports = [80]\ndestinations = {{ allow = [\"10.200.0.0/16\"] }}\n\
             [[class]]\nname = \"gold\"\nweight = 2\nclients = [\"10.0.1.0/24\"]\n\
             [[class]]\nname = \"silver\"\nweight = 1\nclients = [\"10.0.2.0/24\"]\n",
            site.listen, site.rate_bps, site.provider
        );
        fs::write(&file, text)?;
        let mut command = Command::new(DOVETAIL);
        command.args(["gateway", "--config"]).arg(file);
        Ok(command)
    });
    let seconds = Duration::from_secs;
    let load = LoadSpec {
        load: Load::Closed { outstanding: 3 },
        via,
        warm_up: seconds(6),
        duration: seconds(26),
        drain: seconds(10),
        ..LoadSpec::default()
    };
    bed.measure(&proxy, &load, &|_| ()).unwrap()
}

/// Shares within 15 %, a saturated link, and a far queue that seldom drops: half a minute is too short for more.
#[test]
fn classes_have_their_shares_of_a_real_link() {
    if let Err(lacking) = check() {
        return dovetail_skip::skipped(lacking);
    }
    patiently(classes_have_their_shares_of_a_real_link_once);
}

fn classes_have_their_shares_of_a_real_link_once() {
    let [plain, tunnels, none] = [("grants", Via::Absolute), ("grants", Via::Connect), ("none", Via::Absolute)]
        .map(|(policy, via)| std::thread::spawn(move || run(policy, via)))
        .map(|run| run.join().unwrap());
    for (measured, drops) in [(&plain, 0.08), (&tunnels, 0.12)] {
        let ratio = measured.received_bytes[0] as f64 / measured.received_bytes[1] as f64;
        let LinkUseSeen { utilisation, dropped } = LinkUseSeen::of(measured);
        eprintln!("ratio {ratio:.2}, utilisation {utilisation:.3}, dropped {dropped:.4}");
        assert!((1.7..2.3).contains(&ratio), "{ratio}");
        assert!(utilisation > 0.95, "{utilisation}");
        assert!(dropped < drops, "{dropped}");
        assert_eq!(measured.failed().count(), 0);
    }
    // The same without scheduling: the far queue overflows, and weights have no effect.
    let ratio = none.received_bytes[0] as f64 / none.received_bytes[1] as f64;
    let dropped = LinkUseSeen::of(&none).dropped;
    eprintln!("without: ratio {ratio:.2}, dropped {dropped:.4}");
    assert!(ratio < 1.5 && dropped > 0.05, "{ratio} {dropped}");
}

struct LinkUseSeen {
    utilisation: f64,
    dropped: f64,
}

impl LinkUseSeen {
    fn of(measured: &Measured) -> Self {
        Self { utilisation: measured.link.utilisation, dropped: measured.link.dropped() }
    }
}
