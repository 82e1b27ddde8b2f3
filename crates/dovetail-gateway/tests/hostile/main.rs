//! A gateway from outside, as hostile clients, servers and name servers meet it.
//!
//! Every test runs a gateway of its own and speaks to it in raw bytes. Requests that servers get are read by a parser of the
//! tests' own that takes nothing but what RFC 9112 writes. After each test all that was under way has to be over.

#![allow(clippy::unwrap_used)]

mod announced;
mod answer;
#[allow(dead_code)]
#[path = "../admin/browser.rs"]
mod browser;
mod browser_tls;
mod destinations;
mod dns;
mod endings;
mod faults;
mod framing;
mod helper;
mod hosts;
mod interim;
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
mod tunnels;
mod users;
mod websocket;
