//! Uploads: what requests carry to their servers.

use dovetail_sched::{
    Nanos,
    request::{UplinkRate, UserId},
};

use super::{
    super::{
        live::{Live, id_of},
        told::{GatewayNet, Told},
    },
    Relay,
};
use crate::network::{agenda::Event, error::NetworkError, packets::EndId};

impl Relay<'_> {
    /// Sends up what is permitted now.
    pub(super) fn serve_uplink(&mut self, net: &mut GatewayNet<'_>) -> Result<(), NetworkError> {
        loop {
            let turn = match self.uplink.poll(net.now) {
                Ok(turn) => turn,
                Err(again) => {
                    if let Some(at) = again {
                        net.agenda.add(at, Event::Access(Told::Poll));
                    }
                    return Ok(());
                }
            };
            let Some(live) = self.live.get_mut(turn.request.0 as usize) else { continue };
            let Some(id) = live.end else { continue };
            let bytes = turn.units.min(live.upload_left);
            live.upload_left -= bytes;
            self.uplink.handed_over(turn.request, bytes, live.upload_left == 0, net.now);
            let end = &mut net.connections[id].opener.end;
            end.application.to_send += bytes;
            let before = live.uploaded;
            live.uploaded += bytes;
            if before >= UplinkRate::MIN_BYTES {
                self.uplink.measures(bytes);
            } else if live.uploaded >= UplinkRate::MIN_BYTES {
                self.uplink.measures(end.held_bytes());
            }
            self.turn(id, net)?;
        }
    }

    /// Begins the upload of a released request.
    pub(super) fn begin_upload(&mut self, live: usize, net: &mut GatewayNet<'_>) {
        let Live { exchange, end, upload_left, .. } = self.live[live];
        let Some(id) = end.filter(|_| upload_left > 0) else { return };
        let user = UserId(self.users.exchange(exchange).user as u32);
        if self.uplink.arrived(id_of(live), user, net.now) {
            self.is_asked = true;
        } else {
            net.connections[id].opener.end.application.to_send += upload_left;
            self.live[live].upload_left = 0;
        }
    }

    /// The gateway's end of a connection sent this many bytes, including retransmissions.
    pub(super) fn sent_up(&mut self, id: EndId, bytes: u64, now: Nanos) {
        if self.upstreams.of(id).live.is_none() {
            return;
        }
        if let Some(is_busy) = self.uplink.sent(bytes, now) {
            self.scheduler.uplink(is_busy, now);
            self.is_asked = true;
        }
    }

    /// Reports how uploads fare, from which the uplink's capacity is learnt.
    pub(in super::super) fn learn_uplink(&mut self, delay: Option<Nanos>, net: &GatewayNet<'_>) {
        let measured = self.live.iter().filter(|(_, live)| live.uploaded >= UplinkRate::MIN_BYTES);
        let held = measured.filter_map(|(_, live)| live.end.map(|id| net.connections[id].opener.end.held_bytes()));
        let (uploads, unacked_bytes) = held.fold((0, 0), |(uploads, sum), held| (uploads + 1, sum + held));
        if let Some(is_busy) = self.uplink.learn((uploads, unacked_bytes), delay, net.now) {
            self.scheduler.uplink(is_busy, net.now);
        }
        self.is_asked = true;
    }

    /// Checks whether the uplink is still busy.
    pub(in super::super) fn look_up(&mut self, now: Nanos) {
        if let Some(is_busy) = self.uplink.look(now) {
            self.scheduler.uplink(is_busy, now);
            self.is_asked = true;
        }
    }

    /// The gateway's end of a connection may have room for more of an upload.
    pub(super) fn goes_on_up(&mut self, id: EndId, net: &mut GatewayNet<'_>) {
        let Some(at) = self.upstreams.of(id).live.filter(|_| self.upstreams.of(id).tls.is_none()) else { return };
        // Request more once the socket has taken everything so far.
        let is_taken = net.connections[id].opener.end.application.to_send == 0;
        if self.live[at].upload_left > 0 && is_taken && self.uplink.ready(id_of(at), net.now) {
            self.is_asked = true;
        }
    }
}
