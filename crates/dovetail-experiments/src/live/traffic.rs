//! Constant rates by UDP.

use std::{
    io,
    net::{Ipv4Addr, UdpSocket},
    thread,
    time::{Duration, Instant},
};

use dovetail_netns::Namespace;
use rustix::process::setpriority_process;

/// Ethernet, IPv4 and UDP headers.
const HEADERS: usize = 14 + 20 + 8;

/// A flow that sends at a constant rate.
#[derive(Debug, Clone, Copy)]
pub(super) struct Flow {
    /// The port that it sends to.
    pub port: u16,
    /// Bytes of each frame.
    pub frame_bytes: usize,
    /// Packets in a second.
    pub rate: u32,
    /// Packets in all.
    pub packets: u32,
}

impl Flow {
    /// How many packets are sent after this many rounds.
    fn due(&self, rounds: u32) -> u32 {
        (u64::from(self.rate) * u64::from(rounds) / 1000).min(self.packets.into()) as u32
    }

    fn takes_s(&self) -> f64 {
        f64::from(self.packets) / f64::from(self.rate)
    }
}

/// Flows that begin together.
#[derive(Debug, Clone)]
pub(super) struct Flows(pub Vec<Flow>);

impl Flows {
    /// Packets of all flows.
    pub(super) fn packets(&self) -> usize {
        self.0.iter().map(|flow| flow.packets as usize).sum()
    }

    /// Sends from one namespace to another until all is sent: in rounds of a millisecond, in which each flow sends its part.
    /// False when it took over a fifth longer than it should.
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
        // As the box does: what else runs on this machine is no part of the trial. Without the right to it, it is tried as it is.
        let _ = setpriority_process(None, -20);
        let longest = self.0.iter().map(|flow| flow.frame_bytes).max().unwrap_or_default();
        let payload = vec![0; longest];
        let should = self.0.iter().map(Flow::takes_s).fold(0.0, f64::max);
        let began = Instant::now();
        for round in 1u32.. {
            let mut is_over = true;
            for (flow, socket) in self.0.iter().zip(&sockets) {
                for _ in flow.due(round - 1)..flow.due(round) {
                    // A full queue of the sending side is no loss of the box's: it is tried again.
                    while let Err(wrong) = socket.send(&payload[..flow.frame_bytes - HEADERS]) {
                        if !matches!(wrong.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::ConnectionRefused) {
                            return Err(wrong);
                        }
                    }
                }
                is_over &= flow.due(round) == flow.packets;
            }
            if is_over {
                return Ok(began.elapsed().as_secs_f64() < 1.2 * should);
            }
            thread::sleep((ROUND * round).saturating_sub(began.elapsed()));
        }
        Ok(false)
    }
}
