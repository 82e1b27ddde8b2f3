//! A user: their connections, and a single request.

use std::{
    collections::HashMap,
    io::{self, ErrorKind, Write},
    net::{Ipv4Addr, SocketAddrV4, TcpStream},
    os::fd::AsFd,
    sync::{Mutex, PoisonError},
    time::{Duration, Instant},
};

use rustix::net::{
    AddressFamily, SocketType, bind, connect, socket,
    sockopt::{Timeout, set_socket_timeout},
};

use super::{
    http::Connection,
    plan::{Asked, User},
    wires::server_address,
};
use crate::{End, Exchange, Via};

/// State shared by all users of a run.
#[derive(Debug)]
pub(super) struct Run {
    pub(super) via: Via,
    pub(super) proxy: SocketAddrV4,
    /// Time 0.
    pub(super) begins: Instant,
    /// When unanswered requests are cancelled.
    pub(super) ends: Instant,
}

impl Run {
    pub(super) fn now(&self) -> Duration {
        self.begins.elapsed()
    }
}

/// A user's idle connections, by server where they lead to one.
#[derive(Debug)]
pub(super) struct Client {
    user: User,
    address: Ipv4Addr,
    idle: Mutex<HashMap<Option<usize>, Vec<Connection>>>,
}

/// Called with a time and the number of bytes that arrived then.
pub(super) type Arrived<'a> = &'a dyn Fn(Duration, u64);

impl Client {
    pub(super) fn new(user: User, address: Ipv4Addr) -> Self {
        Self { user, address, idle: Mutex::default() }
    }

    pub(super) fn class(&self) -> usize {
        self.user.class
    }

    fn idle<T>(&self, with: impl FnOnce(&mut HashMap<Option<usize>, Vec<Connection>>) -> T) -> T {
        with(&mut self.idle.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Sends the request with this number, due at `wanted`, and reads its answer.
    pub(super) fn exchange(
        &self,
        run: &Run,
        number: u64,
        wanted: Duration,
        asked: Asked,
        arrived: Arrived<'_>,
    ) -> Exchange {
        let mut made = Exchange {
            class: self.user.class,
            user: self.user.number,
            origin: asked.origin,
            bytes: asked.bytes,
            wanted,
            first_byte: None,
            end: End::Unfinished,
            reused: false,
        };
        made.end = match self.attempt(run, number, asked, &mut made, arrived) {
            Ok(()) => End::Answered(run.now()),
            Err(_) if Instant::now() >= run.ends => End::Unfinished,
            Err(error) => End::Failed(error.to_string()),
        };
        made
    }

    fn attempt(
        &self,
        run: &Run,
        number: u64,
        asked: Asked,
        made: &mut Exchange,
        arrived: Arrived<'_>,
    ) -> io::Result<()> {
        let key = (run.via != Via::Absolute).then_some(asked.origin);
        let id = format!("{}-{}-{number}", self.user.class, self.user.number);
        let kept = self.idle(|idle| idle.get_mut(&key).and_then(Vec::pop));
        made.reused = kept.is_some();
        let mut connection = match kept {
            Some(connection) => connection,
            None => reach(run, self.address, asked.origin)?,
        };
        let sent = send(run, &mut connection, asked, &id);
        if let Err(error) = sent {
            // The other side had closed the kept connection meanwhile: retry once, on a new one.
            if !made.reused || Instant::now() >= run.ends {
                return Err(error);
            }
            made.reused = false;
            connection = reach(run, self.address, asked.origin)?;
            send(run, &mut connection, asked, &id)?;
        }
        made.first_byte = Some(run.now());
        let head = connection.response()?;
        let bytes = connection.body(head.body, |piece| arrived(run.now(), piece.len() as u64))?;
        let wrong = |what: String| Err(io::Error::new(ErrorKind::InvalidData, what));
        if head.status != 200 {
            return wrong(format!("status {}", head.status));
        }
        if bytes != asked.bytes {
            return wrong(format!("{bytes} bytes where {} were requested", asked.bytes));
        }
        if head.id.as_deref() != Some(&id) {
            return wrong("the answer to another request".into());
        }
        if head.keep && connection.is_empty() {
            self.idle(|idle| idle.entry(key).or_default().push(connection));
        }
        Ok(())
    }
}

/// Connects from a user's address to the request's destination, through a tunnel if `via` asks for one.
///
/// # Errors
/// Those of the system, and if the tunnel is refused.
pub(super) fn reach(run: &Run, from: Ipv4Addr, origin: usize) -> io::Result<Connection> {
    let server = SocketAddrV4::new(server_address(origin), 80);
    let to = if run.via == Via::Direct { server } else { run.proxy };
    let mut connection = Connection::new(connect_from(from, to, run.ends)?);
    connection.read_until(run.ends);
    if run.via == Via::Connect {
        let head = format!("CONNECT {server} HTTP/1.1\r\nHost: {server}\r\n\r\n");
        connection.stream().write_all(head.as_bytes())?;
        let status = connection.response()?.status;
        if status != 200 {
            return Err(io::Error::new(ErrorKind::ConnectionRefused, format!("CONNECT: status {status}")));
        }
    }
    Ok(connection)
}

/// Connects from this address, before `ends`.
///
/// # Errors
/// Those of the system.
fn connect_from(from: Ipv4Addr, to: SocketAddrV4, ends: Instant) -> io::Result<TcpStream> {
    let left = ends.saturating_duration_since(Instant::now());
    if left.is_zero() {
        return Err(ErrorKind::TimedOut.into());
    }
    let socket = socket(AddressFamily::INET, SocketType::STREAM, None)?;
    bind(&socket, &SocketAddrV4::new(from, 0))?;
    // The send timeout also limits connecting.
    set_socket_timeout(socket.as_fd(), Timeout::Send, Some(left))?;
    connect(&socket, &to)?;
    let stream = TcpStream::from(socket);
    stream.set_nodelay(true)?;
    Ok(stream)
}

/// Sends the request and waits for the first byte of its answer.
fn send(run: &Run, connection: &mut Connection, asked: Asked, id: &str) -> io::Result<()> {
    let head = request_head(run.via, "GET", asked.origin, &format!("/{}/{id}", asked.bytes), None);
    connection.stream().write_all(head.as_bytes())?;
    if connection.fill()? == 0 { Err(ErrorKind::UnexpectedEof.into()) } else { Ok(()) }
}

/// A request's head, with the length of its body if it has one.
pub(super) fn request_head(via: Via, method: &str, origin: usize, path: &str, length: Option<u64>) -> String {
    let server = server_address(origin);
    let host = if via == Via::Absolute { format!("http://{server}") } else { String::new() };
    let length = length.map_or(String::new(), |length| format!("Content-Length: {length}\r\n"));
    format!(
        "{method} {host}{path} HTTP/1.1\r\nHost: {server}\r\nUser-Agent: dovetail-bed\r\nAccept: */*\r\n{length}\r\n"
    )
}
