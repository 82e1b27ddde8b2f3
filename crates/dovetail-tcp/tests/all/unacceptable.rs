//! Segments outside of the window, or of no connection, and what answers them (RFC 9293, section 3.10.7).

use dovetail_sched::Nanos;
use dovetail_tcp::{Broken, Config, Connection, Flags, Options, Segment, State};

use crate::scripts::{arriving, config, ms, opened, shown};

/// Data beyond the window is answered each time, however often, so that a sender that has missed an update of the window
/// learns of it; segments without data only twice a second.
#[test]
fn data_beyond_the_window_is_answered_each_time() {
    let mut end = opened(&config());
    for now in ["200", "201", "202"] {
        end.receive(&arriving(&["900000:901000"]), ms(now));
        assert_eq!(end.poll_transmit(ms(now)).map(|answer| shown(&answer)).as_deref(), Some("ack 0"), "at {now} ms");
        assert_eq!(end.poll_transmit(ms(now)), None);
    }
    let answered = ["300", "301", "302"].map(|now| {
        end.receive(&arriving(&["900000:900000"]), ms(now));
        end.poll_transmit(ms(now)).is_some()
    });
    assert_eq!(answered, [true, false, false]);
}

/// The reset to which an acknowledgement of this number leads: one that acknowledges nothing itself.
fn reset(number: u32) -> Segment {
    Segment { sequence: number, flags: Flags::RST, ..Segment::default() }
}

fn acknowledging(number: u32) -> Segment {
    Segment { sequence: 500, acknowledgement: number, flags: Flags::ACK, window: 1000, ..Segment::default() }
}

#[test]
fn an_end_that_waits_resets_what_belongs_to_an_older_connection() {
    let mut end = Connection::listen(&config(), 100);
    end.receive(&acknowledging(7000), ms("1"));
    assert_eq!(end.poll_at(ms("1")), Some(ms("1")));
    assert_eq!(end.poll_transmit(ms("1")), Some(reset(7000)));
    assert_eq!((end.poll_transmit(ms("1")), end.poll_at(ms("1")), end.state()), (None, None, State::Listen));
    end.receive(&Segment { flags: Flags::RST | Flags::ACK, ..acknowledging(7000) }, ms("2"));
    assert_eq!(end.poll_transmit(ms("2")), None, "a reset is never answered");
    end.receive(&Segment { sequence: 500, flags: Flags::SYN, ..Segment::default() }, ms("3"));
    assert!(end.poll_transmit(ms("3")).is_some_and(|answer| answer.flags.has(Flags::SYN | Flags::ACK)));
}

/// The peer still has a connection that this end has forgotten: its acknowledgement is reset, and the next SYN finds it closed
/// (RFC 9293, section 3.5.1, figure 9).
#[test]
fn an_end_that_opens_resets_what_its_peer_has_left() {
    let mut end = Connection::open(&config(), 100);
    assert!(end.poll_transmit(Nanos::ZERO).is_some());
    end.receive(&acknowledging(7000), ms("10"));
    assert_eq!((end.poll_transmit(ms("10")), end.state()), (Some(reset(7000)), State::SynSent));
    let again = Nanos::from_secs(1);
    assert_eq!(end.poll_at(ms("10")), Some(again));
    assert!(end.poll_transmit(again).is_some_and(|syn| syn.flags == Flags::SYN));
}

/// An acknowledgement that does not fit the SYN-ACK is reset, and the handshake goes on.
#[test]
fn half_of_a_handshake_resets_what_does_not_fit() {
    let mut end = Connection::listen(&config(), 100);
    end.receive(&Segment { sequence: 500, flags: Flags::SYN, window: 1000, ..Segment::default() }, Nanos::ZERO);
    assert!(end.poll_transmit(Nanos::ZERO).is_some_and(|answer| answer.flags.has(Flags::SYN | Flags::ACK)));
    let third = |number| Segment { sequence: 501, ..acknowledging(number) };
    end.receive(&third(7000), ms("10"));
    assert_eq!((end.poll_transmit(ms("10")), end.state()), (Some(reset(7000)), State::SynReceived));
    end.receive(&third(101), ms("20"));
    assert_eq!((end.poll_transmit(ms("20")), end.state()), (None, State::Established));
}

/// A SYN-ACK without an answer: retransmitted after one, two, four seconds and so on; abandoned after 63 s, as Linux documents
/// for `tcp_synack_retries`.
#[test]
fn a_syn_ack_is_sent_again_and_given_up() {
    let options = Options { maximum_segment_size: Some(1000), ..Options::default() };
    let mut end = Connection::listen(&Config { syn_retries: 99, ..config() }, 100);
    end.receive(&Segment { sequence: 500, flags: Flags::SYN, options, ..Segment::default() }, Nanos::ZERO);
    let (mut now, mut sent) = (Nanos::ZERO, Vec::new());
    while let Some(at) = end.poll_at(now) {
        now = at;
        while let Some(answer) = end.poll_transmit(now) {
            assert!(answer.flags.has(Flags::SYN | Flags::ACK));
            sent.push(now.0 / 1_000_000_000);
        }
    }
    assert_eq!(sent, [0, 1, 3, 7, 15, 31]);
    assert_eq!((end.broken(), now), (Some(Broken::TimedOut), Nanos::from_secs(63)));
}
