//! Header fields that a proxy removes and adds (RFC 9110, section 7.6).

use std::net::IpAddr;

use http::{
    HeaderName, HeaderValue, Method, Version,
    header::{self, HeaderMap},
};

use crate::config::Forwarded;

/// Hop-by-hop fields, which are removed even if `Connection` does not list them.
const HOP_BY_HOP: [HeaderName; 6] = [
    header::CONNECTION,
    header::TE,
    header::TRAILER,
    header::UPGRADE,
    HeaderName::from_static("keep-alive"),
    HeaderName::from_static("proxy-connection"),
];

/// Removes the fields for this hop: those above, and those listed in `Connection`. `Transfer-Encoding` is not restored either:
/// the next hop is framed anew.
pub(crate) fn strip(headers: &mut HeaderMap) {
    if headers.contains_key(header::CONNECTION) {
        let named: Vec<HeaderName> = listed(headers, &header::CONNECTION)
            .filter_map(|name| HeaderName::from_bytes(name.as_bytes()).ok())
            // Removing these would change the message.
            .filter(|name| ![header::CONTENT_LENGTH, header::HOST].contains(name))
            .collect();
        for name in named {
            headers.remove(name);
        }
    }
    for name in &HOP_BY_HOP {
        headers.remove(name);
    }
    headers.remove(header::TRANSFER_ENCODING);
}

/// Whether a field is for this hop only, even if `Connection` does not list it.
pub(crate) fn is_hop_by_hop(name: &HeaderName) -> bool {
    HOP_BY_HOP.contains(name)
}

/// Whether an HTTP/1.0 client asks to keep its connection open (RFC 9112, appendix C.2.2).
pub(crate) fn keeps_alive(headers: &HeaderMap) -> bool {
    lists(headers, &header::CONNECTION, "keep-alive")
}

/// Whether a field lists this word, in any case.
pub(crate) fn lists(headers: &HeaderMap, name: &HeaderName, word: &str) -> bool {
    listed(headers, name).any(|listed| listed.eq_ignore_ascii_case(word))
}

/// Whether credentials, or a challenge, belong to a scheme that authenticates the connection rather than the request (RFC 4559,
/// section 6): any later request on it would be taken for the same user's.
pub(crate) fn proves_connection(headers: &HeaderMap, name: &HeaderName) -> bool {
    let is_one = |scheme: &str| ["ntlm", "negotiate"].iter().any(|one| scheme.eq_ignore_ascii_case(one));
    listed(headers, name).filter_map(|listed| listed.split_whitespace().next()).any(is_one)
}

/// Tells a client that no one else's requests go out on a connection that authenticates it: without this it may not use such a
/// scheme through a proxy (RFC 4559, section 6).
pub(crate) fn support_sessions(headers: &mut HeaderMap) {
    headers.insert("proxy-support", HeaderValue::from_static("Session-Based-Authentication"));
    headers.append(header::CONNECTION, HeaderValue::from_static("proxy-support"));
}

/// Whether `Via` contains this name: the message has passed through here before.
pub(crate) fn was_here(headers: &HeaderMap, name: &str) -> bool {
    listed(headers, &header::VIA).any(|hop| hop.split_whitespace().nth(1) == Some(name))
}

/// The items of a list field, in one line or in several (RFC 9110, section 5.3).
pub(crate) fn listed<'h>(headers: &'h HeaderMap, name: &HeaderName) -> impl Iterator<Item = &'h str> {
    let values = headers.get_all(name).iter().filter_map(|value| value.to_str().ok());
    values.flat_map(|value| value.split(',')).map(str::trim)
}

/// Whether a field occurs once, with this word as its value.
pub(crate) fn is_only(headers: &HeaderMap, name: &HeaderName, word: &str) -> bool {
    let mut values = headers.get_all(name).iter();
    let is_it = values.next().is_some_and(|value| value.as_bytes().eq_ignore_ascii_case(word.as_bytes()));
    is_it && values.next().is_none()
}

/// Removes `identity`, the no-op transfer coding of RFC 2616. Returns false if there is another coding.
pub(crate) fn take_identity(headers: &mut HeaderMap) -> bool {
    let is_identity = is_only(headers, &header::TRANSFER_ENCODING, "identity");
    if is_identity {
        headers.remove(header::TRANSFER_ENCODING);
    }
    is_identity
}

/// How a message's body is delimited (RFC 9112, section 6.3), according to its header.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Framing {
    /// There is no body, or it ends with the connection.
    Unsaid,
    /// It has this many bytes.
    Length(u64),
    /// It ends with the last chunk.
    Chunked,
    /// It ends with the last chunk, although a length is given too: another proxy may have read it differently.
    Both,
}

/// How a header delimits its body.
///
/// # Errors
/// A phrase, if the framing cannot be passed on: codings other than `chunked`, and lengths that are invalid or differ.
pub(crate) fn framing(headers: &HeaderMap) -> Result<Framing, &'static str> {
    if headers.contains_key(header::TRANSFER_ENCODING) {
        if !is_only(headers, &header::TRANSFER_ENCODING, "chunked") {
            return Err("its transfer coding is not just chunked");
        }
        let both = headers.contains_key(header::CONTENT_LENGTH);
        return Ok(if both { Framing::Both } else { Framing::Chunked });
    }
    let mut found = Framing::Unsaid;
    for value in headers.get_all(header::CONTENT_LENGTH) {
        for length in value.as_bytes().split(|&byte| byte == b',').map(<[u8]>::trim_ascii) {
            let is_number = !length.is_empty() && length.iter().all(u8::is_ascii_digit);
            let length = std::str::from_utf8(length).ok().filter(|_| is_number).and_then(|length| length.parse().ok());
            let length = Framing::Length(length.ok_or("its length is not a number")?);
            if found != Framing::Unsaid && found != length {
                return Err("it has two lengths");
            }
            found = length;
        }
    }
    Ok(found)
}

/// Leaves a single `Content-Length`, or none if the body is chunked.
pub(crate) fn reframe(headers: &mut HeaderMap, framing: Framing) {
    match framing {
        Framing::Length(length) => drop(headers.insert(header::CONTENT_LENGTH, length.into())),
        Framing::Chunked | Framing::Both => drop(headers.remove(header::CONTENT_LENGTH)),
        Framing::Unsaid => {}
    }
}

/// How many more proxies a request may pass, which only OPTIONS may limit: TRACE is refused (RFC 9110, section 7.6.2).
pub(crate) fn max_forwards(method: &Method, headers: &HeaderMap) -> Option<u32> {
    let text = headers.get(header::MAX_FORWARDS).filter(|_| method == Method::OPTIONS)?.to_str().ok()?;
    text.bytes().all(|byte| byte.is_ascii_digit()).then(|| text.parse().ok())?
}

/// Counts this proxy as one that a request has passed.
pub(crate) fn count_forward(method: &Method, headers: &mut HeaderMap) {
    if let Some(left) = max_forwards(method, headers) {
        headers.insert(header::MAX_FORWARDS, left.saturating_sub(1).into());
    }
}

/// Adds this gateway to `Via`.
pub(crate) fn add_via(headers: &mut HeaderMap, version: Version, via: &Via) {
    headers.append(header::VIA, via.of(version).clone());
}

/// This gateway's entries in `Via`.
#[derive(Debug, Clone)]
pub(crate) struct Via {
    http10: HeaderValue,
    http11: HeaderValue,
    http2: HeaderValue,
}

impl Via {
    pub(crate) fn new(name: &str) -> Self {
        let value = |version: &str| {
            HeaderValue::try_from(format!("{version} {name}")).unwrap_or(HeaderValue::from_static("1.1 dovetail"))
        };
        Self { http10: value("1.0"), http11: value("1.1"), http2: value("2.0") }
    }

    /// The entry for a message that was received in this version.
    pub(crate) fn of(&self, version: Version) -> &HeaderValue {
        match version {
            Version::HTTP_10 => &self.http10,
            Version::HTTP_2 => &self.http2,
            _ => &self.http11,
        }
    }
}

/// Adds `Forwarded` for the client, as far as configured (RFC 7239, section 4).
pub(crate) fn add_forwarded(headers: &mut HeaderMap, how: Forwarded, client: IpAddr) {
    let value = match (how, client.to_canonical()) {
        (Forwarded::Off, _) => return,
        (Forwarded::Unknown, _) => "for=unknown".to_owned(),
        (Forwarded::Address, IpAddr::V4(address)) => format!("for={address}"),
        (Forwarded::Address, IpAddr::V6(address)) => format!("for=\"[{address}]\""),
    };
    if let Ok(value) = HeaderValue::try_from(value) {
        headers.append(header::FORWARDED, value);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_for_this_hop_stays_here() {
        let mut headers = HeaderMap::new();
        for (name, value) in [
            ("connection", "close, X-Mine"),
            ("connection", "Content-Length"),
            ("x-mine", "1"),
            ("keep-alive", "5"),
            ("proxy-connection", "keep-alive"),
            ("te", "trailers"),
            ("transfer-encoding", "chunked"),
            ("upgrade", "h2c"),
            ("content-length", "5"),
            ("accept", "*/*"),
        ] {
            headers.append(name, value.parse().expect("a value"));
        }
        strip(&mut headers);
        let mut left: Vec<_> = headers.keys().map(HeaderName::as_str).collect();
        left.sort_unstable();
        assert_eq!(left, ["accept", "content-length"]);
    }

    #[test]
    fn bodies_end_where_their_headers_say_and_in_one_place() {
        let of = |fields: &[(&'static str, &str)]| {
            let mut headers = HeaderMap::new();
            for (name, value) in fields {
                headers.append(*name, value.parse().expect("a value"));
            }
            framing(&headers)
        };
        assert_eq!(of(&[]), Ok(Framing::Unsaid));
        assert_eq!(of(&[("content-length", "5")]), Ok(Framing::Length(5)));
        assert_eq!(of(&[("content-length", "5, 5"), ("content-length", "5")]), Ok(Framing::Length(5)));
        assert_eq!(of(&[("transfer-encoding", "Chunked")]), Ok(Framing::Chunked));
        assert_eq!(of(&[("transfer-encoding", "chunked"), ("content-length", "5")]), Ok(Framing::Both));
        for wrong in ["+5", "-5", "5,", "5 5", "0x5", "", "5, 6", "18446744073709551616"] {
            assert!(of(&[("content-length", wrong)]).is_err(), "{wrong}");
        }
        for wrong in ["gzip, chunked", "xchunked", "chunked, chunked", "identity", "chunked;a=b"] {
            assert!(of(&[("transfer-encoding", wrong)]).is_err(), "{wrong}");
        }
    }

    #[test]
    fn forwarded_says_what_it_may() {
        let said = |how, client: &str| {
            let mut headers = HeaderMap::new();
            add_forwarded(&mut headers, how, client.parse().expect("an address"));
            headers.get(header::FORWARDED).map(|value| value.to_str().expect("text").to_owned())
        };
        assert_eq!(said(Forwarded::Off, "10.0.0.1"), None);
        assert_eq!(said(Forwarded::Unknown, "10.0.0.1").as_deref(), Some("for=unknown"));
        assert_eq!(said(Forwarded::Address, "::ffff:10.0.0.1").as_deref(), Some("for=10.0.0.1"));
        assert_eq!(said(Forwarded::Address, "2001:db8::1").as_deref(), Some("for=\"[2001:db8::1]\""));
    }

    #[test]
    fn only_options_may_go_no_further_than_it_says() {
        let left = |method: Method, text: &str| {
            let mut headers = HeaderMap::new();
            headers.insert(header::MAX_FORWARDS, text.parse().expect("a value"));
            count_forward(&method, &mut headers);
            (max_forwards(&method, &headers), headers[header::MAX_FORWARDS].to_str().expect("text").to_owned())
        };
        assert_eq!(left(Method::OPTIONS, "3"), (Some(2), "2".into()));
        assert_eq!(left(Method::GET, "0"), (None, "0".into()));
        for odd in ["", "-1", "+1", "1, 2", "99999999999"] {
            assert_eq!(left(Method::OPTIONS, odd), (None, odd.into()));
        }
    }

    #[test]
    fn a_circle_is_seen() {
        let mut headers = HeaderMap::new();
        assert!(!was_here(&headers, "gw"));
        headers.append("via", "1.1 other, 1.0 gw (what)".parse().expect("a value"));
        assert!(was_here(&headers, "gw") && !was_here(&headers, "other2"));
    }
}
