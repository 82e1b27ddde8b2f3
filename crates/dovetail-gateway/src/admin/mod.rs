//! The admin port: a live status page, the same as JSON, metrics, and adjustable weights.
//!
//! | path | what |
//! |---|---|
//! | `/` | the page (`page.html`) |
//! | `/status.json` | `status`: link, classes, users, requests; restricted to the class or user in the query, if any (`chosen`) |
//! | `/history.json` | `history`: the last ten minutes; with a user in the query, their last hour (`past`) |
//! | `/hour.json` | `history`: the last hour |
//! | `/metrics` | `scrape`, `metrics`: for Prometheus |
//! | `/healthz` | `ok` |
//! | `PUT /classes/NAME/weight` | `weight`: a new weight, with the token |
//!
//! The parts shared with other admin ports are in [`dovetail_admin`]. Everything runs on the gateway's thread, and only a poll
//! costs anything: between polls, a sample is taken every second, and one per user every ten seconds. Polls less than half a
//! second apart get the same answer.

mod answer;
mod chosen;
mod history;
mod link;
mod metrics;
mod named;
mod past;
mod rates;
mod scrape;
mod seen;
mod server;
mod status;
mod weight;
mod written;

pub(crate) use self::{seen::Seen, server::start};
