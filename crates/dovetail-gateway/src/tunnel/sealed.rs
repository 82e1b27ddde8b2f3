//! Presents a tunnel's client to a server side in TLS.
//!
//! Turns, windows and peeks count bytes as the link carries them. So a tunnel carries TLS records as they are, and TLS ends
//! here, on its client's side: what is written is decrypted for the client, and what the client sends is read encrypted.

use std::{
    io::{self, Read, Write},
    pin::Pin,
    task::{Context, Poll, ready},
};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio_rustls::rustls::{ClientConnection, IoState};

/// Bytes read from a client at a time.
const MAX_READ_BYTES: usize = 8 * 1024;

/// A client, and the TLS session for it.
pub(super) struct Sealed<C> {
    client: C,
    session: Box<ClientConnection>,
    // Decrypted bytes, which the client has not taken from this position on.
    opened: Vec<u8>,
    taken: usize,
    // The client has closed its side, and that was passed on.
    is_over: bool,
}

impl<C: AsyncRead + AsyncWrite + Unpin> Sealed<C> {
    /// `first` has what was decrypted before.
    ///
    /// # Errors
    /// If the session has failed.
    pub(super) fn new(client: C, session: Box<ClientConnection>, first: &[u8]) -> io::Result<Self> {
        let mut sealed = Self { client, session, opened: first.to_vec(), taken: 0, is_over: false };
        sealed.open()?;
        Ok(sealed)
    }

    /// The number of bytes that the client has not taken yet.
    pub(super) fn waiting(&self) -> usize {
        self.opened.len() - self.taken
    }

    /// Decrypts what was received.
    fn open(&mut self) -> io::Result<IoState> {
        let invalid = |error| io::Error::new(io::ErrorKind::InvalidData, error);
        let state = self.session.process_new_packets().map_err(invalid)?;
        let before = self.opened.len();
        self.opened.resize(before + state.plaintext_bytes_to_read(), 0);
        self.session.reader().read_exact(&mut self.opened[before..])?;
        Ok(state)
    }

    fn poll_opened(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        while self.waiting() > 0 {
            match ready!(Pin::new(&mut self.client).poll_write(cx, &self.opened[self.taken..]))? {
                0 => return Poll::Ready(Err(io::ErrorKind::WriteZero.into())),
                written => self.taken += written,
            }
        }
        // An idle tunnel needs no buffer.
        (self.opened, self.taken) = (Vec::new(), 0);
        Poll::Ready(Ok(()))
    }
}

/// A sink for encrypted bytes, as far as there is space.
struct Room<'r, 'b>(&'r mut ReadBuf<'b>);

impl Write for Room<'_, '_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let length = bytes.len().min(self.0.remaining());
        self.0.put_slice(&bytes[..length]);
        Ok(length)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl<C: AsyncRead + AsyncWrite + Unpin> AsyncRead for Sealed<C> {
    fn poll_read(self: Pin<&mut Self>, cx: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        while !this.session.wants_write() {
            if this.is_over {
                return Poll::Ready(Ok(()));
            }
            let mut bytes = [0; MAX_READ_BYTES];
            let mut said = ReadBuf::new(&mut bytes[..MAX_READ_BYTES.min(buffer.remaining())]);
            ready!(Pin::new(&mut this.client).poll_read(cx, &mut said))?;
            if said.filled().is_empty() {
                this.session.send_close_notify();
                this.is_over = true;
            } else {
                this.session.writer().write_all(said.filled())?;
            }
        }
        while this.session.wants_write() && buffer.remaining() > 0 {
            this.session.write_tls(&mut Room(buffer))?;
        }
        Poll::Ready(Ok(()))
    }
}

impl<C: AsyncRead + AsyncWrite + Unpin> AsyncWrite for Sealed<C> {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        ready!(this.poll_opened(cx))?;
        let mut rest = bytes;
        let took = this.session.read_tls(&mut rest)?;
        let is_ended = this.open()?.peer_has_closed();
        // What the client does not take now is written by the next write or flush.
        if let Poll::Ready(Err(error)) = this.poll_opened(cx) {
            return Poll::Ready(Err(error));
        }
        // After the server's end nothing more is read.
        Poll::Ready(Ok(if is_ended { bytes.len() } else { took }))
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        ready!(this.poll_opened(cx))?;
        Pin::new(&mut this.client).poll_flush(cx)
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        ready!(this.poll_opened(cx))?;
        Pin::new(&mut this.client).poll_shutdown(cx)
    }
}
