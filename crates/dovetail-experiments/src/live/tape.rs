//! Records every packet's passage through a middlebox.

use std::sync::{Arc, Mutex, PoisonError};

use dovetail_box::{
    live::watch::{Arrived, Watch},
    node::Passage,
};
use dovetail_sched::Nanos;

use super::setting::Setting;

/// A packet that was offered to the policy.
#[derive(Debug, Clone, Copy)]
pub(super) struct Taped {
    pub flow: u32,
    /// Its class, by index in the trial's setting.
    pub class: Option<u16>,
    pub bytes: u32,
    pub arrival: Nanos,
    pub link: Nanos,
    /// Its passage, if it left.
    pub passage: Option<Passage>,
}

/// Packets in order of arrival. Clones share them.
#[derive(Debug, Clone)]
pub(super) struct Tape {
    packets: Arc<Mutex<Vec<Taped>>>,
    setting: Arc<Setting>,
}

impl Tape {
    /// A tape that does not reallocate below this number of packets: copying it would delay the middlebox for too long.
    pub(super) fn new(setting: &Setting, packets: usize) -> Self {
        Self { packets: Arc::new(Mutex::new(Vec::with_capacity(packets))), setting: Arc::new(setting.clone()) }
    }

    pub(super) fn packets(&self) -> Vec<Taped> {
        self.packets.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn with(&self, act: impl FnOnce(&mut Vec<Taped>)) {
        act(&mut self.packets.lock().unwrap_or_else(PoisonError::into_inner));
    }
}

impl Watch for Tape {
    fn arrived(&mut self, packet: &Arrived<'_>) {
        let Arrived { flow, class, bytes, arrival, link, .. } = *packet;
        let class = self.setting.class(class);
        self.with(|packets| packets.push(Taped { flow: flow.0, class, bytes, arrival, link, passage: None }));
    }

    fn left(&mut self, number: u64, passage: &Passage, _: &[u8]) {
        self.with(|packets| packets[number as usize].passage = Some(*passage));
    }

    fn dropped(&mut self, _: u64) {}
}
