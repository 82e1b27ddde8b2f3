//! The HTTP gateway: a forward proxy in front of a narrow downlink that schedules requests and responses.
//!
//! A request comes in at a [`listener`](config::Proxy), is checked, waits at the [desk](dovetail_tower::Desk) for its release,
//! goes to its server on a connection whose reads are [gated], and its response goes back as it is let in.
//!
//! | module | what |
//! |---|---|
//! | [`config`] | what it is configured with |
//! | `gateway` | what connections share; start, reload, drain |
//! | `listen`, `takeover` | sockets, where they come from and where they go; connections that arrive |
//! | `descriptors`, `own` | how many connections there may be, and the machine's own addresses |
//! | `serve`, `client`, `unreadable` | clients' connections and their requests |
//! | `wanted`, `destination`, `refusal` | what is asked for, what may be reached, what is said if not |
//! | `exchange`, `relay`, `upload`, `interim`, `held` | a request to a server and its response |
//! | `uplink` | what goes up the link, shared as what comes down |
//! | `upstream` | connections to servers, which are read as the scheduler allows |
//! | `tunnel`, `intercept` | bytes both ways, and connections that were meant for servers |
//! | `probe` | how long the far queue is |
//! | `admin` | the admin's port: page, metrics, weights |
//! | `watch`, `record`, `counters`, `log` | what is under way, and what is noted of it |
//!
//! [gated]: https://www.rfc-editor.org/rfc/rfc9293#section-3.8.6

mod admin;
pub mod auth;
mod check;
mod client;
pub mod config;
mod counters;
mod descriptors;
mod destination;
mod exchange;
mod gateway;
mod headers;
mod held;
mod intercept;
mod interim;
mod listen;
mod log;
mod own;
mod probe;
mod record;
mod refusal;
mod relay;
mod resolve;
mod serve;
mod signals;
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
    check::check,
    gateway::{Control, Counts, GatewayError, run, run_until_signalled},
    intercept::server_name,
    who::Who,
};
