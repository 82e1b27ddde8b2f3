//! A session that encrypts nothing: messages as long as TLS 1.3's that contain the transport parameters, then keys that leave
//! payloads unchanged and append an empty tag.

use std::{any::Any, mem, sync::Arc};

use bytes::{Buf, BufMut, BytesMut};
use quinn_proto::{
    ConnectError, ConnectionId, Side, TransportError, TransportErrorCode,
    crypto::{
        self, AeadKey, CryptoError, ExportKeyingMaterialError, HandshakeTokenKey, HeaderKey, HmacKey, KeyPair, Keys,
        PacketKey, UnsupportedVersion,
    },
    transport_parameters::TransportParameters,
};

/// The authentication tag of a packet: AES-GCM's and ChaCha20-Poly1305's have this length.
const SEAL_BYTES: usize = 16;
/// Messages of a handshake without resumption: a ClientHello of common browsers without post-quantum keys; a ServerHello;
/// from EncryptedExtensions to Finished with a chain of two certificates; a client's Finished.
const CLIENT_HELLO_BYTES: usize = 300;
const SERVER_HELLO_BYTES: usize = 90;
const SERVER_REST_BYTES: usize = 2500;
const FINISHED_BYTES: usize = 36;
/// Header of a message here: its own length and the parameters'.
const LENGTHS_BYTES: usize = 6;

/// Implements every kind of key that QUIC uses.
pub(super) struct Key;

impl PacketKey for Key {
    fn encrypt(&self, _: u64, _: &mut [u8], _: usize) {}

    fn decrypt(&self, _: u64, _: &[u8], payload: &mut BytesMut) -> Result<(), CryptoError> {
        let left = payload.len().checked_sub(SEAL_BYTES).ok_or(CryptoError)?;
        payload.truncate(left);
        Ok(())
    }

    fn tag_len(&self) -> usize {
        SEAL_BYTES
    }

    fn confidentiality_limit(&self) -> u64 {
        u64::MAX
    }

    fn integrity_limit(&self) -> u64 {
        u64::MAX
    }
}

impl HeaderKey for Key {
    fn decrypt(&self, _: usize, _: &mut [u8]) {}

    fn encrypt(&self, _: usize, _: &mut [u8]) {}

    fn sample_size(&self) -> usize {
        16
    }
}

impl HmacKey for Key {
    // Reset tokens only have to differ by connection id: FNV-1a.
    fn sign(&self, data: &[u8], out: &mut [u8]) {
        let step = |hash: u64, byte: &u8| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
        let hash = data.iter().fold(0xcbf2_9ce4_8422_2325, step).to_be_bytes();
        out.iter_mut().zip(hash.iter().cycle()).for_each(|(to, from)| *to = *from);
    }

    fn signature_len(&self) -> usize {
        64
    }

    fn verify(&self, data: &[u8], signature: &[u8]) -> Result<(), CryptoError> {
        let mut own = vec![0; signature.len()];
        self.sign(data, &mut own);
        (own == signature).then_some(()).ok_or(CryptoError)
    }
}

impl HandshakeTokenKey for Key {
    fn aead_from_hkdf(&self, _: &[u8]) -> Box<dyn AeadKey> {
        Box::new(Self)
    }
}

impl AeadKey for Key {
    fn seal(&self, data: &mut Vec<u8>, _: &[u8]) -> Result<(), CryptoError> {
        data.extend_from_slice(&[0; SEAL_BYTES]);
        Ok(())
    }

    fn open<'a>(&self, data: &'a mut [u8], _: &[u8]) -> Result<&'a mut [u8], CryptoError> {
        let left = data.len().checked_sub(SEAL_BYTES).ok_or(CryptoError)?;
        Ok(&mut data[..left])
    }
}

fn packet_keys() -> KeyPair<Box<dyn PacketKey>> {
    KeyPair { local: Box::new(Key), remote: Box::new(Key) }
}

fn keys() -> Keys {
    Keys { header: KeyPair { local: Box::new(Key), remote: Box::new(Key) }, packet: packet_keys() }
}

/// Creates sessions for either side.
pub(super) struct Plain;

impl crypto::ClientConfig for Plain {
    fn start_session(
        self: Arc<Self>,
        _: u32,
        _: &str,
        parameters: &TransportParameters,
    ) -> Result<Box<dyn crypto::Session>, ConnectError> {
        Ok(Box::new(Session::new(Side::Client, parameters)))
    }
}

impl crypto::ServerConfig for Plain {
    fn initial_keys(&self, _: u32, _: &ConnectionId) -> Result<Keys, UnsupportedVersion> {
        Ok(keys())
    }

    fn retry_tag(&self, _: u32, _: &ConnectionId, _: &[u8]) -> [u8; 16] {
        [0; 16]
    }

    fn start_session(self: Arc<Self>, _: u32, parameters: &TransportParameters) -> Box<dyn crypto::Session> {
        Box::new(Session::new(Side::Server, parameters))
    }
}

/// One side of a handshake.
struct Session {
    side: Side,
    own: TransportParameters,
    peers: Option<TransportParameters>,
    // Number of messages written and read.
    written: u8,
    read: u8,
    // The part of the next message received so far.
    inbox: BytesMut,
    has_told: bool,
}

impl Session {
    fn new(side: Side, parameters: &TransportParameters) -> Self {
        Self { side, own: *parameters, peers: None, written: 0, read: 0, inbox: BytesMut::new(), has_told: false }
    }

    /// Writes a message: its length, the parameters' length, the parameters, zeros.
    fn write(&mut self, bytes: usize, with_parameters: bool, into: &mut Vec<u8>) {
        let mut parameters = Vec::new();
        if with_parameters {
            self.own.write(&mut parameters);
        }
        let zeros = bytes.saturating_sub(LENGTHS_BYTES + parameters.len());
        into.put_u32((LENGTHS_BYTES + parameters.len() + zeros) as u32);
        into.put_u16(parameters.len() as u16);
        into.put_slice(&parameters);
        into.put_bytes(0, zeros);
        self.written += 1;
    }
}

impl crypto::Session for Session {
    fn initial_keys(&self, _: &ConnectionId, _: Side) -> Keys {
        keys()
    }

    fn handshake_data(&self) -> Option<Box<dyn Any>> {
        Some(Box::new(()))
    }

    fn peer_identity(&self) -> Option<Box<dyn Any>> {
        None
    }

    fn early_crypto(&self) -> Option<(Box<dyn HeaderKey>, Box<dyn PacketKey>)> {
        None
    }

    fn early_data_accepted(&self) -> Option<bool> {
        None
    }

    fn is_handshaking(&self) -> bool {
        match self.side {
            Side::Client => self.written < 3,
            Side::Server => self.read < 2,
        }
    }

    fn read_handshake(&mut self, came: &[u8]) -> Result<bool, TransportError> {
        self.inbox.extend_from_slice(came);
        while self.inbox.len() >= LENGTHS_BYTES {
            let mut head = &self.inbox[..];
            let (bytes, parameters) = (head.get_u32() as usize, head.get_u16() as usize);
            if self.inbox.len() < bytes {
                break;
            }
            let wrong = || TransportError {
                code: TransportErrorCode::TRANSPORT_PARAMETER_ERROR,
                frame: None,
                reason: "no parameters".into(),
            };
            let message = self.inbox.split_to(bytes.max(LENGTHS_BYTES));
            if parameters > 0 {
                let mut written = message.get(LENGTHS_BYTES..LENGTHS_BYTES + parameters).ok_or_else(wrong)?;
                self.peers = Some(TransportParameters::read(self.side, &mut written).map_err(|_| wrong())?);
            }
            self.read += 1;
        }
        // Whether there is something new to report: the peer's parameters, once.
        let knows = self.peers.is_some();
        Ok(knows && !mem::replace(&mut self.has_told, knows))
    }

    fn transport_parameters(&self) -> Result<Option<TransportParameters>, TransportError> {
        Ok(self.peers)
    }

    /// Writes the next message, and returns the keys for the packets that follow.
    fn write_handshake(&mut self, into: &mut Vec<u8>) -> Option<Keys> {
        match (self.side, self.written, self.read) {
            (Side::Client, 0, _) => {
                self.write(CLIENT_HELLO_BYTES, true, into);
                None
            }
            (Side::Client, 1, 1..) => {
                self.written += 1;
                Some(keys())
            }
            (Side::Client, 2, 2..) => {
                self.write(FINISHED_BYTES, false, into);
                Some(keys())
            }
            (Side::Server, 0, 1..) => {
                self.write(SERVER_HELLO_BYTES, false, into);
                Some(keys())
            }
            (Side::Server, 1, _) => {
                self.write(SERVER_REST_BYTES, true, into);
                Some(keys())
            }
            _ => None,
        }
    }

    fn next_1rtt_keys(&mut self) -> Option<KeyPair<Box<dyn PacketKey>>> {
        Some(packet_keys())
    }

    fn is_valid_retry(&self, _: &ConnectionId, _: &[u8], _: &[u8]) -> bool {
        true
    }

    fn export_keying_material(&self, out: &mut [u8], _: &[u8], _: &[u8]) -> Result<(), ExportKeyingMaterialError> {
        out.fill(0);
        Ok(())
    }
}
