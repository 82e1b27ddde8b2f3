//! Decides which requests may read an admin port, and which may change something.
//!
//! A browser on the admin's machine also runs other sites' pages. A page whose name was made to resolve to this port (DNS
//! rebinding) is recognised by `Host`, since an IP address and `localhost` cannot be rebound. One that sends requests from
//! another origin is recognised by `Origin`, and does not know the token. Neither can read any answer, since nothing here
//! allows it (CORS).

use std::{net::IpAddr, time::Duration};

use http::{
    HeaderMap, StatusCode, Uri,
    header::{AUTHORIZATION, HOST, ORIGIN},
    uri::Authority,
};
use subtle::ConstantTimeEq;
use tokio::time::sleep;

use crate::Fault;

/// Slows down guessing: the delay before a forbidden change is answered.
const DELAY: Duration = Duration::from_secs(1);

/// Whether the request was meant for this port.
pub(crate) fn host(uri: &Uri, headers: &HeaderMap) -> Result<(), Fault> {
    let mut hosts = headers.get_all(HOST).iter();
    let (first, second) = (hosts.next(), hosts.next());
    let is_own = second.is_none()
        && first.and_then(|host| host.to_str().ok()).is_some_and(is_own)
        && uri.authority().is_none_or(|authority| is_own(authority.as_str()));
    if is_own {
        return Ok(());
    }
    let what = "Use an IP address or localhost: this port does not serve the name in Host.";
    Err(Fault::new(StatusCode::MISDIRECTED_REQUEST, what))
}

fn is_own(host: &str) -> bool {
    let Ok(authority) = host.parse::<Authority>() else { return false };
    let name = authority.host();
    let bare = name.strip_prefix('[').and_then(|name| name.strip_suffix(']')).unwrap_or(name);
    !host.contains('@') && (name.eq_ignore_ascii_case("localhost") || bare.parse::<IpAddr>().is_ok())
}

/// Whether a request with these headers may change something. `token` is the configured one.
///
/// # Errors
/// The reason for the refusal, after a second.
pub async fn may_change(headers: &HeaderMap, token: Option<&str>) -> Result<(), Fault> {
    let checked = check(headers, token);
    if checked.is_err() {
        sleep(DELAY).await;
    }
    checked
}

fn check(headers: &HeaderMap, token: Option<&str>) -> Result<(), Fault> {
    let own = headers.get(HOST).and_then(|host| host.to_str().ok()).unwrap_or_default();
    let is_elsewhere = |origin: &str| origin.split_once("://").is_none_or(|(_, from)| !from.eq_ignore_ascii_case(own));
    if headers.get(ORIGIN).is_some_and(|origin| origin.to_str().map_or(true, is_elsewhere)) {
        return Err(Fault::new(StatusCode::FORBIDDEN, "Pages of other origins cannot change anything here."));
    }
    let Some(token) = token else {
        let what = "Nothing can be changed here: the configuration has no token. Add token or token_file to [admin].";
        return Err(Fault::new(StatusCode::FORBIDDEN, what));
    };
    let said = headers.get(AUTHORIZATION).and_then(|value| value.to_str().ok()).and_then(bearer);
    if said.is_some_and(|said| bool::from(said.as_bytes().ct_eq(token.as_bytes()))) {
        return Ok(());
    }
    let what = match said {
        None => "A token is required: send the token of [admin] as 'Authorization: Bearer TOKEN'.",
        Some(_) => "The token is wrong: it is the one that [admin] has as token, or in its token_file.",
    };
    Err(Fault::new(StatusCode::UNAUTHORIZED, what))
}

fn bearer(value: &str) -> Option<&str> {
    let (scheme, token) = value.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then(|| token.trim())
}

#[cfg(test)]
mod tests {
    use http::HeaderName;

    use super::*;

    fn headers(pairs: &[(HeaderName, &str)]) -> HeaderMap {
        pairs.iter().map(|(name, value)| (name.clone(), value.parse().expect("a value"))).collect()
    }

    #[test]
    fn hosts() {
        let asked = |host: &str| super::host(&Uri::from_static("/"), &headers(&[(HOST, host)])).is_ok();
        for own in ["127.0.0.1:9180", "[::1]:9180", "LocalHost", "localhost:80", "10.0.0.1"] {
            assert!(asked(own), "{own}");
        }
        for other in ["evil.example", "localhost.evil.example:9180", "127.0.0.1.evil.example", "x@127.0.0.1", "", "a b"]
        {
            assert!(!asked(other), "{other}");
        }
        assert!(host(&Uri::from_static("/"), &HeaderMap::new()).is_err(), "no Host");
        let target = Uri::from_static("http://evil.example/");
        assert!(host(&target, &headers(&[(HOST, "127.0.0.1")])).is_err(), "a target that says otherwise");
        let mut two = headers(&[(HOST, "127.0.0.1")]);
        two.append(HOST, "evil.example".parse().expect("a value"));
        assert!(host(&Uri::from_static("/"), &two).is_err(), "two of them");
    }

    #[test]
    fn changes() {
        let token = Some("0123456789abcdef");
        let status = |pairs: &[(HeaderName, &str)], token| {
            check(&headers(pairs), token).map_or_else(|fault| fault.status().as_u16(), |()| 200)
        };
        let right = (AUTHORIZATION, "Bearer 0123456789abcdef");
        assert_eq!(status(std::slice::from_ref(&right), token), 200);
        assert_eq!(status(&[(AUTHORIZATION, "bearer 0123456789abcdef")], token), 200);
        assert_eq!(status(std::slice::from_ref(&right), None), 403);
        for wrong in
            ["Bearer 0123456789abcdee", "Bearer 0123456789abcde", "Basic 0123456789abcdef", "Bearer ", "Bearer"]
        {
            assert_eq!(status(&[(AUTHORIZATION, wrong)], token), 401, "{wrong}");
        }
        assert_eq!(status(&[], token), 401);
        let host = (HOST, "127.0.0.1:9180");
        assert_eq!(status(&[right.clone(), host.clone(), (ORIGIN, "http://127.0.0.1:9180")], token), 200);
        for origin in ["http://evil.example", "null", "http://127.0.0.1:80"] {
            assert_eq!(status(&[right.clone(), host.clone(), (ORIGIN, origin)], token), 403, "{origin}");
        }
    }
}
