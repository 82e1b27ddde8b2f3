//! Tunnels whose other end sends: decryption of traffic opposite to the scheduled direction.
//!
//! Runs where frames of that direction are forwarded. A frame that belongs to no tunnel here passes unchanged, whatever it
//! is. A frame of a tunnel is decrypted and forwarded or dropped; each reason is counted.

use std::{collections::HashMap, sync::Arc};

use super::counters::TunnelCounters;
use crate::{
    config::{Config, Direction, Tunnel},
    functions::{
        Verdict,
        forwarding::{Forwarding, forward},
        ipsec::{
            opening::{Address, Opening, Refused},
            replay::Window,
        },
    },
};

/// Number of retired keys whose windows are remembered, at 160 bytes each: a key that returns with a later configuration
/// continues with its window.
const MAX_RETIRED: usize = 1024;

/// The tunnels whose receiving end is the box.
#[derive(Debug, Default)]
pub(super) struct Inbound {
    ends: Vec<End>,
    found: HashMap<Address, usize>,
    forwarding: Option<Forwarding>,
    /// Oldest first.
    retired: Vec<([u8; 16], Window)>,
}

#[derive(Debug)]
struct End {
    name: Arc<str>,
    opening: Opening,
    counters: TunnelCounters,
}

impl Inbound {
    /// Builds the tunnels of a configuration. Builds a routing table, which may take longer than the box may stay silent:
    /// do not call this on its thread while it runs.
    pub(super) fn build(config: &Config) -> Self {
        let end = |tunnel: &Arc<Tunnel>| match &tunnel.direction {
            Direction::Out => None,
            Direction::In { prefixes } => Some(End {
                name: tunnel.name.clone(),
                opening: Opening::new(tunnel.association, prefixes),
                counters: TunnelCounters::default(),
            }),
        };
        let ends: Vec<_> = config.tunnels.iter().filter_map(end).collect();
        let found = ends.iter().enumerate().map(|(at, end)| (end.opening.address(), at)).collect();
        let forwarding = config.routes.as_deref().filter(|_| !ends.is_empty()).map(Forwarding::new);
        Self { ends, found, forwarding, retired: Vec::new() }
    }

    /// Takes over the state of `before`: packets seen under a key stay rejected, and counters of tunnels with the same name
    /// continue.
    pub(super) fn take_over(&mut self, before: Self) {
        self.retired = before.retired;
        for end in before.ends {
            if let Some(same) = self.ends.iter_mut().find(|same| same.name == end.name) {
                same.counters = end.counters;
            }
            self.retired.push((end.opening.fingerprint(), end.opening.window()));
        }
        for end in &mut self.ends {
            let key = end.opening.fingerprint();
            if let Some(at) = self.retired.iter().rposition(|(retired, _)| *retired == key) {
                end.opening.set_window(self.retired.remove(at).1);
            }
        }
        let too_many = self.retired.len().saturating_sub(MAX_RETIRED);
        self.retired.drain(..too_many);
    }

    pub(super) fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// Decrypts a frame if it belongs to a tunnel; returns whether it is forwarded. Nothing is allocated.
    pub(super) fn pass(&mut self, frame: &mut Vec<u8>) -> bool {
        let Some((address, ip)) = Address::of(frame) else { return true };
        let Some(end) = self.found.get(&address).and_then(|&at| self.ends.get_mut(at)) else { return true };
        let opened = end.opening.open(frame, &ip);
        let counters = &mut end.counters;
        let dropped = match opened {
            Ok(inner) => {
                // Without a route it keeps its Ethernet addresses, as in a bridge.
                let hop = self.forwarding.as_ref().and_then(|forwarding| forwarding.next_hop(frame, &inner));
                if hop.is_none() || forward(frame, &inner, hop) == Verdict::Forward {
                    counters.decrypted += 1;
                    return true;
                }
                // An ICMP error would leave unencrypted, and quote what arrived encrypted.
                &mut counters.hop_limit
            }
            Err(Refused::Malformed) => &mut counters.malformed,
            Err(Refused::Replay) => &mut counters.replay,
            Err(Refused::Authentication) => &mut counters.authentication,
            Err(Refused::NotAllowed) => &mut counters.not_allowed,
            Err(Refused::Congestion) => &mut counters.congestion,
            Err(Refused::Dummy) => &mut counters.dummy,
        };
        *dropped += 1;
        false
    }

    pub(super) fn counters(&self) -> Vec<(Arc<str>, TunnelCounters)> {
        self.ends.iter().map(|end| (end.name.clone(), end.counters)).collect()
    }
}

#[cfg(test)]
mod tests;
