//! Counts for tunnels.

use std::{
    io::{Read, Write},
    thread,
    time::{Duration, Instant},
};

use crate::running::Running;

const BYTES: u64 = 6_000;

/// More than a turn and less than what a turn is requested for: the gateway has most of it when the tunnel ends.
#[test]
fn all_that_came_by_a_tunnel_is_its_user_s() {
    let gateway = Running::start("rate = \"2Mbps\"\nprobe = \"off\"", "");
    let mut tunnel = gateway.connect_to("127.0.2.1");
    let length = tunnel.read(&mut [0; 200]).unwrap();
    assert!(length > 0, "it is open");
    write!(tunnel, "GET /{BYTES} HTTP/1.1\r\nHost: {}\r\nConnection: close\r\n\r\n", gateway.origin).unwrap();
    tunnel.read_to_end(&mut Vec::new()).unwrap();
    drop(tunnel);
    let name = "dovetail_gateway_user_received_bytes_total{class=\"guests\",user=\"127.0.2.1\"} ";
    let began = Instant::now();
    loop {
        let metrics = gateway.get("/metrics").body;
        let counted = metrics.lines().find_map(|line| line.strip_prefix(name)?.parse::<u64>().ok());
        if counted.is_some_and(|counted| counted > BYTES) {
            return;
        }
        assert!(began.elapsed() < Duration::from_secs(10), "{counted:?} of {BYTES} and a header");
        thread::sleep(Duration::from_millis(10));
    }
}
