//! Connections that were meant for servers and came here: by nftables' `redirect`, or by TPROXY.
//!
//! Where they were meant to go is what the kernel says, not what the client writes: a `Host` could name anything. TLS is not
//! opened. The name in its greeting (RFC 6066, section 3) is for logs and the admin's page.

use std::{
    io,
    net::{IpAddr, SocketAddr},
    os::fd::AsFd,
    rc::Rc,
    sync::Arc,
    time::Duration,
};

use tls_parser::{TlsExtension, TlsMessage, TlsMessageHandshake, parse_tls_extensions, parse_tls_plaintext};
use tokio::{
    net::TcpStream,
    time::{sleep, timeout},
};

use crate::{
    client::Seat,
    gateway::Gateway,
    sys, tunnel,
    wanted::{Asked, Wanted},
};

/// The longest greeting that is looked into: a TLS record's length (RFC 8446, section 5.1).
const MOST_GREETING: usize = 16 * 1024 + 5;

/// Serves a connection that was meant for a server.
pub(crate) async fn serve(gateway: Rc<Gateway>, stream: TcpStream, client: IpAddr, is_tproxy: bool, seat: Seat) {
    // A connection that was meant for nobody, or for this gateway itself, has nowhere to go.
    let Ok(meant) = original(&stream, is_tproxy) else { return };
    let config = gateway.config();
    let is_own = [&config.proxy.redirect, &config.proxy.tproxy].into_iter().flatten().any(|listen| *listen == meant);
    if is_own {
        return;
    }
    match timeout(config.timeouts.header, greeting(&stream)).await {
        Ok(Ok(Greeting::Http)) => crate::serve::serve(gateway, stream, client, Asked::Intercepted(meant), seat).await,
        Ok(Ok(Greeting::Tls(name))) => {
            let host: Arc<str> = meant.ip().to_canonical().to_string().into();
            let wanted = Wanted { host, port: meant.port(), is_tunnel: true };
            tunnel::intercepted(&gateway, stream, client, &wanted, name, seat).await;
        }
        // Neither: what it is cannot be told, nor answered.
        Ok(Ok(Greeting::Other) | Err(_)) | Err(_) => {}
    }
}

/// What a client's first bytes are.
#[derive(Debug, PartialEq, Eq)]
enum Greeting {
    Http,
    Tls(Option<String>),
    Other,
}

/// Where the connection was meant to go.
fn original(stream: &TcpStream, is_tproxy: bool) -> io::Result<SocketAddr> {
    let local = stream.local_addr()?;
    if is_tproxy {
        return Ok(local);
    }
    let meant = sys::original_destination(stream.as_fd(), local.is_ipv4())?;
    if meant == local {
        return Err(io::ErrorKind::AddrNotAvailable.into());
    }
    Ok(meant)
}

async fn greeting(stream: &TcpStream) -> io::Result<Greeting> {
    let mut bytes = vec![0; 64];
    loop {
        let there = stream.peek(&mut bytes).await?;
        let whole = match bytes[..there].first() {
            None => return Ok(Greeting::Other),
            // Methods are words (RFC 9110, section 9.1).
            Some(first) if first.is_ascii_uppercase() => return Ok(Greeting::Http),
            // A handshake's record (RFC 8446, section 5.1).
            Some(22) => bytes.get(3..5).map_or(0, |length| usize::from(u16::from_be_bytes([length[0], length[1]])) + 5),
            Some(_) => return Ok(Greeting::Other),
        };
        if there >= 5 && there >= whole.min(MOST_GREETING) {
            return Ok(Greeting::Tls(server_name(&bytes[..there])));
        }
        if there == bytes.len() {
            bytes.resize(MOST_GREETING, 0);
        } else {
            // Peeking again at once would find the same.
            sleep(Duration::from_millis(10)).await;
        }
    }
}

/// The server's name in a TLS greeting (RFC 6066, section 3), in small letters: at most 253 letters, digits, `-`, `.` and
/// `_`. `None` for anything else. O(bytes).
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
