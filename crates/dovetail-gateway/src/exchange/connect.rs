//! Connections that requests are sent on.

use std::{rc::Rc, time::Instant};

use bytes::Bytes;
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use tokio::sync::oneshot::{Receiver, channel};

use crate::{
    refusal::Refusal,
    relay::PoolHandle,
    servers::{Servers, Ways},
    state::{LastServer, Link, Settings},
    upstream::{Idle, Line, Pool, Reached, Window},
    wanted::Wanted,
    ways::Way,
};

/// The minimum limits on a server's header, in bytes and fields, even where clients' limits are lower.
const SERVER_HEADER_BYTES: usize = 64 * 1024;
const SERVER_HEADERS: usize = 256;

/// Has servers answer requests.
#[derive(Debug)]
pub(crate) struct Exchanges {
    pub(super) settings: Rc<Settings>,
    pub(super) servers: Rc<Servers>,
    pub(super) link: Rc<Link>,
    pub(super) last_server: Rc<LastServer>,
    pub(super) keeps: PoolHandle,
}

/// A connection to a server or parent.
pub(super) struct Connected {
    pub(super) connection: Idle,
    pub(super) way: Way,
    // Delivers the connection after its last byte of HTTP, if the request may switch protocols.
    pub(super) left: Option<Receiver<Left>>,
}

/// A connection, and the bytes read from it that are not HTTP.
pub(super) type Left = (Line, Bytes);

impl Exchanges {
    pub(crate) fn new(
        settings: &Rc<Settings>,
        servers: &Rc<Servers>,
        link: &Rc<Link>,
        pool: &Rc<Pool>,
        last_server: &Rc<LastServer>,
    ) -> Self {
        Self {
            settings: Rc::clone(settings),
            servers: Rc::clone(servers),
            link: Rc::clone(link),
            last_server: Rc::clone(last_server),
            keeps: PoolHandle { pool: Rc::clone(pool), settings: Rc::clone(settings) },
        }
    }

    /// A connection by one of these ways, whose window begins with `window` bytes.
    pub(super) async fn connect(
        &self,
        ways: &mut Ways,
        wanted: &Wanted,
        window: u64,
        is_upgrade: bool,
    ) -> Result<Connected, Refusal> {
        let window = self.link.window().map(|known| Window { begins: known.beginning(window), ..known });
        let (Reached { line, gate, server }, way) = self.servers.connect(ways, wanted, window).await?;
        let (most, headers) = self.settings.header_limits();
        let mut builder = http1::Builder::new();
        builder.max_buf_size(most.max(SERVER_HEADER_BYTES)).max_headers(headers.max(SERVER_HEADERS));
        builder.preserve_header_case(true);
        // A proxy must accept these (RFC 9112, sections 5.1 and 5.2); they are not forwarded.
        builder.allow_spaces_after_header_name_in_responses(true).allow_obsolete_multiline_headers_in_responses(true);
        let (sender, driver) =
            builder.handshake(TokioIo::new(line)).await.map_err(|error| Refusal::Internal(error.to_string()))?;
        let connection = Idle { sender, gate, server, since: Instant::now(), pinned: None };
        // Errors of the connection reach the request that waits for its response.
        if !is_upgrade {
            tokio::task::spawn_local(async move { drop(driver.await) });
            return Ok(Connected { connection, way, left: None });
        }
        let (tells, left) = channel();
        tokio::task::spawn_local(async move {
            if let Ok(parts) = driver.without_shutdown().await {
                // The request may have been cancelled.
                drop(tells.send((parts.io.into_inner(), parts.read_buf)));
            }
        });
        Ok(Connected { connection, way, left: Some(left) })
    }
}
