//! The device under every interface: a packet in, packets out.

use std::{collections::VecDeque, mem};

use smoltcp::{
    phy::{Checksum, ChecksumCapabilities, Device, DeviceCapabilities, Medium, RxToken, TxToken},
    time::Instant,
};

/// A device that all interfaces share in turn; between turns it is empty.
#[derive(Debug)]
pub(super) struct Wire {
    mtu_bytes: usize,
    arriving: Vec<u8>,
    arrives: bool,
    leaving: VecDeque<Vec<u8>>,
    spare: Vec<Vec<u8>>,
}

impl Wire {
    pub(super) fn new(mtu_bytes: u32) -> Self {
        Self {
            mtu_bytes: mtu_bytes as usize,
            arriving: Vec::new(),
            arrives: false,
            leaving: VecDeque::new(),
            spare: Vec::new(),
        }
    }

    /// The packet that the next turn receives.
    pub(super) fn arrives(&mut self, bytes: Vec<u8>) {
        let before = mem::replace(&mut self.arriving, bytes);
        self.recycle(before);
        self.arrives = true;
    }

    /// The next packet that leaves.
    pub(super) fn next_leaving(&mut self) -> Option<Vec<u8>> {
        self.leaving.pop_front()
    }

    /// The packets that leave, in order.
    pub(super) fn leaving(&mut self) -> impl Iterator<Item = &mut Vec<u8>> {
        self.leaving.iter_mut()
    }

    /// Another packet leaves.
    pub(super) fn leaves(&mut self, packet: Vec<u8>) {
        self.leaving.push_back(packet);
    }

    /// A buffer, with whatever is in it.
    pub(super) fn buffer(&mut self) -> Vec<u8> {
        self.spare.pop().unwrap_or_default()
    }

    /// Takes a buffer back.
    pub(super) fn recycle(&mut self, buffer: Vec<u8>) {
        self.spare.push(buffer);
    }
}

impl Device for Wire {
    type RxToken<'a> = Arriving<'a>;
    type TxToken<'a> = Leaving<'a>;

    fn receive(&mut self, _: Instant) -> Option<(Arriving<'_>, Leaving<'_>)> {
        let Self { arriving, leaving, spare, .. } = self;
        mem::take(&mut self.arrives).then_some((Arriving(arriving), Leaving { leaving, spare }))
    }

    fn transmit(&mut self, _: Instant) -> Option<Leaving<'_>> {
        let Self { leaving, spare, .. } = self;
        Some(Leaving { leaving, spare })
    }

    fn capabilities(&self) -> DeviceCapabilities {
        let mut checksum = ChecksumCapabilities::ignored();
        // Written, so that captures are right; not read, as no wire here flips bits.
        checksum.ipv4 = Checksum::Tx;
        checksum.tcp = Checksum::Tx;
        let mut capabilities = DeviceCapabilities::default();
        capabilities.medium = Medium::Ip;
        capabilities.max_transmission_unit = self.mtu_bytes;
        capabilities.checksum = checksum;
        capabilities
    }
}

/// The packet that arrived.
pub(super) struct Arriving<'a>(&'a [u8]);

impl RxToken for Arriving<'_> {
    fn consume<R, F: FnOnce(&[u8]) -> R>(self, f: F) -> R {
        f(self.0)
    }
}

/// Room for a packet that leaves.
pub(super) struct Leaving<'a> {
    leaving: &'a mut VecDeque<Vec<u8>>,
    spare: &'a mut Vec<Vec<u8>>,
}

impl TxToken for Leaving<'_> {
    fn consume<R, F: FnOnce(&mut [u8]) -> R>(self, len: usize, f: F) -> R {
        let mut buffer = self.spare.pop().unwrap_or_default();
        buffer.clear();
        buffer.resize(len, 0);
        let result = f(&mut buffer);
        self.leaving.push_back(buffer);
        result
    }
}
