//! What requests carry, on its way from the gateway to a server.

use dovetail_sched::{Nanos, request::UserId};

use super::gateway::{Gateway, Told};
use crate::{
    Observer,
    network::{NetworkError, events::Event, packets::EndId, world::World},
};

impl<O: Observer> World<'_, O> {
    /// A request was released, and what it carries goes after it.
    pub(super) fn begin_upload(&mut self, live: usize) {
        let Some(gateway) = &mut self.gateway else { return };
        let (upload, end) = (gateway.live[live].upload_left, gateway.live[live].end);
        let Some(id) = end.filter(|_| upload > 0) else { return };
        let user = UserId(gateway.outcome.exchanges[gateway.live[live].exchange].user as u32);
        if gateway.uplink.arrived(Gateway::id(live), user, self.now) {
            gateway.is_asked = true;
        } else {
            self.connections[id.place].sender.end.application.to_send += upload;
            gateway.live[live].upload_left = 0;
        }
    }

    /// Sends up what may be sent now.
    pub(super) fn serve_uplink(&mut self) -> Result<(), NetworkError> {
        loop {
            let now = self.now;
            let Some(gateway) = &mut self.gateway else { return Ok(()) };
            let turn = match gateway.uplink.poll(now) {
                Ok(turn) => turn,
                Err(again) => {
                    if let Some(at) = again {
                        self.agenda.add(at, Event::Gateway(Told::PollUplink));
                    }
                    return Ok(());
                }
            };
            let Some(live) = gateway.live.get_mut(turn.request.0 as usize) else { continue };
            let Some(id) = live.end else { continue };
            let bytes = turn.units.min(live.upload_left);
            live.upload_left -= bytes;
            let is_over = live.upload_left == 0;
            if let Some(pacer) = &mut gateway.uplink.pacer {
                pacer.received(turn.request, bytes, now);
                if is_over {
                    pacer.ended(turn.request, now);
                }
            }
            self.connections[id.place].sender.end.application.to_send += bytes;
            self.turn(id)?;
        }
    }

    /// The gateway's end of a connection may have room for more of an upload.
    pub(super) fn upload(&mut self, id: EndId) {
        let now = self.now;
        let Some(gateway) = &mut self.gateway else { return };
        let connection = &self.connections[id.place];
        let to_send = connection.sender.end.application.to_send;
        let Some(at) = connection.upstream.and_then(|upstream| upstream.live) else { return };
        // More is asked for when the socket has taken what there was.
        if let Some(pacer) = &mut gateway.uplink.pacer
            && gateway.live[at].upload_left > 0
            && to_send == 0
        {
            pacer.ready(Gateway::id(at), now);
            gateway.is_asked = true;
        }
    }

    /// The gateway's end of a connection sent so many bytes, some for the second time.
    pub(in crate::network) fn sent_up(&mut self, id: EndId, bytes: u64) {
        let Some(gateway) = &mut self.gateway else { return };
        let live = self.connections[id.place].upstream.and_then(|upstream| upstream.live);
        let Some(live) = live.and_then(|at| gateway.live.get(at)) else { return };
        // Who carries nothing is a header, and short.
        if gateway.outcome.exchanges[live.exchange].upload == 0 {
            return;
        }
        if let Some(is_busy) = gateway.uplink.sent(bytes, self.now) {
            gateway.scheduler.uplink(is_busy, self.now);
            gateway.is_asked = true;
        }
    }
}

impl Gateway<'_> {
    /// Looks whether still much is sent up.
    pub(super) fn look_up(&mut self, now: Nanos) {
        if let Some(is_busy) = self.uplink.look(now) {
            self.scheduler.uplink(is_busy, now);
            self.is_asked = true;
        }
    }
}
