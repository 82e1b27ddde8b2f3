//! AF_XDP sockets: frames in and out through rings that the kernel and this process share, in copy mode.
//!
//! ```text
//! memory      chunks of 2 or 4 KiB: those for receiving first, then those for sending
//! fill        chunks that the kernel may fill      received   frames that it has filled
//! sending     frames that are to leave             sent       chunks that it has sent
//! ```
//!
//! A frame begins 256 bytes into its chunk when it was received, and at the chunk's beginning when it is sent. The kernel
//! takes frames from `sending` only within [`XdpSocket::send`], whose system call copies them.

use std::{
    io,
    marker::PhantomData,
    mem::{size_of, size_of_val, zeroed},
    os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd},
    ptr::{self, NonNull},
    sync::atomic::{AtomicU32, Ordering},
    thread,
    time::Duration,
};

use super::super::ahead::{LINE, PACKET, ask_for};
use super::{
    packet::{done, interface, packet_socket, promiscuous, set},
    ring::{Bytes, Received},
    sending::BATCH,
};
use crate::wire::offload::Offload;

/// What the kernel keeps before a frame that it has received.
const HEADROOM: u32 = 256;
/// Bytes of the chunks for receiving: as many as a packet socket's ring has.
const RECEIVE_BYTES: u32 = 8 << 20;
/// Chunks for sending: some batches, since interfaces give them back later.
const SENDING: u32 = 8 * BATCH as u32;
/// The only queue that an interface may have.
const QUEUE: u32 = 0;
/// How often a queue is asked for that another socket has, and how long to wait in between: two seconds in all.
const TRIES: u32 = 100;
const BETWEEN_TRIES: Duration = Duration::from_millis(20);
/// linux/if_xdp.h
const XDP_MAX_TX_SKB_BUDGET: libc::c_int = 9;
/// What the kernel sends in a call where it cannot be told (TX_BATCH_SIZE, net/xdp/xsk.c). Before Linux 6.17 it says how much it has
/// taken only once it finds the ring empty.
const USUAL_BATCH: usize = 32;
/// How many chunks the kernel gets back at once: each time takes cache lines from the processor that receives.
const RETURN_AT_ONCE: u32 = 16;
/// An address beyond the memory: the kernel steps over such a frame.
const NOWHERE: u64 = u64::MAX;

/// An AF_XDP socket on one interface.
#[derive(Debug)]
pub(crate) struct XdpSocket {
    socket: OwnedFd,
    /// A packet socket at which nothing arrives: it has the interface take frames to any address.
    beside: OwnedFd,
    memory: Mapping,
    chunk_bytes: u32,
    fill: Ring<u64>,
    received: Ring<libc::xdp_desc>,
    sending: Ring<libc::xdp_desc>,
    sent: Ring<u64>,
    /// Chunks for sending that are not the kernel's, and whether each is: of some frames that it refuses for want of a carrier the
    /// kernel gives the chunk back as sent, and says that it has not taken them.
    free: Vec<u64>,
    is_free: Vec<bool>,
    /// How many frames may be in the ring at once.
    batch: usize,
    /// Chunks that were received and are in `fill`, which the kernel does not know yet.
    unreturned: u32,
    /// Whether the last frame was read as a whole: then the next may be.
    is_read: bool,
    /// The kernel has just refused a frame: the next is tried alone.
    is_refusing: bool,
}

impl XdpSocket {
    /// The longest frame of a chunk of this size that can be received.
    const fn room(chunk_bytes: u32) -> u32 {
        chunk_bytes - HEADROOM
    }

    /// Opens a socket on an interface, at which nothing arrives until a program sends frames there. Needs `CAP_NET_RAW`, and
    /// `CAP_IPC_LOCK` or as much in `RLIMIT_MEMLOCK`.
    ///
    /// # Errors
    /// The system's; `EMSGSIZE` where frames of this many bytes do not fit a chunk.
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
        // A whole batch in a call, where Linux is 6.17 or newer; else 32 frames.
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
        // The kernel takes some milliseconds until it has parted from a socket that was closed.
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

    /// The oldest frame that has arrived, shown to `take`, which says whether it has read the whole of it; whether there was one.
    /// Its chunk is the kernel's again with the next few, or when no more has arrived.
    pub(crate) fn receive(&mut self, take: impl FnOnce(Received<'_>) -> bool) -> bool {
        let Some(frame) = self.received.next() else {
            self.give_back();
            return false;
        };
        if let Some(behind) = self.received.peek() {
            // SAFETY: as of the frame itself, below.
            let bytes = unsafe { self.memory.part(behind.addr, behind.len) };
            ask_for(bytes.unwrap_or_default(), if self.is_read { PACKET } else { 2 * LINE });
        }
        // SAFETY: the kernel has filled this part of a chunk, and does not touch the chunk until it gets it back.
        let bytes = unsafe { self.memory.part(frame.addr, frame.len) };
        let is_last = !self.received.has_next();
        let offload = Offload::NONE.bytes();
        let received = bytes.map(|bytes| Received { bytes: Bytes::Shared(bytes), offload, tag: None, is_last });
        self.is_read = received.is_some_and(take);
        self.fill.put(frame.addr & !u64::from(self.chunk_bytes - 1));
        self.unreturned += 1;
        if self.unreturned >= RETURN_AT_ONCE {
            self.give_back();
        }
        true
    }

    /// Tells the kernel which chunks it has back.
    fn give_back(&mut self) {
        if self.unreturned > 0 {
            self.received.release();
            self.fill.publish();
            self.unreturned = 0;
        }
    }

    /// Sends up to [`BATCH`] frames in few calls; how many the interface took. Zero when it has no room.
    ///
    /// # Errors
    /// The system's about the first frame.
    pub(crate) fn send<'f>(&mut self, frames: impl Iterator<Item = &'f [u8]>) -> io::Result<usize> {
        let before = self.sent.at;
        while let Some(chunk) = self.sent.next() {
            // Linux 6.18 gives back what it has stepped over as well.
            if chunk < self.memory.bytes as u64 {
                self.freed(chunk & !u64::from(self.chunk_bytes - 1));
            }
        }
        if self.sent.at != before {
            self.sent.release();
        }
        if !self.step_over()? {
            return Ok(0);
        }
        let first = self.sending.at;
        let most = if self.is_refusing { 1 } else { self.batch };
        for bytes in frames.take(most) {
            if bytes.len() > self.chunk_bytes as usize {
                if self.sending.at == first {
                    return Err(io::Error::from_raw_os_error(libc::EMSGSIZE));
                }
                break;
            }
            let Some(chunk) = self.free.pop() else { break };
            let number = self.number(chunk);
            self.is_free[number] = false;
            // SAFETY: the chunk is for sending and not the kernel's, and the frame is no longer than it.
            unsafe {
                let to = self.memory.at.as_ptr().add(chunk as usize);
                ptr::copy_nonoverlapping(bytes.as_ptr(), to, bytes.len());
            }
            self.sending.put(libc::xdp_desc { addr: chunk, len: bytes.len() as u32, options: 0 });
        }
        let count = self.sending.at.wrapping_sub(first);
        if count == 0 {
            return Ok(0);
        }
        self.sending.publish();
        let mut taken = 0;
        let answer = loop {
            let answer = self.push_out();
            let before = taken;
            taken = self.sending.theirs().wrapping_sub(first);
            // A call sends so many, or 32 frames.
            if taken == count || taken == before {
                break answer;
            }
        };
        // The kernel would send the others whenever it is asked next: it is to step over them.
        for left in taken..count {
            let chunk = self.sending.leave_out(first.wrapping_add(left));
            self.freed(chunk);
        }
        self.is_refusing = taken == 0 && answer.is_err();
        if taken == 0 { answer.map(|()| 0) } else { Ok(taken as usize) }
    }

    /// A chunk is not the kernel's any more.
    fn freed(&mut self, chunk: u64) {
        let number = self.number(chunk);
        if self.is_free.get_mut(number).is_some_and(|is_free| !std::mem::replace(is_free, true)) {
            self.free.push(chunk);
        }
    }

    /// Which of the chunks for sending it is: they come after those for receiving.
    fn number(&self, chunk: u64) -> usize {
        let sending = self.memory.bytes as u64 - u64::from(SENDING) * u64::from(self.chunk_bytes);
        (chunk.wrapping_sub(sending) / u64::from(self.chunk_bytes)) as usize
    }

    /// Has the kernel step over what was left in the ring; whether it has.
    fn step_over(&self) -> io::Result<bool> {
        /// It steps over them in one call, and says so in the next.
        const CALLS: u32 = 3;
        for _ in 0..CALLS {
            if self.sending.theirs() == self.sending.at {
                return Ok(true);
            }
            self.push_out()?;
        }
        Ok(self.sending.theirs() == self.sending.at)
    }

    /// Has the kernel send what is in the ring, as far as there is room.
    fn push_out(&self) -> io::Result<()> {
        // SAFETY: nothing is read or written at an address.
        let answer =
            unsafe { libc::sendto(self.socket.as_raw_fd(), ptr::null(), 0, libc::MSG_DONTWAIT, ptr::null(), 0) };
        match done(answer as libc::c_int) {
            Err(wrong) if matches!(wrong.raw_os_error(), Some(libc::EAGAIN | libc::ENOBUFS | libc::EBUSY)) => Ok(()),
            answer => answer,
        }
    }

    /// The socket itself, for the map that its program looks it up in.
    pub(crate) fn descriptor(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }

    /// As of a packet socket.
    ///
    /// # Errors
    /// The system's: ENODEV where there is none.
    pub(crate) fn interface(&self, name: &str) -> io::Result<(u32, u32)> {
        interface(self.beside.as_fd(), name)
    }

    /// Frames that arrived and were not seen: there was no chunk, or the ring was full.
    pub(crate) fn missed(&self) -> io::Result<u64> {
        let counts = option::<libc::xdp_statistics>(self.socket.as_fd(), libc::XDP_STATISTICS)?;
        Ok(counts.rx_dropped + counts.rx_ring_full)
    }
}

impl AsFd for XdpSocket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

/// What of an interface matters to AF_XDP.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Abilities {
    /// The name of its driver.
    pub driver: String,
    /// How many queues it receives in.
    pub queues: u32,
    /// It gives a frame's outer tag beside the frame.
    pub takes_tags_off: bool,
}

impl Abilities {
    /// Those of an interface of this thread's network namespace.
    ///
    /// # Errors
    /// The system's: ENODEV where there is none.
    pub(crate) fn of(name: &str) -> io::Result<Self> {
        // linux/ethtool.h
        const DRIVER: u32 = 0x03;
        const FLAGS: u32 = 0x25;
        const CHANNELS: u32 = 0x3c;
        const TAKES_TAGS_OFF: u32 = 1 << 8;
        let socket = packet_socket()?;
        // `struct ethtool_drvinfo`: the name is what follows the question.
        let mut driver = [0; 49];
        ask_driver(socket.as_fd(), name, DRIVER, &mut driver)?;
        let letters: Vec<u8> = driver[1..9].iter().flat_map(|word| word.to_ne_bytes()).collect();
        let letters = letters.split(|&letter| letter == 0).next().unwrap_or_default();
        // `struct ethtool_value`, and of `struct ethtool_channels` the numbers in use: receiving, sending, others, both.
        let (mut flags, mut channels) = ([0; 2], [0; 9]);
        let _ = ask_driver(socket.as_fd(), name, FLAGS, &mut flags);
        // A driver that has no such numbers has one queue.
        let _ = ask_driver(socket.as_fd(), name, CHANNELS, &mut channels);
        Ok(Self {
            driver: String::from_utf8_lossy(letters).into_owned(),
            queues: (channels[5] + channels[8]).max(1),
            takes_tags_off: flags[1] & TAKES_TAGS_OFF != 0,
        })
    }
}

/// Asks a driver by `SIOCETHTOOL`; the answer must have room for what belongs to the question.
fn ask_driver<const WORDS: usize>(
    socket: BorrowedFd<'_>,
    name: &str,
    question: u32,
    answer: &mut [u32; WORDS],
) -> io::Result<()> {
    const SIOCETHTOOL: u64 = 0x8946;
    answer[0] = question;
    // SAFETY: all zeros are a request.
    let mut request: libc::ifreq = unsafe { zeroed() };
    // The last byte stays zero.
    let places = request.ifr_name.len() - 1;
    for (place, &byte) in request.ifr_name[..places].iter_mut().zip(name.as_bytes()) {
        *place = byte as libc::c_char;
    }
    request.ifr_ifru.ifru_data = answer.as_mut_ptr().cast();
    // SAFETY: the kernel reads and writes the structure that belongs to the question, which `answer` is as long as.
    done(unsafe { libc::ioctl(socket.as_raw_fd(), SIOCETHTOOL as _, &raw mut request) })
}

/// What the kernel answers to a question about an AF_XDP socket.
fn option<T>(socket: BorrowedFd<'_>, name: libc::c_int) -> io::Result<T> {
    // SAFETY: the structures that are asked for here consist of numbers, which may be zero.
    let mut value: T = unsafe { zeroed() };
    let mut length = size_of::<T>() as libc::socklen_t;
    // SAFETY: the kernel writes at most `length` bytes to `value`, which is that long.
    done(unsafe {
        let to = ptr::from_mut(&mut value).cast();
        libc::getsockopt(socket.as_raw_fd(), libc::SOL_XDP, name, to, &raw mut length)
    })?;
    // Older kernels know less.
    if length as usize == size_of::<T>() { Ok(value) } else { Err(io::ErrorKind::Unsupported.into()) }
}

/// Memory that is mapped as long as this is there.
#[derive(Debug)]
struct Mapping {
    at: NonNull<u8>,
    bytes: usize,
}

// SAFETY: the mapping is of this process, and only this value refers to it.
unsafe impl Send for Mapping {}

impl Mapping {
    fn anonymous(bytes: usize) -> io::Result<Self> {
        Self::new(bytes, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_POPULATE, -1, 0)
    }

    fn new(bytes: usize, flags: libc::c_int, file: libc::c_int, offset: libc::off_t) -> io::Result<Self> {
        let protection = libc::PROT_READ | libc::PROT_WRITE;
        // SAFETY: a new mapping at an address of the kernel's choice.
        let at = unsafe { libc::mmap(ptr::null_mut(), bytes, protection, flags, file, offset) };
        if at == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        let at = NonNull::new(at.cast()).ok_or_else(io::Error::last_os_error)?;
        Ok(Self { at, bytes })
    }

    /// Some bytes of it, if they lie within.
    ///
    /// # Safety
    /// No one may write there as long as they are borrowed.
    unsafe fn part(&self, at: u64, bytes: u32) -> Option<&[u8]> {
        let (at, bytes) = (usize::try_from(at).ok()?, bytes as usize);
        let is_within = at.checked_add(bytes)? <= self.bytes;
        // SAFETY: it is within the mapping; the rest is the caller's promise.
        is_within.then(|| unsafe { std::slice::from_raw_parts(self.at.as_ptr().add(at), bytes) })
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: this is the mapping that was made for this value, and nothing refers to it any more.
        unsafe { libc::munmap(self.at.as_ptr().cast(), self.bytes) };
    }
}

/// One of the four rings: this process writes to two of them and reads from the others.
#[derive(Debug)]
struct Ring<T> {
    map: Mapping,
    producer: usize,
    consumer: usize,
    entries: usize,
    mask: u32,
    /// What is written, or read, next: it wraps.
    at: u32,
    /// Up to where the kernel had written when this was last read.
    until: u32,
    kind: PhantomData<T>,
}

impl<T: Copy> Ring<T> {
    fn map(socket: BorrowedFd<'_>, offset: &libc::xdp_ring_offset, count: u32, page: libc::off_t) -> io::Result<Self> {
        let bytes = offset.desc as usize + count as usize * size_of::<T>();
        let map = Mapping::new(bytes, libc::MAP_SHARED | libc::MAP_POPULATE, socket.as_raw_fd(), page)?;
        let (producer, consumer, entries) = (offset.producer as usize, offset.consumer as usize, offset.desc as usize);
        // The kernel says where they are, and is taken at its word only within the mapping.
        if producer.max(consumer) + size_of::<AtomicU32>() > bytes || !entries.is_multiple_of(align_of::<T>()) {
            return Err(io::ErrorKind::InvalidData.into());
        }
        Ok(Self { map, producer, consumer, entries, mask: count - 1, at: 0, until: 0, kind: PhantomData })
    }

    fn index(&self, offset: usize) -> &AtomicU32 {
        // SAFETY: the offset is within the mapping, of a word that both sides change as one.
        unsafe { AtomicU32::from_ptr(self.map.at.as_ptr().add(offset).cast()) }
    }

    fn entry(&self, at: u32) -> *mut T {
        // SAFETY: the masked place is below the number of entries, which the mapping has room for.
        unsafe { self.map.at.as_ptr().add(self.entries).cast::<T>().add((at & self.mask) as usize) }
    }

    /// Writes the next entry. There must be a place: a ring has as many as there are chunks for it.
    fn put(&mut self, entry: T) {
        // SAFETY: the place is this side's until it is published.
        unsafe { self.entry(self.at).write(entry) };
        self.at = self.at.wrapping_add(1);
    }

    /// Lets the kernel see what was written.
    fn publish(&self) {
        self.index(self.producer).store(self.at, Ordering::Release);
    }

    /// Up to where the kernel has read.
    fn theirs(&self) -> u32 {
        self.index(self.consumer).load(Ordering::Acquire)
    }

    /// Reads the next entry, which stays this side's until it is [released](Self::release).
    fn next(&mut self) -> Option<T> {
        if !self.has_next() {
            return None;
        }
        let entry = self.peek();
        self.at = self.at.wrapping_add(1);
        entry
    }

    /// Whether there is an entry to read.
    fn has_next(&mut self) -> bool {
        if self.at == self.until {
            self.until = self.index(self.producer).load(Ordering::Acquire);
        }
        self.at != self.until
    }

    /// What [`next`](Self::next) will read, if it is known to be there.
    fn peek(&self) -> Option<T> {
        // SAFETY: the kernel has written this place and waits for it to be given back.
        (self.at != self.until).then(|| unsafe { self.entry(self.at).read() })
    }

    /// Gives back what was read.
    fn release(&self) {
        self.index(self.consumer).store(self.at, Ordering::Release);
    }
}

impl Ring<libc::xdp_desc> {
    /// Has the kernel step over a frame that it has not taken; its chunk.
    fn leave_out(&mut self, at: u32) -> u64 {
        let entry = self.entry(at);
        // SAFETY: the kernel reads the ring only within a call of this thread's.
        unsafe {
            let chunk = (*entry).addr;
            (*entry).addr = NOWHERE;
            chunk
        }
    }
}
