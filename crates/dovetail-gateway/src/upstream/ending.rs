//! Whether all that is left of a response is here.
//!
//! Where nothing says how long a response is, its sender is let send more than there is, and its last bytes wait for turns that
//! let in nothing while others wait for them. But its end can be seen in what waits, before it is read:
//!
//! * The server has closed the connection. Then what waits is all.
//! * What waits ends as chunked responses do, with a chunk of no bytes and no trailers (RFC 9112, section 7.1). A response can
//!   look so and go on: then more comes, and the scheduler believes no length that was passed. It is said once of a response: one that
//!   looks so again and again would never wait for turns.
//!
//! Within TLS only the first can be seen. It is looked for when a turn is asked for: what comes later is seen at the next.

use std::{cell::Cell, os::fd::AsFd};

use rustix::{
    io::ioctl_fionread,
    net::{RecvFlags, recv},
};

use crate::sys;

/// The end of the last chunk but one, and the empty chunk.
const EMPTY_CHUNK: &[u8] = b"\r\n0\r\n\r\n";

/// Where as much waits, its end is not looked for: it is copied for that.
const MOST_EXAMINED: usize = 16 * 1024;

/// What was seen of a response so far.
#[derive(Debug, Default)]
pub(super) struct Ending(Cell<Said>);

/// Why it was said that what waits is all.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Said {
    #[default]
    Nothing,
    EmptyChunk,
    Closed,
}

impl Ending {
    /// Bytes that wait, if they are all that is left. Once for each sign of it.
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

    /// Another response begins.
    pub(super) fn forget(&self) {
        self.0.take();
    }
}

/// Bytes that wait, where the last of them are an empty chunk.
fn up_to_empty_chunk(socket: impl AsFd) -> Option<u64> {
    let mut bytes = [0; MOST_EXAMINED];
    let (waits, _) = recv(socket, &mut bytes, RecvFlags::PEEK | RecvFlags::DONTWAIT).ok()?;
    (waits < MOST_EXAMINED && bytes[..waits].ends_with(EMPTY_CHUNK)).then_some(waits as u64)
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

    /// What is said once so much waits.
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
        // Five bytes of a body are "ab\r\n0", and as yet nothing tells what comes next from the end.
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
        server.write_all(&[b'x'; 2 * MOST_EXAMINED]).expect("sent");
        assert_eq!(seen(&ending, &gateway, 2 * MOST_EXAMINED as u64), None);
        server.shutdown(Shutdown::Write).expect("closed");
        while !sys::is_closed_by_peer(gateway.as_fd()) {
            std::thread::yield_now();
        }
        assert_eq!(ending.rest(&gateway), Some(2 * MOST_EXAMINED as u64));
        assert_eq!(ending.rest(&gateway), None, "it was said");
        ending.forget();
        assert_eq!(ending.rest(&gateway), Some(2 * MOST_EXAMINED as u64));
    }

    #[test]
    fn of_more_than_is_examined_no_chunk_is_known() {
        let ((mut gateway, mut server), ending) = (pair(), Ending::default());
        server.write_all(&[b'x'; MOST_EXAMINED]).expect("sent");
        server.write_all(EMPTY_CHUNK).expect("sent");
        let all = (MOST_EXAMINED + EMPTY_CHUNK.len()) as u64;
        assert_eq!(seen(&ending, &gateway, all), None);
        gateway.read_exact(&mut [0; 2 * EMPTY_CHUNK.len()]).expect("read");
        assert_eq!(ending.rest(&gateway), Some((MOST_EXAMINED - EMPTY_CHUNK.len()) as u64));
    }
}
