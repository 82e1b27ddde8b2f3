//! The admin's port: a page of what happens now, the same as JSON, metrics, and weights that can be changed.
//!
//! | path | what |
//! |---|---|
//! | `/` | the page (`page.html`) |
//! | `/status.json` | `status`: link, classes, users, requests |
//! | `/history.json` | `history`: the last ten minutes |
//! | `/metrics` | `scrape`, `metrics`: for Prometheus |
//! | `/healthz` | `ok` |
//! | `PUT /classes/NAME/weight` | `weight`: a new weight, with the token |
//!
//! What it has in common with other admin ports is in [`dovetail_admin`]. All runs on the gateway's thread. What a look costs is a look's: nothing is kept up between them but a sample a second.
//! Looks closer together than half a second see the same.

mod answer;
mod history;
mod link;
mod metrics;
mod rates;
mod scrape;
mod seen;
mod server;
mod status;
mod weight;

pub(crate) use self::{seen::Seen, server::start};
