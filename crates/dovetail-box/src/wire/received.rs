//! Converts what an interface delivers to the frames that it represents.
//!
//! There may be one or many: the caller asks for their number and lengths, finds room for each, and has those written that
//! it keeps.
//!
//! ```
//! use dovetail_box::wire::{offload::Offload, received::Received, tag::Tag};
//!
//! let frame = [0; 60];
//! let tag = Tag { protocol: 0x8100, control: 7 };
//! let received = Received::new(&frame, Offload::NONE, Some(tag))?;
//! let mut sent = Vec::new();
//! for index in 0..received.count() {
//!     assert_eq!(received.length(index), Some(64));
//!     assert!(received.write(index, &mut sent));
//!     assert_eq!(sent[12..16], [0x81, 0, 0, 7]);
//! }
//! # Ok::<_, dovetail_box::wire::Refused>(())
//! ```

use super::{
    Refused,
    checksum::{complete, missing},
    offload::{Offload, Partial},
    segments::{Segments, is_of_inner},
    tag::{self, TAG, Tag},
};

/// One frame, or one that represents many. Borrows the frame, keeps no copy.
#[derive(Debug, Clone)]
pub struct Received<'a>(Form<'a>);

#[derive(Debug, Clone)]
enum Form<'a> {
    Whole { frame: &'a [u8], tag: Option<Tag>, partial: Option<Partial> },
    Split(Segments<'a>),
}

impl<'a> Received<'a> {
    /// Wraps a frame as delivered: without its outer tag, and with its offload metadata. It must be complete: frames
    /// truncated by a ring's slot must not be passed. The time does not depend on the frame's length.
    ///
    /// # Errors
    /// The metadata does not match the frame; see [`Segments::new`]. Nothing of such a frame can be forwarded.
    pub fn new(frame: &'a [u8], offload: Offload, tag: Option<Tag>) -> Result<Self, Refused> {
        if let Some(segmented) = offload.segmented {
            return Ok(Self(Form::Split(Segments::new(frame, offload.partial, segmented, tag)?)));
        }
        if frame.len() < tag::ADDRESSES {
            return Err(Refused::Short);
        }
        let partial = match offload.partial {
            Some(partial) if missing(frame, partial).is_err() => return Err(Refused::Checksum),
            // A checksum within the addresses is invalid, and a tag would be inserted in between.
            Some(partial) if usize::from(partial.start) < tag::ADDRESSES => return Err(Refused::Checksum),
            Some(partial) if tag.is_some() => Some(partial.behind(TAG as u16)?),
            partial => partial,
        };
        Ok(Self(Form::Whole { frame, tag, partial }))
    }

    /// A long frame in a tunnel, which must be split even if others are not: the kernel does not accept it back. `None` for
    /// any other frame. The time does not depend on the frame's length.
    ///
    /// # Errors
    /// It cannot be split here either, for example in a tunnel of an unknown kind.
    pub fn in_tunnel(frame: &'a [u8], offload: Offload, tag: Option<Tag>) -> Option<Result<Self, Refused>> {
        let split = offload.segmented?;
        is_of_inner(frame, offload.partial, split.kind).then(|| Self::new(frame, offload, tag))
    }

    /// Number of frames: at least 1, at most [`MAX_SEGMENTS`](super::segments::MAX_SEGMENTS). Constant time.
    #[must_use]
    pub fn count(&self) -> usize {
        match &self.0 {
            Form::Whole { .. } => 1,
            Form::Split(segments) => segments.count(),
        }
    }

    /// Length of one of them in bytes, with its tag. Constant time.
    #[must_use]
    pub fn length(&self, index: usize) -> Option<usize> {
        match &self.0 {
            Form::Whole { frame, tag, .. } => (index == 0).then(|| frame.len() + tag::bytes(*tag)),
            Form::Split(segments) => segments.length(index),
        }
    }

    /// Replaces the contents of `into` by one of them, in its form on the wire: with its tag in place, and checksums filled
    /// in. Returns `false`, with `into` unchanged, if there is no such frame. Copies that frame, and sums it if a checksum
    /// was missing.
    pub fn write(&self, index: usize, into: &mut Vec<u8>) -> bool {
        match &self.0 {
            Form::Whole { frame, tag, partial } => {
                index == 0
                    && tag::put_back(frame, *tag, into).is_ok()
                    && partial.is_none_or(|partial| complete(into, partial).is_ok())
            }
            Form::Split(segments) => segments.write(index, into),
        }
    }
}

#[cfg(test)]
mod tests;
