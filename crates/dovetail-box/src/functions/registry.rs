//! The list of all network functions.

use dovetail_sched::cost::Processing;

use super::{contract::NetworkFunction, forwarding, ipsec, jpeg, monitoring, redundancy};

/// A registered function.
#[derive(Debug, Clone, Copy)]
pub struct Entry {
    /// Its name on the command line.
    pub name: &'static str,
    /// What it does, in one line.
    pub summary: &'static str,
    /// What its processing time grows with.
    pub processing: Processing,
    /// Whether it changes frames, so that another end must understand them.
    pub changes_frames: bool,
    /// Maximum growth of a packet in bytes.
    pub growth_bytes: u32,
    build: fn(u64) -> Box<dyn NetworkFunction>,
}

impl Entry {
    /// The function with tables and keys derived from a seed: for measurements and tests, where no secret is kept.
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
        changes_frames: true,
        growth_bytes: 0,
        build: |seed| Box::new(forwarding::Forwarding::example(seed)),
    },
    Entry {
        name: monitoring::NAME,
        summary: "packets, bytes, size histogram and moments of each flow",
        processing: Processing::Header,
        changes_frames: false,
        growth_bytes: 0,
        build: |seed| Box::new(monitoring::Monitoring::example(seed)),
    },
    Entry {
        name: ipsec::NAME,
        summary: "ESP tunnel with AES-GCM",
        processing: Processing::Payload,
        changes_frames: true,
        growth_bytes: ipsec::GROWTH,
        build: |seed| Box::new(ipsec::Ipsec::example(seed)),
    },
    Entry {
        name: redundancy::NAME,
        summary: "repeated content becomes references to chunks seen before",
        processing: Processing::Payload,
        changes_frames: true,
        growth_bytes: redundancy::GROWTH,
        build: |seed| Box::new(redundancy::Redundancy::example(seed)),
    },
    Entry {
        name: jpeg::NAME,
        summary: "raw square pictures in 4:2:0 become JPEG",
        processing: Processing::Payload,
        changes_frames: true,
        growth_bytes: 0,
        build: |_| Box::new(jpeg::Jpeg::new()),
    },
];

/// Finds a function by name.
#[must_use]
pub fn find(name: &str) -> Option<&'static Entry> {
    REGISTRY.iter().find(|entry| entry.name == name)
}

#[cfg(test)]
mod tests {
    use super::{
        super::{
            contract::Verdict,
            frame::{Ip, write, write_length},
            protocol,
            testing::*,
        },
        *,
    };
    use proptest::prelude::*;
    use rand_xoshiro::{
        SplitMix64,
        rand_core::{Rng, SeedableRng},
    };

    #[test]
    fn every_function_is_what_its_entry_says() {
        for entry in REGISTRY {
            let function = entry.example(1);
            assert_eq!((function.name(), function.processing()), (entry.name, entry.processing));
            assert_eq!(find(entry.name).map(|found| found.summary), Some(entry.summary));
        }
        assert!(find("frobnication").is_none());
    }

    /// With noise, the longest that content can become, and with protocol 253, which `redundancy` must encode.
    #[test]
    fn no_function_makes_a_packet_longer_than_its_entry_says() {
        let mut noise = vec![0; 65_490];
        SplitMix64::seed_from_u64(7).fill_bytes(&mut noise);
        noise.iter_mut().for_each(|byte| *byte = if *byte < 128 { 0 } else { 255 });
        let pictures = (2..=208).step_by(2).map(|side| side * side / 2 * 3);
        for bytes in pictures.chain([0, 1, 3, 4, 5, 100, 1472, 32_767, 32_768, 65_490]) {
            for (v6, protocol) in [(false, protocol::UDP), (true, protocol::UDP), (false, protocol::EXPERIMENT)] {
                let mut packet = Packet { v6, ..Packet::udp(&noise[..bytes]) }.frame();
                let ip = Ip::find(&packet).expect("a packet");
                write(&mut packet, ip.protocol_at(), &[protocol]);
                write_length(&mut packet, &ip);
                for entry in REGISTRY {
                    let mut frame = packet.clone();
                    entry.example(1).process(&mut frame);
                    let growth = frame.len().saturating_sub(packet.len());
                    assert!(growth <= entry.growth_bytes as usize, "{}: {bytes} B grow by {growth} B", entry.name);
                }
            }
        }
    }

    fn all() -> Vec<Box<dyn NetworkFunction>> {
        let restoration = redundancy::Restoration::new(64, [1; 16]);
        REGISTRY.iter().map(|entry| entry.example(1)).chain([Box::new(restoration) as _]).collect()
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(300))]

        #[test]
        fn no_bytes_are_too_strange(
            frames in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..200), 1..20),
        ) {
            for mut function in all() {
                for frame in &frames {
                    let mut frame = frame.clone();
                    function.process(&mut frame);
                }
            }
        }

        /// Real packets, corrupted: what an attacker sends to a parser.
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
                    let is_handled = function.process(&mut frame) == Verdict::Forward;
                    let may_change = find(function.name()).is_none_or(|entry| entry.changes_frames);
                    if !is_handled || !may_change {
                        prop_assert_eq!(frame, before, "{} changed what it may not", function.name());
                    }
                }
            }
        }
    }
}
