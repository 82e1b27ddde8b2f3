//! What the kernel offers and no library wraps: the only unsafe code of this crate.
//!
//! Every function here is safe to call: what must hold for a call to the kernel is established in the few lines before it.
#![allow(unsafe_code)]

pub mod bpf;
mod packet;
mod ring;
mod sending;
#[cfg(feature = "af-xdp")]
mod xdp;

pub(crate) use ring::{Bytes, LONGEST, Layout, PacketSocket, Received};
pub(crate) use sending::BATCH;
#[cfg(feature = "af-xdp")]
pub(crate) use xdp::{Abilities, XdpSocket};

use std::io;

/// Waits until whatever the kernel was doing with a frame when this was called is done: some 10 ms.
///
/// # Errors
/// The system's: ENOSYS or EINVAL where it cannot tell.
pub(crate) fn let_the_kernel_finish() -> io::Result<()> {
    const NO_FLAGS: libc::c_uint = 0;
    // SAFETY: it waits for each processor to have left the kernel's read-side critical sections (RCU), in which frames are
    // received and programs run, and touches no memory of the caller's.
    match unsafe { libc::syscall(libc::SYS_membarrier, libc::MEMBARRIER_CMD_GLOBAL, NO_FLAGS, 0) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}
