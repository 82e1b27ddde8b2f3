//! Fills a link: fetches from, or sends to, a server named by the operator.
//!
//! Uses several connections at once, so that losses on one leave the link full. They end after a time or a volume, whichever
//! comes first; what is in flight then is not waited for. Redirects are not followed: the operator named no other server.

use std::{
    cell::{Cell, RefCell},
    io,
    net::SocketAddr,
    os::fd::AsFd,
    rc::Rc,
    time::{Duration, Instant},
};

use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
    task::{JoinSet, LocalSet},
    time::{sleep, timeout},
};

use super::{bounds::Bounds, error::DoctorError, estimate::Arrived, target::Fetch};
use crate::sys;

/// Interval between samples of what has arrived.
const SAMPLE: Duration = Duration::from_millis(25);
/// Time to connect, and for a server to begin its response.
const PATIENCE: Duration = Duration::from_secs(10);
/// Maximum length of a response's status line and header.
const MAX_HEAD_BYTES: usize = 16 << 10;
/// Bytes read or written at a time.
const PIECE: usize = 32 << 10;

/// The direction of a transfer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Way {
    Down,
    Up,
}

/// State shared by all connections of a measurement.
#[derive(Debug)]
struct Shared {
    fetch: Fetch,
    at: SocketAddr,
    bounds: Bounds,
    moved: Cell<u64>,
    failed: RefCell<Option<DoctorError>>,
}

impl Shared {
    fn is_enough(&self) -> bool {
        self.moved.get() >= self.bounds.bytes
    }

    fn add(&self, bytes: u64) {
        self.moved.set(self.moved.get() + bytes);
    }
}

/// Fills the link for as long as the bounds permit. Returns what had arrived when, timed from the call.
pub(super) async fn fill(
    way: Way,
    fetch: &Fetch,
    at: SocketAddr,
    bounds: Bounds,
    tell: &mut dyn FnMut(Duration, u64),
) -> Result<Vec<Arrived>, DoctorError> {
    let shared = Rc::new(Shared { fetch: fetch.clone(), at, bounds, moved: Cell::new(0), failed: RefCell::default() });
    let local = LocalSet::new();
    let mut transfers = JoinSet::new();
    for _ in 0..bounds.connections {
        let shared = Rc::clone(&shared);
        transfers.spawn_local_on(
            async move {
                let ended = match way {
                    Way::Down => download(&shared).await,
                    Way::Up => upload(&shared).await,
                };
                if let Err(error) = ended {
                    let mut failed = shared.failed.borrow_mut();
                    // A server's answer is more informative than how its connection ended.
                    if !matches!(*failed, Some(DoctorError::Answer(_))) {
                        *failed = Some(error);
                    }
                }
            },
            &local,
        );
    }
    let began = Instant::now();
    let watch = async {
        let mut arrived = vec![Arrived { at: Duration::ZERO, bytes: 0 }];
        loop {
            sleep(SAMPLE).await;
            let (at, bytes) = (began.elapsed(), shared.moved.get());
            arrived.push(Arrived { at, bytes });
            tell(at, bytes);
            if at >= bounds.time || shared.is_enough() || transfers.is_empty() {
                return arrived;
            }
            while transfers.try_join_next().is_some() {}
        }
    };
    let arrived = local.run_until(watch).await;
    match shared.failed.take() {
        Some(error) if shared.moved.get() == 0 || matches!(error, DoctorError::Answer(_)) => Err(error),
        _ => Ok(arrived),
    }
}

/// Fetches repeatedly.
async fn download(shared: &Shared) -> Result<(), DoctorError> {
    let mut piece = vec![0; PIECE];
    while !shared.is_enough() {
        let mut stream = connect(shared).await?;
        let Fetch { path, authority, .. } = &shared.fetch;
        let request = format!(
            "GET {path} HTTP/1.1\r\nHost: {authority}\r\nUser-Agent: dovetail-gateway-doctor\r\nAccept: */*\r\n\
             Cache-Control: no-cache\r\nConnection: close\r\n\r\n"
        );
        stream.write_all(request.as_bytes()).await.map_err(broken)?;
        let (status, beyond) = response(&mut stream).await?;
        accepted(status, "200", |status| status == 200)?;
        shared.add(beyond);
        let mut had = beyond;
        loop {
            match stream.read(&mut piece).await.map_err(broken)? {
                0 => break,
                bytes => {
                    had += bytes as u64;
                    shared.add(bytes as u64);
                }
            }
            if shared.is_enough() {
                return Ok(());
            }
        }
        if had == 0 {
            return Err(DoctorError::Answer(
                "the response to the download is empty: give a URL of a large file".into(),
            ));
        }
    }
    Ok(())
}

/// Sends one long body. Bytes acknowledged by the server count.
async fn upload(shared: &Shared) -> Result<(), DoctorError> {
    let stream = connect(shared).await?;
    let length = shared.bounds.bytes.div_ceil(shared.bounds.connections as u64);
    let Fetch { path, authority, .. } = &shared.fetch;
    let head = format!(
        "POST {path} HTTP/1.1\r\nHost: {authority}\r\nUser-Agent: dovetail-gateway-doctor\r\n\
         Content-Type: application/octet-stream\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n"
    );
    let acked = stream.as_fd().try_clone_to_owned().map_err(broken)?;
    let (mut from, mut to) = stream.into_split();
    let send = async {
        to.write_all(head.as_bytes()).await?;
        let (piece, mut left) = (vec![b'.'; PIECE], length);
        while left > 0 {
            let bytes = left.min(PIECE as u64);
            to.write_all(&piece[..bytes as usize]).await?;
            left -= bytes;
        }
        // Keeps counting until the last byte is acknowledged.
        std::future::pending::<io::Result<()>>().await
    };
    let count = async {
        let mut counted = 0;
        loop {
            sleep(SAMPLE).await;
            let acknowledged = sys::acknowledged(acked.as_fd())?;
            shared.add(acknowledged.saturating_sub(counted));
            counted = acknowledged;
        }
    };
    let mut first = [0; 64];
    let ended: io::Result<usize> = tokio::select! {
        // A server that has answered may close before reading everything.
        ended = send => match ended {
            Err(error) => timeout(PATIENCE / 10, from.read(&mut first)).await.ok().and_then(Result::ok).ok_or(error),
            Ok(()) => Ok(0),
        },
        ended = count => ended,
        length = from.read(&mut first) => length,
    };
    let length = ended.map_err(broken)?;
    let no_http = || DoctorError::Answer("the server's answer to the upload is not HTTP".into());
    let status = status(&first[..length]).ok_or_else(no_http)?;
    accepted(status, "2xx", |status| (200..300).contains(&status))
}

async fn connect(shared: &Shared) -> Result<TcpStream, DoctorError> {
    let connected = timeout(PATIENCE, TcpStream::connect(shared.at)).await;
    let late = || io::Error::new(io::ErrorKind::TimedOut, "no connection within 10 s");
    connected.unwrap_or_else(|_| Err(late())).map_err(|error| DoctorError::Connect(shared.at, error))
}

/// Reads a response's head; returns its status and the number of bytes read beyond it.
async fn response(stream: &mut TcpStream) -> Result<(u16, u64), DoctorError> {
    let mut head = Vec::new();
    let read = async {
        loop {
            let from = head.len();
            if stream.read_buf(&mut head).await.map_err(broken)? == 0 || head.len() > MAX_HEAD_BYTES {
                return Err(DoctorError::Answer("the server's answer is not HTTP".into()));
            }
            let from = from.saturating_sub(3);
            if let Some(end) = head[from..].windows(4).position(|end| end == b"\r\n\r\n") {
                return Ok((from + end + 4) as u64);
            }
        }
    };
    let late = |_| DoctorError::Answer("the server did not begin its response within 10 s".into());
    let end = timeout(PATIENCE, read).await.map_err(late)??;
    let status = status(&head).ok_or_else(|| DoctorError::Answer("the server's answer is not HTTP".into()))?;
    Ok((status, head.len() as u64 - end))
}

/// The status in a response's first line.
fn status(head: &[u8]) -> Option<u16> {
    let rest = head.strip_prefix(b"HTTP/1.").filter(|rest| rest.len() >= 5 && rest[1] == b' ')?;
    std::str::from_utf8(&rest[2..5]).ok()?.parse().ok().filter(|status| (100..600).contains(status))
}

fn accepted(status: u16, expected: &str, is_fine: fn(u16) -> bool) -> Result<(), DoctorError> {
    if is_fine(status) {
        return Ok(());
    }
    let hint = if (300..400).contains(&status) { ": it leads elsewhere, and redirects are not followed" } else { "" };
    Err(DoctorError::Answer(format!("the server answered with status {status}, not {expected}{hint}")))
}

fn broken(error: io::Error) -> DoctorError {
    DoctorError::Transfer(error)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_status_is_read_and_nothing_else_is() {
        assert_eq!(status(b"HTTP/1.1 200 OK\r\n"), Some(200));
        assert_eq!(status(b"HTTP/1.0 404"), Some(404));
        for wrong in [&b""[..], b"HTTP/1.1", b"HTTP/1.1 2x0 ", b"HTTP/2 200 OK", b"HTTP/1.1 999 ", b"SSH-2.0-x"] {
            assert_eq!(status(wrong), None, "{:?}", String::from_utf8_lossy(wrong));
        }
    }
}
