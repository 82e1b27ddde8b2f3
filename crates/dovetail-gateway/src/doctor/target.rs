//! The operator's server with which the link is measured.

use std::{fmt, net::IpAddr, str::FromStr};

use http::Uri;

/// A host, or a URL on one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Target {
    /// A name or an address, without brackets.
    pub host: String,
    /// What to fetch from its HTTP server, if a URL was given.
    pub fetch: Option<Fetch>,
}

/// A resource of an HTTP server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fetch {
    /// The server's port.
    pub port: u16,
    /// The value of `Host`.
    pub authority: String,
    /// Path and query.
    pub path: String,
}

impl FromStr for Target {
    type Err = String;

    /// `http://HOST[:PORT]/PATH`, a name or an address.
    fn from_str(text: &str) -> Result<Self, String> {
        if !text.contains("://") {
            let bare = text.strip_prefix('[').and_then(|text| text.strip_suffix(']')).unwrap_or(text);
            let is_host = bare.parse::<IpAddr>().is_ok() || is_name(bare);
            return if is_host { Ok(Self { host: bare.into(), fetch: None }) } else { Err(wrong()) };
        }
        let uri: Uri = text.parse().map_err(|_| wrong())?;
        if uri.scheme_str() == Some("https") {
            return Err("give a URL of plain HTTP: it is the link that is measured, not TLS".into());
        }
        let authority = uri.authority().filter(|_| uri.scheme_str() == Some("http")).ok_or_else(wrong)?;
        if authority.as_str().contains('@') {
            return Err("give a URL without a name and a password".into());
        }
        let host = authority.host().trim_matches(['[', ']']);
        let port = match authority.port_u16() {
            Some(0) => return Err("give a port from 1 to 65535".into()),
            Some(port) => port,
            None if authority.as_str() == authority.host() => 80,
            None => return Err(wrong()),
        };
        if host.parse::<IpAddr>().is_err() && !is_name(host) {
            return Err(wrong());
        }
        let path = uri.path_and_query().map_or("/", |path| path.as_str());
        let fetch = Fetch { port, authority: authority.to_string(), path: path.into() };
        Ok(Self { host: host.into(), fetch: Some(fetch) })
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.fetch {
            None => f.write_str(&self.host),
            Some(fetch) => write!(f, "http://{}{}", fetch.authority, fetch.path),
        }
    }
}

fn is_name(text: &str) -> bool {
    let is_label = |label: &str| {
        (1..=63).contains(&label.len())
            && label.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_".contains(&byte))
    };
    text.len() <= 253 && text.strip_suffix('.').unwrap_or(text).split('.').all(is_label)
}

fn wrong() -> String {
    "give a URL such as http://203.0.113.9/large, a name or an address".into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_and_hosts_are_read_and_written() {
        for (text, host, port) in [
            ("http://203.0.113.9/large?x=1", "203.0.113.9", Some(80)),
            ("http://files.example.org:8080/a", "files.example.org", Some(8080)),
            ("http://[2001:db8::1]:81/a", "2001:db8::1", Some(81)),
            ("files.example.org", "files.example.org", None),
            ("2001:db8::1", "2001:db8::1", None),
        ] {
            let target: Target = text.parse().expect("a target");
            assert_eq!((&*target.host, target.fetch.as_ref().map(|fetch| fetch.port)), (host, port), "{text}");
            assert_eq!(target.to_string(), text);
        }
        let root: Target = "http://a".parse().expect("a target");
        assert_eq!(root.fetch.expect("a URL").path, "/");
    }

    #[test]
    fn what_is_neither_is_refused() {
        for text in [
            "",
            "a b",
            "ftp://a/",
            "https://a/",
            "http://",
            "http://u:p@a/",
            "http://a:0/",
            "http://a:x/",
            "-/x",
            "a\r\nb:",
        ] {
            assert!(text.parse::<Target>().is_err(), "{text:?}");
        }
    }
}
