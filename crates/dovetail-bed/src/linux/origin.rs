//! The servers: `GET /BYTES/ID` is answered with so many bytes, and with the id in a header.

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
    time::Duration,
};

use rustix::net::{Shutdown as Half, shutdown, sockopt::set_tcp_congestion};

use super::http::{self, Connection};
use crate::load::MOST_BYTES;

/// Enough for what threads of connections do.
pub(super) const STACK_BYTES: usize = 128 << 10;

/// A server's socket with this congestion control, or the namespace's where the kernel does not have it.
///
/// # Errors
/// The system's.
pub(super) fn listen(address: Ipv4Addr, congestion: &str) -> io::Result<TcpListener> {
    let listener = TcpListener::bind((address, 80))?;
    // Connections have that of the socket that they were accepted by.
    match set_tcp_congestion(&listener, congestion) {
        Ok(()) | Err(rustix::io::Errno::NOENT) => Ok(listener),
        Err(error) => Err(error.into()),
    }
}

/// All servers, until they are dropped.
#[derive(Debug, Default)]
pub(super) struct Origins {
    listeners: Vec<Arc<TcpListener>>,
    threads: Vec<JoinHandle<()>>,
    open: Arc<Open>,
}

/// Connections that are open, to be closed at the end.
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
    /// # Errors
    /// When threads cannot be begun.
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
            // Wakes the thread that accepts; a socket that is not listening needs no waking.
            let _ = shutdown(listener.as_fd(), Half::Both);
        }
        for thread in self.threads.drain(..) {
            // One that panicked has said so.
            let _ = thread.join();
        }
    }
}

/// Serves until the listener is shut, then closes what is open.
fn accept(listener: &TcpListener, open: &Open) {
    thread::scope(|scope| {
        while !open.ends.load(Ordering::Relaxed) {
            let Ok((stream, _)) = listener.accept() else {
                // Out of files, or a peer that was gone too soon.
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
                // Who breaks a connection off will miss nothing.
                let _ = serve(stream);
                open.lock().1.remove(&number);
            };
            // Without a thread for it the connection is closed, which its user sees.
            if thread::Builder::new().stack_size(STACK_BYTES).spawn_scoped(scope, connection).is_err() {
                open.lock().1.remove(&number);
            }
        }
        for stream in open.lock().1.values() {
            // One that its peer has closed is closed.
            let _ = stream.shutdown(Shutdown::Both);
        }
    });
}

fn serve(stream: TcpStream) -> io::Result<()> {
    // The last packet of a response does not wait for the acknowledgement of the one before.
    stream.set_nodelay(true)?;
    let mut connection = Connection::new(stream);
    while let Some(asked) = connection.request()? {
        let keep = asked.keep;
        let Some((bytes, id)) = wanted(&asked.target) else {
            return connection
                .stream()
                .write_all(b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
        };
        answer(connection.stream(), bytes, id, keep)?;
        if !keep {
            return Ok(());
        }
    }
    Ok(())
}

/// What `/BYTES/ID` asks for, also after a scheme and a host.
fn wanted(target: &str) -> Option<(u64, &str)> {
    let path = match target.strip_prefix("http://") {
        Some(rest) => &rest[rest.find('/')?..],
        None => target,
    };
    let (bytes, id) = path.strip_prefix('/')?.split_once('/')?;
    let bytes = bytes.parse().ok().filter(|&bytes| bytes <= MOST_BYTES)?;
    id.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-').then_some((bytes, id))
}

fn answer(mut stream: &TcpStream, bytes: u64, id: &str, keep: bool) -> io::Result<()> {
    static BLOCK: [u8; 1 << 16] = [b'.'; 1 << 16];
    let close = if keep { "" } else { "Connection: close\r\n" };
    let mut first = format!(
        "HTTP/1.1 200 OK\r\nContent-Type: application/octet-stream\r\nCache-Control: no-store\r\nContent-Length: {bytes}\r\n\
         {}: {id}\r\n{close}\r\n",
        http::ID
    )
    .into_bytes();
    // The head goes with what fits beside it.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_asked_for() {
        assert_eq!(wanted("/12/0-1-2"), Some((12, "0-1-2")));
        assert_eq!(wanted("http://10.200.0.1/0/a"), Some((0, "a")));
        for wrong in ["", "/", "/12", "/x/a", "/-1/a", "/99999999999/a", "/1/a\r\nb", "http://host", "/1/a/b"] {
            assert_eq!(wanted(wrong), None, "{wrong}");
        }
    }
}
