//! Kernel interfaces that no library wraps: the only unsafe code of this crate.
//!
//! Every function here is safe to call: the preconditions of each system call are established in the few lines before it.
#![allow(unsafe_code)]

pub mod bpf;
mod packet;
mod ring;
mod sending;
#[cfg(feature = "af-xdp")]
mod xdp;

pub(crate) use ring::{Bytes, Layout, MAX_FRAME_BYTES, PacketSocket, Received};
pub(crate) use sending::BATCH;
#[cfg(feature = "af-xdp")]
pub(crate) use xdp::{Abilities, XdpSocket};

use std::io;

/// Blocks until the kernel has finished whatever it was doing with frames at the time of the call: some 10 ms.
///
/// # Errors
/// The system's error: ENOSYS or EINVAL if it cannot tell.
pub(crate) fn let_the_kernel_finish() -> io::Result<()> {
    const NO_FLAGS: libc::c_uint = 0;
    // SAFETY: it waits for each processor to have left the kernel's read-side critical sections (RCU), in which frames are
    // received and programs run, and touches no memory of the caller's.
    match unsafe { libc::syscall(libc::SYS_membarrier, libc::MEMBARRIER_CMD_GLOBAL, NO_FLAGS, 0) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}
