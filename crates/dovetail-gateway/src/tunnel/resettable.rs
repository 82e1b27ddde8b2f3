//! A client's stream that tells a reset from an end.
//!
//! hyper reads a stream over HTTP/2 that its client has cancelled as if the client had ended its side. Then a tunnel would wait
//! for a server that need not answer. Only writing fails, as soon as hyper's own task has seen the reset.

use std::{
    io,
    pin::Pin,
    task::{Context, Poll, ready},
};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// A client.
pub(super) struct Resettable<C> {
    client: C,
    has_ended: bool,
}

impl<C> Resettable<C> {
    pub(super) const fn new(client: C) -> Self {
        Self { client, has_ended: false }
    }
}

impl<C: AsyncRead + AsyncWrite + Unpin> AsyncRead for Resettable<C> {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        ready!(Pin::new(&mut self.client).poll_read(cx, buffer))?;
        if buffer.filled().len() > before {
            return Poll::Ready(Ok(()));
        }
        if let Poll::Ready(Err(error)) = Pin::new(&mut self.client).poll_flush(cx) {
            return Poll::Ready(Err(error));
        }
        if !std::mem::replace(&mut self.has_ended, true) {
            // hyper's task runs before this one does again.
            cx.waker().wake_by_ref();
            return Poll::Pending;
        }
        Poll::Ready(Ok(()))
    }
}

impl<C: AsyncWrite + Unpin> AsyncWrite for Resettable<C> {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.client).poll_write(cx, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.client).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.client).poll_shutdown(cx)
    }
}
