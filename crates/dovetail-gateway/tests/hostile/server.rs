//! Servers that do what a test requires.

use std::{
    io::{Read, Write},
    net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream},
    sync::{
        Arc, Mutex,
        mpsc::{self, Receiver, Sender},
    },
    thread,
    time::Duration,
};

use crate::{
    strict::{self, Message},
    support::LONG,
};

/// A server; receives the reports of its connections.
pub struct Server<T> {
    pub address: SocketAddr,
    told: Receiver<T>,
}

/// A connection to a server, numbered from 0.
pub struct Connection<T> {
    pub stream: TcpStream,
    pub number: usize,
    tell: Sender<T>,
}

impl<T> Connection<T> {
    /// Reports something, if the receiver still exists.
    pub fn tell(&self, what: T) {
        self.tell.send(what).ok();
    }
}

impl<T: Send + 'static> Server<T> {
    /// Runs this for every connection, on a thread each.
    pub fn start(script: impl Fn(Connection<T>) + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let address = listener.local_addr().unwrap();
        let (tell, told) = mpsc::channel();
        let script = Arc::new(script);
        thread::spawn(move || {
            for (number, stream) in listener.incoming().enumerate() {
                let Ok(stream) = stream else { return };
                stream.set_read_timeout(Some(LONG)).unwrap();
                stream.set_nodelay(true).unwrap();
                let (tell, script) = (tell.clone(), Arc::clone(&script));
                thread::spawn(move || script(Connection { stream, number, tell }));
            }
        });
        Self { address, told }
    }

    /// Waits for the next report of a connection.
    pub fn told(&self) -> T {
        self.told.recv_timeout(LONG).unwrap()
    }

    /// Reports that were not read yet.
    pub fn rest(&self) -> Vec<T> {
        self.told.try_iter().collect()
    }

    pub fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }
}

impl Message {
    /// The value of a field; its name is in lower case.
    pub fn field(&self, name: &str) -> Option<&str> {
        self.fields.iter().find(|(found, _)| found == name).map(|(_, value)| value.as_str())
    }
}

/// A server that parses requests strictly, reports what it read, and answers each with its path.
pub fn strict_server() -> Server<Result<Message, String>> {
    strict_server_of(strict::request)
}

/// The same for requests to proxies.
pub fn strict_proxy() -> Server<Result<Message, String>> {
    strict_server_of(|stream| strict::request_with(stream, |target| target.starts_with("http://")))
}

fn strict_server_of(
    read: impl Fn(&mut TcpStream) -> Result<Option<Message>, String> + Send + Sync + 'static,
) -> Server<Result<Message, String>> {
    Server::start(move |mut connection| {
        loop {
            match read(&mut connection.stream) {
                Ok(None) => return,
                Ok(Some(message)) => {
                    let body = message.target.clone();
                    connection.tell(Ok(message));
                    let length = body.len();
                    let answer = format!("HTTP/1.1 200 OK\r\nContent-Length: {length}\r\n\r\n{body}");
                    if connection.stream.write_all(answer.as_bytes()).is_err() {
                        return;
                    }
                }
                Err(error) => {
                    connection.tell(Err(error));
                    return;
                }
            }
        }
    })
}

/// A server that answers each request with these bytes, and closes the connection after it if `closes`.
pub fn canned(bytes: impl Into<Vec<u8>>, closes: bool) -> Server<Message> {
    let bytes = bytes.into();
    Server::start(move |mut connection| {
        while let Ok(Some(message)) = strict::request(&mut connection.stream) {
            connection.tell(message);
            if connection.stream.write_all(&bytes).is_err() || closes {
                return;
            }
        }
    })
}

/// A server that answers each request with these bytes when allowed, once per message. Reports each request.
pub fn held(bytes: impl Into<Vec<u8>>) -> (Server<Message>, Sender<()>) {
    let bytes = bytes.into();
    let (lets, waits) = mpsc::channel();
    let waits = Mutex::new(waits);
    let server = Server::start(move |mut connection| {
        while let Ok(Some(message)) = strict::request(&mut connection.stream) {
            connection.tell(message);
            let is_let = waits.lock().unwrap().recv();
            if is_let.is_err() || connection.stream.write_all(&bytes).is_err() {
                return;
            }
        }
    });
    (server, lets)
}

/// Closes a connection with a reset.
pub fn reset(stream: TcpStream) {
    socket2::SockRef::from(&stream).set_linger(Some(Duration::ZERO)).unwrap();
}

/// A server that echoes. Reports when a connection ends.
pub fn echo() -> Server<()> {
    Server::start(|mut connection| {
        let mut bytes = [0; 4096];
        while let Ok(came @ 1..) = connection.stream.read(&mut bytes) {
            if connection.stream.write_all(&bytes[..came]).is_err() {
                break;
            }
        }
        connection.tell(());
    })
}
