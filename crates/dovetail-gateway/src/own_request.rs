//! Recognises requests for the gateway itself: for its own pages, and nothing behind it.
//!
//! A browser that uses the proxy requests `http://NAME/…`, with the name of `[pages]`, or the address at which it reaches the
//! proxy. Other clients connect to that address as to any server's, and name no server in their target. In neither case is a
//! connection made, so nothing else on this machine can be reached in this way.

use std::net::{IpAddr, SocketAddr};

use http::{
    HeaderName, Method, Request, StatusCode, Version, header,
    uri::{Authority, Scheme, Uri},
};

use crate::{
    config::Config,
    wanted::{self, Met},
};

/// How a request addresses the gateway.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Addressed {
    /// As a server.
    Directly,
    /// As a proxy, with the proxy's own name or address as the target.
    ThroughProxy,
}

/// How a request addresses the gateway, if it does.
pub(crate) fn addressed<B>(config: &Config, request: &Request<B>, met: Met) -> Option<Addressed> {
    let uri = request.uri();
    if request.method() == Method::CONNECT {
        return None;
    }
    let Some(scheme) = uri.scheme() else {
        // Over HTTP/2 there is none only if there is no authority either: such a request names its host in `Host` alone.
        return (request.version() < Version::HTTP_2 && uri.authority().is_none()).then_some(Addressed::Directly);
    };
    let is_tls = *scheme == Scheme::HTTPS && met.is_tls;
    if is_tls && request.version() >= Version::HTTP_2 {
        // As to a server: the target has the host that the client knows it by, which need not be a name of `[pages]`.
        return Some(Addressed::Directly);
    }
    if !(is_tls || *scheme == Scheme::HTTP) || uri.authority().is_some_and(|authority| authority.as_str().contains('@'))
    {
        return None;
    }
    // Proxies are not asked for `https`.
    let how = if is_tls { Addressed::Directly } else { Addressed::ThroughProxy };
    is_for(config, uri, met.at).then_some(how)
}

/// Whether a URL refers to the gateway.
fn is_for(config: &Config, uri: &Uri, met: SocketAddr) -> bool {
    let usual = if uri.scheme() == Some(&Scheme::HTTPS) { 443 } else { 80 };
    let (Ok(host), Ok(port)) = (wanted::host(uri), wanted::port(uri, usual)) else { return false };
    let is_met = || {
        let address = host.parse::<IpAddr>();
        port == met.port() && address.is_ok_and(|address| address.to_canonical() == met.ip().to_canonical())
    };
    // Other services may share the name: only these ports of it are the gateway's.
    (*host == *config.pages.host && (port == 80 || port == met.port())) || is_met()
}

impl Addressed {
    /// The header that has the credentials.
    pub(crate) const fn credentials(self) -> HeaderName {
        match self {
            Self::Directly => header::AUTHORIZATION,
            Self::ThroughProxy => header::PROXY_AUTHORIZATION,
        }
    }

    /// The status that demands them, and the header that says in which form.
    pub(crate) const fn challenge(self) -> (StatusCode, HeaderName) {
        match self {
            Self::Directly => (StatusCode::UNAUTHORIZED, header::WWW_AUTHENTICATE),
            Self::ThroughProxy => (StatusCode::PROXY_AUTHENTICATION_REQUIRED, header::PROXY_AUTHENTICATE),
        }
    }

    /// Whether the client used a host name of the gateway. Another site's page whose name was made to resolve to it (DNS
    /// rebinding) is recognised by `Host`: an IP address cannot be rebound, and the gateway's names are not another site's.
    pub(crate) fn is_own_name<B>(self, config: &Config, request: &Request<B>) -> bool {
        let own = [&*config.pages.host, &*config.proxy.name, "localhost"];
        let is_own = |host: &str| {
            let name = authority(host).map(|authority| name(&authority));
            name.is_some_and(|name| {
                name.parse::<IpAddr>().is_ok() || own.iter().any(|own| own.eq_ignore_ascii_case(&name))
            })
        };
        let target = request.uri().authority().map(Authority::as_str);
        let host = request.headers().get(header::HOST);
        self == Self::ThroughProxy
            || (target.is_none_or(is_own) && host.is_none_or(|host| host.to_str().is_ok_and(is_own)))
    }

    /// The host and port by which the client reached the gateway as a server, if it says so.
    pub(crate) fn by<B>(self, request: &Request<B>) -> Option<Authority> {
        let host = || request.headers().get(header::HOST).and_then(|host| authority(host.to_str().ok()?));
        let target = request.uri().authority().and_then(|target| authority(target.as_str()));
        target.or_else(host).filter(|_| self == Self::Directly)
    }
}

/// The authority in a `Host`, which names no user.
fn authority(host: &str) -> Option<Authority> {
    host.parse().ok().filter(|_| !host.contains('@'))
}

/// Its name, without brackets, port and trailing dot.
fn name(authority: &Authority) -> String {
    let name = authority.host();
    let bare = name.strip_prefix('[').and_then(|name| name.strip_suffix(']')).unwrap_or(name);
    bare.trim_end_matches('.').to_owned()
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;

    use super::*;

    const TEXT: &str = "[proxy]\nname = \"Gate\"\n[downlink]\nrate = \"2Mbps\"\n[access]\nclients = \"10.0.0.0/8\"\n\
                        [pages]\nhost = \"Gateway.home\"\n";

    fn config() -> Config {
        Config::parse(TEXT).expect("a configuration")
    }

    fn how(method: &str, target: &str) -> Option<Addressed> {
        let request = Request::builder().method(method).uri(target).body(()).expect("a request");
        addressed(&config(), &request, Met::in_clear(([10, 0, 0, 1], 3128).into()))
    }

    #[test]
    fn a_request_is_for_the_gateway_if_it_names_it_or_no_server() {
        for target in ["/", "/me?a=b", "*"] {
            assert_eq!(how("GET", target), Some(Addressed::Directly), "{target}");
        }
        for target in [
            "http://gateway.home/",
            "http://GATEWAY.home./me",
            "http://gateway.home:80/",
            "http://gateway.home:3128/",
            "http://10.0.0.1:3128/",
            "http://[::ffff:10.0.0.1]:3128/",
        ] {
            assert_eq!(how("GET", target), Some(Addressed::ThroughProxy), "{target}");
        }
        for target in [
            "http://gateway.home:8080/",
            "http://gate/",
            "http://x.gateway.home/",
            "http://gateway.homer/",
            "https://gateway.home/",
            "ftp://gateway.home/",
            "http://user@gateway.home/",
            "http://gateway.home:+80/",
            "http://10.0.0.1/",
            "http://10.0.0.1:9180/",
            "http://10.0.0.2:3128/",
        ] {
            assert_eq!(how("GET", target), None, "{target}");
        }
        assert_eq!(how("CONNECT", "gateway.home:80"), None);
    }

    #[test]
    fn over_tls_http2_asks_the_gateway_under_any_name() {
        let asked = |version, target: &str, is_tls| {
            let request = Request::builder().version(version).uri(target).body(()).expect("a request");
            let met = Met { at: ([10, 0, 0, 1], 3129).into(), is_tls };
            (addressed(&config(), &request, met), Addressed::Directly.is_own_name(&config(), &request))
        };
        let direct = Some(Addressed::Directly);
        assert_eq!(asked(Version::HTTP_2, "https://other.example:3129/", true), (direct, false));
        assert_eq!(asked(Version::HTTP_2, "https://gateway.home/me", true), (direct, true));
        assert_eq!(asked(Version::HTTP_2, "https://other.example/", false), (None, false));
        assert_eq!(asked(Version::HTTP_2, "http://other.example/", true), (None, false));
        assert_eq!(asked(Version::HTTP_11, "https://other.example/", true), (None, false));
    }

    #[test]
    fn names_of_the_gateway() {
        let is_own = |host: &str| {
            let host = HeaderValue::try_from(host).expect("a value");
            let request = Request::builder().header(header::HOST, host).body(()).expect("a request");
            Addressed::Directly.is_own_name(&config(), &request)
        };
        for own in ["gateway.home", "GATE:3128", "gateway.home.:80", "10.0.0.1:3128", "[2001:db8::1]:3128", "localhost"]
        {
            assert!(is_own(own), "{own}");
        }
        for other in ["evil.example", "gateway.home.evil.example", "10.0.0.1.evil.example", "x@gateway.home", "a b", ""]
        {
            assert!(!is_own(other), "{other}");
        }
    }
}
