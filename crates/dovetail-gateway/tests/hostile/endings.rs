//! Chunked responses whose end arrives while they wait for turns.

use crate::{server::canned, support::Setup};

/// Checks that such a body passes completely through a gateway on a link of this rate.
fn comes_whole(bytes: usize, rate: &str) {
    let body = "x".repeat(bytes);
    let server =
        canned(format!("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n{bytes:x}\r\n{body}\r\n0\r\n\r\n"), false);
    let gateway = Setup { downlink: format!("rate = \"{rate}\""), ..Setup::default() }.start();
    let whole = gateway.get(&server.url("/"));
    assert_eq!((whole.status, whole.text() == body, whole.is_whole), (200, true, true));
    gateway.quiet();
}

#[test]
fn one_that_is_all_there_waits_for_no_turns() {
    // More than a turn and less than a first window. The next turn is a minute away.
    comes_whole(4_000, "1kbps");
}

#[test]
fn one_that_is_longer_than_windows_comes_by_turns() {
    comes_whole(200_000, "2Mbps");
}
