//! The HTTP gateway: a forward proxy in front of a narrow downlink that schedules requests and responses.
//!
//! A request arrives at a [`listener`](config::Proxy), is checked, queued until its [release](dovetail_tower::Dispatcher), sent
//! to its server on a connection whose reads are [gated], and its response is passed back as it is let in.
//!
//! Events are reported through [`tracing`]: the program that runs a gateway chooses where they go.
//!
//! | module | what |
//! |---|---|
//! | `sys`, `segment` | kernel interfaces, and the size of a packet |
//! | [`config`], [`auth`] | the configuration, and passwords |
//! | `language` | the languages of what users read |
//! | `who`, `class`, `place`, `refusal`, `error` | users, their classes and tickets; refusals and errors |
//! | `headers`, `trailers`, `upgrade`, `one_word`, `bad_request`, `client_hello` | messages, and what cannot be parsed as one |
//! | `userinfo`, `wanted`, `permitted`, `own_request`, `destination`, `local_addresses` | request targets, and what may be reached |
//! | `uplink`, `interactive`, `round_trips`, `descriptors`, `counters`, `spent`, `log` | shared resources, measurements, counters, log |
//! | `client`, `backpressure`, `batching`, `watch` | clients' connections, and what is in flight on them |
//! | `upstream`, `resolve`, `upload`, `interim` | connections to servers, which are read as the scheduler allows |
//! | `state` | the gateway's state, in parts |
//! | `quota` | users' quotas and their usage |
//! | `ways`, `record`, `message`, `relay`, `servers`, `exchange`, `tunnel` | requests to servers and their responses; tunnels |
//! | `pages` | the gateway's own pages |
//! | `serve`, `intercept`, `proxy_protocol`, `tls`, `accept`, `takeover`, `listen` | incoming connections and their sockets |
//! | `probe` | measures the far queue |
//! | [`doctor`] | measures a link and writes a first configuration for it |
//! | `admin` | the admin port: page, metrics, weights |
//! | `life` | a gateway's start, reload and end |
//!
//! Each module uses only those above it in this table or in its own row, without cycles.
//!
//! [gated]: https://www.rfc-editor.org/rfc/rfc9293#section-3.8.6

mod accept;
mod admin;
pub mod auth;
mod backpressure;
mod bad_request;
mod batching;
mod class;
mod client;
mod client_hello;
pub mod config;
mod counted;
mod counters;
mod descriptors;
mod destination;
pub mod doctor;
mod error;
mod exchange;
mod frame;
mod headers;
mod interactive;
mod intercept;
mod interim;
mod language;
mod life;
mod listen;
mod local_addresses;
mod log;
mod message;
mod one_word;
mod own_request;
mod pages;
mod per_user;
mod permitted;
mod place;
mod probe;
mod proxy_protocol;
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
mod trailers;
mod tunnel;
mod upgrade;
mod uplink;
mod upload;
mod upstream;
mod userinfo;
mod wanted;
mod watch;
mod ways;
mod who;

#[cfg(feature = "test-support")]
pub use self::life::Counts;
pub use self::{
    client_hello::server_name,
    error::GatewayError,
    life::{Control, check, run, run_until_signalled},
    who::Who,
};
