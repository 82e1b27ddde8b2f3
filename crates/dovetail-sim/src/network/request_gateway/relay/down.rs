//! Between users and the gateway: requests, and the responses it forwards, with TCP or without.

use super::{
    super::told::{GatewayNet, Part},
    Relay,
};
use crate::network::{
    addresses::port,
    error::NetworkError,
    outcome::Exchange,
    packets::{EndId, Of},
    transport::TCP_HEADERS_BYTES,
};

/// The port that users send requests to (Squid's).
const PROXY: u16 = 3128;

impl Relay<'_> {
    /// Sends a user's request to the gateway.
    pub(in super::super) fn ask(&mut self, exchange: usize, net: &mut GatewayNet<'_>) -> Result<(), NetworkError> {
        let Exchange { user: number, bytes, .. } = *self.users.exchange(exchange);
        let user = self.users.user(number);
        let (node, socket, traffic, to) = (user.node, user.socket, user.traffic, self.access.gateway);
        // A user on the gateway's own node crosses no link.
        if node == to {
            self.asked(exchange, net);
            return Ok(());
        }
        if let Some(downstreams) = &mut self.downstreams {
            let lengths = [u64::from(self.access.request_bytes), self.access.whole(bytes)];
            return match downstreams.ask(exchange, (number, user), lengths, net)? {
                Some(id) => self.turn(id, net),
                None => Ok(()),
            };
        }
        let of = Of::Access(Part::Asks(exchange));
        net.send_alone([node, to], [socket, port(to, PROXY)], self.access.request_bytes, of, traffic)
    }

    /// Bytes of a response that the gateway has room for.
    pub(super) fn room(&self, exchange: usize, net: &mut GatewayNet<'_>) -> u64 {
        self.downstreams.as_ref().map_or(u64::MAX, |downstreams| downstreams.room(exchange, net))
    }

    /// Forwards what the gateway read to the user, in packets.
    pub(super) fn pass_on(
        &mut self,
        exchange: usize,
        bytes: u64,
        net: &mut GatewayNet<'_>,
    ) -> Result<(), NetworkError> {
        let Exchange { user, traffic, .. } = *self.users.exchange(exchange);
        if let Some(downstreams) = self.downstreams.as_mut().filter(|_| bytes > 0)
            && let Some(id) = downstreams.hand_over(exchange, bytes, net)
        {
            self.goes_on_down(exchange, net);
            return self.turn(id, net);
        }
        let (node, there, from) = (self.users.user(user).node, self.users.user(user).socket, self.access.gateway);
        let here = port(from, PROXY);
        let most = u64::from(net.spec.transport.mtu_bytes - TCP_HEADERS_BYTES);
        let mut left = bytes;
        while left > 0 {
            let payload = left.min(most) as u32;
            left -= u64::from(payload);
            if node == from {
                self.answered(exchange, payload.into(), net);
                continue;
            }
            let of = Of::Access(Part::Answers { exchange, payload });
            net.send_alone([from, node], [here, there], payload + TCP_HEADERS_BYTES, of, traffic)?;
        }
        Ok(())
    }

    /// The user received part of a response.
    pub(in super::super) fn answered(&mut self, exchange: usize, bytes: u64, net: &mut GatewayNet<'_>) {
        let whole = self.access.whole(self.users.exchange(exchange).bytes);
        self.users.answered(exchange, bytes, whole, net);
    }

    /// The gateway's end of a user's connection had its turn: a request may be complete, and a response may have more room.
    pub(super) fn users_turned(&mut self, id: EndId, read: u64, net: &mut GatewayNet<'_>) -> Result<(), NetworkError> {
        let Some(downstreams) = &mut self.downstreams else { return Ok(()) };
        if let Some(exchange) = downstreams.gateway_read(id, read) {
            self.asked(exchange, net);
            return Ok(());
        }
        let Some(exchange) = downstreams.exchange(id) else { return Ok(()) };
        match self.goes_on_down(exchange, net) {
            Some(server) => self.turn(server, net),
            None => Ok(()),
        }
    }

    /// The room for a response may have changed. Returns the gateway's end of the connection to the server, if its turn is
    /// due.
    fn goes_on_down(&mut self, exchange: usize, net: &mut GatewayNet<'_>) -> Option<EndId> {
        let id = self.users.live(exchange).and_then(|at| self.live.get(at))?.end?;
        self.lets_read(id, net);
        let end = &net.connections[id].opener.end;
        (end.is_readable() && self.room(exchange, net) > 0).then_some(id)
    }

    /// A user read part of a response.
    pub(super) fn user_read(&mut self, id: EndId, bytes: u64, net: &mut GatewayNet<'_>) -> Result<(), NetworkError> {
        let Some(downstreams) = self.downstreams.as_mut().filter(|_| bytes > 0) else { return Ok(()) };
        let Some(exchange) = downstreams.exchange(id) else { return Ok(()) };
        let is_whole = downstreams.user_read(id, bytes);
        self.answered(exchange, bytes, net);
        let Some(downstreams) = self.downstreams.as_mut().filter(|_| is_whole) else { return Ok(()) };
        let (next, closes) = downstreams.rests(id, net);
        if closes {
            self.close(id, net)?;
        }
        next.map_or(Ok(()), |exchange| self.ask(exchange, net))
    }

    pub(super) fn close(&mut self, id: EndId, net: &mut GatewayNet<'_>) -> Result<(), NetworkError> {
        net.connections[id].opener.end.application.closes = true;
        self.turn(id, net)
    }

    /// Closes a user's connections that were idle for too long.
    pub(in super::super) fn closes_idle_users(
        &mut self,
        user: usize,
        net: &mut GatewayNet<'_>,
    ) -> Result<(), NetworkError> {
        let Some(downstreams) = &mut self.downstreams else { return Ok(()) };
        downstreams.overdue(user, net).into_iter().try_for_each(|id| self.close(id, net))
    }

    /// Number of connections opened by users.
    pub(in super::super) fn users_dialled(&self) -> u64 {
        self.downstreams.as_ref().map_or(0, |downstreams| downstreams.opened)
    }

    /// The most bytes that the gateway held for one of these.
    pub(in super::super) fn most_held(&self) -> u64 {
        self.downstreams.as_ref().map_or(0, |downstreams| downstreams.most_held)
    }
}
