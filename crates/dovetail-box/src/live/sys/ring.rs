//! Packet sockets: receives frames through a ring shared between the kernel and this process.
//!
//! ```text
//! ring        places of `place_bytes`, in the kernel's order; a place is the kernel's, or ours while its status says so
//! a place     tpacket2_hdr | sockaddr_ll | ... | virtio_net_hdr (10 bytes) | frame, from tp_mac on
//! ```
//!
//! A frame longer than a slot (a GSO frame of up to 64 KiB) is truncated there and queued whole on the socket, in the same
//! order (`PACKET_COPY_THRESH`).

use std::{
    io,
    mem::{size_of, size_of_val, zeroed},
    ops::Deref,
    os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd},
    ptr::{self, NonNull},
    sync::atomic::{AtomicU8, AtomicU32, Ordering},
};

use super::{
    super::ahead::{LINE, PACKET, ask_for},
    packet::{bind, done, interface, packet_socket, promiscuous, set},
    sending::Plain,
};
use crate::wire::{offload::Offload, tag::Tag};

const OFFLOAD: usize = Offload::BYTES;
/// Maximum length of a frame: an IP packet of 64 KiB, a link header and two tags.
pub(crate) const MAX_FRAME_BYTES: usize = (1 << 16) + 64;

/// Supported by the oldest kernels as well (linux/if_packet.h).
const PACKET_COPY_THRESH: libc::c_int = 7;
const PACKET_VERSION: libc::c_int = 10;
const PACKET_VNET_HDR: libc::c_int = 15;
const PACKET_IGNORE_OUTGOING: libc::c_int = 23;
const PACKET_RX_RING: libc::c_int = 5;
const PACKET_STATISTICS: libc::c_int = 6;
const TPACKET_V2: libc::c_int = 1;
const STATUS_KERNEL: u32 = 0;
const STATUS_USER: u32 = 1;
const STATUS_COPY: u32 = 1 << 1;

/// The layout of a ring.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Layout {
    /// Bytes of a slot: a power of two that divides a page or is a multiple of one.
    pub place_bytes: u32,
    /// Number of slots.
    pub places: u32,
}

impl Layout {
    /// Bytes of a slot taken by headers, addresses and alignment.
    const AROUND: u32 = 160;
    /// Bytes of the whole ring: at 2 KiB per slot some 4,000 packets, 13 ms at 300,000 a second.
    const RING_BYTES: u32 = 8 << 20;

    /// The layout for frames of an interface with this MTU.
    pub(crate) fn for_mtu(mtu: u32) -> Self {
        let place_bytes = (mtu.min(1 << 16) + Self::AROUND).next_power_of_two().max(2048);
        Self { place_bytes, places: Self::RING_BYTES / place_bytes }
    }
}

/// The bytes of a frame.
#[derive(Debug)]
pub(crate) enum Bytes<'r> {
    /// In memory that the kernel will reuse.
    Shared(&'r [u8]),
    /// In a buffer of their own, which may be swapped for another.
    Own(&'r mut Vec<u8>),
}

impl Deref for Bytes<'_> {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match self {
            Self::Shared(bytes) => bytes,
            Self::Own(bytes) => bytes,
        }
    }
}

/// A frame as delivered by the kernel.
#[derive(Debug)]
pub(crate) struct Received<'r> {
    /// Its bytes, without an outer tag that the kernel has stripped.
    pub bytes: Bytes<'r>,
    /// `struct virtio_net_hdr`.
    pub offload: [u8; OFFLOAD],
    /// The outer tag.
    pub tag: Option<Tag>,
    /// Whether no other frame has arrived behind it yet.
    pub is_last: bool,
}

/// A packet socket on one interface.
#[derive(Debug)]
pub(crate) struct PacketSocket {
    socket: OwnedFd,
    plain: Plain,
    ring: NonNull<u8>,
    layout: Layout,
    next: u32,
    /// Whether the last frame was read as a whole: then the next may be, too.
    is_read: bool,
    /// Buffer for frames that do not fit a slot.
    long: Vec<u8>,
    /// Long frames that were truncated, and that the socket had no room for either.
    cut: u64,
    /// Frames for which the ring had no slot.
    missed: u64,
}

// SAFETY: the ring is memory of this process that only this value refers to.
unsafe impl Send for PacketSocket {}

impl PacketSocket {
    /// Opens a socket that receives nothing before it is [bound](Self::bind). Needs `CAP_NET_RAW`.
    ///
    /// # Errors
    /// The system's error.
    pub(crate) fn open(layout: Layout) -> io::Result<Self> {
        let socket = packet_socket()?;
        let fd = socket.as_fd();
        set(fd, libc::SOL_PACKET, PACKET_VERSION, &TPACKET_V2)?;
        set(fd, libc::SOL_PACKET, PACKET_VNET_HDR, &1)?;
        set(fd, libc::SOL_PACKET, PACKET_COPY_THRESH, &1)?;
        set(fd, libc::SOL_PACKET, PACKET_IGNORE_OUTGOING, &1)?;
        // Room for long frames; if the system refuses, what it allows is enough.
        let _ = set(fd, libc::SOL_SOCKET, libc::SO_RCVBUFFORCE, &(4 << 20));
        let pages = layout.place_bytes.max(64 << 10);
        let request = Request {
            block_bytes: pages,
            blocks: layout.places / (pages / layout.place_bytes),
            place_bytes: layout.place_bytes,
            places: layout.places,
        };
        set(fd, libc::SOL_PACKET, PACKET_RX_RING, &request)?;
        let bytes = layout.place_bytes as usize * layout.places as usize;
        // SAFETY: a new mapping of the ring's whole length, at an address of the kernel's choice.
        let ring = unsafe {
            let protection = libc::PROT_READ | libc::PROT_WRITE;
            libc::mmap(ptr::null_mut(), bytes, protection, libc::MAP_SHARED, socket.as_raw_fd(), 0)
        };
        if ring == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        let ring = NonNull::new(ring.cast()).ok_or_else(io::Error::last_os_error)?;
        Ok(Self {
            socket,
            plain: Plain::open()?,
            ring,
            layout,
            next: 0,
            is_read: false,
            long: Vec::new(),
            cut: 0,
            missed: 0,
        })
    }

    /// Starts receiving whatever arrives at an interface, for any address, and sends there.
    ///
    /// # Errors
    /// The system's error.
    pub(crate) fn bind(&self, interface: u32) -> io::Result<()> {
        promiscuous(self.as_fd(), interface)?;
        self.plain.bind(interface)?;
        bind(self.socket.as_raw_fd(), libc::ETH_P_ALL as u16, interface)
    }

    /// Shows the oldest received frame to `take`, which returns whether it has read the whole of it; returns whether there
    /// was one. Its slot returns to the kernel afterwards.
    pub(crate) fn receive(&mut self, take: impl FnOnce(Received<'_>) -> bool) -> bool {
        loop {
            let Some((flags, header)) = self.arrived(self.next) else { return false };
            let at = self.next;
            self.next = self.after(at);
            self.ask_ahead();
            let is_last = !self.has_arrived();
            let tag = Tag::of_slot(flags, header.tag, header.tag_type);
            let start = usize::from(header.mac);
            let end = start + header.held as usize;
            if start < size_of::<Header>() + OFFLOAD || end > self.layout.place_bytes as usize {
                self.give_back(at);
                self.cut += 1;
                continue;
            }
            if header.held < header.length {
                self.give_back(at);
                let whole = if flags & STATUS_COPY == 0 { None } else { self.receive_long() };
                let Some(offload) = whole else {
                    self.cut += 1;
                    continue;
                };
                take(Received { bytes: Bytes::Own(&mut self.long), offload, tag, is_last });
                return true;
            }
            // SAFETY: within the place, which is ours; the kernel does not write to it until the status is given back.
            let held = unsafe {
                std::slice::from_raw_parts(self.place(at).as_ptr().add(start - OFFLOAD), end - start + OFFLOAD)
            };
            let (offload, bytes) = held.split_at(OFFLOAD);
            let offload = offload.try_into().unwrap_or_default();
            self.is_read = take(Received { bytes: Bytes::Shared(bytes), offload, tag, is_last });
            self.give_back(at);
            return true;
        }
    }

    /// Reads a frame that is queued on the socket because it is longer than a slot; returns its offload metadata.
    fn receive_long(&mut self) -> Option<[u8; OFFLOAD]> {
        let mut offload = [0; OFFLOAD];
        self.long.clear();
        self.long.reserve(MAX_FRAME_BYTES);
        let mut parts = [
            libc::iovec { iov_base: offload.as_mut_ptr().cast(), iov_len: OFFLOAD },
            libc::iovec { iov_base: self.long.as_mut_ptr().cast(), iov_len: MAX_FRAME_BYTES },
        ];
        // SAFETY: all zeros are an empty message.
        let mut message: libc::msghdr = unsafe { zeroed() };
        (message.msg_iov, message.msg_iovlen) = (parts.as_mut_ptr(), parts.len());
        // A pending error, such as that the link went down, is reported once, and the frame is still there.
        let got = (0..2).find_map(|_| {
            // SAFETY: the kernel writes at most as many bytes as there is room for in the two parts.
            let got = unsafe { libc::recvmsg(self.socket.as_raw_fd(), &raw mut message, libc::MSG_DONTWAIT) };
            usize::try_from(got).ok()
        });
        let bytes = got?.checked_sub(OFFLOAD)?;
        // SAFETY: the kernel has written so many, of the room that was reserved.
        unsafe { self.long.set_len(bytes) };
        Some(offload)
    }

    /// The status and header of a slot, if a frame has arrived there: the slot is ours from then on.
    fn arrived(&self, at: u32) -> Option<(u32, Header)> {
        let flags = self.status(at).load(Ordering::Acquire);
        // SAFETY: the place is ours until it is given back, and has a whole header.
        (flags & STATUS_USER != 0).then(|| (flags, unsafe { ptr::read(self.place(at).as_ptr().cast::<Header>()) }))
    }

    fn has_arrived(&self) -> bool {
        self.status(self.next).load(Ordering::Relaxed) & STATUS_USER != 0
    }

    /// Returns a slot to the kernel.
    fn give_back(&self, at: u32) {
        self.status(at).store(STATUS_KERNEL, Ordering::Release);
    }

    fn status(&self, at: u32) -> &AtomicU32 {
        // SAFETY: a place begins with its status, aligned as the place is, and the kernel changes it as one word.
        unsafe { AtomicU32::from_ptr(self.place(at).as_ptr().cast()) }
    }

    /// Prefetches the next frame, if it has arrived and may be read, and the memory where the one behind it would begin.
    fn ask_ahead(&self) {
        /// The kernel's headers, and those of the frame.
        const BEGINNING: usize = 3 * LINE;
        if self.is_read
            && let Some((_, header)) = self.arrived(self.next)
        {
            let end = usize::from(header.mac) + header.held as usize;
            ask_for(self.shared(self.next, end), PACKET);
        }
        ask_for(self.shared(self.after(self.next), BEGINNING), BEGINNING);
    }

    /// The beginning of a slot, which the kernel may write to.
    fn shared(&self, at: u32, bytes: usize) -> &[AtomicU8] {
        let bytes = bytes.min(self.layout.place_bytes as usize);
        // SAFETY: within the place, and either side may write to it at any time.
        unsafe { std::slice::from_raw_parts(self.place(at).as_ptr().cast(), bytes) }
    }

    fn after(&self, at: u32) -> u32 {
        (at + 1) % self.layout.places
    }

    fn place(&self, at: u32) -> NonNull<u8> {
        let offset = at as usize * self.layout.place_bytes as usize;
        // SAFETY: `at` is below the number of places, so the offset is within the mapping.
        unsafe { self.ring.add(offset) }
    }

    /// Sends up to [`BATCH`](super::BATCH) frames in one call, each with the offloads left to the kernel; returns how many
    /// it took. Zero if what the interface has not sent yet leaves no room: this socket becomes writable when there is.
    ///
    /// # Errors
    /// The system's error about the first frame.
    pub(crate) fn send<'f>(
        &self,
        frames: impl Iterator<Item = (&'f [u8; OFFLOAD], &'f [u8])> + Clone,
    ) -> io::Result<usize> {
        self.plain.send(self.socket.as_fd(), frames)
    }

    /// Limits the bytes that may be held unsent.
    pub(crate) fn hold_unsent(&mut self, bytes: u32) -> io::Result<()> {
        self.plain.close();
        // The kernel doubles the given value, to allow for its bookkeeping.
        set(self.socket.as_fd(), libc::SOL_SOCKET, libc::SO_SNDBUF, &(bytes as libc::c_int))
    }

    /// The index and the MTU of the interface that currently has this name. The kernel answers without its lock of links,
    /// which may be taken for long.
    ///
    /// # Errors
    /// The system's error: ENODEV if there is none.
    pub(crate) fn interface(&self, name: &str) -> io::Result<(u32, u32)> {
        interface(self.socket.as_fd(), name)
    }

    /// Number of frames that arrived and were not received: the ring had no slot, or they were truncated.
    pub(crate) fn missed(&mut self) -> io::Result<u64> {
        let mut counts = [0u32; 2];
        let mut length = size_of_val(&counts) as libc::socklen_t;
        // SAFETY: the kernel writes at most `length` bytes to `counts`, which is that long.
        done(unsafe {
            let to = counts.as_mut_ptr().cast();
            libc::getsockopt(self.socket.as_raw_fd(), libc::SOL_PACKET, PACKET_STATISTICS, to, &raw mut length)
        })?;
        // The kernel resets its counter with each query.
        self.missed += u64::from(counts[1]);
        Ok(self.missed + self.cut)
    }
}

impl AsFd for PacketSocket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

impl Drop for PacketSocket {
    fn drop(&mut self) {
        let bytes = self.layout.place_bytes as usize * self.layout.places as usize;
        // SAFETY: this is the mapping that was made for this value, and nothing refers to it any more.
        unsafe { libc::munmap(self.ring.as_ptr().cast(), bytes) };
    }
}

/// `struct tpacket_req`.
#[repr(C)]
struct Request {
    block_bytes: u32,
    blocks: u32,
    place_bytes: u32,
    places: u32,
}

/// `struct tpacket2_hdr`.
#[repr(C)]
#[derive(Clone, Copy)]
struct Header {
    status: u32,
    length: u32,
    held: u32,
    mac: u16,
    net: u16,
    seconds: u32,
    nanos: u32,
    tag: u16,
    tag_type: u16,
    padding: [u8; 4],
}
