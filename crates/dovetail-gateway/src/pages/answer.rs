//! How pages and errors are sent.

use bytes::Bytes;
use dovetail_admin::{Fault, page};
use http::{HeaderName, HeaderValue, Response, StatusCode, header};
use http_body_util::Full;
use hyper::body::Body;

use crate::{config::Config, language::escaped};

/// A page or an error.
pub(super) type Page = Result<Response<Full<Bytes>>, Fault>;

/// HTML with values for `{{their names}}`, and `NONCE` where styles and scripts have their nonce, without which browsers
/// neither apply nor run them. Values are escaped.
pub(super) fn html(template: &str, values: &[(&str, &str)]) -> Page {
    let mut parts = template.split("{{");
    let mut text = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let (name, rest) = part.split_once("}}").unwrap_or((part, ""));
        let value = values.iter().find(|(known, _)| *known == name).map_or("", |(_, value)| value);
        text.push_str(&escaped(value));
        text.push_str(rest);
    }
    page::answer("gateway", &text)
}

/// The path does not exist.
pub(super) fn missing(config: &Config) -> Page {
    let what = format!("The gateway has no such page. Its first one is http://{}/", config.pages.host);
    Err(Fault::new(StatusCode::NOT_FOUND, what))
}

/// The method is not GET or HEAD.
pub(super) fn only_read() -> Page {
    Err(Fault::method("GET, HEAD"))
}

/// The client used another host name.
pub(super) fn not_for_this_name(config: &Config) -> Page {
    let what = format!(
        "This is the gateway {}, which does not serve the name in Host. Its own pages are at http://{}/. To reach other \
         servers through it, set it as the proxy.",
        config.proxy.name, config.pages.host
    );
    Err(Fault::new(StatusCode::MISDIRECTED_REQUEST, what))
}

/// The request came through another proxy, all of whose users are one user here.
pub(super) fn not_for_others(config: &Config) -> Page {
    let what = format!(
        "This is the gateway {}, and the request came to it through another proxy, whose users are one user here: none of \
         them may see what the others do. Ask your own gateway for its pages, at the address that is set as your proxy.",
        config.proxy.name
    );
    Err(Fault::new(StatusCode::FORBIDDEN, what))
}

/// The page as sent: it is not cached, and no other site can read, frame or learn of it.
pub(super) fn strict(page: Page, hides_body: bool) -> Response<Full<Bytes>> {
    let mut response = page.unwrap_or_else(Fault::response);
    let length = response.body().size_hint().exact().unwrap_or(0);
    let headers = response.headers_mut();
    for (name, value) in [
        (
            header::CONTENT_SECURITY_POLICY,
            "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
        ),
        (header::CACHE_CONTROL, "no-store"),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::REFERRER_POLICY, "no-referrer"),
        (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
    ] {
        headers.entry(name).or_insert(HeaderValue::from_static(value));
    }
    headers.insert(header::CONTENT_LENGTH, length.into());
    if hides_body {
        *response.body_mut() = Full::default();
    }
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_neither_markup_nor_templates() {
        let page = html("<b>{{a}}</b>{{b}} {{c}}.", &[("a", "<i>&{{b}}"), ("b", "2")]).expect("a page");
        let body = format!("{:?}", page.body());
        assert!(body.contains("<b>&lt;i&gt;&amp;{{b}}</b>2 ."), "{body}");
    }
}
