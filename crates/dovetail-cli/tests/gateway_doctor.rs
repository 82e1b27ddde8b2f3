//! `dovetail gateway doctor` at links whose rate and buffer the testbed sets, and its usage errors.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used)]

mod gateways;
mod support;

use std::{
    fs,
    process::{Command, Output},
    thread,
};

use dovetail_bed::{Bed, BedSpec, Place, Uplink, check, patiently};
use gateways::ms;
use support::{dovetail, folder};

/// The value of a key in `[section]` of a configuration, without quotes.
fn value(text: &str, section: &str, key: &str) -> Option<String> {
    let part = text.split(&format!("[{section}]\n")).nth(1)?.split("\n[").next()?;
    let line = part.lines().find_map(|line| line.strip_prefix(&format!("{key} = ")))?;
    Some(line.trim_matches('"').to_owned())
}

/// Bits per second of a rate in a configuration's notation.
fn bps(text: &str) -> f64 {
    dovetail_sched::units::parse_rate(text).unwrap().bps()
}

/// Milliseconds after a word at the beginning of a line.
fn ms_of(said: &str, what: &str) -> f64 {
    let line = said.lines().find_map(|line| line.trim_start_matches(['>', '!', ' ']).strip_prefix(what));
    let line = line.unwrap_or_else(|| panic!("{what}: {said}"));
    line.split_whitespace().next().unwrap().parse().unwrap()
}

/// Runs it at the gateway's place in a testbed.
fn at(bed: &Bed, name: &str, more: &[&str]) -> (String, String) {
    let file = folder(&format!("doctor-{name}")).join("gateway.toml");
    let mut command = Command::new(env!("CARGO_BIN_EXE_dovetail"));
    command.args(["gateway", "doctor", "--to", "http://10.200.0.1/60000000/doctor", "--output"]).arg(&file).args(more);
    let Output { status, stdout, stderr } = bed.within(Place::Gateway, || command.output()).unwrap();
    let said = String::from_utf8(stdout).unwrap();
    assert!(status.success(), "{said}{}", String::from_utf8_lossy(&stderr));
    assert!(String::from_utf8_lossy(&stderr).contains("at most 12 s or 64.0 MB"), "it says beforehand what it takes");
    (said, fs::read_to_string(file).unwrap())
}

/// A link of this rate, with a buffer for this many packets in front of it.
fn measures(rate_bps: u64, buffer_packets: u32, uplink: Option<Uplink>) {
    let spec = BedSpec {
        rate_bps,
        buffer_packets,
        uplink,
        lan_bps: None,
        round_trips: vec![ms(20)],
        users: vec![1],
        ..BedSpec::default()
    };
    let bed = Bed::new(&spec).unwrap_or_else(|error| panic!("{error}"));
    let more: &[&str] = if uplink.is_some() { &["--upload", "http://10.200.0.1/take/doctor"] } else { &[] };
    let (said, text) = at(&bed, &rate_bps.to_string(), more);
    eprintln!("{rate_bps} bit/s, {buffer_packets} packets\n{said}\n{text}");
    let within = |found: f64, made: f64, by: f64, what: &str| {
        eprintln!("{what}: {found:.1} of {made:.1}: {:.3}", found / made);
        assert!((found / made - 1.0).abs() <= by, "{what}: {found}, not {made}: {said}");
    };
    within(bps(&value(&text, "downlink", "rate").unwrap()), rate_bps as f64, 0.1, "rate");
    let room = |packets: u32, rate_bps: u64| f64::from(packets) * 1514.0 * 8e3 / rate_bps as f64;
    within(ms_of(&said, "far buffer"), room(buffer_packets, rate_bps), 0.3, "far buffer in ms");
    // The provider's end of the link is the nearest one behind its queue.
    assert_eq!(value(&text, "downlink", "probe").as_deref(), Some("10.99.0.1"), "{said}");
    if let Some(Uplink { rate_bps, buffer_packets }) = uplink {
        within(bps(&value(&text, "uplink", "rate").unwrap()), rate_bps as f64, 0.1, "uplink");
        // This kernel keeps few packets of a socket in a local queue (TCP small queues), so no more than that is filled.
        let (found, most) = (ms_of(&said, "uplink's buffer"), room(buffer_packets, rate_bps));
        assert!(found > 10.0 && found < 1.3 * most, "uplink's buffer: {found} ms of {most} ms");
    }
    // The clients' network is that of the users.
    assert_eq!(value(&text, "access", "clients").as_deref(), Some("[\"10.0.0.0/16\"]"), "{text}");
}

/// Whether a testbed can be set up.
fn possible() -> bool {
    check().inspect_err(|lacking| dovetail_skip::skipped(lacking)).is_ok()
}

#[test]
fn rate_and_buffer_of_2_mbps() {
    if possible() {
        patiently(|| measures(2_000_000, 25, None));
    }
}

#[test]
fn rate_and_buffer_of_10_mbps_and_of_its_uplink() {
    if possible() {
        patiently(|| measures(10_000_000, 100, Some(Uplink { rate_bps: 1_000_000, buffer_packets: 30 })));
    }
}

#[test]
fn rate_and_buffer_of_50_mbps() {
    if possible() {
        patiently(|| measures(50_000_000, 400, None));
    }
}

fn doctor(args: &[&str]) -> (Option<i32>, String, String) {
    let output = dovetail(&[&["gateway", "doctor"], args].concat());
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (output.status.code(), text(output.stdout), text(output.stderr))
}

#[test]
fn without_a_server_it_examines_the_machine_and_nothing_else() {
    let (status, said, _) = doctor(&[]);
    assert_eq!(status, Some(0), "{said}");
    for what in ["not measured: give --to", "none tried", "open files", "ICMP probes", "SO_BUF_LOCK"] {
        assert!(said.contains(what), "{what}: {said}");
    }
}

#[test]
fn a_providers_figure_makes_a_configuration_that_the_gateway_accepts_and_no_file_is_overwritten() {
    let file = folder("doctor-said").join("gateway.toml");
    let _ = fs::remove_file(&file);
    let file = file.to_str().unwrap();
    let (status, said, why) = doctor(&["--rate", "2Mbps", "--output", file]);
    assert_eq!(status, Some(0), "{said}{why}");
    assert!(said.contains("2Mbps, as you said; not measured") && said.contains(&format!("Written: {file}")), "{said}");
    let checked = dovetail(&["gateway", "--check", "--config", file]);
    assert!(checked.status.success(), "{}", String::from_utf8_lossy(&checked.stderr));
    fs::write(file, "mine").unwrap();
    let (status, _, why) = doctor(&["--rate", "2Mbps", "--output", file]);
    assert_eq!((status, fs::read_to_string(file).unwrap().as_str()), (Some(1), "mine"), "{why}");
    assert!(why.contains("--force"), "{why}");
    assert_eq!(doctor(&["--rate", "3Mbps", "--output", file, "--force"]).0, Some(0));
    assert!(fs::read_to_string(file).unwrap().contains("rate = \"3Mbps\""));
}

#[test]
fn wrong_usage_is_said_before_anything_is_sent() {
    for (args, what) in [
        (&["--to", "https://a/"][..], "plain HTTP"),
        (&["--to", "a b"], "--to"),
        (&["--upload", "192.0.2.1"], "--upload"),
        (&["--probe", "hop:0"], "--probe"),
        (&["--probe", "tcp"], "--probe"),
        (&["--time", "1s"], "--time"),
        (&["--bytes", "1kB"], "--bytes"),
        (&["--to", "192.0.2.1", "--output", "x.toml"], "--rate"),
        (&["--force"], "--output"),
        (&["--config", "x.toml"], "--config"),
    ] {
        let (status, _, why) = doctor(args);
        assert_eq!(status, Some(2), "{args:?}: {why}");
        assert!(why.contains(what), "{args:?}: {why}");
    }
    // The command without `doctor` is unchanged.
    let output = dovetail(&["gateway"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stderr).contains("--config <FILE.toml>"));
    assert_eq!(dovetail(&["gateway", "--config", "x.toml", "doctor"]).status.code(), Some(2));
}

/// A server on loopback that responds like this.
fn server(answer: &'static str) -> String {
    use std::io::{Read, Write};
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/x", listener.local_addr().unwrap());
    thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            let _ = stream.read(&mut [0; 1024]);
            let _ = stream.write_all(answer.as_bytes());
            let _ = stream.shutdown(std::net::Shutdown::Write);
            // Unread data at the end would reset the connection and lose the response.
            thread::spawn(move || drop(std::io::copy(&mut stream, &mut std::io::sink())));
        }
    });
    url
}

#[test]
fn a_server_that_does_not_answer_as_it_has_to_is_said() {
    for (answer, what) in [
        ("HTTP/1.1 302 Found\r\nLocation: http://192.0.2.1/\r\n\r\n", "redirects are not followed"),
        ("HTTP/1.1 404 Not Found\r\n\r\n", "status 404"),
        ("SSH-2.0-OpenSSH_9.9\r\n", "not HTTP"),
        ("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", "is empty"),
        ("", "not HTTP"),
    ] {
        let (status, _, why) = doctor(&["--to", &server(answer), "--time", "2s"]);
        assert_eq!(status, Some(1), "{answer}: {why}");
        assert!(why.contains(what), "{answer}: {why}");
    }
    let (_, _, why) = doctor(&["--upload", &server("HTTP/1.1 405 No\r\n\r\n"), "--time", "2s"]);
    assert!(why.contains("status 405"), "{why}");
}
