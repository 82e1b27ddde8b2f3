//! A link with a long delay: frames arrive after it, and nothing is lost in flight.

use std::{
    io,
    net::UdpSocket,
    time::{Duration, Instant},
};

use dovetail_box::live::lab::Place;

use crate::{
    live::{FAR, Running, by_each_io, config, is_judged, lab},
    traffic::{PATIENCE, Stream, both_ways, go_on},
};

const SETTINGS: &str = "policy = \"drfq\"\n[link]\nrate = \"1Gbps\"\ndelay = \"40ms\"\n";

fn a_question_takes_as_long_there_and_back(way: &str) {
    let Some(lab) = lab("rtt") else { return };
    let running = Running::start(&lab, &(way.to_owned() + SETTINGS));
    let target = lab.namespace(Place::Outside).within(|| UdpSocket::bind((FAR, 4500))).unwrap();
    let source = lab.namespace(Place::Inside).within(|| UdpSocket::bind("0.0.0.0:0")).unwrap();
    source.connect((FAR, 4500)).unwrap();
    for socket in [&target, &source] {
        socket.set_read_timeout(Some(PATIENCE / 6)).unwrap();
    }
    let mut bytes = [0; 100];
    for number in 0..3u8 {
        let asked = Instant::now();
        source.send(&[number; 50]).unwrap();
        let mut answer = || {
            let (got, from) = uninterrupted(|| target.recv_from(&mut bytes))?;
            let there = asked.elapsed();
            target.send_to(&bytes[..got], from)?;
            uninterrupted(|| source.recv(&mut bytes))?;
            io::Result::Ok((there, asked.elapsed()))
        };
        // Losses by a bridge that takes over say nothing about the link.
        let answer = answer();
        if !is_judged(&running.control.status()) {
            break;
        }
        let (there, back) = answer.unwrap();
        println!("{there:.1?} there, {back:.1?} in all");
        assert!(there >= Duration::from_millis(40) && back >= Duration::from_millis(80), "{there:?}, {back:?}");
    }
    running.stop();
}

/// With a timeout, Linux does not restart a call that was interrupted by a signal or a freeze of the machine.
fn uninterrupted<T>(mut call: impl FnMut() -> io::Result<T>) -> io::Result<T> {
    loop {
        match call() {
            Err(wrong) if wrong.kind() == io::ErrorKind::Interrupted => {}
            done => return done,
        }
    }
}

fn what_is_on_its_way_arrives_in_order_whatever_changes(io: &str) {
    let Some(lab) = lab("long") else { return };
    for _ in 0..5 {
        let traffic = both_ways(&lab);
        let running = Running::start(&lab, &(io.to_owned() + SETTINGS));
        go_on(&traffic, 500);
        for delay in ["5ms", "80ms", "0ms", "40ms"] {
            running.control.reload(config(&lab, &(io.to_owned() + &SETTINGS.replace("40ms", delay)))).unwrap();
            go_on(&traffic, 300);
        }
        // What is in flight when it stops arrives before anything that the bridge forwards.
        let status = running.stop();
        go_on(&traffic, 300);
        let records = traffic.map(Stream::end);
        if is_judged(&status) {
            for record in &records {
                assert_eq!((record.lost(), record.duplicated(), record.reordered()), (0, 0, 0));
            }
            return;
        }
    }
    dovetail_skip::skipped("the machine is too busy: the box was kept from running for longer than 25 ms five times");
}

by_each_io!(a_question_takes_as_long_there_and_back, what_is_on_its_way_arrives_in_order_whatever_changes);
