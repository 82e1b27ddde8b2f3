//! Replaces hyper's answers to requests that hyper cannot parse.
//!
//! hyper answers them on its own, with nothing but a status, and closes the connection: no service sees them. So its output is
//! inspected, and a page is sent instead of such an answer. All other responses of this gateway have `Via` or `Proxy-Status`.

use http::StatusCode;

use crate::refusal::Refusal;

/// What is wrong with a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Unreadable {
    Malformed,
    TargetTooLong,
    HeaderTooLong,
}

/// Maximum length of hyper's own answers.
const MAX_BYTES: usize = 256;

impl Unreadable {
    /// Recognises an answer of hyper's own.
    pub(crate) fn said_in(bytes: &[u8]) -> Option<Self> {
        if bytes.len() > MAX_BYTES || !bytes.starts_with(b"HTTP/1.") {
            return None;
        }
        let text = std::str::from_utf8(bytes).ok()?.strip_suffix("\r\n\r\n")?;
        let mut lines = text.split("\r\n");
        let found = match lines.next()?.get(9..12)? {
            "400" => Self::Malformed,
            "414" => Self::TargetTooLong,
            "431" => Self::HeaderTooLong,
            _ => return None,
        };
        let mut fields = lines.filter_map(|line| line.split_once(':')).map(|(name, _)| name);
        let is_own = |name: &str| ["connection", "content-length", "date"].contains(&name);
        fields.all(is_own).then_some(found)
    }

    pub(crate) const fn status(self) -> StatusCode {
        match self {
            Self::Malformed => StatusCode::BAD_REQUEST,
            Self::TargetTooLong => StatusCode::URI_TOO_LONG,
            Self::HeaderTooLong => StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE,
        }
    }

    /// The target shown in the access log, as in Squid's.
    pub(crate) const fn target(self) -> &'static str {
        match self {
            Self::Malformed => "error:invalid-request",
            Self::TargetTooLong | Self::HeaderTooLong => "error:request-too-large",
        }
    }
}

/// Settings of the pages sent instead of hyper's answers.
#[derive(Debug)]
pub(crate) struct ErrorPages {
    /// The gateway's name.
    pub(crate) name: String,
    /// Maximum bytes and fields of a header.
    pub(crate) header_bytes: usize,
    pub(crate) headers: usize,
}

impl ErrorPages {
    pub(crate) fn page(&self, unreadable: Unreadable) -> Vec<u8> {
        let refusal = match unreadable {
            Unreadable::Malformed => Refusal::BadRequest("it is malformed (RFC 9112)"),
            Unreadable::TargetTooLong => Refusal::TargetTooLong,
            Unreadable::HeaderTooLong => Refusal::HeaderTooLong { bytes: self.header_bytes, fields: self.headers },
        };
        refusal.raw_page(&self.name).into_bytes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_hyper_s_own_answers_are_taken_for_that() {
        let own = "HTTP/1.1 431 Request Header Fields Too Large\r\nconnection: close\r\ncontent-length: 0\r\n\
                   date: Sun, 06 Nov 1994 08:49:37 GMT\r\n\r\n";
        assert_eq!(Unreadable::said_in(own.as_bytes()), Some(Unreadable::HeaderTooLong));
        for other in [
            "",
            "HTTP/1.1",
            "HTTP/1.1 400",
            "HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\n\r\n",
            "HTTP/1.1 400 Bad Request\r\nvia: 1.1 gw\r\ncontent-length: 0\r\n\r\n",
            "HTTP/1.1 400 Bad Request\r\ncontent-length: 0\r\n\r\nx",
            "HTTP/1.1 40\u{fc}",
        ] {
            assert_eq!(Unreadable::said_in(other.as_bytes()), None, "{other}");
        }
    }
}
