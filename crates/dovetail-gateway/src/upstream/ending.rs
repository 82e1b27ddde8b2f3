//! Detects that all that is left of a response has arrived.
//!
//! If the length of a response is unknown, its sender is allowed more than is left, and its last bytes wait for turns that
//! bring nothing while others wait for them. But the end can be seen in the waiting bytes before they are read:
//!
//! * The server has closed the connection. Then the waiting bytes are all.
//! * The waiting bytes end like a chunked response, with a chunk of no bytes and no trailers (RFC 9112, section 7.1). A
//!   response can look so and go on: then more arrives, and the scheduler disregards a length that was exceeded. This is
//!   reported once per response: one that kept looking so would never wait for turns.
//!
//! Within TLS only the first can be seen. The check is made when a turn is requested, and a few times a second while the response
//! waits for it.

use std::{cell::Cell, os::fd::AsFd};

use rustix::{
    io::ioctl_fionread,
    net::{RecvFlags, recv},
};

use crate::sys;

/// The end of the last chunk before it, and the empty chunk.
const EMPTY_CHUNK: &[u8] = b"\r\n0\r\n\r\n";

/// With this much waiting, the end is not checked, since that copies it.
const MAX_EXAMINED_BYTES: usize = 16 * 1024;

/// What was reported for a response so far.
#[derive(Debug, Default)]
pub(super) struct Ending(Cell<Said>);

/// The last reason for reporting that the waiting bytes are all.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Said {
    #[default]
    Nothing,
    EmptyChunk,
    Closed,
}

impl Ending {
    /// The number of waiting bytes, if they are all that is left. Reported once for each sign of it.
    pub(super) fn rest(&self, socket: impl AsFd) -> Option<u64> {
        if self.0.get() == Said::Nothing
            && let Some(waits) = up_to_empty_chunk(&socket)
        {
            self.0.set(Said::EmptyChunk);
            return Some(waits);
        }
        if self.0.get() == Said::Closed || !sys::is_closed_by_peer(socket.as_fd()) {
            return None;
        }
        self.0.set(Said::Closed);
        ioctl_fionread(socket).ok()
    }

    /// Resets for another response.
    pub(super) fn forget(&self) {
        self.0.take();
    }
}

/// The number of waiting bytes, if they end with an empty chunk.
fn up_to_empty_chunk(socket: impl AsFd) -> Option<u64> {
    let mut bytes = [0; MAX_EXAMINED_BYTES];
    let (waits, _) = recv(socket, &mut bytes, RecvFlags::PEEK | RecvFlags::DONTWAIT).ok()?;
    (waits < MAX_EXAMINED_BYTES && bytes[..waits].ends_with(EMPTY_CHUNK)).then_some(waits as u64)
}

#[cfg(test)]
mod tests {
    use std::{
        io::{Read, Write},
        net::{Shutdown, TcpListener, TcpStream},
    };

    use super::*;

    fn pair() -> (TcpStream, TcpStream) {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let server = TcpStream::connect(listener.local_addr().expect("its address")).expect("a connection");
        (listener.accept().expect("it").0, server)
    }

    /// The result once this many bytes wait.
    fn seen(ending: &Ending, gateway: &TcpStream, waits: u64) -> Option<u64> {
        while ioctl_fionread(gateway).expect("a socket") < waits {
            std::thread::yield_now();
        }
        ending.rest(gateway)
    }

    #[test]
    fn an_empty_chunk_is_an_end_only_as_the_last_that_is_there_and_once() {
        let ((mut gateway, mut server), ending) = (pair(), Ending::default());
        assert_eq!(ending.rest(&gateway), None);
        server.write_all(b"5\r\nab\r\n0\r\n").expect("sent");
        assert_eq!(seen(&ending, &gateway, 10), None);
        // Five bytes of body are "ab\r\n0", and nothing yet distinguishes what follows from the end.
        server.write_all(b"\r\n").expect("sent");
        assert_eq!(seen(&ending, &gateway, 12), Some(12));
        server.write_all(b"3\r\nabc\r\n").expect("sent");
        assert_eq!(seen(&ending, &gateway, 20), None);
        server.write_all(b"0\r\n\r\n").expect("sent");
        assert_eq!(seen(&ending, &gateway, 25), None, "it was not true before");
        ending.forget();
        assert_eq!(ending.rest(&gateway), Some(25));
        ending.forget();
        gateway.read_exact(&mut [0; 20]).expect("read");
        assert_eq!(ending.rest(&gateway), None, "the line end before it was read");
        drop(server);
        while !sys::is_closed_by_peer(gateway.as_fd()) {
            std::thread::yield_now();
        }
        assert_eq!(ending.rest(&gateway), Some(5));
    }

    #[test]
    fn what_waits_is_all_once_the_server_has_closed() {
        let ((gateway, mut server), ending) = (pair(), Ending::default());
        server.write_all(&[b'x'; 2 * MAX_EXAMINED_BYTES]).expect("sent");
        assert_eq!(seen(&ending, &gateway, 2 * MAX_EXAMINED_BYTES as u64), None);
        server.shutdown(Shutdown::Write).expect("closed");
        while !sys::is_closed_by_peer(gateway.as_fd()) {
            std::thread::yield_now();
        }
        assert_eq!(ending.rest(&gateway), Some(2 * MAX_EXAMINED_BYTES as u64));
        assert_eq!(ending.rest(&gateway), None, "it was said");
        ending.forget();
        assert_eq!(ending.rest(&gateway), Some(2 * MAX_EXAMINED_BYTES as u64));
    }

    #[test]
    fn of_more_than_is_examined_no_chunk_is_known() {
        let ((mut gateway, mut server), ending) = (pair(), Ending::default());
        server.write_all(&[b'x'; MAX_EXAMINED_BYTES]).expect("sent");
        server.write_all(EMPTY_CHUNK).expect("sent");
        let all = (MAX_EXAMINED_BYTES + EMPTY_CHUNK.len()) as u64;
        assert_eq!(seen(&ending, &gateway, all), None);
        gateway.read_exact(&mut [0; 2 * EMPTY_CHUNK.len()]).expect("read");
        assert_eq!(ending.rest(&gateway), Some((MAX_EXAMINED_BYTES - EMPTY_CHUNK.len()) as u64));
    }
}
