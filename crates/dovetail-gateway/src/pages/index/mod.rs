//! The first page: the name of the gateway, and the identity of the visitor.

mod texts;

use dovetail_admin::Answer;

use self::texts::TEXTS;
use super::visit::Visit;
use crate::{
    frame::{Frame, filled_with_html},
    language::{escaped, fill},
};

/// The first page.
pub(super) fn page(visit: &Visit<'_>) -> Answer {
    let texts = TEXTS.of(visit.language);
    let strong = |value: &str| format!("<strong>{}</strong>", escaped(value));
    let (user, class) = (strong(&visit.who.to_string()), strong(visit.class_name()));
    let knows = filled_with_html(texts.knows, &[("user", &user), ("class", &class)]);
    let main =
        format!("<p>{}</p>\n<p>{knows}</p>\n<p><a href=\"/me\">{}</a></p>\n", escaped(texts.what), escaped(texts.me));
    let title = fill(texts.title, &[("gateway", &visit.config.proxy.name)]);
    Frame::new(visit.language, &title, &main).page()
}
