//! Identifies a protocol by a client's first bytes: HTTP, or TLS with a server name.

use std::{io, time::Duration};

use tls_parser::{TlsExtension, TlsMessage, TlsMessageHandshake, parse_tls_extensions, parse_tls_plaintext};
use tokio::{net::TcpStream, time::sleep};

/// Maximum length of a ClientHello that is parsed: that of a TLS record (RFC 8446, section 5.1).
const MAX_CLIENT_HELLO_BYTES: usize = 16 * 1024 + 5;

/// The protocol that a client speaks.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Protocol {
    Http,
    Tls(Option<String>),
    Other,
}

/// Waits for the first bytes without consuming them.
pub(crate) async fn peek_protocol(stream: &TcpStream) -> io::Result<Protocol> {
    let mut bytes = vec![0; 64];
    loop {
        let there = stream.peek(&mut bytes).await?;
        let whole = match bytes[..there].first() {
            None => return Ok(Protocol::Other),
            // Methods are words (RFC 9110, section 9.1).
            Some(first) if first.is_ascii_uppercase() => return Ok(Protocol::Http),
            // A handshake record (RFC 8446, section 5.1).
            Some(22) => bytes.get(3..5).map_or(0, |length| usize::from(u16::from_be_bytes([length[0], length[1]])) + 5),
            Some(_) => return Ok(Protocol::Other),
        };
        if there >= 5 && there >= whole.min(MAX_CLIENT_HELLO_BYTES) {
            return Ok(Protocol::Tls(server_name(&bytes[..there])));
        }
        if there == bytes.len() {
            bytes.resize(MAX_CLIENT_HELLO_BYTES, 0);
        } else {
            // Peeking again at once would return the same.
            sleep(Duration::from_millis(10)).await;
        }
    }
}

/// The server name in a ClientHello (RFC 6066, section 3), in lower case: at most 253 letters, digits, `-`, `.` and `_`.
/// `None` for anything else. O(bytes).
#[must_use]
pub fn server_name(bytes: &[u8]) -> Option<String> {
    let (_, record) = parse_tls_plaintext(bytes).ok()?;
    let hello = record.msg.iter().find_map(|message| match message {
        TlsMessage::Handshake(TlsMessageHandshake::ClientHello(hello)) => Some(hello),
        _ => None,
    })?;
    let (_, extensions) = parse_tls_extensions(hello.ext?).ok()?;
    let name = extensions.iter().find_map(|extension| match extension {
        TlsExtension::SNI(names) => names.first().map(|(_, name)| *name),
        _ => None,
    })?;
    let name = std::str::from_utf8(name).ok()?;
    let is_plain = name.len() <= 253 && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-._".contains(&byte));
    is_plain.then(|| name.to_ascii_lowercase())
}
