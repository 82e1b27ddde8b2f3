//! A peer whose window stays closed: as long as it answers probes the connection stays open (RFC 9293, section 3.8.6.1); if it
//! never does, the connection ends as for data without an acknowledgement (`tcp_probe_timer`).

use dovetail_sched::Nanos;
use dovetail_tcp::{Broken, Connection, Flags, Segment, State};

use crate::scripts::{arriving, config, ms, opened, shown};

/// An end with data to send, whose peer has closed its window.
fn shut() -> Connection {
    let mut end = opened(&config());
    end.receive(&arriving(&["ack", "0", "win", "0"]), ms("200"));
    assert_eq!((end.write(1000), end.poll_transmit(ms("200"))), (1000, None));
    end
}

/// Everything that the end sends up to the `most`th probe, with times; the peer answers those whose number `answers` selects,
/// a round trip later.
fn probed(end: &mut Connection, most: usize, answers: impl Fn(usize) -> bool) -> Vec<(Nanos, Segment)> {
    let (mut now, mut sent, mut answered_at) = (ms("200"), Vec::new(), None);
    while sent.len() < most {
        let Some(at) = end.poll_at(now).into_iter().chain(answered_at).min() else { break };
        now = at;
        if answered_at.take_if(|at| *at == now).is_some() {
            end.receive(&arriving(&["ack", "0", "win", "0"]), now);
        }
        while let Some(segment) = end.poll_transmit(now) {
            sent.push((now, segment));
            answered_at = answers(sent.len()).then_some(now + ms("100"));
        }
    }
    sent
}

/// The interval doubles from the timeout, 300 ms, to 120 s: nine times, 153.3 s in all, and then seven of 120 s.
#[test]
fn a_silent_peer_is_given_up_after_the_probes_of_tcp_retries2() {
    let mut end = shut();
    let sent = probed(&mut end, 1000, |_| false);
    let (&(ended_at, last), probes) = sent.split_last().unwrap();
    assert_eq!(probes.len(), 15);
    assert!(probes.iter().all(|(_, probe)| shown(probe) == "ack 0"));
    assert_eq!(probes[14].0, ms("200") + Nanos::from_millis(153_300 + 6 * 120_000));
    assert!(last.flags.has(Flags::RST));
    assert_eq!(ended_at, probes[14].0 + Nanos::from_secs(120));
    assert_eq!((end.state(), end.broken(), end.poll_at(ended_at)), (State::Closed, Some(Broken::TimedOut), None));
}

#[test]
fn a_peer_that_answers_keeps_the_connection_open() {
    let mut end = shut();
    let sent = probed(&mut end, 100_000, |_| true);
    assert_eq!((sent.len(), end.broken()), (100_000, None));
    end.receive(&arriving(&["ack", "0", "win", "1000"]), sent[99_999].0);
    assert_eq!(shown(&end.poll_transmit(sent[99_999].0).unwrap()), "0:1000");
}

/// Only probes in a row count.
#[test]
fn an_answer_begins_the_count_afresh() {
    let mut end = shut();
    assert_eq!(probed(&mut end, 160, |probe| probe % 15 == 0).len(), 160);
    assert_eq!(end.broken(), None);
}

/// A peer that takes its window back while data is in flight: retransmissions are its probes, and only silence ends the
/// connection (RFC 9293, section 3.8.6; `tcp_retransmit_timer`).
#[test]
fn a_window_that_shrinks_is_probed_with_what_is_in_flight() {
    let in_flight = || {
        let mut end = opened(&config());
        assert_eq!(end.write(1000), 1000);
        assert_eq!(shown(&end.poll_transmit(ms("200")).unwrap()), "0:1000");
        end.receive(&arriving(&["ack", "0", "win", "0"]), ms("200"));
        end
    };
    let mut end = in_flight();
    let sent = probed(&mut end, 1000, |_| true);
    assert_eq!((sent.len(), end.broken()), (1000, None));
    assert!(sent.iter().all(|(_, again)| shown(again) == "0:1000"));
    let mut end = in_flight();
    let sent = probed(&mut end, 1000, |_| false);
    assert_eq!(
        (sent.last().map(|(_, last)| last.flags.has(Flags::RST)), end.broken()),
        (Some(true), Some(Broken::TimedOut))
    );
}
