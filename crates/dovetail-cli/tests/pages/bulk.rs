//! A download by a user of the testbed that continues in the background.

use std::{
    io::{self, BufRead, BufReader, Read, Write},
    net::{Ipv4Addr, Shutdown, SocketAddrV4, TcpStream},
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    thread::{self, JoinHandle},
};

use dovetail_bed::{Bed, Place, Via};
use rustix::net::{AddressFamily, SocketType, bind, connect, socket};

use super::running::LISTEN;

const FIRST: Ipv4Addr = Ipv4Addr::new(10, 0, 1, 1);

pub struct Bulk {
    stream: TcpStream,
    bytes: Arc<AtomicU64>,
    reading: JoinHandle<io::Result<()>>,
}

impl Bulk {
    /// A download by the first user, of as much as a server of the testbed sends.
    pub fn new(bed: &Bed, via: Via) -> Self {
        Self::of(bed, FIRST, via)
    }

    /// A download by the user at this address.
    pub fn of(bed: &Bed, user: Ipv4Addr, via: Via) -> Self {
        let begin = || {
            let socket = socket(AddressFamily::INET, SocketType::STREAM, None)?;
            bind(&socket, &SocketAddrV4::new(user, 0))?;
            connect(&socket, &LISTEN)?;
            let stream = TcpStream::from(socket);
            let other = stream.try_clone()?;
            let bytes = Arc::<AtomicU64>::default();
            let counter = Arc::clone(&bytes);
            Ok(Self { stream, bytes, reading: thread::spawn(move || read(other, via, &counter)) })
        };
        bed.within(Place::Clients, begin).unwrap()
    }

    /// Bytes received so far.
    pub fn bytes(&self) -> u64 {
        self.bytes.load(Ordering::Relaxed)
    }

    /// Aborts it. It must have been in progress.
    pub fn end(self) {
        assert!(!self.reading.is_finished(), "the download is over already");
        // It ends as told, or with a reset.
        let _ = self.stream.shutdown(Shutdown::Both);
        let _ = self.reading.join().unwrap();
    }
}

fn read(mut stream: TcpStream, via: Via, bytes: &AtomicU64) -> io::Result<()> {
    let mut from = BufReader::new(stream.try_clone()?);
    let server = if via == Via::Absolute { "http://10.200.0.1" } else { "" };
    if via == Via::Connect {
        stream.write_all(b"CONNECT 10.200.0.1:80 HTTP/1.1\r\nHost: 10.200.0.1:80\r\n\r\n")?;
        head(&mut from)?;
    }
    stream.write_all(format!("GET {server}/64000000/bulk HTTP/1.1\r\nHost: 10.200.0.1\r\n\r\n").as_bytes())?;
    head(&mut from)?;
    let mut buffer = vec![0; 1 << 16];
    loop {
        match from.read(&mut buffer)? {
            0 => return Ok(()),
            some => bytes.fetch_add(some as u64, Ordering::Relaxed),
        };
    }
}

fn head(from: &mut impl BufRead) -> io::Result<()> {
    let mut line = String::new();
    from.read_line(&mut line)?;
    assert!(line.contains(" 200 "), "{line}");
    while line.trim_end() != "" {
        line.clear();
        from.read_line(&mut line)?;
    }
    Ok(())
}
