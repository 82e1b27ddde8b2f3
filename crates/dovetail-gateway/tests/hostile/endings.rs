//! Responses of unknown length whose end is at the gateway while it waits for turns.
//!
//! The link is so slow that the next turn is a minute away: what is whole before was not read turn by turn.

use crate::{
    server::canned,
    support::{Running, Setup},
};

const CHUNKED: &str = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
/// More than a turn, and less than a first window.
const BODY: usize = 4_000;

fn slow() -> Running {
    Setup { downlink: "rate = \"1kbps\"".into(), ..Setup::default() }.start()
}

fn body() -> String {
    "x".repeat(BODY)
}

fn chunk() -> String {
    format!("{BODY:x}\r\n{}\r\n", body())
}

#[test]
fn a_chunked_response_that_is_all_there_waits_for_no_turns() {
    let server = canned(format!("{CHUNKED}{}0\r\n\r\n", chunk()), false);
    let gateway = slow();
    let whole = gateway.get(&server.url("/"));
    assert_eq!((whole.status, whole.text(), whole.is_whole), (200, body(), true));
    gateway.quiet();
}

#[test]
fn one_that_is_longer_than_windows_comes_by_turns() {
    let body = "x".repeat(200_000);
    let server = canned(format!("{CHUNKED}{:x}\r\n{body}\r\n0\r\n\r\n", body.len()), false);
    let gateway = Setup { downlink: "rate = \"2Mbps\"".into(), ..Setup::default() }.start();
    let whole = gateway.get(&server.url("/"));
    assert_eq!((whole.status, whole.text() == body, whole.is_whole), (200, true, true));
    gateway.quiet();
}
