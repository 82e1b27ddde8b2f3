//! Prepares messages for forwarding: requests to servers, responses to clients (RFC 9110, section 7.6).

use std::{net::IpAddr, time::Duration};

use http::{HeaderMap, HeaderValue, Response, StatusCode, Uri, Version, header, request::Parts, uri::PathAndQuery};
use hyper::body::Body;

use crate::{
    config::Parent,
    headers::{self, Framing},
    one_word::OneWord,
    refusal::Refusal,
    state::Settings,
    trailers,
    wanted::Wanted,
};

/// Prepares a request for the server (RFC 9112, section 3.2.1).
pub(crate) fn to_server(
    settings: &Settings,
    head: &mut Parts,
    body: &impl Body,
    wanted: &Wanted,
    client: IpAddr,
) -> Result<(), Refusal> {
    let bad = || Refusal::BadRequest("its target is not a path");
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
    let asks_for_trailers = trailers::are_asked_for(&head.headers, came_as);
    let announced = trailers::announced(&head.headers);
    headers::strip(&mut head.headers);
    // Framed by the actual body, not by what its header says.
    match body.size_hint().exact() {
        Some(length) if length > 0 || head.headers.contains_key(header::CONTENT_LENGTH) => {
            headers::reframe(&mut head.headers, Framing::Length(length));
        }
        Some(_) => {}
        None => {
            headers::reframe(&mut head.headers, Framing::Chunked);
            head.headers.insert(header::TRANSFER_ENCODING, HeaderValue::from_static("chunked"));
            head.headers.extend(announced.map(|names| (header::TRAILER, names)));
        }
    }
    if asks_for_trailers {
        trailers::ask_for(&mut head.headers);
    }
    head.headers.remove(header::PROXY_AUTHORIZATION);
    join_cookies(head);
    headers::count_forward(&head.method, &mut head.headers);
    // The target overrides `Host` (RFC 9112, section 3.2.2); an intercepted request has only `Host`.
    if let Some(authority) = authority {
        let host = if authority.is_empty() { wanted.bracketed() } else { authority };
        head.headers.insert(header::HOST, HeaderValue::try_from(host).map_err(|_| bad())?);
    } else if !head.headers.contains_key(header::HOST) {
        // HTTP/1.0 had no `Host`.
        let host = format!("{}:{}", wanted.bracketed(), wanted.port);
        head.headers.insert(header::HOST, HeaderValue::try_from(host).map_err(|_| bad())?);
    }
    headers::add_via(&mut head.headers, came_as, &settings.via());
    headers::add_forwarded(&mut head.headers, settings.config().proxy.forwarded, client);
    Ok(())
}

/// Addresses a request to a server, or to a parent proxy, which gets the whole target (RFC 9112, section 3.2.2) and the
/// gateway's credentials.
pub(crate) fn address(head: &mut Parts, parent: Option<&Parent>) -> Result<(), Refusal> {
    let path = head.uri.path_and_query().cloned().unwrap_or(PathAndQuery::from_static("/"));
    head.headers.remove(header::PROXY_AUTHORIZATION);
    let Some(parent) = parent else {
        head.uri = Uri::from(path);
        return Ok(());
    };
    let bad = || Refusal::BadRequest("its Host is no host");
    let host = head.headers.get(header::HOST).ok_or_else(bad)?;
    // `*` addresses the server itself, which is expressed by a target without a path (RFC 9110, section 9.3.7).
    let path = if path.as_str() == "*" { PathAndQuery::from_static("/") } else { path };
    let uri = Uri::builder().scheme("http").authority(host.as_bytes()).path_and_query(path);
    head.uri = uri.build().map_err(|_| bad())?;
    if let Some(says) = parent.authorization().and_then(|says| HeaderValue::try_from(says).ok()) {
        head.headers.insert(header::PROXY_AUTHORIZATION, says);
    }
    Ok(())
}

/// The header that requests a tunnel from a parent; `passed` has the proxies that the client's request has passed, in `Via`, and
/// the version in which it came.
pub(crate) fn connect(
    settings: &Settings,
    parent: &Parent,
    wanted: &Wanted,
    (passed, came_as): (&HeaderMap, Version),
) -> String {
    let target = format!("{}:{}", wanted.bracketed(), wanted.port);
    let mut text = format!("CONNECT {target} HTTP/1.1\r\nHost: {target}\r\n");
    let own = settings.via();
    // Without the earlier proxies a loop would never be detected.
    let passed = passed.get_all(header::VIA).iter().chain([own.of(came_as)]);
    for via in passed.filter_map(|via| via.to_str().ok()) {
        text.push_str(&format!("Via: {via}\r\n"));
    }
    if let Some(says) = parent.authorization() {
        text.push_str(&format!("Proxy-Authorization: {says}\r\n"));
    }
    text + "\r\n"
}

/// Joins cookies, which HTTP/2 may send in parts (RFC 9113, section 8.2.3).
fn join_cookies(head: &mut Parts) {
    if head.headers.get_all(header::COOKIE).iter().nth(1).is_none() {
        return;
    }
    let parts: Vec<_> = head.headers.get_all(header::COOKIE).iter().map(HeaderValue::as_bytes).collect();
    if let Ok(whole) = HeaderValue::from_bytes(&parts.join(&b"; "[..])) {
        head.headers.insert(header::COOKIE, whole);
    }
}

/// How a response is framed, if it can be forwarded, and its length if hyper would read to the connection's end.
pub(crate) fn framing<B>(response: &mut Response<B>, hides_body: bool) -> Result<(Framing, Option<u64>), &'static str> {
    if response.status() == StatusCode::SWITCHING_PROTOCOLS {
        return Err("it switched to another protocol without being asked to");
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

/// Whether another request may follow on a response's connection.
///
/// A 204 that announces a body may have one, which would be taken for the next response. On a connection of HTTP/1.0 hyper sends
/// the next request in that version, and would leave out a body of unknown length.
pub(crate) fn may_be_followed<B>(response: &Response<B>, framing: Framing) -> bool {
    match framing {
        Framing::Both => false,
        Framing::Length(1..) | Framing::Chunked if response.status() == StatusCode::NO_CONTENT => false,
        _ => response.version() == Version::HTTP_11,
    }
}

/// Prepares a response for the client.
pub(crate) fn to_client<B>(settings: &Settings, response: &mut Response<B>, asked_as: Version, queue: Duration) {
    let came_as = response.version();
    let headers = response.headers_mut();
    headers::strip(headers);
    // Challenges apply to the next proxy or client only (RFC 9110, section 11.7.1).
    headers.remove(header::PROXY_AUTHENTICATE);
    headers.remove("proxy-authentication-info");
    headers::add_via(headers, came_as, &settings.via());
    let queue_ms = queue.as_secs_f64() * 1e3;
    if let Ok(value) = HeaderValue::try_from(format!("queue;dur={queue_ms:.1}")) {
        headers.append("server-timing", value);
    }
    *response.version_mut() = asked_as;
}

#[cfg(test)]
mod tests {
    use std::{
        convert::Infallible,
        pin::Pin,
        task::{Context, Poll},
    };

    use bytes::Bytes;
    use http::Request;
    use http_body_util::{Empty, Full};
    use hyper::body::Frame;

    use super::*;
    use crate::{
        config::Config,
        wanted::{Asked, Met},
    };

    const TEXT: &str = "[proxy]\nname = \"gw\"\nforwarded = \"unknown\"\n[downlink]\nrate = \"2Mbps\"\n\
                        [access]\nclients = \"10.0.0.0/8\"\n";

    fn settings() -> Settings {
        Settings::new(Config::parse(TEXT).expect("a configuration"))
    }

    /// A body of unknown length.
    struct Endless;

    impl Body for Endless {
        type Data = Bytes;
        type Error = Infallible;

        fn poll_frame(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
            Poll::Pending
        }
    }

    /// What is sent to the server: its target, and its fields sorted by name.
    fn sent<B: Body>(request: Request<B>) -> Result<(String, Vec<String>), Refusal> {
        let wanted = Wanted::of(&request, Asked::Proxy(Met::in_clear(([127, 0, 0, 1], 3128).into())))?;
        let (mut head, body) = request.into_parts();
        to_server(&settings(), &mut head, &body, &wanted, IpAddr::from([10, 0, 0, 1]))?;
        let text = |value: &HeaderValue| value.to_str().expect("text").to_owned();
        let mut fields: Vec<_> = head.headers.iter().map(|(name, value)| format!("{name}: {}", text(value))).collect();
        fields.sort_unstable();
        assert_eq!(head.version, Version::HTTP_11);
        Ok((head.uri.to_string(), fields))
    }

    #[test]
    fn a_request_goes_on_without_what_was_for_the_proxy() {
        let request = Request::get("http://a.example:8080/\u{fc}?b")
            .version(Version::HTTP_2)
            .header("host", "b.example")
            .header("proxy-authorization", "Basic YTpi")
            .header("connection", "x-mine")
            .header("x-mine", "1")
            .header("cookie", "a=1")
            .header("cookie", "b=2");
        let (target, fields) = sent(request.body(Empty::<Bytes>::new()).expect("a request")).expect("it goes on");
        assert_eq!(target, "/%C3%BC?b");
        assert_eq!(fields, ["cookie: a=1; b=2", "forwarded: for=unknown", "host: a.example:8080", "via: 2.0 gw"]);
    }

    #[test]
    fn options_counts_its_proxies_and_via_has_the_version_that_came() {
        let request = Request::options("http://a.example/").version(Version::HTTP_10).header("max-forwards", "7");
        let (_, fields) = sent(request.body(Empty::<Bytes>::new()).expect("a request")).expect("it goes on");
        assert_eq!(fields, ["forwarded: for=unknown", "host: a.example", "max-forwards: 6", "via: 1.0 gw"]);
    }

    #[test]
    fn a_request_is_framed_by_its_body_and_not_by_what_it_said() {
        let post = || Request::post("http://a.example/").header("content-length", "9");
        let fields = |sent: Result<(String, Vec<String>), Refusal>| sent.expect("it goes on").1;
        let known = fields(sent(post().body(Full::new(Bytes::from_static(b"abc"))).expect("a request")));
        assert!(known.contains(&"content-length: 3".into()), "{known:?}");
        let unknown = fields(sent(post().body(Endless).expect("a request")));
        assert!(unknown.contains(&"transfer-encoding: chunked".into()), "{unknown:?}");
        assert!(unknown.iter().all(|field| !field.starts_with("content-length")), "{unknown:?}");
        let two = post().header("content-length", "8").body(Empty::<Bytes>::new()).expect("a request");
        assert_eq!(sent(two), Err(Refusal::BadRequest("it has two lengths")));
    }

    #[test]
    fn a_response_says_how_long_its_request_waited() {
        let mut response = Response::new(());
        to_client(&settings(), &mut response, Version::HTTP_2, Duration::from_micros(1_250));
        assert_eq!(response.version(), Version::HTTP_2);
        assert_eq!(response.headers()["via"], "1.1 gw");
        assert_eq!(response.headers()["server-timing"], "queue;dur=1.2");
    }

    #[test]
    fn a_response_that_cannot_be_passed_on_is_none() {
        let of = |status: u16, fields: &[(&'static str, &'static str)], hides_body| {
            let mut response = Response::new(());
            *response.status_mut() = StatusCode::from_u16(status).expect("a status");
            response.headers_mut().extend(
                fields
                    .iter()
                    .map(|&(name, value)| (header::HeaderName::from_static(name), HeaderValue::from_static(value))),
            );
            framing(&mut response, hides_body)
        };
        assert!(of(101, &[], false).is_err());
        assert_eq!(of(200, &[("content-length", "5")], false), Ok((Framing::Length(5), None)));
        let identity = [("content-length", "5"), ("transfer-encoding", "identity")];
        assert_eq!(of(200, &identity, false), Ok((Framing::Length(5), Some(5))));
        assert_eq!(of(200, &identity, true), Ok((Framing::Length(5), None)), "an answer to HEAD");
        assert_eq!(of(304, &identity, false), Ok((Framing::Length(5), None)));
    }
}
