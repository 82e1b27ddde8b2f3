//! Opens the socket: memory and rings are registered with the kernel, all receive chunks are handed to it, and the socket
//! is bound to the interface's queue.

use std::{
    io,
    mem::{size_of, size_of_val, zeroed},
    os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd},
    ptr, thread,
    time::Duration,
};

use super::{
    super::{
        packet::{done, packet_socket, promiscuous, set},
        sending::BATCH,
    },
    SENDING, XdpSocket,
    memory::Mapping,
    rings::Ring,
};

/// Space that the kernel reserves in front of a received frame.
const HEADROOM: u32 = 256;
/// Bytes of the receive chunks: the size of a packet socket's ring.
const RECEIVE_BYTES: u32 = 8 << 20;
/// The only queue that an interface may have.
const QUEUE: u32 = 0;
/// Number of attempts to bind to a queue that another socket has, and the interval between them: two seconds in total.
const TRIES: u32 = 100;
const BETWEEN_TRIES: Duration = Duration::from_millis(20);
/// linux/if_xdp.h
const XDP_MAX_TX_SKB_BUDGET: libc::c_int = 9;
/// Number of frames that the kernel sends per call if it cannot be configured (TX_BATCH_SIZE, net/xdp/xsk.c). Before Linux
/// 6.17 it reports how many it has taken only once it finds the ring empty.
const USUAL_BATCH: usize = 32;

impl XdpSocket {
    /// Maximum length of a received frame with chunks of this size.
    const fn room(chunk_bytes: u32) -> u32 {
        chunk_bytes - HEADROOM
    }

    /// Opens a socket on an interface that receives nothing until a program redirects frames to it. Needs `CAP_NET_RAW`,
    /// and `CAP_IPC_LOCK` or a sufficient `RLIMIT_MEMLOCK`.
    ///
    /// # Errors
    /// The system's error; `EMSGSIZE` if frames of this many bytes do not fit a chunk.
    pub(crate) fn open(index: u32, frame_bytes: u32) -> io::Result<Self> {
        let chunk_bytes = [2048, 4096].into_iter().find(|&chunk| frame_bytes <= Self::room(chunk));
        let chunk_bytes = chunk_bytes.ok_or_else(|| io::Error::from_raw_os_error(libc::EMSGSIZE))?;
        let receiving = RECEIVE_BYTES / chunk_bytes;
        let beside = packet_socket()?;
        promiscuous(beside.as_fd(), index)?;
        let kind = libc::SOCK_RAW | libc::SOCK_CLOEXEC | libc::SOCK_NONBLOCK;
        // SAFETY: no memory is involved.
        let socket = unsafe { libc::socket(libc::AF_XDP, kind, 0) };
        done(socket)?;
        // SAFETY: the kernel has just given us this descriptor.
        let socket = unsafe { OwnedFd::from_raw_fd(socket) };
        let fd = socket.as_fd();
        let memory = Mapping::anonymous(chunk_bytes as usize * (receiving + SENDING) as usize)?;
        let region = libc::xdp_umem_reg {
            addr: memory.at.as_ptr() as u64,
            len: memory.bytes as u64,
            chunk_size: chunk_bytes,
            headroom: 0,
            flags: 0,
            tx_metadata_len: 0,
        };
        set(fd, libc::SOL_XDP, libc::XDP_UMEM_REG, &region)?;
        set(fd, libc::SOL_XDP, libc::XDP_UMEM_FILL_RING, &receiving)?;
        set(fd, libc::SOL_XDP, libc::XDP_UMEM_COMPLETION_RING, &SENDING)?;
        set(fd, libc::SOL_XDP, libc::XDP_RX_RING, &receiving)?;
        set(fd, libc::SOL_XDP, libc::XDP_TX_RING, &SENDING)?;
        // A whole batch per call on Linux 6.17 or newer; else 32 frames.
        let batch =
            if set(fd, libc::SOL_XDP, XDP_MAX_TX_SKB_BUDGET, &(BATCH as u32)).is_ok() { BATCH } else { USUAL_BATCH };
        let offsets = option::<libc::xdp_mmap_offsets>(fd, libc::XDP_MMAP_OFFSETS)?;
        let mut fill = Ring::map(fd, &offsets.fr, receiving, libc::XDP_UMEM_PGOFF_FILL_RING as libc::off_t)?;
        for chunk in 0..receiving {
            fill.put(u64::from(chunk) * u64::from(chunk_bytes));
        }
        fill.publish();
        let sent = Ring::map(fd, &offsets.cr, SENDING, libc::XDP_UMEM_PGOFF_COMPLETION_RING as libc::off_t)?;
        let received = Ring::map(fd, &offsets.rx, receiving, libc::XDP_PGOFF_RX_RING)?;
        let sending = Ring::map(fd, &offsets.tx, SENDING, libc::XDP_PGOFF_TX_RING)?;
        let address = libc::sockaddr_xdp {
            sxdp_family: libc::AF_XDP as u16,
            sxdp_flags: libc::XDP_COPY,
            sxdp_ifindex: index,
            sxdp_queue_id: QUEUE,
            sxdp_shared_umem_fd: 0,
        };
        let length = size_of_val(&address) as libc::socklen_t;
        // The kernel takes some milliseconds to detach a socket that was closed.
        let mut left = TRIES;
        loop {
            // SAFETY: the kernel reads `length` bytes of `address`.
            match done(unsafe { libc::bind(socket.as_raw_fd(), ptr::from_ref(&address).cast(), length) }) {
                Err(wrong) if wrong.raw_os_error() == Some(libc::EBUSY) && left > 0 => {
                    left -= 1;
                    thread::sleep(BETWEEN_TRIES);
                }
                answer => break answer?,
            }
        }
        let free = (receiving..receiving + SENDING).map(|chunk| u64::from(chunk) * u64::from(chunk_bytes)).collect();
        Ok(Self {
            socket,
            beside,
            memory,
            chunk_bytes,
            fill,
            received,
            sending,
            sent,
            free,
            is_free: vec![true; SENDING as usize],
            batch,
            unreturned: 0,
            is_read: false,
            is_refusing: false,
        })
    }
}

/// Reads a socket option of an AF_XDP socket.
pub(super) fn option<T>(socket: BorrowedFd<'_>, name: libc::c_int) -> io::Result<T> {
    // SAFETY: the structures that are asked for here consist of numbers, which may be zero.
    let mut value: T = unsafe { zeroed() };
    let mut length = size_of::<T>() as libc::socklen_t;
    // SAFETY: the kernel writes at most `length` bytes to `value`, which is that long.
    done(unsafe {
        let to = ptr::from_mut(&mut value).cast();
        libc::getsockopt(socket.as_raw_fd(), libc::SOL_XDP, name, to, &raw mut length)
    })?;
    // Older kernels return shorter structures.
    if length as usize == size_of::<T>() { Ok(value) } else { Err(io::ErrorKind::Unsupported.into()) }
}
