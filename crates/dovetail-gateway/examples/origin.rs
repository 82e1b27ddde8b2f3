//! A server for measurements of proxies on loopback: `/500` is answered with 500 bytes, anything that is not a number with as
//! many as its argument says.
//!
//! ```sh
//! cargo run --release -p dovetail-gateway --example origin -- [BYTES]
//! ```
//!
//! Prints its address and ends when its input does. Uses a thread per connection; a request ends at the empty line, so it has
//! no body.

use std::{
    env,
    io::{self, Read, Write},
    net::{TcpListener, TcpStream},
    process, thread,
};

fn main() -> io::Result<()> {
    let bytes: usize = env::args().nth(1).and_then(|bytes| bytes.parse().ok()).unwrap_or(1024);
    let usual: &'static [u8] = answer(bytes).leak();
    let listener = TcpListener::bind("127.0.0.1:0")?;
    println!("{}", listener.local_addr()?);
    thread::spawn(|| {
        drop(io::copy(&mut io::stdin(), &mut io::sink()));
        process::exit(0);
    });
    for stream in listener.incoming().flatten() {
        thread::spawn(move || drop(serve(stream, usual)));
    }
    Ok(())
}

fn answer(bytes: usize) -> Vec<u8> {
    let mut answer =
        format!("HTTP/1.1 200 OK\r\nCache-Control: no-store\r\nContent-Length: {bytes}\r\n\r\n").into_bytes();
    answer.resize(answer.len() + bytes, b'x');
    answer
}

/// The number of bytes that a request asks for.
fn asked_for(request: &[u8]) -> Option<usize> {
    let path = request.trim_ascii_start().strip_prefix(b"GET /")?;
    str::from_utf8(path.split(|&byte| byte == b' ').next()?).ok()?.parse().ok()
}

fn serve(mut stream: TcpStream, usual: &[u8]) -> io::Result<()> {
    stream.set_nodelay(true)?;
    let mut buffer = [0; 16_384];
    let mut had = 0;
    loop {
        let length = stream.read(&mut buffer[had..])?;
        if length == 0 {
            return Ok(());
        }
        had += length;
        if buffer[..had].ends_with(b"\r\n\r\n") {
            let mut rest = &buffer[..had];
            while let Some(end) = rest.windows(4).position(|end| end == b"\r\n\r\n") {
                match asked_for(&rest[..end]) {
                    Some(bytes) => stream.write_all(&answer(bytes))?,
                    None => stream.write_all(usual)?,
                }
                rest = &rest[end + 4..];
            }
            had = 0;
        } else if had == buffer.len() {
            return Ok(());
        }
    }
}
