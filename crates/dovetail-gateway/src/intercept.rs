//! Intercepted connections, which were meant for servers: by nftables' `redirect`, or by TPROXY.
//!
//! The kernel tells their destination, not the client: a `Host` could name anything. TLS is not decrypted. The name in its
//! ClientHello (RFC 6066, section 3) is for logs and the admin's page.

use std::{
    io,
    net::{IpAddr, SocketAddr},
    os::fd::AsFd,
    rc::Rc,
    sync::Arc,
};

use http::Method;
use tokio::{net::TcpStream, time::timeout};

use crate::{
    client::{Connection, Seat},
    client_hello::{Protocol, peek_protocol},
    permitted::in_hours,
    record::Record,
    refusal::Refusal,
    serve::{Serving, serve},
    sys,
    wanted::{Asked, Wanted},
};

/// Serves an intercepted connection.
pub(crate) async fn intercepted(serving: Rc<Serving>, stream: TcpStream, client: IpAddr, is_tproxy: bool, seat: Seat) {
    // A connection without a destination, or to this gateway itself, leads nowhere.
    let Ok(meant) = original(&stream, is_tproxy) else { return };
    let config = serving.settings.config();
    let is_own = [&config.proxy.redirect, &config.proxy.tproxy].into_iter().flatten().any(|listen| *listen == meant);
    if is_own {
        return;
    }
    match timeout(config.timeouts.header, peek_protocol(&stream)).await {
        Ok(Ok(Protocol::Http)) => {
            serve(serving, Connection::Left(stream), client, Asked::Intercepted(meant), seat).await;
        }
        Ok(Ok(Protocol::Tls(name))) => tunnelled(&serving, stream, client, (meant, name), seat).await,
        // Neither protocol: it cannot be identified or answered.
        Ok(Ok(Protocol::Other) | Err(_)) | Err(_) => {}
    }
}

/// Tunnels TLS to the server that it was meant for, whose name it may contain.
async fn tunnelled(
    serving: &Serving,
    stream: TcpStream,
    client: IpAddr,
    (meant, name): (SocketAddr, Option<String>),
    seat: Seat,
) {
    let host: Arc<str> = meant.ip().to_canonical().to_string().into();
    let wanted = Wanted { host, port: meant.port(), is_tunnel: true };
    let (who, class) = serving.identities.by_address(client);
    let target = format!("{}:{}", name.as_deref().unwrap_or(&wanted.bracketed()), wanted.port);
    let account = serving.quotas.account(&who, class);
    let mut record = Record::new(Rc::clone(&serving.notes), (account, client), Method::CONNECT, target);
    if serving.settings.config().access.has_names() {
        // Same as without TLS. A client that does not know of the proxy cannot authenticate.
        record.status.set(Refusal::WhoAreYou.status().as_u16());
        return;
    }
    let said = name.as_deref().map(|name| name.trim_end_matches('.').to_ascii_lowercase());
    if let Some(class) = serving.towards.class(&wanted, said.as_deref()).await {
        record.goes_to(class);
    }
    let config = serving.settings.config();
    let closed = config.classes.get(record.class.0 as usize);
    let closed = closed.and_then(|class| in_hours(class, || serving.settings.now()).err());
    if let Some(refusal) = closed {
        // Without decrypting TLS there is no way to send the reason.
        record.status.set(refusal.status().as_u16());
        return;
    }
    serving.tunnels.carry(stream, &wanted, name, record).await;
    drop(seat);
}

/// The connection's original destination.
fn original(stream: &TcpStream, is_tproxy: bool) -> io::Result<SocketAddr> {
    let local = stream.local_addr()?;
    // A dual-stack socket reports IPv4 addresses as IPv6.
    let local = SocketAddr::new(local.ip().to_canonical(), local.port());
    if is_tproxy {
        return Ok(local);
    }
    let meant = sys::original_destination(stream.as_fd(), local.is_ipv4())?;
    if meant == local {
        return Err(io::ErrorKind::AddrNotAvailable.into());
    }
    Ok(meant)
}
