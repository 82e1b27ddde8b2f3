//! Replaces AF_XDP in a build without it.

use std::{
    io,
    os::fd::{AsFd, BorrowedFd},
};

use super::{
    LiveError,
    switch::{Switch, ports},
    sys::Received,
};
use crate::{config::NO_AF_XDP, wire::offload::Offload};

/// Uninhabited: there is no AF_XDP.
#[derive(Debug)]
pub(super) enum Xdp {}

impl Xdp {
    /// Always fails; configurations read from a file do not get here.
    pub(super) fn open(port: &ports::Port, _: &Switch) -> Result<Self, LiveError> {
        Err(LiveError::Io { interface: port.name.clone(), what: NO_AF_XDP.into() })
    }

    pub(super) fn receive(&mut self, _: impl FnOnce(Received<'_>) -> bool) -> bool {
        match *self {}
    }

    pub(super) fn ready(&self, _: Offload, _: &mut [u8]) -> Offload {
        match *self {}
    }

    pub(super) fn send<'f>(&mut self, _: impl Iterator<Item = &'f [u8]>, _: u32) -> io::Result<usize> {
        match *self {}
    }

    pub(super) fn interface(&self, _: &str) -> io::Result<(u32, u32)> {
        match *self {}
    }

    pub(super) fn missed(&self) -> io::Result<u64> {
        match *self {}
    }
}

impl AsFd for Xdp {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match *self {}
    }
}
