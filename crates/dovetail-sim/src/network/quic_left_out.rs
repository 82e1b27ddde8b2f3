//! A build without QUIC: its types exist but have no values.

use std::net::SocketAddrV4;

use dovetail_sched::Nanos;

use super::{party::Application, transport::Transport};

/// No bytes.
#[derive(Debug)]
pub(super) enum Payload {}

/// No settings.
pub(super) enum Settings {}

/// No end.
pub(super) enum End {}

impl Payload {
    pub(super) fn len(&self) -> usize {
        match *self {}
    }
}

impl AsRef<[u8]> for Payload {
    fn as_ref(&self) -> &[u8] {
        match *self {}
    }
}

impl Settings {
    /// `None`: a network whose hosts run QUIC is rejected before it starts.
    pub(super) fn new(_: &Transport) -> Option<Self> {
        None
    }
}

impl End {
    pub(super) fn new(_: bool, settings: &Settings, _: [SocketAddrV4; 2], _: u64, _: Nanos) -> Box<Self> {
        match *settings {}
    }

    pub(super) fn receive(&mut self, _: Payload, _: Nanos) {
        match *self {}
    }

    pub(super) fn apply(&mut self, _: &mut Application, _: Nanos) -> u64 {
        match *self {}
    }

    pub(super) fn next(&mut self, _: Nanos) -> Option<Payload> {
        match *self {}
    }

    pub(super) fn poll_at(&mut self) -> Option<Nanos> {
        match *self {}
    }

    pub(super) fn is_closed(&self) -> bool {
        match *self {}
    }

    pub(super) fn is_content(&self) -> bool {
        match *self {}
    }
}
