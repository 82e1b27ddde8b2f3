//! The first page: which gateway this is, and who it takes the visitor for.

use super::{
    answer::{Page, html},
    visit::Visit,
};

const PAGE: &str = include_str!("index.html");

/// The first page.
pub(super) fn page(visit: &Visit<'_>) -> Page {
    let (gateway, user) = (&visit.config.proxy.name, visit.who.to_string());
    html(PAGE, &[("gateway", gateway), ("user", &user), ("class", visit.class_name())])
}
