//! The admin's port: a page of what happens now, the same as JSON, metrics, and weights that can be changed.
//!
//! | path | what |
//! |---|---|
//! | `/` | the page (`page.html`) |
//! | `/status.json` | `status`: link, classes, users, requests; of one class or user where the query has one (`chosen`) |
//! | `/history.json` | `history`: the last ten minutes; with a user in its query, theirs of the last hour (`past`) |
//! | `/hour.json` | `history`: the last hour |
//! | `/metrics` | `scrape`, `metrics`: for Prometheus |
//! | `/healthz` | `ok` |
//! | `PUT /classes/NAME/weight` | `weight`: a new weight, with the token |
//!
//! What it has in common with other admin ports is in [`dovetail_admin`]. All runs on the gateway's thread. What a look costs is a look's: nothing is kept up between them but a sample a second, and every ten seconds one of each user.
//! Looks closer together than half a second see the same.

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

pub(crate) use self::{seen::Seen, server::start};
