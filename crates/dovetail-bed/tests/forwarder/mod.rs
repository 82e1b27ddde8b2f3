//! A minimal forward proxy that shares no code with the testbed: a thread for each connection, with one request on each or a
//! tunnel.

use std::{
    io::{self, BufRead, BufReader, Write},
    net::{Shutdown, TcpListener, TcpStream},
    thread,
};

/// Serves forever.
pub fn forward(listener: &TcpListener) {
    for client in listener.incoming().flatten() {
        thread::spawn(move || serve(client));
    }
}

fn serve(mut client: TcpStream) -> io::Result<()> {
    let mut reader = BufReader::new(client.try_clone()?);
    let mut first = String::new();
    reader.read_line(&mut first)?;
    let mut line = first.clone();
    while !line.trim().is_empty() {
        line.clear();
        reader.read_line(&mut line)?;
    }
    let words: Vec<&str> = first.split(' ').collect();
    if words[0] == "CONNECT" {
        let mut server = TcpStream::connect(words[1])?;
        client.write_all(b"HTTP/1.1 200 Connected\r\n\r\n")?;
        let (mut up, mut down) = (server.try_clone()?, client.try_clone()?);
        thread::spawn(move || {
            let _ = io::copy(&mut server, &mut down);
            let _ = down.shutdown(Shutdown::Both);
        });
        io::copy(&mut reader, &mut up)?;
        return up.shutdown(Shutdown::Both);
    }
    let rest = words[1].strip_prefix("http://").ok_or(io::ErrorKind::InvalidInput)?;
    let (host, path) = rest.split_once('/').ok_or(io::ErrorKind::InvalidInput)?;
    let mut server = TcpStream::connect((host, 80))?;
    // In one piece: separate writes wait for acknowledgements.
    server.write_all(format!("GET /{path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n").as_bytes())?;
    io::copy(&mut server, &mut client)?;
    client.shutdown(Shutdown::Both)
}
