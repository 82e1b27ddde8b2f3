//! Upgrades of plain connections to WebSockets (RFC 6455, section 4): `GET` over HTTP/1.1 with `Upgrade: websocket`.
//!
//! Both sides have to agree before a tunnel is opened: the client asks, and the server answers 101 and names the same protocol.
//! Other protocols are not offered to servers, including h2c (RFC 9113, section 3.1): how they interpret the bytes that follow
//! is unknown here. WebSocket frames are carried as they are.

use http::{HeaderMap, HeaderValue, Method, Request, Response, StatusCode, Version, header};
use hyper::body::Body;

use crate::headers::{is_only, lists};

/// The protocol's name.
const WEBSOCKET: &str = "websocket";

/// Whether a request asks for a WebSocket.
pub(crate) fn is_asked<B: Body>(request: &Request<B>) -> bool {
    let is_plain = request.method() == Method::GET && request.version() == Version::HTTP_11;
    is_plain && request.body().is_end_stream() && names(request.headers())
}

/// Whether a response is a server's consent to the upgrade.
pub(crate) fn is_granted<B>(response: &Response<B>) -> bool {
    response.status() == StatusCode::SWITCHING_PROTOCOLS && names(response.headers())
}

/// Adds the upgrade to a message for the next hop.
pub(crate) fn name(headers: &mut HeaderMap) {
    headers.insert(header::CONNECTION, HeaderValue::from_static("Upgrade"));
    headers.remove(header::TE);
    headers.insert(header::UPGRADE, HeaderValue::from_static(WEBSOCKET));
}

/// Whether a message names a WebSocket and no other protocol.
fn names(headers: &HeaderMap) -> bool {
    is_only(headers, &header::UPGRADE, WEBSOCKET) && lists(headers, &header::CONNECTION, "upgrade")
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;
    use http_body_util::{Empty, Full};

    use super::*;

    fn asked(method: &str, version: Version, fields: &[(&str, &str)]) -> bool {
        let request = Request::builder().method(method).version(version).uri("http://a.example/");
        let request = fields.iter().fold(request, |request, (name, value)| request.header(*name, *value));
        is_asked(&request.body(Empty::<Bytes>::new()).expect("a request"))
    }

    #[test]
    fn only_websockets_are_asked_for() {
        let plain = [("connection", "keep-alive, Upgrade"), ("upgrade", "WebSocket")];
        assert!(asked("GET", Version::HTTP_11, &plain));
        assert!(!asked("POST", Version::HTTP_11, &plain) && !asked("GET", Version::HTTP_10, &plain));
        assert!(!asked("GET", Version::HTTP_2, &plain));
        for wrong in [
            &[("upgrade", "websocket")][..],
            &[("connection", "upgrade")],
            &[("connection", "upgrade"), ("upgrade", "h2c")],
            &[("connection", "upgrade"), ("upgrade", "websocket, h2c")],
            &[("connection", "upgrade"), ("upgrade", "websocket"), ("upgrade", "h2c")],
            &[("connection", "upgraded"), ("upgrade", "websocket")],
        ] {
            assert!(!asked("GET", Version::HTTP_11, wrong), "{wrong:?}");
        }
        let request = Request::builder().header("connection", "upgrade").header("upgrade", "websocket");
        assert!(!is_asked(&request.body(Full::<Bytes>::from("body")).expect("a request")));
    }

    #[test]
    fn a_server_agrees_to_what_it_was_asked_or_not_at_all() {
        let granted = |status: u16, upgrade: &str| {
            let response =
                Response::builder().status(status).header("connection", "Upgrade").header("upgrade", upgrade);
            is_granted(&response.body(()).expect("a response"))
        };
        assert!(granted(101, "websocket"));
        assert!(!granted(200, "websocket") && !granted(101, "h2c") && !granted(101, ""));
    }
}
