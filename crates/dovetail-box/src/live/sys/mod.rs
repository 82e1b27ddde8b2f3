//! What the kernel offers and no library wraps: the only unsafe code of this crate.
//!
//! Every function here is safe to call: what must hold for a call to the kernel is established in the few lines before it.
#![allow(unsafe_code)]

pub mod bpf;
mod ring;
#[cfg(feature = "af-xdp")]
mod xdp;

pub(crate) use ring::{BATCH, Bytes, LONGEST, Layout, PacketSocket, Received};
#[cfg(feature = "af-xdp")]
pub(crate) use xdp::{Abilities, XdpSocket};
