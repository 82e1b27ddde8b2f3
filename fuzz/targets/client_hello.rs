//! Bytes as the first of a connection that was meant for a server: a TLS ClientHello, cut off, or anything.
#![no_main]

use dovetail_gateway::server_name;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let Some(name) = server_name(bytes) else { return };
    assert!(name.len() <= 253);
    assert!(name.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"-._".contains(&byte)));
    let is_there = |window: &[u8]| window.eq_ignore_ascii_case(name.as_bytes());
    assert!(name.is_empty() || bytes.windows(name.len()).any(is_there), "{name} is not in the ClientHello");
});
