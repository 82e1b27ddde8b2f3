//! A server for measurements of proxies on loopback: whatever is asked for, it answers with as many bytes as its argument says.
//!
//! ```sh
//! cargo run --release -p dovetail-gateway --example origin -- [BYTES]
//! ```
//!
//! It prints where it listens and ends when its input does. A thread for each connection; requests are told by the empty line at their
//! end, so they have no bodies.

use std::{
    env,
    io::{self, Read, Write},
    net::{TcpListener, TcpStream},
    process, thread,
};

fn main() -> io::Result<()> {
    let bytes: usize = env::args().nth(1).and_then(|bytes| bytes.parse().ok()).unwrap_or(1024);
    let mut answer =
        format!("HTTP/1.1 200 OK\r\nCache-Control: no-store\r\nContent-Length: {bytes}\r\n\r\n").into_bytes();
    answer.resize(answer.len() + bytes, b'x');
    let answer: &'static [u8] = answer.leak();
    let listener = TcpListener::bind("127.0.0.1:0")?;
    println!("{}", listener.local_addr()?);
    thread::spawn(|| {
        drop(io::copy(&mut io::stdin(), &mut io::sink()));
        process::exit(0);
    });
    for stream in listener.incoming().flatten() {
        thread::spawn(move || drop(serve(stream, answer)));
    }
    Ok(())
}

fn serve(mut stream: TcpStream, answer: &[u8]) -> io::Result<()> {
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
            let requests = buffer[..had].windows(4).filter(|end| end == b"\r\n\r\n").count();
            (0..requests).try_for_each(|_| stream.write_all(answer))?;
            had = 0;
        } else if had == buffer.len() {
            return Ok(());
        }
    }
}
