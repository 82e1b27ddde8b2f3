//! Common parts of the admin ports of the gateway and the middlebox.
//!
//! A [`Site`] answers requests. A [`Port`] serves it on the caller's thread, among the caller's tasks; a [`Served`] on a thread
//! of its own. Either way it is HTTP/1.1 with limits of its own: 64 connections, ten seconds for a header or a body, ten
//! minutes for a connection. Requests under a foreign host name are refused, and changes require the token.
//!
//! | file | what |
//! |---|---|
//! | `site` | what a port serves |
//! | `port`, `served` | connections, on this thread or on one of their own |
//! | [`guard`] | which requests may read, and which may change something |
//! | `fault`, `body`, `answer` | error responses; bodies of requests and of responses |
//! | [`page`] | self-contained pages, and the parts that all pages share |
//! | [`metrics`] | metric families as OpenMetrics text |
//! | `process` | resources used by this process |
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
