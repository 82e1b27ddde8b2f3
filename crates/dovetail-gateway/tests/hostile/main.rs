//! Tests a gateway from outside, with hostile clients, servers and name servers.
//!
//! Every test runs a gateway of its own and sends it raw bytes. Requests received by servers are parsed by the tests' own
//! parser, which accepts only what RFC 9112 prescribes. After each test nothing may be in flight.

#![allow(clippy::unwrap_used)]

mod announced;
mod answer;
#[allow(dead_code)]
#[path = "../admin/browser.rs"]
mod browser;
mod browser_tls;
mod corpus;
mod destinations;
mod dns;
mod endings;
mod faults;
mod framing;
mod helper;
mod hosts;
mod interim;
mod language;
mod lenient;
mod life;
mod limits;
mod log;
mod memory;
mod pac;
mod pages;
mod parents;
mod parents_tls;
mod pinned;
mod reload;
mod responses;
mod said;
mod server;
mod slow;
mod strict;
mod support;
mod tls;
mod trailers;
mod tunnels;
mod users;
mod websocket;
