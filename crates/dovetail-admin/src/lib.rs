//! What the admin ports of the gateway and of the middlebox have in common.
//!
//! A [`Site`] says what is answered at each path. A [`Port`] serves it on the caller's thread, among the caller's tasks; a
//! [`Served`] on a thread of its own. Either way it is HTTP/1.1 with limits of its own: 64 connections, ten seconds for a header or
//! a body, ten minutes for a connection. Whatever is asked under a foreign name is refused, and who changes something needs the
//! token.
//!
//! | file | what |
//! |---|---|
//! | `site` | what a port serves |
//! | `port`, `served` | connections, on this thread or on one of their own |
//! | [`guard`] | who may read, and who may change something |
//! | `fault`, `body`, `answer` | what is said where there is no answer; bodies of requests and of answers |
//! | [`page`] | a page with nothing from elsewhere, and the parts that all pages share |
//! | [`metrics`] | families of metrics as OpenMetrics text |
//! | `process` | what this process takes of the machine |
#![forbid(unsafe_code)]

mod answer;
mod body;
mod fault;
pub mod guard;
pub mod metrics;
pub mod page;
mod port;
mod process;
mod served;
mod site;

pub use answer::{Fresh, JSON, TEXT, json, read_only, typed};
pub use body::body;
pub use fault::Fault;
pub use port::{Port, each_second};
pub use process::Process;
pub use served::Served;
pub use site::{Answer, Asked, Site};
