//! bpf(2) as far as the switch needs it: two kinds of arrays, three kinds of programs, a link, a mapped cell.
//!
//! The kernel takes a command and a structure with its length; fields beyond that length count as zero. Descriptors are
//! returned with close-on-exec set.

use std::{
    ffi::c_void,
    io,
    mem::size_of,
    ops::Deref,
    os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd},
    ptr::{NonNull, null_mut},
    sync::atomic::AtomicU64,
};

use rustix::mm::{MapFlags, ProtFlags, mmap, munmap};

/// One instruction: `struct bpf_insn` of linux/bpf.h.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Instruction {
    pub code: u8,
    /// The destination in the low four bits on little-endian machines, and in the high four on others.
    pub registers: u8,
    pub offset: i16,
    pub immediate: i32,
}

/// The type of a program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// `BPF_PROG_TYPE_SOCKET_FILTER`.
    SocketFilter,
    /// `BPF_PROG_TYPE_SCHED_CLS`.
    Classifier,
    /// `BPF_PROG_TYPE_XDP`, for the interface of this index only, whose driver it may query.
    #[cfg(feature = "af-xdp")]
    Xdp { interface: u32 },
    /// The same, to be run on frames that the kernel generates, by [`send_frames`].
    #[cfg(feature = "af-xdp")]
    Flood,
}

/// An array with a single value of eight bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Array {
    /// One value for the machine, which can be mapped.
    Shared,
    /// One value per processor.
    PerProcessor,
}

/// A program that the kernel rejected.
#[derive(Debug)]
pub struct Unloaded {
    pub error: io::Error,
    /// The verifier's log; empty if it was not reached.
    pub log: String,
}

const MAP_CREATE: u32 = 0;
#[cfg(feature = "af-xdp")]
const MAP_UPDATE: u32 = 2;
const PROG_LOAD: u32 = 5;
const PROG_TEST_RUN: u32 = 10;
const LINK_CREATE: u32 = 28;

const TCX_INGRESS: u32 = 46;
#[cfg(feature = "af-xdp")]
const XDP: u32 = 37;
/// The driver runs it, before the kernel has processed the frame.
#[cfg(feature = "af-xdp")]
const BY_DRIVER: u32 = 1 << 2;
/// It may query the driver of its interface.
#[cfg(feature = "af-xdp")]
const ASKS_DRIVER: u32 = 1 << 6;
/// Ahead of the programs attached already.
const BEFORE: u32 = 1 << 3;

/// The kernel asks for a retry if a signal arrived during verification.
const TRIES: u32 = 5;
const LOG_BYTES: usize = 64 << 10;

/// # Safety
/// `attribute` must be the structure that the kernel reads for `command`, and the addresses in it must be valid for what the
/// command does with them.
unsafe fn bpf<T>(command: u32, attribute: &mut T) -> io::Result<libc::c_long> {
    // SAFETY: the kernel reads and writes at most the given length at the given address, which is `attribute`'s; the rest
    // is the caller's promise.
    let answer = unsafe { libc::syscall(libc::SYS_bpf, command, std::ptr::from_mut(attribute), size_of::<T>()) };
    if answer < 0 { Err(io::Error::last_os_error()) } else { Ok(answer) }
}

/// Wraps a descriptor that the kernel has just returned.
fn owned(answer: libc::c_long) -> io::Result<OwnedFd> {
    let number = i32::try_from(answer).map_err(io::Error::other)?;
    // SAFETY: the kernel's answer to a command that makes something is an open descriptor that nothing else knows of.
    Ok(unsafe { OwnedFd::from_raw_fd(number) })
}

/// A name as shown by `bpftool`.
fn label(name: &str) -> [u8; 16] {
    let mut label = [0; 16];
    for (to, &from) in label[..15].iter_mut().zip(name.as_bytes()) {
        *to = from;
    }
    label
}

/// Creates an array of one value.
///
/// # Errors
/// The system's error.
pub fn array(name: &str, array: Array) -> io::Result<OwnedFd> {
    const MMAPABLE: u32 = 1 << 10;
    match array {
        Array::Shared => map(name, 2, 8, MMAPABLE),
        Array::PerProcessor => map(name, 6, 8, 0),
    }
}

/// Creates a map for one AF_XDP socket, still empty.
///
/// # Errors
/// The system's error.
#[cfg(feature = "af-xdp")]
pub fn socket_map(name: &str) -> io::Result<OwnedFd> {
    map(name, 17, 4, 0)
}

/// Puts an AF_XDP socket into its map; it is removed from there when closed.
///
/// # Errors
/// The system's error.
#[cfg(feature = "af-xdp")]
pub fn put_socket(map: BorrowedFd<'_>, socket: BorrowedFd<'_>) -> io::Result<()> {
    #[repr(C)]
    struct Update {
        map: u32,
        padding: u32,
        key: u64,
        value: u64,
        flags: u64,
    }
    let (key, value) = (0_u32, socket.as_raw_fd());
    let mut update = Update {
        map: map.as_raw_fd() as u32,
        padding: 0,
        key: std::ptr::from_ref(&key) as u64,
        value: std::ptr::from_ref(&value) as u64,
        flags: 0,
    };
    // SAFETY: `Update` is what MAP_UPDATE_ELEM reads; key and value are of the map's sizes, and are only read.
    unsafe { bpf(MAP_UPDATE, &mut update) }.map(drop)
}

/// Creates a map of one entry.
fn map(name: &str, kind: u32, value_bytes: u32, flags: u32) -> io::Result<OwnedFd> {
    #[repr(C)]
    struct Create {
        kind: u32,
        key_bytes: u32,
        value_bytes: u32,
        entries: u32,
        flags: u32,
        inner: u32,
        node: u32,
        name: [u8; 16],
    }
    let mut create =
        Create { kind, key_bytes: 4, value_bytes, entries: 1, flags, inner: 0, node: 0, name: label(name) };
    // SAFETY: `Create` is what MAP_CREATE reads, and has no addresses in it.
    owned(unsafe { bpf(MAP_CREATE, &mut create) }?)
}

/// Makes the kernel verify and load a program.
///
/// # Errors
/// The system's error, with the verifier's log.
pub fn load(name: &str, kind: Kind, instructions: &[Instruction]) -> Result<OwnedFd, Unloaded> {
    #[repr(C)]
    struct Load {
        kind: u32,
        instructions: u32,
        code: u64,
        license: u64,
        log_level: u32,
        log_bytes: u32,
        log: u64,
        kernel: u32,
        flags: u32,
        name: [u8; 16],
        interface: u32,
        place: u32,
    }
    // The driver's functions require a GPL-compatible licence, as MIT is, one of the two of this program; the kernel knows
    // it by this name only.
    let (number, license, flags, interface, place) = match kind {
        Kind::SocketFilter => (1, c"MIT OR Apache-2.0", 0, 0, 0),
        Kind::Classifier => (3, c"MIT OR Apache-2.0", 0, 0, 0),
        #[cfg(feature = "af-xdp")]
        Kind::Xdp { interface } => (6, c"Dual MIT/GPL", ASKS_DRIVER, interface, XDP),
        #[cfg(feature = "af-xdp")]
        Kind::Flood => (6, c"MIT OR Apache-2.0", 0, 0, XDP),
    };
    let attempt = |log: &mut [u8]| {
        let mut load = Load {
            kind: number,
            instructions: instructions.len() as u32,
            code: instructions.as_ptr() as u64,
            license: license.as_ptr() as u64,
            log_level: u32::from(!log.is_empty()),
            log_bytes: log.len() as u32,
            // Without a log, the kernel expects no address.
            log: if log.is_empty() { 0 } else { log.as_mut_ptr() as u64 },
            kernel: 0,
            flags,
            name: label(name),
            interface,
            place,
        };
        // SAFETY: `Load` is what PROG_LOAD reads. Its code is a slice of instructions of that length and its licence ends
        // with a zero; both are only read. Its log is a slice of that length that nothing else borrows.
        unsafe { bpf(PROG_LOAD, &mut load) }.and_then(owned)
    };
    let mut left = TRIES;
    let error = loop {
        left -= 1;
        match attempt(&mut []) {
            Ok(program) => return Ok(program),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock && left > 0 => {}
            Err(error) => break error,
        }
    };
    let mut log = vec![0; LOG_BYTES];
    // Only the log matters: the program fails as before.
    let _ = attempt(&mut log);
    let said = log.split(|&byte| byte == 0).next().unwrap_or_default();
    Err(Unloaded { error, log: String::from_utf8_lossy(said).trim_end().to_owned() })
}

/// Runs a program on a frame of zeros, without any interface; returns the program's return value.
///
/// # Errors
/// The system's error.
pub fn run(program: BorrowedFd<'_>) -> io::Result<u32> {
    Ok(test_run(program, &[0; 60], 0, 0)?.answer)
}

/// Makes the kernel create this many copies of a frame, run a program on each, and act on its return value.
///
/// # Errors
/// The system's error; `EINVAL` before Linux 5.18.
#[cfg(feature = "af-xdp")]
pub fn send_frames(program: BorrowedFd<'_>, frame: &[u8], copies: u32) -> io::Result<()> {
    const LIVE_FRAMES: u32 = 1 << 1;
    test_run(program, frame, copies, LIVE_FRAMES).map(drop)
}

#[repr(C)]
struct Run {
    program: u32,
    answer: u32,
    in_bytes: u32,
    out_bytes: u32,
    input: u64,
    output: u64,
    repeat: u32,
    nanos: u32,
    context_in_bytes: u32,
    context_out_bytes: u32,
    context_in: u64,
    context_out: u64,
    flags: u32,
    processor: u32,
    batch: u32,
    padding: u32,
}

fn test_run(program: BorrowedFd<'_>, frame: &[u8], repeat: u32, flags: u32) -> io::Result<Run> {
    let mut run = Run {
        program: program.as_raw_fd() as u32,
        answer: 0,
        in_bytes: frame.len() as u32,
        out_bytes: 0,
        input: frame.as_ptr() as u64,
        output: 0,
        repeat,
        nanos: 0,
        context_in_bytes: 0,
        context_out_bytes: 0,
        context_in: 0,
        context_out: 0,
        flags,
        processor: 0,
        batch: 0,
        padding: 0,
    };
    // SAFETY: `Run` is what PROG_TEST_RUN reads and writes. Its input is a frame of that length, which is only read; there
    // is no output.
    unsafe { bpf(PROG_TEST_RUN, &mut run) }?;
    Ok(run)
}

/// Runs a classifier on what arrives at an interface of this thread's network namespace, ahead of all others there, for as
/// long as the link is open.
///
/// # Errors
/// The system's error; `EINVAL` before Linux 6.6.
pub fn attach_ingress(program: BorrowedFd<'_>, interface: u32) -> io::Result<OwnedFd> {
    attach(program, interface, TCX_INGRESS, BEFORE)
}

/// Makes the driver of an interface of this thread's network namespace run a program on what arrives, for as long as the
/// link is open.
///
/// # Errors
/// The system's error; `EOPNOTSUPP` if the driver does not support it, `EBUSY` if another program is attached.
#[cfg(feature = "af-xdp")]
pub fn attach_xdp(program: BorrowedFd<'_>, interface: u32) -> io::Result<OwnedFd> {
    attach(program, interface, XDP, BY_DRIVER)
}

fn attach(program: BorrowedFd<'_>, interface: u32, place: u32, flags: u32) -> io::Result<OwnedFd> {
    #[repr(C)]
    struct Link {
        program: u32,
        interface: u32,
        place: u32,
        flags: u32,
        relative: u32,
        padding: u32,
        revision: u64,
    }
    let mut link =
        Link { program: program.as_raw_fd() as u32, interface, place, flags, relative: 0, padding: 0, revision: 0 };
    // SAFETY: `Link` is what LINK_CREATE reads, and has no addresses in it.
    owned(unsafe { bpf(LINK_CREATE, &mut link) }?)
}

/// Makes a program decide what a socket receives.
///
/// # Errors
/// The system's error.
pub fn attach_to_socket(socket: BorrowedFd<'_>, program: BorrowedFd<'_>) -> io::Result<()> {
    let number = program.as_raw_fd();
    // SAFETY: SO_ATTACH_BPF reads an `int` at the given address, of the given length.
    let answer = unsafe {
        libc::setsockopt(
            socket.as_raw_fd(),
            libc::SOL_SOCKET,
            libc::SO_ATTACH_BPF,
            std::ptr::from_ref(&number).cast::<c_void>(),
            size_of::<i32>() as u32,
        )
    };
    if answer == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// The value of a shared array, mapped into this process.
#[derive(Debug)]
pub struct Cell(NonNull<AtomicU64>);

// SAFETY: what it points to stays mapped until it is dropped, and is only used as an atomic.
unsafe impl Send for Cell {}
// SAFETY: as above.
unsafe impl Sync for Cell {}

impl Cell {
    /// # Errors
    /// The system's error, for example if the array is not shared.
    pub fn new(array: BorrowedFd<'_>) -> io::Result<Self> {
        // SAFETY: the kernel chooses a place that is free.
        let address = unsafe {
            mmap(null_mut(), size_of::<u64>(), ProtFlags::READ | ProtFlags::WRITE, MapFlags::SHARED, array, 0)
        }?;
        NonNull::new(address.cast()).map(Self).ok_or_else(|| io::ErrorKind::OutOfMemory.into())
    }
}

impl Deref for Cell {
    type Target = AtomicU64;

    fn deref(&self) -> &AtomicU64 {
        // SAFETY: a page is mapped there, readable and writable, as long as `self` is there; the kernel's programs read it
        // in one piece.
        unsafe { self.0.as_ref() }
    }
}

impl Drop for Cell {
    fn drop(&mut self) {
        // SAFETY: `new` mapped it, and nothing borrows from it any more. There is no remedy for a failure.
        let _ = unsafe { munmap(self.0.as_ptr().cast(), size_of::<u64>()) };
    }
}
