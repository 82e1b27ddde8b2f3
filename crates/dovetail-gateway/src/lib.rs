//! The HTTP gateway: a forward proxy in front of a narrow downlink that schedules requests and responses.
//!
//! A request comes in at a [`listener`](config::Proxy), is checked, waits at the [desk](dovetail_tower::Desk) for its release,
//! goes to its server on a connection whose reads are [gated], and its response goes back as it is let in.
//!
//! | module | what |
//! |---|---|
//! | [`config`], [`auth`] | what it is configured with, and passwords |
//! | `who`, `class`, `place`, `refusal`, `error` | users, their classes and places; what is said where there is none |
//! | `wanted`, `permitted`, `destination`, `resolve`, `own` | what is asked for, and what may be reached |
//! | `headers`, `message`, `one_word`, `unreadable`, `greeting` | messages as they come and go on |
//! | `client`, `held`, `watch` | clients' connections, and what is under way on them |
//! | `upstream`, `upload`, `interim` | connections to servers, which are read as the scheduler allows |
//! | `uplink`, `free`, `round_trips`, `descriptors`, `counters`, `log` | what is shared, measured, counted and noted |
//! | `state` | what a gateway knows and goes by, in parts |
//! | `record`, `relay`, `servers`, `exchange`, `tunnel` | a request to a server and its response; bytes both ways |
//! | `serve`, `intercept`, `accept`, `takeover`, `listen` | connections that arrive, and the sockets where they do |
//! | `probe` | how long the far queue is |
//! | `admin` | the admin's port: page, metrics, weights |
//! | `life` | a gateway's start, reload and end |
//!
//! Each module uses those above it in this table or in its own row, and none that uses it.
//!
//! [gated]: https://www.rfc-editor.org/rfc/rfc9293#section-3.8.6

mod accept;
mod admin;
pub mod auth;
mod class;
mod client;
pub mod config;
mod counters;
mod descriptors;
mod destination;
mod error;
mod exchange;
mod free;
mod greeting;
mod headers;
mod held;
mod intercept;
mod interim;
mod life;
mod listen;
mod log;
mod message;
mod one_word;
mod own;
mod permitted;
mod place;
mod probe;
mod record;
mod refusal;
mod relay;
mod resolve;
mod round_trips;
mod segment;
mod serve;
mod servers;
mod state;
mod sys;
mod takeover;
mod tunnel;
mod unreadable;
mod uplink;
mod upload;
mod upstream;
mod wanted;
mod watch;
mod who;

pub use self::{
    error::GatewayError,
    greeting::server_name,
    life::{Control, Counts, check, run, run_until_signalled},
    who::Who,
};
