//! Simulates visitors of a proxy on loopback, who request pages, files and downloads from the example `origin`: a gateway's
//! daily load, in seconds.
//!
//! ```sh
//! cargo run --release -p dovetail-gateway --example visitors -- PROXY ORIGIN [SECONDS]
//! ```
//!
//! There are twelve, every fourth through tunnels. Each requests one response after another, most of them short and some long,
//! and reconnects after every twelfth. Prints the number of responses received.

use std::{
    env,
    error::Error,
    io::{self, Read, Write},
    net::{SocketAddr, TcpStream},
    thread,
    time::{Duration, Instant},
};

const VISITORS: usize = 12;
const THROUGH_TUNNELS: usize = 4;
/// Sizes of one connection's responses in bytes, with the mean and the tail of parts of web pages.
const SIZES: [usize; 12] = [400, 2_000, 9_000, 1_200, 30_000, 4_000, 600, 14_000, 900, 70_000, 6_000, 250_000];
/// Longer than any response takes while all have their turns.
const PATIENCE: Duration = Duration::from_secs(60);

fn main() -> Result<(), Box<dyn Error + Send + Sync>> {
    let mut args = env::args().skip(1);
    let (Some(proxy), Some(origin)) = (args.next(), args.next()) else { return Err("PROXY and ORIGIN lack".into()) };
    let (proxy, origin): (SocketAddr, SocketAddr) = (proxy.parse()?, origin.parse()?);
    let time = Duration::from_secs_f64(args.next().map_or(Ok(5.0), |seconds| seconds.parse())?);
    let until = Instant::now() + time;
    let visitors: Vec<_> = (0..VISITORS)
        .map(|number| {
            thread::spawn(move || {
                let mut had = 0;
                while Instant::now() < until {
                    had += visit(proxy, origin, number, until)?;
                }
                Ok::<_, io::Error>(had)
            })
        })
        .collect();
    let mut had = 0;
    for visitor in visitors {
        had += visitor.join().map_err(|_| "a visitor ended")??;
    }
    println!("{had} responses");
    Ok(())
}

/// Sends requests on one connection; returns the number of responses.
fn visit(proxy: SocketAddr, origin: SocketAddr, number: usize, until: Instant) -> io::Result<usize> {
    let mut stream = TcpStream::connect(proxy)?;
    stream.set_nodelay(true)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    let is_tunnel = number.is_multiple_of(THROUGH_TUNNELS);
    if is_tunnel {
        write!(stream, "CONNECT {origin} HTTP/1.1\r\nHost: {origin}\r\n\r\n")?;
        let (_, body) = head(&mut stream)?;
        if !body.is_empty() {
            return Err(io::Error::other("a tunnel begins with what was not asked for"));
        }
    }
    let from = if is_tunnel { String::new() } else { format!("http://{origin}") };
    for (had, at) in (number..number + SIZES.len()).enumerate() {
        if Instant::now() > until {
            return Ok(had);
        }
        let bytes = SIZES[at % SIZES.len()];
        write!(stream, "GET {from}/{bytes} HTTP/1.1\r\nHost: {origin}\r\n\r\n")?;
        let (head, body) = head(&mut stream)?;
        if !head.starts_with(b"HTTP/1.1 200") {
            return Err(io::Error::other(String::from_utf8_lossy(&head).into_owned()));
        }
        io::copy(&mut (&mut stream).take((bytes - body.len()) as u64), &mut io::sink())?;
    }
    Ok(SIZES.len())
}

/// A response's head, and the part of the body received with it.
fn head(stream: &mut TcpStream) -> io::Result<(Vec<u8>, Vec<u8>)> {
    let mut got = Vec::new();
    let mut buffer = [0; 4096];
    loop {
        if let Some(end) = got.windows(4).position(|end| end == b"\r\n\r\n") {
            let body = got.split_off(end + 4);
            return Ok((got, body));
        }
        match stream.read(&mut buffer)? {
            0 => return Err(io::ErrorKind::UnexpectedEof.into()),
            length => got.extend_from_slice(&buffer[..length]),
        }
    }
}
