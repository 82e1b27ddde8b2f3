//! Queries the driver for the properties of an interface that AF_XDP depends on.

use std::{
    io,
    mem::zeroed,
    os::fd::{AsFd, AsRawFd, BorrowedFd},
};

use super::super::packet::{done, packet_socket};

/// Properties of an interface that matter to AF_XDP.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Abilities {
    /// The name of its driver.
    pub driver: String,
    /// Number of its receive queues.
    pub queues: u32,
    /// Whether it strips a frame's outer tag and reports it beside the frame.
    pub takes_tags_off: bool,
}

impl Abilities {
    /// The properties of an interface of this thread's network namespace.
    ///
    /// # Errors
    /// The system's error: ENODEV if there is none.
    pub(crate) fn of(name: &str) -> io::Result<Self> {
        // linux/ethtool.h
        const DRIVER: u32 = 0x03;
        const FLAGS: u32 = 0x25;
        const CHANNELS: u32 = 0x3c;
        const TAKES_TAGS_OFF: u32 = 1 << 8;
        let socket = packet_socket()?;
        // `struct ethtool_drvinfo`: the name follows the command.
        let mut driver = [0; 49];
        ask_driver(socket.as_fd(), name, DRIVER, &mut driver)?;
        let letters: Vec<u8> = driver[1..9].iter().flat_map(|word| word.to_ne_bytes()).collect();
        let letters = letters.split(|&letter| letter == 0).next().unwrap_or_default();
        // `struct ethtool_value`; and the numbers in use of `struct ethtool_channels`: receive, transmit, other, combined.
        let (mut flags, mut channels) = ([0; 2], [0; 9]);
        let _ = ask_driver(socket.as_fd(), name, FLAGS, &mut flags);
        // A driver without such numbers has one queue.
        let _ = ask_driver(socket.as_fd(), name, CHANNELS, &mut channels);
        Ok(Self {
            driver: String::from_utf8_lossy(letters).into_owned(),
            queues: (channels[5] + channels[8]).max(1),
            takes_tags_off: flags[1] & TAKES_TAGS_OFF != 0,
        })
    }
}

/// Queries a driver by `SIOCETHTOOL`; `answer` must be as large as the structure of the command.
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
