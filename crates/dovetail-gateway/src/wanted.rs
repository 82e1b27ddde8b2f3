//! Interprets a request's target.

use std::{
    net::{Ipv6Addr, SocketAddr},
    sync::Arc,
};

use http::{Method, Request, Uri, Version, header, uri::Authority};

use crate::refusal::Refusal;

/// The target of a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Wanted {
    /// A name or an address, in lower case and without brackets.
    pub(crate) host: Arc<str>,
    pub(crate) port: u16,
    pub(crate) is_tunnel: bool,
}

/// How a request reached the proxy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Asked {
    /// The client is configured to use the proxy, at this address.
    Proxy(Met),
    /// The client meant to connect to this address.
    Intercepted(SocketAddr),
}

/// Where a client connected to the proxy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Met {
    pub(crate) at: SocketAddr,
    /// Whether over TLS.
    pub(crate) is_tls: bool,
}

impl Met {
    /// Without TLS.
    pub(crate) const fn in_clear(at: SocketAddr) -> Self {
        Self { at, is_tls: false }
    }
}

/// Whether a request's target is well formed, wherever it leads.
pub(crate) fn is_sound<B>(request: &Request<B>) -> Result<(), Refusal> {
    if request.headers().get_all(header::HOST).iter().count() > 1 {
        return Err(Refusal::BadRequest("it has more than one Host"));
    }
    let uri = request.uri();
    // Characters beyond ASCII are passed on percent-encoded.
    let is_visible = |byte: u8| byte.is_ascii_graphic() || !byte.is_ascii();
    if uri.path_and_query().is_some_and(|path| !path.as_str().bytes().all(is_visible)) {
        return Err(Refusal::BadRequest("its target has characters that no URL has (RFC 3986)"));
    }
    if uri.path() == "*" && request.method() != Method::OPTIONS {
        return Err(Refusal::BadRequest("only OPTIONS asks for *"));
    }
    Ok(())
}

impl Wanted {
    /// Reads a request's target.
    pub(crate) fn of<B>(request: &Request<B>, asked: Asked) -> Result<Self, Refusal> {
        let (uri, headers) = (request.uri(), request.headers());
        is_sound(request)?;
        if let Asked::Intercepted(address) = asked {
            return Self::intercepted(request, address);
        }
        if request.method() == Method::CONNECT {
            let bad = Refusal::BadRequest("CONNECT needs a host and a port");
            let authority = uri.authority().ok_or_else(|| bad.clone())?;
            let has_more = uri.scheme().is_some() || (uri.path() != "" && uri.path() != "/");
            if authority.as_str().contains('@') || has_more {
                return Err(bad);
            }
            let port = digits(authority).filter(|&port| port > 0).ok_or(bad)?;
            // What follows belongs to the tunnel (RFC 9110, section 9.3.6): whether a body would be read as that is uncertain.
            let has_body = headers.get(header::CONTENT_LENGTH).is_some_and(|length| length != "0");
            if request.version() < Version::HTTP_2 && (has_body || headers.contains_key(header::TRANSFER_ENCODING)) {
                return Err(Refusal::BadRequest("CONNECT has no body"));
            }
            return Ok(Self { host: host(uri)?, port, is_tunnel: true });
        }
        match uri.scheme_str() {
            None => return Err(Refusal::BadRequest("its target names no server")),
            Some("http") => {}
            Some(other) => return Err(Refusal::Scheme(other.chars().take(16).collect())),
        }
        let authority = uri.authority().ok_or(Refusal::BadRequest("its target has no host"))?;
        if authority.as_str().contains('@') {
            return Err(Refusal::BadRequest("its target has a user's name in it"));
        }
        Ok(Self { host: host(uri)?, port: port(uri, 80)?, is_tunnel: false })
    }

    /// The client's own connection determines the address: `Host` has no influence on where the request goes.
    fn intercepted<B>(request: &Request<B>, address: SocketAddr) -> Result<Self, Refusal> {
        if request.method() == Method::CONNECT {
            return Err(Refusal::BadRequest("CONNECT works only where the client is configured to use the proxy"));
        }
        if request.uri().scheme().is_some() && request.version() < Version::HTTP_2 {
            return Err(Refusal::BadRequest("its target is a proxy's"));
        }
        // It goes on as it is, since there is no other name (RFC 9112, section 3.2).
        let named = || request.headers().get(header::HOST).map(|host| host.to_str().ok()?.parse().ok());
        if let Some(authority) = request.uri().authority().map(|authority| Some(authority.clone())).or_else(named) {
            Self::at(&authority.ok_or(Refusal::BadRequest("its Host is no host"))?, 80)?;
        }
        let host = address.ip().to_canonical().to_string();
        Ok(Self { host: host.into(), port: address.port(), is_tunnel: false })
    }

    /// A host and a port, for a request other than CONNECT.
    pub(crate) fn at(authority: &Authority, usual: u16) -> Result<Self, Refusal> {
        let uri = Uri::builder().scheme("http").authority(authority.clone()).path_and_query("/").build();
        let uri = uri.map_err(|_| Refusal::BadRequest("its Host is no host"))?;
        if authority.as_str().contains('@') {
            return Err(Refusal::BadRequest("its Host has a user's name in it"));
        }
        Ok(Self { host: host(&uri)?, port: port(&uri, usual)?, is_tunnel: false })
    }

    /// The form used in `Host` and before a port.
    pub(crate) fn bracketed(&self) -> String {
        if self.host.contains(':') { format!("[{}]", self.host) } else { self.host.to_string() }
    }
}

/// A target's host, in lower case and without brackets.
pub(crate) fn host(uri: &Uri) -> Result<Arc<str>, Refusal> {
    let host = uri.host().unwrap_or_default();
    let bracketed = host.strip_prefix('[').and_then(|host| host.strip_suffix(']'));
    if bracketed.is_some_and(|address| address.parse::<Ipv6Addr>().is_err()) {
        return Err(Refusal::BadRequest("its target's host in brackets is not an IPv6 address"));
    }
    let host = bracketed.unwrap_or(host);
    // Maximum length of a name: RFC 1035, section 2.3.4.
    let is_name = |c: char| c.is_ascii_alphanumeric() || "-._:".contains(c);
    if host.is_empty() || host.len() > 253 || !host.chars().all(is_name) {
        return Err(Refusal::BadRequest("its target's host is neither a name nor an address"));
    }
    Ok(host.trim_end_matches('.').to_ascii_lowercase().into())
}

/// A target's port.
pub(crate) fn port(uri: &Uri, usual: u16) -> Result<u16, Refusal> {
    let bad = Err(Refusal::BadRequest("its target's port is invalid"));
    let authority = uri.authority();
    match authority.and_then(digits) {
        Some(0) => bad,
        Some(port) => Ok(port),
        // A port that is not a number, or is too large, parses as no port.
        None if authority
            .and_then(|authority| authority.as_str().rsplit(']').next())
            .is_some_and(|rest| rest.contains(':') && !rest.ends_with(':')) =>
        {
            bad
        }
        None => Ok(usual),
    }
}

/// A port written in digits only: Rust parses `+80` as a number, but it is not a port.
fn digits(authority: &Authority) -> Option<u16> {
    let port = authority.port()?;
    port.as_str().bytes().all(|byte| byte.is_ascii_digit()).then(|| port.as_u16())
}

#[cfg(test)]
mod tests {
    use std::net::{IpAddr, Ipv4Addr};

    use super::*;

    const MET: Asked = Asked::Proxy(Met::in_clear(SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 3128)));

    fn wanted(method: &str, target: &str) -> Result<(String, u16, bool), Refusal> {
        let request = Request::builder().method(method).uri(target).body(()).map_err(|_| Refusal::BadRequest(""))?;
        Wanted::of(&request, MET).map(|wanted| (wanted.host.to_string(), wanted.port, wanted.is_tunnel))
    }

    #[test]
    fn targets() {
        assert_eq!(wanted("GET", "http://Example.org/a?b"), Ok(("example.org".into(), 80, false)));
        assert_eq!(wanted("GET", "http://example.org.:8080"), Ok(("example.org".into(), 8080, false)));
        assert_eq!(wanted("GET", "http://[2001:db8::1]:81/"), Ok(("2001:db8::1".into(), 81, false)));
        assert_eq!(wanted("CONNECT", "example.org:443"), Ok(("example.org".into(), 443, true)));
        assert_eq!(wanted("CONNECT", "[::1]:443"), Ok(("::1".into(), 443, true)));
        for (method, target) in [
            ("GET", "/a"),
            ("GET", "*"),
            ("GET", "https://example.org/"),
            ("GET", "ftp://example.org/"),
            ("GET", "http://user@example.org/"),
            ("GET", "http://example.org:0/"),
            ("GET", "http://example.org:99999/"),
            ("GET", "http://example.org:+80/"),
            ("CONNECT", "example.org:+443"),
            ("GET", "http://exa_mple%2e.org/"),
            ("CONNECT", "example.org"),
            ("CONNECT", "user@example.org:443"),
            ("CONNECT", "example.org:0"),
            ("CONNECT", "http://example.org:443/"),
            ("GET", "http://[127.0.0.1]/"),
            ("GET", "http://[example.org]/"),
        ] {
            assert!(wanted(method, target).is_err(), "{method} {target}");
        }
    }

    #[test]
    fn an_intercepted_request_goes_where_its_connection_went() {
        let address = "192.0.2.7:80".parse().expect("an address");
        let request = Request::builder().uri("/a").header("host", "elsewhere.example").body(()).expect("a request");
        let wanted = Wanted::of(&request, Asked::Intercepted(address)).expect("it is fine");
        assert_eq!((&*wanted.host, wanted.port), ("192.0.2.7", 80));
        let request = Request::builder().uri("http://elsewhere.example/a").body(()).expect("a request");
        assert!(Wanted::of(&request, Asked::Intercepted(address)).is_err());
    }

    #[test]
    fn an_intercepted_request_names_a_host_or_none() {
        let address = "192.0.2.7:80".parse().expect("an address");
        let is_fine = |host: Option<&str>| {
            let request = Request::builder().uri("/a").version(Version::HTTP_10);
            let request = host.into_iter().fold(request, |request, host| request.header("host", host));
            Wanted::of(&request.body(()).expect("a request"), Asked::Intercepted(address)).is_ok()
        };
        for host in [None, Some("a.example"), Some("a_b.example:8080"), Some("[2001:db8::1]:81"), Some("192.0.2.9")] {
            assert!(is_fine(host), "{host:?}");
        }
        for host in ["", "a b", "a/b", "a, b", "http://a/", "u@a.example", "a:b", "a:0", "a:1:2", "[a.example]", "a?b"]
        {
            assert!(!is_fine(Some(host)), "{host}");
        }
    }
}
