//! Messages as they go on: requests to servers, responses to clients (RFC 9110, section 7.6).

use std::{net::IpAddr, time::Duration};

use http::{HeaderValue, Response, StatusCode, Uri, Version, header, request::Parts, uri::PathAndQuery};
use hyper::body::Body;

use crate::{
    headers::{self, Framing},
    one_word::OneWord,
    refusal::Refusal,
    state::Settings,
    wanted::Wanted,
};

/// The request as it goes to the server (RFC 9112, section 3.2.1).
pub(crate) fn to_server(
    settings: &Settings,
    head: &mut Parts,
    body: &impl Body,
    wanted: &Wanted,
    client: IpAddr,
) -> Result<(), Refusal> {
    let bad = || Refusal::BadRequest("its target is no path");
    let came_as = head.version;
    let authority = head.uri.authority().map(|authority| authority.as_str().to_owned());
    let path = head.uri.path_and_query().cloned().unwrap_or(PathAndQuery::from_static("/"));
    head.uri = Uri::from(if path.as_str().is_ascii() {
        path
    } else {
        PathAndQuery::try_from(OneWord(path.as_str()).to_string()).map_err(|_| bad())?
    });
    head.version = Version::HTTP_11;
    headers::framing(&head.headers).map_err(Refusal::BadRequest)?;
    headers::strip(&mut head.headers);
    // Framed by what is there, and not by what its header said of it.
    match body.size_hint().exact() {
        Some(length) if length > 0 || head.headers.contains_key(header::CONTENT_LENGTH) => {
            headers::reframe(&mut head.headers, Framing::Length(length));
        }
        Some(_) => {}
        None => {
            headers::reframe(&mut head.headers, Framing::Chunked);
            head.headers.insert(header::TRANSFER_ENCODING, HeaderValue::from_static("chunked"));
        }
    }
    head.headers.remove(header::PROXY_AUTHORIZATION);
    join_cookies(head);
    // What Host says gives way to the target (RFC 9112, section 3.2.2); of an intercepted request it is all there is.
    if let Some(authority) = authority {
        let host = if authority.is_empty() { wanted.bracketed() } else { authority };
        head.headers.insert(header::HOST, HeaderValue::try_from(host).map_err(|_| bad())?);
    } else if !head.headers.contains_key(header::HOST) {
        // HTTP/1.0 knew none.
        let host = format!("{}:{}", wanted.bracketed(), wanted.port);
        head.headers.insert(header::HOST, HeaderValue::try_from(host).map_err(|_| bad())?);
    }
    headers::add_via(&mut head.headers, came_as, &settings.via());
    headers::add_forwarded(&mut head.headers, settings.config().proxy.forwarded, client);
    Ok(())
}

/// HTTP/2 may send a cookie in parts (RFC 9113, section 8.2.3).
fn join_cookies(head: &mut Parts) {
    if head.headers.get_all(header::COOKIE).iter().nth(1).is_none() {
        return;
    }
    let parts: Vec<_> = head.headers.get_all(header::COOKIE).iter().map(HeaderValue::as_bytes).collect();
    if let Ok(whole) = HeaderValue::from_bytes(&parts.join(&b"; "[..])) {
        head.headers.insert(header::COOKIE, whole);
    }
}

/// How a response is framed, if it is one that can be passed on; and its length, where hyper reads to the connection's end.
pub(crate) fn framing<B>(response: &mut Response<B>, hides_body: bool) -> Result<(Framing, Option<u64>), &'static str> {
    if response.status() == StatusCode::SWITCHING_PROTOCOLS {
        return Err("it changed to another protocol, and nobody asked for that");
    }
    let is_identity = headers::take_identity(response.headers_mut());
    let framing = headers::framing(response.headers())?;
    let has_body = !hides_body && !matches!(response.status(), StatusCode::NO_CONTENT | StatusCode::NOT_MODIFIED);
    let rest = match framing {
        Framing::Length(length) if is_identity && has_body => Some(length),
        _ => None,
    };
    Ok((framing, rest))
}

/// The response as it goes to the client.
pub(crate) fn to_client<B>(settings: &Settings, response: &mut Response<B>, asked_as: Version, queue: Duration) {
    let came_as = response.version();
    let headers = response.headers_mut();
    headers::strip(headers);
    headers::add_via(headers, came_as, &settings.via());
    let queue_ms = queue.as_secs_f64() * 1e3;
    if let Ok(value) = HeaderValue::try_from(format!("queue;dur={queue_ms:.1}")) {
        headers.append("server-timing", value);
    }
    *response.version_mut() = asked_as;
}
