//! Programs in a running box: one that does not terminate, one that is replaced under a stream, and two of different costs.
//!
//! Needs root and iproute2; skipped, with the reason, if one is missing.

use std::{fs, path::Path, thread, time::Duration};

use dovetail_box::live::{ClassCounters, Status};

use crate::live::{Running, Stream, config, is_judged, lab};

/// A program with this text: frames are at 1024, and `$frame` is the address that `dv_process` gets.
fn write(folder: &Path, name: &str, globals: &str, body: &str) {
    let text = format!(
        r#"(module
            (memory (export "memory") 3)
            {globals}
            (func (export "dv_abi") (result i32) (i32.const 1))
            (func (export "dv_buffer") (param i32) (result i32) (i32.const 1024))
            (func (export "dv_process") (param $frame i32) (param $length i32) (param $most i32) (result i64)
                (local $left i32) {body}))"#
    );
    fs::write(folder.join(name).with_extension("wasm"), wat::parse_str(text).unwrap()).unwrap();
}

fn with_programs(folder: &Path, settings: &str) -> String {
    format!("{settings}\n[programs]\nfolder = \"{}\"\n", folder.display())
}

const UNTOUCHED: &str = "(i64.const 0)";
/// Does not terminate for UDP to port 4501, read in reverse order; the well-formed frames used for measuring it pass.
const ENDLESS: &str =
    "(if (i32.eq (i32.load16_u offset=36 (local.get $frame)) (i32.const 0x9511)) (then (loop (br 0)))) (i64.const 0)";
const TWO_CLASSES: &str = "policy = \"drfq\"\n[link]\nrate = \"100Mbps\"\n[[class]]\nname = \"good\"\nports = [4500]\n\
    functions = [\"monitoring\"]\n[[class]]\nname = \"runaway\"\nports = [4501]\nprogram = \"runaway.wasm\"\n";

#[test]
fn a_program_that_never_ends_costs_no_other_flow_a_packet() {
    let Some(lab) = lab("loop") else { return };
    for _ in 0..5 {
        let folder = tempfile::tempdir().unwrap();
        write(folder.path(), "runaway", "", ENDLESS);
        let settings = with_programs(folder.path(), TWO_CLASSES);
        let running = Running::start(&lab, &settings);
        let [good, runaway] = [4500, 4501].map(|port| Stream::to_port(&lab, port, 200));
        let failing =
            running.until(|status| status.classes[1].1.programs.quarantined > 200 && status.classes[0].1.sent > 500);
        write(folder.path(), "runaway", "", UNTOUCHED);
        running.control.reload(config(&lab, &settings)).unwrap();
        running.until(|status| status.classes[1].1.sent > 200);
        let ([sent, _], [arrived, late]) = {
            let [good, runaway] = [good, runaway].map(Stream::end);
            ([good.0, runaway.0], [good.1, runaway.1])
        };
        let status = running.stop();
        if is_judged(&status) {
            let programs = failing.classes[1].1.programs;
            assert_eq!((programs.out_of_fuel, failing.classes[1].1.sent), (8, 0), "{failing:#?}");
            let ended = &failing.classes[1].1;
            assert_eq!(
                (ended.ended_by_function, ended.ended_by_program),
                (0, 8 + programs.quarantined),
                "{failing:#?}"
            );
            assert_whole(&arrived, sent, &status);
            assert!(late.len() > 200 && late.windows(2).all(|pair| pair[0] + 1 == pair[1]), "{late:?}");
            return;
        }
    }
    too_busy();
}

/// The first gap in what arrived: the number expected, and the one found.
fn odd(arrived: &[u64], sent: u64) -> Vec<(u64, u64)> {
    let mut expected = 0;
    let mut odd = Vec::new();
    for number in arrived.iter().copied().chain([sent]) {
        if number != expected {
            odd.push((expected, number));
        }
        expected = number + 1;
    }
    odd
}

fn assert_whole(arrived: &[u64], sent: u64, status: &Status) {
    let odd = odd(arrived, sent);
    assert!(odd.is_empty(), "{odd:?} of {sent}: {status:#?}");
}

fn too_busy() {
    dovetail_skip::skipped("the machine is too busy: the box was kept from running five times");
}

/// Writes its version and its packet count, up to 255, over the upper bytes of a datagram's number, and clears the
/// checksum.
fn stamping(version: u8) -> String {
    format!(
        "(if (i32.lt_u (global.get $seen) (i32.const 255))
            (then (global.set $seen (i32.add (global.get $seen) (i32.const 1)))))
        (i32.store16 offset=40 (local.get $frame) (i32.const 0))
        (i32.store8 offset=42 (local.get $frame) (i32.const {version}))
        (i32.store8 offset=43 (local.get $frame) (global.get $seen))
        (i64.or (i64.const 0x0100000000000000)
            (i64.or (i64.shl (i64.extend_i32_u (local.get $frame)) (i64.const 24)) (i64.extend_i32_u (local.get $length))))"
    )
}

const SEEN: &str = "(global $seen (mut i32) (i32.const 0))";
const STAMPED: &str = "policy = \"drfq\"\n[link]\nrate = \"100Mbps\"\n[[class]]\nname = \"stamped\"\nports = [4500]\n\
    program = \"stamp\"\n";

#[test]
fn a_program_is_replaced_under_a_stream() {
    let Some(lab) = lab("swap") else { return };
    for _ in 0..5 {
        let folder = tempfile::tempdir().unwrap();
        let settings = with_programs(folder.path(), STAMPED);
        write(folder.path(), "stamp", SEEN, &stamping(1));
        let running = Running::start(&lab, &settings);
        let stream = Stream::to_port(&lab, 4500, 200);
        let reload_after = |change: &dyn Fn()| {
            let sent = running.control.status().classes[0].1.sent;
            running.until(|status| status.classes[0].1.sent > sent + 400);
            change();
            running.control.reload(config(&lab, &settings)).unwrap();
        };
        reload_after(&|| {});
        reload_after(&|| write(folder.path(), "stamp", SEEN, &stamping(2)));
        reload_after(&|| fs::write(folder.path().join("stamp.wasm"), b"half of it").unwrap());
        reload_after(&|| fs::remove_file(folder.path().join("stamp.wasm")).unwrap());
        running.until(|status| status.classes[0].1.programs.missing > 100);
        let (sent, arrived) = stream.end();
        let status = running.stop();
        if is_judged(&status) {
            let numbers: Vec<_> = arrived.iter().map(|stamped| stamped & 0xffff_ffff_ffff).collect();
            assert_whole(&numbers, sent, &status);
            // An instance is kept while its file is the same, or is broken: its count never decreases.
            let mut stamps: Vec<_> = arrived.iter().map(|stamped| (stamped >> 56, stamped >> 48 & 0xff)).collect();
            stamps.dedup();
            let of_one = |version| (1..=255).map(move |seen| (version, seen));
            assert_eq!(stamps, of_one(1).chain(of_one(2)).chain([(0, 0)]).collect::<Vec<_>>());
            assert_eq!(status.classes[0].1.programs.failed(), 0);
            return;
        }
    }
    too_busy();
}

const TEAM: &str = "policy = \"drfq\"\n[cpu]\nworkers = 2\n[link]\nrate = \"100Mbps\"\n[[class]]\nname = \"stamped\"\n\
    ports = [4500, 4501, 4502]\nprogram = \"stamp\"\n";

#[test]
fn a_program_is_replaced_at_every_worker() {
    let Some(lab) = lab("team") else { return };
    for _ in 0..5 {
        let folder = tempfile::tempdir().unwrap();
        let settings = with_programs(folder.path(), TEAM);
        write(folder.path(), "stamp", SEEN, &stamping(1));
        let running = Running::start(&lab, &settings);
        let streams = [4500, 4501, 4502].map(|port| Stream::to_port(&lab, port, 200));
        let reload_after = |change: &dyn Fn()| {
            let sent = running.control.status().classes[0].1.sent;
            running.until(|status| status.classes[0].1.sent > sent + 1200);
            change();
            running.control.reload(config(&lab, &settings)).unwrap();
        };
        for version in 2..=4 {
            reload_after(&|| {});
            reload_after(&|| write(folder.path(), "stamp", SEEN, &stamping(version)));
        }
        reload_after(&|| fs::remove_file(folder.path().join("stamp.wasm")).unwrap());
        running.until(|status| status.classes[0].1.programs.missing > 100);
        let ended = streams.map(Stream::end);
        let status = running.stop();
        println!("{:?}", status.workers);
        if is_judged(&status) {
            for (sent, arrived) in ended {
                let numbers: Vec<_> = arrived.iter().map(|stamped| stamped & 0xffff_ffff_ffff).collect();
                assert_whole(&numbers, sent, &status);
                // Each worker has its own instance and count; within every flow, versions are in order.
                let mut versions: Vec<_> = arrived.iter().map(|stamped| stamped >> 56).collect();
                versions.dedup();
                assert_eq!(versions, [1, 2, 3, 4, 0]);
            }
            assert_eq!(status.classes[0].1.programs.failed(), 0);
            assert!(status.workers.len() == 2 && status.workers.iter().all(|worker| worker.worked > 0), "{status:#?}");
            return;
        }
    }
    too_busy();
}

/// A thousand iterations take some microseconds, and count 20 times as much.
const UNLIKE: &str = "policy = \"drfq\"\n[link]\nrate = \"20Mbps\"\n[[class]]\nname = \"cheap\"\nports = [4500]\n\
    program = \"cheap\"\ncost = 20\n[[class]]\nname = \"dear\"\nports = [4501]\nprogram = \"dear\"\ncost = 20\n";
const TURNS: &str = "(local.set $left (i32.const 60000))
    (loop (br_if 0 (local.tee $left (i32.sub (local.get $left) (i32.const 1))))) (i64.const 0)";

/// The dominant share of a class between two statuses.
fn dominant(from: &Status, to: &Status, class: usize) -> f64 {
    let time = (to.at - from.at).as_f64();
    let part = |of: fn(&ClassCounters) -> f64| (of(&to.classes[class].1) - of(&from.classes[class].1)) / time;
    part(|class| class.cpu.as_f64()).max(part(|class| class.sent_bytes as f64 * 8.0 / 20e6 * 1e9))
}

#[test]
fn costs_of_programs_are_learnt_and_shares_are_fair() {
    let Some(lab) = lab("cost") else { return };
    for _ in 0..5 {
        let folder = tempfile::tempdir().unwrap();
        write(folder.path(), "cheap", "", UNTOUCHED);
        write(folder.path(), "dear", "", TURNS);
        let running = Running::start(&lab, &with_programs(folder.path(), UNLIKE));
        let streams = [4500, 4501].map(|port| Stream::to_port(&lab, port, 950));
        let from = running.until(|status| status.classes.iter().take(2).all(|(_, class)| class.queue_full > 100));
        let until = from.at + dovetail_sched::Nanos::from_secs(2);
        let to = running.until(|status| status.at > until);
        drop(streams.map(Stream::end));
        let status = running.stop();
        let [cheap, dear] = [0, 1].map(|class| dominant(&from, &to, class));
        let interrupted = to.classes[1].1.preempted - from.classes[1].1.preempted;
        let worked = to.classes[1].1.sent - from.classes[1].1.sent;
        eprintln!("cheap {cheap:.3}, dear {dear:.3}; {interrupted} of {worked} interrupted");
        let is_calm = status.figures.late.0 == 0 && interrupted * 50 < worked;
        if is_judged(&status) && is_calm && (0.75..1.33).contains(&(cheap / dear)) {
            assert!(cheap > 0.5, "both are backlogged");
            return;
        }
        thread::sleep(Duration::from_millis(300));
        assert!(!is_calm || (0.5..2.0).contains(&(cheap / dear)), "cheap {cheap:.3}, dear {dear:.3}");
    }
    too_busy();
}
