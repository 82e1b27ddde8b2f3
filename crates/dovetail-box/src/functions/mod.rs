//! Network functions, a file each.
//!
//! | function | what it does | time goes to |
//! |---|---|---|
//! | [`forwarding`] | next hop by longest prefix, hop limit, addresses of the link | headers |
//! | [`monitoring`] | counts and moments of each flow | headers |
//! | [`ipsec`] | ESP tunnel, AES-128-GCM | payload |
//! | [`redundancy`] | repeated content becomes references | payload |
//! | [`jpeg`] | raw pictures become JPEG | payload |

pub mod forwarding;
pub mod frame;
pub mod jpeg;
mod routes;

use std::fmt;

/// Something done to packets one by one.
pub trait NetworkFunction: Send {
    /// As it is called on the command line.
    fn name(&self) -> &'static str;

    /// What its time grows with.
    fn processing(&self) -> Processing;

    /// Handles one Ethernet frame without its check sequence, in place; the frame may grow or shrink. What cannot be
    /// handled is answered, and then the frame is as it was. Memory is allocated only until frames, tables and buffers
    /// have reached their size, unless a function says otherwise.
    fn process(&mut self, frame: &mut Vec<u8>) -> Verdict;
}

/// What a function looks at, and so what its time grows with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Processing {
    /// Headers only: a time a packet.
    Header,
    /// Every byte: a time a byte beside the time a packet.
    Payload,
}

impl fmt::Display for Processing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Header => "header",
            Self::Payload => "payload",
        })
    }
}

/// What is to become of a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// Handled: send it on.
    Forward,
    /// Nothing that the function handles, and so as it was: send it on.
    Untouched,
    /// Do not send it on; the frame is as it was.
    Drop(Reason),
}

/// Why a frame is not sent on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reason {
    /// Its headers contradict themselves or what arrived.
    Malformed,
    /// It has been through as many routers as it may.
    HopLimit,
    /// Nobody knows where its destination is.
    NoRoute,
    /// What it would become does not fit into an IP packet.
    TooLong,
    /// The key may not be used for another packet.
    KeyUsedUp,
}

/// A function that there is.
#[derive(Debug, Clone, Copy)]
pub struct Entry {
    /// As it is called on the command line.
    pub name: &'static str,
    /// What it does, in a line.
    pub summary: &'static str,
    /// What its time grows with.
    pub processing: Processing,
    build: fn(u64) -> Box<dyn NetworkFunction>,
}

impl Entry {
    /// The function with tables and keys made up from a seed: for measurements and tests, where no secret is kept.
    #[must_use]
    pub fn example(&self, seed: u64) -> Box<dyn NetworkFunction> {
        (self.build)(seed)
    }
}

/// All functions.
pub const REGISTRY: &[Entry] = &[
    Entry {
        name: forwarding::NAME,
        summary: "next hop by longest prefix, hop limit, addresses of the link",
        processing: Processing::Header,
        build: |seed| Box::new(forwarding::Forwarding::example(seed)),
    },
    Entry {
        name: jpeg::NAME,
        summary: "raw square pictures in 4:2:0 become JPEG",
        processing: Processing::Payload,
        build: |_| Box::new(jpeg::Jpeg::new()),
    },
];

/// The function of this name.
#[must_use]
pub fn find(name: &str) -> Option<&'static Entry> {
    REGISTRY.iter().find(|entry| entry.name == name)
}
