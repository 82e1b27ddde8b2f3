//! The HTTP gateway: a forward proxy in front of a narrow downlink that schedules requests and responses.
//!
//! A request comes in at a [`listener`](config::Proxy), is checked, waits for its [release](dovetail_tower::Dispatcher),
//! goes to its server on a connection whose reads are [gated], and its response goes back as it is let in.
//!
//! What happens meanwhile is said through [`tracing`]: the program that runs a gateway chooses where that goes.
//!
//! | module | what |
//! |---|---|
//! | `sys`, `segment` | what the kernel tells and takes, and what a packet carries |
//! | [`config`], [`auth`] | what it is configured with, and passwords |
//! | `who`, `class`, `place`, `refusal`, `error` | users, their classes and places; what is said where there is none |
//! | `headers`, `upgrade`, `one_word`, `unreadable`, `greeting` | messages, and what cannot be read as one |
//! | `wanted`, `permitted`, `addressed`, `destination`, `own` | what is asked for, and what may be reached |
//! | `uplink`, `free`, `round_trips`, `descriptors`, `counters`, `spent`, `log` | what is shared, measured, counted and noted |
//! | `client`, `held`, `gathered`, `watch` | clients' connections, and what is in flight on them |
//! | `upstream`, `resolve`, `upload`, `interim` | connections to servers, which are read as the scheduler allows |
//! | `state` | what a gateway knows and goes by, in parts |
//! | `quota` | how much users may have, and what they used of it |
//! | `ways`, `record`, `message`, `relay`, `servers`, `exchange`, `tunnel` | a request to a server and its response; bytes both ways |
//! | `pages` | what the gateway answers, not a server |
//! | `serve`, `intercept`, `announced`, `tls`, `accept`, `takeover`, `listen` | connections that arrive, and the sockets where they do |
//! | `probe` | how long the far queue is |
//! | [`doctor`] | measures a link and writes a first configuration for it |
//! | `admin` | the admin's port: page, metrics, weights |
//! | `life` | a gateway's start, reload and end |
//!
//! Each module uses those above it in this table or in its own row, and none that uses it.
//!
//! [gated]: https://www.rfc-editor.org/rfc/rfc9293#section-3.8.6

mod accept;
mod addressed;
mod admin;
mod announced;
pub mod auth;
mod class;
mod client;
pub mod config;
mod counted;
mod counters;
mod descriptors;
mod destination;
pub mod doctor;
mod error;
mod exchange;
mod free;
mod gathered;
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
mod pages;
mod per_user;
mod permitted;
mod place;
mod probe;
mod quota;
mod record;
mod refusal;
mod relay;
mod resolve;
mod round_trips;
mod segment;
mod serve;
mod servers;
mod spent;
mod state;
mod sys;
mod takeover;
mod tls;
mod tunnel;
mod unreadable;
mod upgrade;
mod uplink;
mod upload;
mod upstream;
mod wanted;
mod watch;
mod ways;
mod who;

#[cfg(feature = "test-support")]
pub use self::life::Counts;
pub use self::{
    error::GatewayError,
    greeting::server_name,
    life::{Control, check, run, run_until_signalled},
    who::Who,
};
