//! Whether transfers over the kernel's TCP have equal dominant shares.

use std::{
    io::{Read, Write},
    net::{TcpListener, TcpStream},
    thread,
    time::{Duration, Instant},
};

use dovetail_box::{
    config::Config,
    live::{ClassCounters, Spawned, Status, lab::Place},
};

use crate::{
    Args,
    cores::BOX_CORE,
    subject::{Failed, lab},
    table::Table,
};

const LINK_BPS: f64 = 20e6;
/// Ports, and CPU time per packet; a full packet takes 606 µs on the link.
const CLASSES: [(u16, &str); 3] = [(5001, "10us"), (5002, "1200us"), (5003, "700us")];
const WARM_UP: Duration = Duration::from_secs(2);
/// Length of a window, in multiples of `--seconds`: TCP adapts more slowly than packets flow.
const WINDOWS: f64 = 2.0;

pub fn measure(args: &Args, table: &mut Table) -> Result<(), Failed> {
    for policy in ["tradeoff:alpha=1", "drfq", "fifo"] {
        let lab = lab()?;
        let mut text = lab.spec().box_section();
        text += &format!("policy = \"{policy}\"\n[cpu]\ncore = {BOX_CORE}\n[link]\nrate = \"20Mbps\"\n");
        for (port, time) in CLASSES {
            text += &format!("[[class]]\nname = \"to-{port}\"\nports = [{port}]\ntime = \"{time}\"\n");
        }
        let running = Spawned::start(Config::parse(&text)?, |_| {})?;
        for (port, _) in CLASSES {
            let address = (lab.spec().outside[0], port);
            let listener = lab.namespace(Place::Outside).within(|| TcpListener::bind(address))?;
            let mut source = lab.namespace(Place::Inside).within(|| TcpStream::connect(address))?;
            let (mut target, _) = listener.accept()?;
            // The threads end with the lab, which cuts the connection.
            source.set_write_timeout(Some(Duration::from_secs(5)))?;
            target.set_read_timeout(Some(Duration::from_secs(5)))?;
            thread::spawn(move || while source.write_all(&[0; 1 << 16]).is_ok() {});
            thread::spawn(move || {
                let mut bytes = vec![0; 1 << 16];
                while target.read(&mut bytes).is_ok_and(|count| count > 0) {}
            });
        }
        thread::sleep(WARM_UP);
        let mut apart = Vec::new();
        let mut of_class = CLASSES.map(|_| Vec::new());
        for _ in 0..args.rounds {
            let before = running.control().status();
            let now = later(&running, &before, Duration::from_secs_f64(args.seconds * WINDOWS))?;
            let shares = dominant_shares(&before, &now);
            let (least, most) =
                shares.iter().fold((f64::MAX, 0.0f64), |(least, most), &one| (least.min(one), most.max(one)));
            apart.push((most / least - 1.0) * 100.0);
            shares.iter().zip(&mut of_class).for_each(|(share, of_class)| of_class.push(*share));
        }
        running.stop()?;
        for ((port, time), shares) in CLASSES.iter().zip(&of_class) {
            table.push(format!("TCP to {port}, {time} a packet, dominant share"), policy, shares, "");
        }
        table.push("TCP, dominant shares, the most above the least", policy, &apart, "%");
    }
    Ok(())
}

/// Its status after this much time.
fn later(running: &Spawned, before: &Status, time: Duration) -> Result<Status, Failed> {
    const PATIENCE: Duration = Duration::from_secs(60);
    let begun = Instant::now();
    loop {
        let status = running.control().status();
        if status.at.as_secs_f64() >= before.at.as_secs_f64() + time.as_secs_f64() {
            return Ok(status);
        }
        if begun.elapsed() > time + PATIENCE || running.has_ended() {
            return Err("the box tells nothing any more".into());
        }
        thread::sleep(Duration::from_millis(20));
    }
}

/// Each class's dominant share.
fn dominant_shares(before: &Status, now: &Status) -> [f64; 3] {
    let time = now.at.as_secs_f64() - before.at.as_secs_f64();
    let counters =
        |status: &Status, at: usize| status.classes.get(at).map_or_else(ClassCounters::default, |(_, class)| *class);
    [0, 1, 2].map(|at| {
        let (before, now) = (counters(before, at), counters(now, at));
        let cpu = (now.cpu - before.cpu).as_secs_f64();
        let link = (now.sent_bytes - before.sent_bytes) as f64 * 8.0 / LINK_BPS;
        cpu.max(link) / time
    })
}
