//! Bodies under the control of a test.
#![allow(dead_code)]

use std::{
    collections::VecDeque,
    convert::Infallible,
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    },
    task::{Context, Poll},
};

use bytes::Bytes;
use http_body::{Body, Frame};
use http_body_util::BodyExt;
use tokio::sync::mpsc;

/// A body fed by a channel.
pub struct Piped(pub mpsc::UnboundedReceiver<Result<Frame<Bytes>, &'static str>>);

impl Body for Piped {
    type Data = Bytes;
    type Error = &'static str;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, &'static str>>> {
        self.0.poll_recv(cx)
    }
}

/// Frames of these lengths, each ready when polled; counts the polled ones.
pub struct Made(VecDeque<usize>, Arc<AtomicU32>);

impl Made {
    pub fn new(lengths: impl IntoIterator<Item = usize>) -> (Self, Arc<AtomicU32>) {
        let polled = Arc::new(AtomicU32::new(0));
        (Self(lengths.into_iter().collect(), Arc::clone(&polled)), polled)
    }

    /// This many frames of one byte each; practically endless if that is large.
    pub fn singles(frames: usize) -> Self {
        Self::new(std::iter::repeat_n(1, frames)).0
    }
}

impl Body for Made {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(mut self: Pin<&mut Self>, _cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let next = self.0.pop_front();
        self.1.fetch_add(u32::from(next.is_some()), Ordering::Relaxed);
        Poll::Ready(next.map(|length| Ok(Frame::data(vec![0; length].into()))))
    }
}

/// Reads a body in the background to its end or its error.
pub fn reads<B>(body: B) -> tokio::task::JoinHandle<Result<(), B::Error>>
where
    B: Body + Send + 'static,
    B::Data: Send,
    B::Error: Send,
{
    tokio::spawn(async move {
        let mut body = std::pin::pin!(body);
        while let Some(frame) = body.frame().await {
            frame?;
        }
        Ok(())
    })
}
