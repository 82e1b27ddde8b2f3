//! Network functions, a file each.
//!
//! | function | what it does | time goes to |
//! |---|---|---|
//! | [`forwarding`] | next hop by longest prefix, hop limit, addresses of the link | headers |
//! | [`monitoring`] | counts and moments of each flow | headers |
//! | [`ipsec`] | ESP tunnel, AES-128-GCM | payload |
//! | [`redundancy`] | repeated content becomes references | payload |
//! | [`jpeg`] | raw pictures become JPEG | payload |

mod chunks;
pub mod forwarding;
pub mod frame;
pub mod ipsec;
pub mod jpeg;
pub mod monitoring;
pub mod redundancy;
mod routes;
#[cfg(test)]
mod testing;

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
        name: monitoring::NAME,
        summary: "packets, bytes, size histogram and moments of each flow",
        processing: Processing::Header,
        build: |seed| Box::new(monitoring::Monitoring::example(seed)),
    },
    Entry {
        name: ipsec::NAME,
        summary: "ESP tunnel with AES-128-GCM",
        processing: Processing::Payload,
        build: |seed| Box::new(ipsec::Ipsec::example(seed)),
    },
    Entry {
        name: redundancy::NAME,
        summary: "repeated content becomes references to chunks seen before",
        processing: Processing::Payload,
        build: |seed| Box::new(redundancy::Redundancy::example(seed)),
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

#[cfg(test)]
mod tests {
    use super::{testing::*, *};
    use proptest::prelude::*;

    #[test]
    fn every_function_is_what_its_entry_says() {
        for entry in REGISTRY {
            let function = entry.example(1);
            assert_eq!((function.name(), function.processing()), (entry.name, entry.processing));
            assert_eq!(find(entry.name).map(|found| found.summary), Some(entry.summary));
        }
        assert!(find("frobnication").is_none());
    }

    fn all() -> Vec<Box<dyn NetworkFunction>> {
        let restoration = redundancy::Restoration::new(64, [1; 16]);
        REGISTRY.iter().map(|entry| entry.example(1)).chain([Box::new(restoration) as _]).collect()
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(300))]

        #[test]
        fn no_bytes_are_too_strange(frames in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..200), 1..20)) {
            for mut function in all() {
                for frame in &frames {
                    let mut frame = frame.clone();
                    function.process(&mut frame);
                }
            }
        }

        /// Real packets, damaged: what a parser meets when somebody means it harm.
        #[test]
        fn no_damage_is_too_strange(
            packets in prop::collection::vec(packet(), 1..8),
            damage in prop::collection::vec((0usize..120, any::<u8>()), 0..6),
            cut in prop::option::of(0usize..1600),
        ) {
            for mut function in all() {
                for packet in &packets {
                    let mut frame = packet.frame();
                    for &(at, byte) in &damage {
                        if let Some(place) = frame.get_mut(at) {
                            *place = byte;
                        }
                    }
                    frame.truncate(cut.unwrap_or(usize::MAX));
                    let before = frame.clone();
                    if function.process(&mut frame) != Verdict::Forward {
                        prop_assert_eq!(frame, before, "{} changed what it did not handle", function.name());
                    }
                }
            }
        }
    }
}
