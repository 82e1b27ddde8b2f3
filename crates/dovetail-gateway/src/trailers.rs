//! Trailers: the fields after a chunked body (RFC 9110, section 6.5).
//!
//! Over HTTP/1.1 hyper sends only those that `Trailer` announces, and to a client only if it takes them (`TE: trailers`). So
//! announcements are passed on along with the fields, and a client's `TE: trailers` to its server.

use http::{HeaderMap, HeaderName, HeaderValue, Version, header};

use crate::headers::{is_hop_by_hop, listed, lists};

/// Fields that decide on a message's framing, its route, its sender or how it is processed: too late after its body.
const MISPLACED: [HeaderName; 24] = [
    header::AGE,
    header::AUTHORIZATION,
    header::CACHE_CONTROL,
    header::CONTENT_ENCODING,
    header::CONTENT_LENGTH,
    header::CONTENT_RANGE,
    header::CONTENT_TYPE,
    header::COOKIE,
    header::DATE,
    header::EXPECT,
    header::FORWARDED,
    header::HOST,
    header::LOCATION,
    header::MAX_FORWARDS,
    header::PROXY_AUTHENTICATE,
    header::PROXY_AUTHORIZATION,
    header::RANGE,
    header::RETRY_AFTER,
    header::SET_COOKIE,
    header::TRANSFER_ENCODING,
    header::VARY,
    header::VIA,
    header::WWW_AUTHENTICATE,
    HeaderName::from_static("proxy-authentication-info"),
];

fn may_trail(name: &HeaderName) -> bool {
    !is_hop_by_hop(name) && !MISPLACED.contains(name)
}

/// The part of a trailer that is passed on, unless it is empty.
pub(crate) fn passed_on(trailers: HeaderMap) -> Option<HeaderMap> {
    let mut passed = HeaderMap::new();
    let mut last = None;
    for (name, value) in trailers {
        // Further values of a field come without its name.
        last = name.or(last);
        if let Some(name) = last.as_ref().filter(|name| may_trail(name)) {
            passed.append(name, value);
        }
    }
    Some(passed).filter(|passed| !passed.is_empty())
}

/// The fields that a message announces in `Trailer` and that are passed on, if any.
pub(crate) fn announced(headers: &HeaderMap) -> Option<HeaderValue> {
    let names: Vec<HeaderName> = listed(headers, &header::TRAILER)
        .filter_map(|name| HeaderName::from_bytes(name.as_bytes()).ok())
        .filter(may_trail)
        .collect();
    let names: Vec<&str> = names.iter().map(HeaderName::as_str).collect();
    HeaderValue::try_from(names.join(", ")).ok().filter(|value| !value.is_empty())
}

/// Whether a client asks for its response's trailers.
pub(crate) fn are_asked_for(headers: &HeaderMap, version: Version) -> bool {
    version >= Version::HTTP_11 && lists(headers, &header::TE, "trailers")
}

/// Asks a server for trailers.
pub(crate) fn ask_for(headers: &mut HeaderMap) {
    headers.insert(header::TE, HeaderValue::from_static("trailers"));
    headers.insert(header::CONNECTION, HeaderValue::from_static("TE"));
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fields(fields: &[(&'static str, &str)]) -> HeaderMap {
        let mut headers = HeaderMap::new();
        for (name, value) in fields {
            headers.append(*name, value.parse().expect("a value"));
        }
        headers
    }

    #[test]
    fn a_trailer_is_passed_on_without_what_belongs_in_a_header() {
        let trailer =
            fields(&[("a", "1"), ("host", "x"), ("host", "y"), ("a", "2"), ("keep-alive", "5"), ("via", "1.1 x")]);
        assert_eq!(passed_on(trailer), Some(fields(&[("a", "1"), ("a", "2")])));
        assert_eq!(passed_on(fields(&[("content-length", "3"), ("transfer-encoding", "chunked")])), None);
    }

    #[test]
    fn what_is_announced_is_what_is_passed_on() {
        let said = |values: &[&str]| {
            let values: Vec<_> = values.iter().map(|value| ("trailer", *value)).collect();
            announced(&fields(&values)).map(|value| value.to_str().expect("text").to_owned())
        };
        assert_eq!(said(&["A, Host", "b c,, Grpc-Status"]).as_deref(), Some("a, grpc-status"));
        assert_eq!(said(&["Content-Length, TE"]), None);
        assert_eq!(said(&[]), None);
    }

    #[test]
    fn only_clients_that_may_be_sent_chunks_ask_for_trailers() {
        let asks = fields(&[("te", "gzip, Trailers")]);
        assert!(are_asked_for(&asks, Version::HTTP_11) && are_asked_for(&asks, Version::HTTP_2));
        assert!(
            !are_asked_for(&asks, Version::HTTP_10) && !are_asked_for(&fields(&[("te", "gzip")]), Version::HTTP_11)
        );
    }
}
