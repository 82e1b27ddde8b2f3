//! Transfers over the kernel's TCP get the shares that the policy promises, whatever their dominant resource.

use std::{
    io::{Read, Write},
    net::{TcpListener, TcpStream},
    thread,
    time::Duration,
};

use dovetail_box::live::{ClassCounters, Status, lab::Place};
use dovetail_sched::Nanos;

use super::live::{FAR, Running, lab};

const LINK_BPS: f64 = 20e6;
/// Classes: port, and CPU time per packet. A full packet takes 606 µs on the link.
const CLASSES: [(u16, &str); 3] = [(5001, "10us"), (5002, "1200us"), (5003, "700us")];
/// Shares are compared over this time.
const WINDOW: Nanos = Nanos::from_secs(3);
/// A machine that keeps hosts from sending for a while spoils a window.
const TRIES: usize = 5;
const MAX_DIFFERENCE: f64 = 0.05;

#[test]
fn three_transfers_have_equal_dominant_shares() {
    let Some(lab) = lab("shares") else { return };
    let mut settings = String::from("policy = \"tradeoff:alpha=1\"\n[link]\nrate = \"20Mbps\"\n");
    for (port, time) in CLASSES {
        settings += &format!("[[class]]\nname = \"to-{port}\"\nports = [{port}]\ntime = \"{time}\"\n");
    }
    let running = Running::start(&lab, &settings);
    for (port, _) in CLASSES {
        let listener = lab.namespace(Place::Outside).within(|| TcpListener::bind((FAR, port))).unwrap();
        thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            let mut bytes = [0; 1 << 16];
            while stream.read(&mut bytes).is_ok_and(|count| count > 0) {}
        });
        let mut stream = lab.namespace(Place::Inside).within(|| TcpStream::connect((FAR, port))).unwrap();
        // Ends with the lab, which cuts the connection.
        stream.set_write_timeout(Some(Duration::from_secs(5))).unwrap();
        thread::spawn(move || while stream.write_all(&[0; 1 << 16]).is_ok() {});
    }
    let mut before = running.until(|status| classes(status).iter().all(|class| class.sent > 300));
    let mut seen = Vec::new();
    for _ in 0..TRIES {
        let now = running.until(|status| status.at >= before.at + WINDOW);
        let shares = dominant_shares(&before, &now);
        let (least, most) =
            shares.iter().fold((f64::MAX, 0.0f64), |(least, most), &one| (least.min(one), most.max(one)));
        if most / least <= 1.0 + MAX_DIFFERENCE {
            running.stop();
            return;
        }
        seen.push(shares);
        before = now;
    }
    panic!("dominant shares: {seen:?}");
}

fn classes(status: &Status) -> [ClassCounters; 3] {
    [0, 1, 2].map(|at| status.classes.get(at).map(|(_, class)| *class).unwrap_or_default())
}

/// Each class's dominant share.
fn dominant_shares(before: &Status, now: &Status) -> [f64; 3] {
    let time = (now.at - before.at).as_secs_f64();
    let (before, now) = (classes(before), classes(now));
    [0, 1, 2].map(|at| {
        let cpu = (now[at].cpu - before[at].cpu).as_secs_f64();
        let link = (now[at].sent_bytes - before[at].sent_bytes) as f64 * 8.0 / LINK_BPS;
        cpu.max(link) / time
    })
}
