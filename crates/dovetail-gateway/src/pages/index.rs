//! The first page: the name of the gateway, and the identity of the visitor.

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
