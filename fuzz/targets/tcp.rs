//! Bytes as what an end of a TCP connection meets: its settings, segments, pauses, and what its application does.
#![no_main]

#[path = "../../crates/dovetail-tcp/tests/all/hostile/driver.rs"]
mod driver;

use dovetail_sched::Nanos;
use dovetail_tcp::{Blocks, Config, Congestion, Ecn, Flags, Options, Segment};
use libfuzzer_sys::fuzz_target;

/// The numbers that the two ends begin with: the other's, and that of the end that is driven.
const THEIRS: u32 = 500;
const OURS: u32 = 100;
/// Steps of an input at most.
const MAX_STEPS: usize = 1000;

/// Takes numbers off an input, one after the other.
struct Input<'a>(&'a [u8]);

impl Input<'_> {
    fn byte(&mut self) -> Option<u8> {
        let (&first, rest) = self.0.split_first()?;
        self.0 = rest;
        Some(first)
    }

    fn short(&mut self) -> Option<u16> {
        Some(u16::from_le_bytes([self.byte()?, self.byte()?]))
    }

    fn long(&mut self) -> Option<u32> {
        Some(u32::from(self.short()?) | u32::from(self.short()?) << 16)
    }

    /// A number near those in use, or any.
    fn near(&mut self, base: u32) -> Option<u32> {
        if self.byte()? == 0xff { self.long() } else { Some(base.wrapping_add(self.short()?.into()).wrapping_sub(100)) }
    }

    fn config(&mut self) -> Option<(Config, bool)> {
        let bits = self.byte()?;
        let has = |bit: u8| bits & 1 << bit != 0;
        let congestion = [Congestion::Reno, Congestion::Cubic, Congestion::Bbr][usize::from(self.byte()? % 3)];
        let preset = if has(0) { Config::year_2005() } else { Config::linux() };
        let [ecn, timestamps, sack, pacing] = [1, 2, 3, 4].map(has);
        Some((Config { ecn, timestamps, sack, pacing, congestion, ..preset }, has(5)))
    }

    fn options(&mut self) -> Option<Options> {
        let bits = self.byte()?;
        let mut options = Options { sack_permitted: bits & 1 != 0, ..Options::default() };
        if bits & 2 != 0 {
            options.maximum_segment_size = Some(self.short()?);
        }
        if bits & 4 != 0 {
            options.window_scale = Some(self.byte()?);
        }
        if bits & 8 != 0 {
            options.timestamps = Some((self.long()?, self.long()?));
        }
        let mut sack = Blocks::default();
        for _ in 0..bits >> 5 {
            sack.push((self.near(OURS)?, self.near(OURS)?));
        }
        Some(Options { sack, ..options })
    }

    fn step(&mut self) -> Option<driver::Step> {
        let (does, flags) = (self.byte()?, self.byte()?);
        let ecn = [Ecn::NotCapable, Ecn::Capable, Ecn::Marked][usize::from(self.byte()? % 3)];
        // Up to 17 minutes, most often less than a second.
        let later = Nanos::from_micros(u64::from(self.short()?) << (self.byte()? % 15));
        let (sequence, acknowledgement, window) = (self.near(THEIRS)?, self.near(OURS)?, self.short()?);
        let payload_bytes = if flags & 0x80 != 0 { self.long()? } else { u32::from(self.short()?) % 3000 };
        let flags = if flags == 0 { Flags::ACK } else { Flags(flags) };
        let options = self.options()?;
        let segment = Segment { sequence, acknowledgement, window, flags, ecn, payload_bytes, options };
        Some(driver::Step { segment, later, does })
    }
}

fuzz_target!(|bytes: &[u8]| {
    let mut input = Input(bytes);
    let Some((config, opens)) = input.config() else { return };
    driver::drive(&config, opens, std::iter::from_fn(|| input.step()).take(MAX_STEPS));
});
