//! A connection to a server or a parent proxy, in clear or in TLS.
//!
//! The scheduler counts what the link carries, so the gate is below TLS.

use std::{
    io::{self, IoSlice},
    net::IpAddr,
    pin::Pin,
    rc::Rc,
    task::{Context, Poll, ready},
};

use tokio::{
    io::{AsyncBufReadExt, AsyncRead, AsyncReadExt, AsyncWrite, ReadBuf},
    net::TcpStream,
};
use tokio_rustls::{client::TlsStream, rustls::ClientConnection};

use super::{
    gated::{Gate, Gated},
    offered::Offered,
};

/// A gated connection.
#[derive(Debug)]
pub(crate) enum Line {
    Clear(Gated),
    // Boxed: buffers and keys would make every variant large.
    Tls(Box<TlsStream<Gated>>),
}

/// An established connection.
#[derive(Debug)]
pub(crate) struct Reached {
    pub(crate) line: Line,
    pub(crate) gate: Rc<Gate>,
    /// The server's address, if known.
    pub(crate) server: Option<IpAddr>,
}

/// A connection without its gate.
#[derive(Debug)]
pub(crate) struct Ungated {
    pub(crate) stream: TcpStream,
    pub(crate) offered: Offered,
    /// The TLS state, if it is in TLS.
    pub(crate) seal: Option<Box<ClientConnection>>,
}

impl Line {
    pub(crate) fn ungated(self) -> Ungated {
        let (gated, seal) = match self {
            Self::Clear(gated) => (gated, None),
            Self::Tls(stream) => {
                let (gated, seal) = stream.into_inner();
                (gated, Some(Box::new(seal)))
            }
        };
        let (stream, offered) = gated.ungated();
        Ungated { stream, offered, seal }
    }

    /// Copies available bytes without consuming them; returns 0 at the end.
    pub(super) async fn peek(&mut self, seen: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::Clear(gated) => gated.stream().peek(seen).await,
            Self::Tls(stream) => {
                let there = stream.fill_buf().await?;
                let length = there.len().min(seen.len());
                seen[..length].copy_from_slice(&there[..length]);
                Ok(length)
            }
        }
    }

    /// Consumes available bytes.
    pub(super) async fn skip(&mut self, bytes: usize) -> io::Result<()> {
        match self {
            Self::Clear(gated) => gated.read_exact(&mut vec![0; bytes]).await.map(drop),
            Self::Tls(stream) => {
                stream.consume(bytes);
                Ok(())
            }
        }
    }

    fn gate(&self) -> &Gate {
        match self {
            Self::Clear(gated) => gated.gate(),
            Self::Tls(stream) => stream.get_ref().0.gate(),
        }
    }
}

impl AsyncRead for Line {
    fn poll_read(self: Pin<&mut Self>, cx: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        let before = buffer.filled().len();
        ready!(match this {
            Self::Clear(gated) => Pin::new(gated).poll_read(cx, buffer),
            Self::Tls(stream) => Pin::new(stream).poll_read(cx, buffer),
        })?;
        Poll::Ready(this.gate().reads(&buffer.filled()[before..]))
    }
}

impl AsyncWrite for Line {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        match self.get_mut() {
            Self::Clear(gated) => Pin::new(gated).poll_write(cx, bytes),
            Self::Tls(stream) => Pin::new(stream).poll_write(cx, bytes),
        }
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        parts: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        match self.get_mut() {
            Self::Clear(gated) => Pin::new(gated).poll_write_vectored(cx, parts),
            Self::Tls(stream) => Pin::new(stream).poll_write_vectored(cx, parts),
        }
    }

    fn is_write_vectored(&self) -> bool {
        match self {
            Self::Clear(gated) => gated.is_write_vectored(),
            Self::Tls(stream) => stream.is_write_vectored(),
        }
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Clear(gated) => Pin::new(gated).poll_flush(cx),
            Self::Tls(stream) => Pin::new(stream).poll_flush(cx),
        }
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Clear(gated) => Pin::new(gated).poll_shutdown(cx),
            Self::Tls(stream) => Pin::new(stream).poll_shutdown(cx),
        }
    }
}
