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

/// Flows that send at a constant rate.
#[derive(Debug, Clone)]
pub(super) struct Flows {
    /// The port that each of them sends to.
    pub ports: Vec<u16>,
    /// Bytes of each frame.
    pub frame_bytes: usize,
    /// Packets of each flow in a second.
    pub rate: u32,
    /// Packets of each flow in all.
    pub packets: u32,
}

impl Flows {
    /// Sends from one namespace to another until all is sent: in rounds of a millisecond, in which each flow sends its part.
    /// False when it took over a fifth longer than it should.
    pub(super) fn send(&self, from: &Namespace, to: Ipv4Addr) -> io::Result<bool> {
        const ROUND: Duration = Duration::from_millis(1);
        let sockets = from.within(|| {
            let socket = |&port: &u16| {
                let socket = UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0))?;
                socket.connect((to, port))?;
                Ok(socket)
            };
            self.ports.iter().map(socket).collect::<io::Result<Vec<_>>>()
        })?;
        // As the box does: what else runs on this machine is no part of the trial. Without the right to it, it is tried as it is.
        let _ = setpriority_process(None, -20);
        let payload = vec![0; self.frame_bytes - HEADERS];
        let began = Instant::now();
        let mut sent = 0;
        for round in 1u32.. {
            let due = (u64::from(self.rate) * u64::from(round) / 1000).min(self.packets.into()) as u32;
            for _ in sent..due {
                for socket in &sockets {
                    // A full queue of the sending side is no loss of the box's: it is tried again.
                    while let Err(wrong) = socket.send(&payload) {
                        if !matches!(wrong.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::ConnectionRefused) {
                            return Err(wrong);
                        }
                    }
                }
            }
            sent = due;
            if sent == self.packets {
                let should = f64::from(self.packets) / f64::from(self.rate);
                return Ok(began.elapsed().as_secs_f64() < 1.2 * should);
            }
            thread::sleep((ROUND * round).saturating_sub(began.elapsed()));
        }
        Ok(false)
    }
}
