//! The servers. `GET /BYTES/ID` is answered with this many bytes; `GET /stream/COUNT/SIZE/GAP_US/ID` with this many pieces in
//! chunks, each sent on its own and this many microseconds after the one before; `POST /take/ID` with the length of the
//! request's body. The response repeats the id in a header.

use std::{
    collections::HashMap,
    io::{self, ErrorKind, Write},
    net::{Ipv4Addr, Shutdown, TcpListener, TcpStream},
    os::fd::AsFd,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

use rustix::net::{Shutdown as Half, shutdown, sockopt::set_tcp_congestion};

use super::{
    http::{self, Connection},
    target::{Wanted, wanted},
};

/// How often a server checks, between two pieces, whether it is to end.
const LOOK: Duration = Duration::from_millis(100);
/// Enough for the threads of connections.
pub(super) const STACK_BYTES: usize = 128 << 10;

/// A server's socket with this congestion control, or the namespace's default if the kernel does not have it.
///
/// # Errors
/// Those of the system.
pub(super) fn listen(address: Ipv4Addr, congestion: &str) -> io::Result<TcpListener> {
    let listener = TcpListener::bind((address, 80))?;
    // Connections inherit it from the socket that accepts them.
    match set_tcp_congestion(&listener, congestion) {
        Ok(()) | Err(rustix::io::Errno::NOENT) => Ok(listener),
        Err(error) => Err(error.into()),
    }
}

/// All servers; they end when this is dropped.
#[derive(Debug, Default)]
pub(super) struct Origins {
    listeners: Vec<Arc<TcpListener>>,
    threads: Vec<JoinHandle<()>>,
    open: Arc<Open>,
}

/// Open connections, to be closed at the end.
#[derive(Debug, Default)]
struct Open {
    ends: AtomicBool,
    connections: Mutex<(u64, HashMap<u64, TcpStream>)>,
}

impl Open {
    fn lock(&self) -> MutexGuard<'_, (u64, HashMap<u64, TcpStream>)> {
        self.connections.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Origins {
    /// Starts the servers.
    ///
    /// # Errors
    /// If threads cannot be started.
    pub(super) fn serve(listeners: Vec<TcpListener>) -> io::Result<Self> {
        let mut origins = Self::default();
        for listener in listeners {
            let listener = Arc::new(listener);
            origins.listeners.push(Arc::clone(&listener));
            let open = Arc::clone(&origins.open);
            let accepting = move || accept(&listener, &open);
            origins.threads.push(thread::Builder::new().stack_size(STACK_BYTES).spawn(accepting)?);
        }
        Ok(origins)
    }
}

impl Drop for Origins {
    fn drop(&mut self) {
        self.open.ends.store(true, Ordering::Relaxed);
        for listener in &self.listeners {
            // Wakes the accepting thread; a socket that is not listening needs no waking.
            let _ = shutdown(listener.as_fd(), Half::Both);
        }
        for thread in self.threads.drain(..) {
            // A thread that panicked has already reported it.
            let _ = thread.join();
        }
    }
}

/// Accepts connections until the listener is shut down, then closes those that are open.
fn accept(listener: &TcpListener, open: &Open) {
    thread::scope(|scope| {
        while !open.ends.load(Ordering::Relaxed) {
            let Ok((stream, _)) = listener.accept() else {
                // Out of descriptors, or a peer that left too early.
                thread::sleep(Duration::from_millis(1));
                continue;
            };
            let Ok(other) = stream.try_clone() else { continue };
            let number = {
                let mut all = open.lock();
                all.0 += 1;
                let number = all.0;
                all.1.insert(number, other);
                number
            };
            let connection = move || {
                // A client that aborts its connection misses nothing.
                let _ = serve(stream, &open.ends);
                open.lock().1.remove(&number);
            };
            // Without a thread the connection is closed, which its user notices.
            if thread::Builder::new().stack_size(STACK_BYTES).spawn_scoped(scope, connection).is_err() {
                open.lock().1.remove(&number);
            }
        }
        for stream in open.lock().1.values() {
            // A connection that its peer has closed needs no closing.
            let _ = stream.shutdown(Shutdown::Both);
        }
    });
}

fn serve(stream: TcpStream, ends: &AtomicBool) -> io::Result<()> {
    // The last packet of a response must not wait for the acknowledgement of the one before.
    stream.set_nodelay(true)?;
    let mut connection = Connection::new(stream);
    while let Some(asked) = connection.request()? {
        let Some((wanted, id)) = wanted(&asked.method, &asked.target) else {
            return connection
                .stream()
                .write_all(b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
        };
        let taken = connection.body(asked.body, |_| ())?;
        // For a client that cannot read chunks, the end of the connection is the end of the body.
        let keep = asked.keep && (asked.chunks || !matches!(wanted, Wanted::Stream(..)));
        let stream = connection.stream();
        match wanted {
            Wanted::Bytes(bytes) => answer(stream, bytes, id, keep)?,
            Wanted::Stream(pieces, bytes, gap) => {
                write(stream, head(if asked.chunks { "Transfer-Encoding: chunked\r\n" } else { "" }, id, keep))?;
                let piece = piece(bytes as usize, asked.chunks);
                pieces_apart(stream, pieces, &piece, gap, ends)?;
                if asked.chunks {
                    write(stream, "0\r\n\r\n")?;
                }
            }
            Wanted::Take => {
                let taken = taken.to_string();
                write(stream, head(&format!("Content-Length: {}\r\n", taken.len()), id, keep) + &taken)?;
            }
        }
        if !keep {
            return Ok(());
        }
    }
    Ok(())
}

/// A response's head; `length` is the header that gives the body's length.
fn head(length: &str, id: &str, keep: bool) -> String {
    let close = if keep { "" } else { "Connection: close\r\n" };
    format!(
        "HTTP/1.1 200 OK\r\nContent-Type: application/octet-stream\r\nCache-Control: no-store\r\n{length}{}: {id}\r\n{close}\r\n",
        http::ID
    )
}

fn write(mut stream: &TcpStream, text: impl AsRef<[u8]>) -> io::Result<()> {
    stream.write_all(text.as_ref())
}

fn answer(mut stream: &TcpStream, bytes: u64, id: &str, keep: bool) -> io::Result<()> {
    static BLOCK: [u8; 1 << 16] = [b'.'; 1 << 16];
    let mut first = head(&format!("Content-Length: {bytes}\r\n"), id, keep).into_bytes();
    // The head is sent together with the start of the body.
    let beside = bytes.min(BLOCK.len() as u64);
    first.extend_from_slice(&BLOCK[..beside as usize]);
    stream.write_all(&first)?;
    let mut left = bytes - beside;
    while left > 0 {
        match stream.write(&BLOCK[..left.min(BLOCK.len() as u64) as usize]) {
            Ok(0) => return Err(ErrorKind::WriteZero.into()),
            Ok(written) => left -= written as u64,
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// A piece of a stream, framed as a chunk if asked for.
fn piece(bytes: usize, chunk: bool) -> Vec<u8> {
    let mut piece = if chunk { format!("{bytes:x}\r\n").into_bytes() } else { Vec::new() };
    piece.resize(piece.len() + bytes, b'.');
    if chunk {
        piece.extend_from_slice(b"\r\n");
    }
    piece
}

/// Sends this many pieces; one that cannot be sent in time delays those that follow.
fn pieces_apart(mut stream: &TcpStream, pieces: u64, piece: &[u8], gap: Duration, ends: &AtomicBool) -> io::Result<()> {
    let mut due = Instant::now();
    for _ in 0..pieces {
        while let left = due.saturating_duration_since(Instant::now())
            && !left.is_zero()
        {
            if ends.load(Ordering::Relaxed) {
                return Err(ErrorKind::ConnectionAborted.into());
            }
            thread::sleep(left.min(LOOK));
        }
        stream.write_all(piece)?;
        due = (due + gap).max(Instant::now());
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::io::Read;

    use super::*;

    /// A server's complete answer to this, and how long it took.
    fn answered(request: &str) -> (String, Duration) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let mut stream = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let served = thread::spawn(move || serve(listener.accept().unwrap().0, &AtomicBool::new(false)));
        let begun = Instant::now();
        stream.write_all(request.as_bytes()).unwrap();
        stream.shutdown(Shutdown::Write).unwrap();
        let mut said = String::new();
        stream.read_to_string(&mut said).unwrap();
        served.join().unwrap().unwrap();
        (said, begun.elapsed())
    }

    #[test]
    fn a_stream_comes_in_its_pieces_and_its_time() {
        let (said, took) = answered("GET /stream/3/2/20000/a-1 HTTP/1.1\r\n\r\nGET /2/b HTTP/1.1\r\n\r\n");
        let (stream, next) = said.split_once("2\r\n..\r\n2\r\n..\r\n2\r\n..\r\n0\r\n\r\n").unwrap();
        assert!(stream.contains("chunked\r\nX-Bed-Id: a-1\r\n") && !stream.contains("Length"), "{said}");
        assert!(next.contains("Content-Length: 2\r\nX-Bed-Id: b\r\n") && next.ends_with("\r\n\r\n.."), "{said}");
        assert!(took >= Duration::from_millis(40), "{took:?}");
        let (said, _) = answered("GET /stream/3/2/0/a HTTP/1.0\r\n\r\n");
        assert!(!said.contains("chunked") && said.ends_with("Connection: close\r\n\r\n......"), "{said}");
    }

    #[test]
    fn an_upload_is_counted() {
        let chunks =
            "POST /take/a HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n9\r\n012345678\r\n0\r\n\r\n";
        for (request, bytes) in [
            (chunks, "12"),
            ("POST /take/a HTTP/1.1\r\nContent-Length: 5\r\n\r\nabcde", "5"),
            ("POST /take/a HTTP/1.1\r\n\r\n", "0"),
        ] {
            let (said, _) = answered(request);
            assert!(said.contains("X-Bed-Id: a\r\n") && said.ends_with(&format!("\r\n\r\n{bytes}")), "{said}");
        }
        assert!(answered("GET /take/a HTTP/1.1\r\n\r\n").0.starts_with("HTTP/1.1 404 "));
    }

    #[test]
    fn a_server_that_ends_does_not_wait_for_a_gap() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let stream = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let ends = AtomicBool::new(true);
        assert!(pieces_apart(&stream, 2, b".", Duration::from_secs(10), &ends).is_err());
    }
}
