//! Credentials in a request's target: `http://user:password@host/`.
//!
//! Many clients leave them there when they use a proxy, among them apt, wget and lynx. So they are moved to `Authorization`
//! (RFC 7617), before anything else reads the target: a name in it cannot be taken for a host, nor a password get into the log.
//! Only what is valid there (RFC 3986, section 3.2.1) is moved. The rest, which parsers disagree on, is refused.

use base64::{Engine, prelude::BASE64_STANDARD};
use http::{
    HeaderValue, Method, Request, Uri, Version,
    header::{self, InvalidHeaderValue},
    uri::{Authority, PathAndQuery},
};
use percent_encoding::percent_decode_str;

/// Moves them to the header, which counts if the client sent one itself. Targets of `CONNECT` and of HTTP/2, in which they are
/// not allowed, and invalid ones stay as they are, to be refused.
pub(crate) fn to_header<B>(request: &mut Request<B>) {
    let uri = request.uri();
    if request.version() >= Version::HTTP_2 || request.method() == Method::CONNECT || uri.scheme_str() != Some("http") {
        return;
    }
    let Some((said, rest)) = uri.authority().and_then(|authority| authority.as_str().rsplit_once('@')) else { return };
    if !is_valid(said) {
        return;
    }
    let Ok(authority) = rest.parse::<Authority>() else { return };
    let path = uri.path_and_query().cloned().unwrap_or(PathAndQuery::from_static("/"));
    let Ok(bare) = Uri::builder().scheme("http").authority(authority).path_and_query(path).build() else { return };
    let credentials = credentials(said);
    *request.uri_mut() = bare;
    if let Ok(credentials) = credentials
        && !request.headers().contains_key(header::AUTHORIZATION)
    {
        request.headers_mut().insert(header::AUTHORIZATION, credentials);
    }
}

fn is_valid(said: &str) -> bool {
    !said.is_empty() && said.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-._~!$&'()*+,;=:%".contains(&byte))
}

fn credentials(said: &str) -> Result<HeaderValue, InvalidHeaderValue> {
    let (user, password) = said.split_once(':').unwrap_or((said, ""));
    let mut bytes: Vec<u8> = percent_decode_str(user).collect();
    bytes.push(b':');
    bytes.extend(percent_decode_str(password));
    let mut value = HeaderValue::try_from(format!("Basic {}", BASE64_STANDARD.encode(bytes)))?;
    value.set_sensitive(true);
    Ok(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A request's target and credentials.
    fn moved(method: &str, target: &str, version: Version) -> (String, Option<String>) {
        let request = Request::builder().method(method).uri(target).version(version);
        let mut request = request.body(()).expect("a request");
        to_header(&mut request);
        let said = request.headers().get(header::AUTHORIZATION);
        (request.uri().to_string(), said.map(|said| said.to_str().expect("text").to_owned()))
    }

    #[test]
    fn credentials_go_to_the_header() {
        for (target, bare, basic) in [
            ("http://a:b@h/p?q", "http://h/p?q", "Basic YTpi"),
            ("http://a@h:81/", "http://h:81/", "Basic YTo="),
            ("http://a:b%3ac@[::1]:81/", "http://[::1]:81/", "Basic YTpiOmM="),
            ("http://a:1@h", "http://h/", "Basic YTox"),
        ] {
            assert_eq!(moved("GET", target, Version::HTTP_11), (bare.to_owned(), Some(basic.to_owned())), "{target}");
        }
    }

    #[test]
    fn nothing_else_changes() {
        for (method, target, version) in [
            ("GET", "http://h/a@b", Version::HTTP_11),
            ("GET", "/a@b", Version::HTTP_11),
            ("CONNECT", "a@h:443", Version::HTTP_11),
            ("GET", "http://a@h/", Version::HTTP_2),
            ("GET", "http://@h/", Version::HTTP_11),
            ("GET", "http://[a]@h/", Version::HTTP_11),
        ] {
            assert_eq!(moved(method, target, version), (target.to_owned(), None), "{method} {target}");
        }
    }

    #[test]
    fn a_header_of_the_client_s_own_counts() {
        let request = Request::builder().uri("http://a:b@h/").header("authorization", "Bearer x");
        let mut request = request.body(()).expect("a request");
        to_header(&mut request);
        assert_eq!(request.headers()[header::AUTHORIZATION], "Bearer x");
        assert_eq!(*request.uri(), "http://h/");
    }
}
