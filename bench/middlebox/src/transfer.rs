//! TCP throughput between the hosts, with all offloads on.

use std::{
    io::{Read, Write},
    net::{TcpListener, TcpStream},
    thread,
    time::{Duration, Instant},
};

use dovetail_box::live::lab::{Lab, Place};

use crate::{
    Args,
    cores::BOX_CORE,
    subject::{Failed, Subject, lab},
    table::Table,
};

const PORT: u16 = 5001;
const WARM_UP: Duration = Duration::from_millis(300);

pub fn measure(args: &Args, table: &mut Table) -> Result<(), Failed> {
    let lab = lab()?;
    let passing = |segments: &str| {
        let settings = format!(
            "policy = \"fifo\"\nsegments = \"{segments}\"\n[cpu]\ncore = {BOX_CORE}\n[link]\nrate = \"100Gbps\"\n"
        );
        Subject::configured(format!("fifo, {segments}"), settings)
    };
    let mut subjects = vec![Subject::bridge()];
    let boxes = vec![passing("whole"), passing("split"), passing("split").by_af_xdp()];
    subjects.extend(Subject::beside(boxes, args.beside.as_ref()));
    let mut gbps = vec![Vec::new(); subjects.len()];
    for _ in 0..args.rounds {
        for (subject, gbps) in subjects.iter().zip(&mut gbps) {
            let running = subject.start(&lab)?;
            gbps.push(transfer(&lab, Duration::from_secs_f64(args.seconds))?);
            drop(running);
        }
    }
    for (subject, of_subject) in subjects.iter().zip(&gbps) {
        table.push("TCP, one transfer", &subject.label, of_subject, "Gbit/s");
    }
    for (subject, of_subject) in subjects.iter().zip(&gbps).skip(1) {
        table.push_ratio("TCP, one transfer", &subject.label, of_subject, &gbps[0], "the bridge's");
    }
    Ok(())
}

/// Throughput in gigabits per second at the receiver.
fn transfer(lab: &Lab, time: Duration) -> Result<f64, Failed> {
    let address = (lab.spec().outside[0], PORT);
    let listener = lab.namespace(Place::Outside).within(|| TcpListener::bind(address))?;
    let mut source = lab.namespace(Place::Inside).within(|| TcpStream::connect(address))?;
    let (mut target, _) = listener.accept()?;
    let sender = thread::spawn(move || {
        let bytes = vec![0x5a; 1 << 18];
        // Ends when the receiver closes.
        while source.write_all(&bytes).is_ok() {}
    });
    let mut bytes = vec![0; 1 << 18];
    let (begun, mut received) = (Instant::now() + WARM_UP, 0_u64);
    let gbps = loop {
        let got = target.read(&mut bytes)?;
        let Some(elapsed) = Instant::now().checked_duration_since(begun) else { continue };
        received += got as u64;
        if elapsed >= time {
            break received as f64 * 8.0 / elapsed.as_secs_f64() / 1e9;
        }
    };
    drop(target);
    sender.join().map_err(|_| "the sender ended")?;
    Ok(gbps)
}
