//! UDP at constant rates, and at random times.

use std::{
    io,
    net::{Ipv4Addr, UdpSocket},
    thread,
    time::{Duration, Instant},
};

use dovetail_netns::Namespace;
use rand_xoshiro::{
    Xoshiro256PlusPlus,
    rand_core::{Rng, SeedableRng},
};
use rustix::process::setpriority_process;

/// Ethernet, IPv4 and UDP headers.
const HEADERS: usize = 14 + 20 + 8;

/// A flow.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Flow {
    /// The port that it sends to.
    pub port: u16,
    /// Bytes of each frame.
    pub frame_bytes: usize,
    /// Packets per second.
    pub rate: u32,
    /// Total number of packets.
    pub packets: u32,
    /// Its timing.
    pub pace: Pace,
}

/// Timing of a flow.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Pace {
    /// Equally spaced.
    Constant,
    /// Random times drawn with this seed: those of a Poisson process with this total.
    Random(u64),
}

impl Flow {
    /// How many packets are due after a number of rounds.
    fn due(&self) -> Due {
        match self.pace {
            Pace::Constant => Due::Constant { rate: self.rate, packets: self.packets },
            Pace::Random(seed) => {
                let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
                let rounds = (self.takes_s() * 1000.0) as u64;
                let draw = |_| ((u128::from(random.next_u64()) * u128::from(rounds)) >> 64) as u32;
                let mut at: Vec<u32> = (0..self.packets).map(draw).collect();
                at.sort_unstable();
                Due::At(at)
            }
        }
    }

    fn takes_s(&self) -> f64 {
        f64::from(self.packets) / f64::from(self.rate)
    }
}

/// How many packets of a flow are due after a number of rounds.
enum Due {
    Constant {
        rate: u32,
        packets: u32,
    },
    /// The rounds of its packets.
    At(Vec<u32>),
}

impl Due {
    fn after(&self, rounds: u32) -> u32 {
        match self {
            Self::Constant { rate, packets } => {
                (u64::from(*rate) * u64::from(rounds) / 1000).min((*packets).into()) as u32
            }
            Self::At(at) => at.partition_point(|&at| at < rounds) as u32,
        }
    }
}

/// Flows that begin at the same time.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct Flows(pub Vec<Flow>);

impl Flows {
    /// Number of packets of all flows.
    pub(super) fn packets(&self) -> usize {
        self.0.iter().map(|flow| flow.packets as usize).sum()
    }

    /// Sends all packets from one namespace to another, in rounds of a millisecond, in each of which each flow sends what is
    /// due. False if it took over a fifth longer than it should.
    pub(super) fn send(&self, from: &Namespace, to: Ipv4Addr) -> io::Result<bool> {
        const ROUND: Duration = Duration::from_millis(1);
        let sockets = from.within(|| {
            let socket = |flow: &Flow| {
                let socket = UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0))?;
                socket.connect((to, flow.port))?;
                Ok(socket)
            };
            self.0.iter().map(socket).collect::<io::Result<Vec<_>>>()
        })?;
        // Like the middlebox: other processes on this machine are not part of the trial. Without permission, go on
        // regardless.
        let _ = setpriority_process(None, -20);
        let due: Vec<_> = self.0.iter().map(Flow::due).collect();
        let longest = self.0.iter().map(|flow| flow.frame_bytes).max().unwrap_or_default();
        let payload = vec![0; longest];
        let should = self.0.iter().map(Flow::takes_s).fold(0.0, f64::max);
        let began = Instant::now();
        for round in 1u32.. {
            let mut is_over = true;
            for ((flow, due), socket) in self.0.iter().zip(&due).zip(&sockets) {
                for _ in due.after(round - 1)..due.after(round) {
                    // A full queue of the sending side is not a loss at the middlebox: try again.
                    while let Err(wrong) = socket.send(&payload[..flow.frame_bytes - HEADERS]) {
                        if !matches!(wrong.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::ConnectionRefused) {
                            return Err(wrong);
                        }
                    }
                }
                is_over &= due.after(round) == flow.packets;
            }
            if is_over {
                return Ok(began.elapsed().as_secs_f64() < 1.2 * should);
            }
            thread::sleep((ROUND * round).saturating_sub(began.elapsed()));
        }
        Ok(false)
    }
}
