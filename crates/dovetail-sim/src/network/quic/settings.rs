//! What all connections of a run have in common.

use std::{sync::Arc, time::Duration};

use bytes::Bytes;
use quinn_proto::{
    ClientConfig, ConnectionId, ConnectionIdGenerator, EndpointConfig, NoneTokenStore, ServerConfig, TransportConfig,
    ValidationTokenConfig, VarInt,
};

use super::{
    clock::{Clock, Stopped},
    plain::{Key, Plain},
    reno,
};
use crate::network::transport::{QUIC_ID_BYTES, Transport, UDP_HEADERS_BYTES};

/// Size of the chunks that applications write.
const CHUNK_BYTES: usize = 1 << 16;

/// What all connections of a run have in common.
pub(in crate::network) struct Settings {
    datagram_bytes: u16,
    transport: Arc<TransportConfig>,
    server: Arc<ServerConfig>,
    clock: Clock,
    zeros: Bytes,
}

impl Settings {
    /// `None` if packets would exceed UDP's maximum, which no checked network requests.
    pub(in crate::network) fn new(transport: &Transport) -> Option<Self> {
        let datagram_bytes = u16::try_from(transport.mtu_bytes.checked_sub(UDP_HEADERS_BYTES)?).ok()?;
        let window = transport.tcp.receive_bytes;
        let reno = reno::Settings::new(first_window(datagram_bytes.into()));
        let mut config = TransportConfig::default();
        config
            .congestion_controller_factory(Arc::new(reno))
            // A fixed size, whatever is lost: neither probed nor reduced.
            .initial_mtu(datagram_bytes)
            .min_mtu(datagram_bytes)
            .mtu_discovery_config(None)
            .enable_segmentation_offload(false)
            .max_idle_timeout(None)
            .max_concurrent_uni_streams(VarInt::from_u32(1))
            .max_concurrent_bidi_streams(VarInt::from_u32(0))
            .datagram_receive_buffer_size(None)
            .allow_spin(false)
            .stream_receive_window(VarInt::from_u32(window))
            .receive_window(VarInt::from_u32(window))
            .send_window(window.into());
        let transport = Arc::new(config);
        let mut tokens = ValidationTokenConfig::default();
        tokens.sent(0);
        let mut server = ServerConfig::new(Arc::new(Plain), Arc::new(Key));
        server
            .transport_config(transport.clone())
            .validation_token_config(tokens)
            .time_source(Arc::new(Stopped))
            .migration(false);
        Some(Self {
            datagram_bytes,
            transport,
            server: Arc::new(server),
            clock: Clock::new(),
            zeros: Bytes::from_static(&[0; CHUNK_BYTES]),
        })
    }

    /// Configuration of an endpoint with this seed.
    pub(super) fn endpoint(&self, seed: u64) -> Arc<EndpointConfig> {
        let mut seeds = [0; 32];
        seeds[..8].copy_from_slice(&seed.to_le_bytes());
        let mut config = EndpointConfig::new(Arc::new(Key));
        config.cid_generator(|| Box::new(Counting(0))).rng_seed(Some(seeds)).grease_quic_bit(false);
        // Neither end's datagrams are shorter than QUIC's minimum, so this is never rejected.
        let _ = config.max_udp_payload_size(self.datagram_bytes);
        Arc::new(config)
    }

    pub(super) fn client(&self) -> ClientConfig {
        let mut config = ClientConfig::new(Arc::new(Plain));
        config
            .transport_config(self.transport.clone())
            .token_store(Arc::new(NoneTokenStore))
            .initial_dst_cid_provider(Arc::new(|| ConnectionId::new(&[u8::MAX; QUIC_ID_BYTES])));
        config
    }

    pub(super) fn server(&self) -> Arc<ServerConfig> {
        self.server.clone()
    }

    pub(super) fn clock(&self) -> Clock {
        self.clock
    }

    /// What applications write: zeros.
    pub(super) fn zeros(&self) -> Bytes {
        self.zeros.clone()
    }
}

/// The initial congestion window (RFC 9002, section 7.2).
fn first_window(datagram_bytes: u64) -> u64 {
    (10 * datagram_bytes).min((2 * datagram_bytes).max(14_720))
}

/// Connection ids of an endpoint: consecutive numbers.
struct Counting(u64);

impl ConnectionIdGenerator for Counting {
    fn generate_cid(&mut self) -> ConnectionId {
        self.0 += 1;
        ConnectionId::new(&self.0.to_be_bytes())
    }

    fn cid_len(&self) -> usize {
        QUIC_ID_BYTES
    }

    fn cid_lifetime(&self) -> Option<Duration> {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_window_is_ten_datagrams_but_no_more_than_two_large_ones() {
        assert_eq!([1200, 1472, 4000, 8972].map(first_window), [12_000, 14_720, 14_720, 17_944]);
    }
}
