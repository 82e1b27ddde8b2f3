//! A case computed by hand, and what a selection keeps.

use super::*;
use crate::blame::{HELD, ON_ITS_WAY, PACE, RECOVERING, SERVER, WITHOUT_FLOW};

fn blame(selection: Selection) -> RequestBlame {
    let mut blame = RequestBlame::new(selection, 9);
    // Flows 0 to 2 are users, 3 is a call, 4 are probes.
    blame.knows([("ann", "gold"), ("bob", "gold"), ("cid", "iron")].into_iter(), false, [(3, "call")].into_iter());
    blame
}

/// A packet of the connection with this number.
fn packet(connection: u64, from: u32, bytes: u32) -> Whose {
    Whose::Connection(connection, Some(Segment { from, bytes }))
}

fn crosses(blame: &mut RequestBlame, whose: Whose, from: u64, until: u64) {
    blame.takes(whose, Nanos(from));
    blame.frees(whose, Nanos(until));
}

#[test]
fn a_request_s_time_is_divided_by_its_states() {
    let mut blame = blame(Selection::All);
    // Ann's first request keeps connection 0 busy, Bob's 1 and Cid's 2.
    for (request, user) in [(0, 0), (1, 1), (2, 2)] {
        blame.wanted(request, user, Nanos(0));
        blame.arrived(request, Nanos(0));
        blame.released(request, request as u64, 0, Nanos(0));
        blame.waits(packet(request as u64, 0, 0), Nanos(0));
    }
    // Ann wants another at 10; it is queued at the gateway from 13 to 40.
    blame.wanted(3, 0, Nanos(10));
    blame.takes(packet(0, 0, 0), Nanos(12));
    blame.arrived(3, Nanos(13));
    blame.frees(packet(0, 0, 0), Nanos(16));
    crosses(&mut blame, packet(1, 0, 0), 16, 21);
    crosses(&mut blame, packet(2, 0, 0), 21, 28);
    crosses(&mut blame, Whose::Traffic(3), 30, 33);
    crosses(&mut blame, Whose::Probe, 33, 34);
    // 3 its own user, 5 Bob, 7 Cid, 3 the call, 1 probes, and 8 of pace.
    blame.released(3, 7, 0, Nanos(40));
    // 10 server; the handshake's answer waits 2 held and crosses in 1; 4 server.
    blame.waits(packet(7, 100, 0), Nanos(50));
    crosses(&mut blame, packet(7, 100, 0), 52, 53);
    // Its response is dropped on arrival, and arrives again 20 later; 6 behind Cid, 2 on the link.
    blame.dropped(packet(7, 101, 10), false, Nanos(57));
    blame.takes(packet(2, 1, 10), Nanos(75));
    blame.waits(packet(7, 101, 10), Nanos(77));
    blame.frees(packet(2, 1, 10), Nanos(83));
    crosses(&mut blame, packet(7, 101, 10), 83, 85);
    // 1 in flight; withheld for 4, of which 3 are pace and 1 is a probe's; read, and 5 to its user.
    blame.unread(3, Some(Unread::Withheld), Nanos(86));
    crosses(&mut blame, Whose::Probe, 87, 88);
    blame.unread(3, None, Nanos(90));
    blame.read(3, 10, Nanos(90));
    blame.read_whole(3, Nanos(90));
    blame.ended(3, Nanos(95));
    let explanation = blame.finish();
    let slowest = &explanation.slowest[0];
    assert_eq!((slowest.packet, slowest.flow.as_str(), slowest.latency), (3, "ann", Nanos(85)));
    assert_eq!((slowest.own[0], slowest.same_flow), (Nanos(3), Nanos(3)));
    let mut causes = vec![Nanos::ZERO; explanation.columns.len()];
    causes[HELD] = Nanos(2);
    causes[PACE] = Nanos(8 + 3);
    causes[SERVER] = Nanos(10 + 4);
    causes[RECOVERING] = Nanos(20);
    causes[ON_ITS_WAY] = Nanos(3 + 1 + 5);
    // Ann's own column, Bob, Cid, the call, probes.
    for (at, nanos) in [0, 5, 7 + 6, 3, 1 + 1].into_iter().enumerate() {
        causes[WITHOUT_FLOW + at] = Nanos(nanos);
    }
    assert_eq!(slowest.causes, causes);
    assert_eq!(explanation.selected.left, 3);
}

#[test]
fn a_user_s_requests_or_a_class_s_are_selected_and_what_is_cancelled_is_dropped() {
    for (selection, done, cancelled) in [
        (Selection::Flow("bob".into()), 1, 0),
        (Selection::Class("gold".into()), 2, 0),
        (Selection::Class("iron".into()), 0, 1),
        (Selection::Packet(1), 1, 0),
        (Selection::All, 2, 1),
    ] {
        let mut blame = blame(selection.clone());
        (0..3).for_each(|request| blame.wanted(request, request, Nanos(request as u64)));
        blame.ended(0, Nanos(5));
        blame.cancelled(2);
        blame.ended(1, Nanos(6));
        let selected = blame.finish().selected;
        assert_eq!((selected.packets, selected.dropped, selected.left), (done, cancelled, 0), "{selection:?}");
    }
}
