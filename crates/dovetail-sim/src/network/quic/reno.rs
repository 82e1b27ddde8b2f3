//! NewReno, with one packet that may be sent although the window has fallen below what is in flight.
//!
//! RFC 9002, section 7.3.2, permits one packet as recovery begins, so that lost data is soon retransmitted. The library's
//! NewReno lacks this, and without it a handshake may never complete. Suppose the opener's last handshake message is lost,
//! and the opener learns of that. Its data fill the window and are not acknowledged, because the listener cannot read them
//! before it has that message, which waits for room in the window. The library's timer runs for the data alone, since nothing
//! of the handshake is in flight (section 6.2.1 requires it to run for the handshake until that is confirmed). Handshake
//! messages are sent before data, so they get the one packet.

use std::{any::Any, sync::Arc};

use quinn_proto::{
    RttEstimator,
    congestion::{Controller, ControllerFactory, ControllerMetrics, NewReno, NewRenoConfig},
};

use super::clock::Time;

/// Creates controllers.
#[derive(Debug)]
pub(super) struct Settings {
    reno: Arc<NewRenoConfig>,
}

impl Settings {
    /// With this initial window, in bytes.
    pub(super) fn new(first_window: u64) -> Self {
        let mut reno = NewRenoConfig::default();
        reno.initial_window(first_window);
        Self { reno: Arc::new(reno) }
    }
}

impl ControllerFactory for Settings {
    fn build(self: Arc<Self>, now: Time, mtu: u16) -> Box<dyn Controller> {
        let reno = NewReno::new(self.reno.clone(), now, mtu);
        Box::new(Reno { reno, mtu: mtu.into(), in_flight: 0, may_send: false })
    }
}

#[derive(Debug, Clone)]
struct Reno {
    reno: NewReno,
    mtu: u64,
    // Bytes in flight, including pure acknowledgements until other packets are acknowledged.
    in_flight: u64,
    // A packet was lost, and none has been sent since.
    may_send: bool,
}

impl Controller for Reno {
    fn on_sent(&mut self, _: Time, bytes: u64, _: u64) {
        self.in_flight += bytes;
        self.may_send = false;
    }

    fn on_ack(&mut self, now: Time, sent: Time, bytes: u64, app_limited: bool, rtt: &RttEstimator) {
        self.reno.on_ack(now, sent, bytes, app_limited, rtt);
    }

    fn on_end_acks(&mut self, now: Time, in_flight: u64, app_limited: bool, largest: Option<u64>) {
        self.in_flight = in_flight;
        self.reno.on_end_acks(now, in_flight, app_limited, largest);
    }

    fn on_congestion_event(&mut self, now: Time, sent: Time, is_persistent: bool, lost_bytes: u64) {
        self.in_flight = self.in_flight.saturating_sub(lost_bytes);
        self.may_send = true;
        self.reno.on_congestion_event(now, sent, is_persistent, lost_bytes);
    }

    fn on_mtu_update(&mut self, mtu: u16) {
        self.mtu = mtu.into();
        self.reno.on_mtu_update(mtu);
    }

    fn window(&self) -> u64 {
        // The library sends while what is in flight plus a whole packet is less than the window.
        let one_more = if self.may_send { self.in_flight + self.mtu + 1 } else { 0 };
        self.reno.window().max(one_more)
    }

    fn metrics(&self) -> ControllerMetrics {
        self.reno.metrics()
    }

    fn clone_box(&self) -> Box<dyn Controller> {
        Box::new(self.clone())
    }

    fn initial_window(&self) -> u64 {
        self.reno.initial_window()
    }

    fn into_any(self: Box<Self>) -> Box<dyn Any> {
        self
    }
}
