//! TLS between clients and the gateway: certificate, key and handshakes.
//!
//! The files are read at the start and at each reload. Existing connections keep what they started with; a file that is
//! missing, invalid or readable by others changes nothing while the gateway runs.

use std::{
    cell::RefCell,
    fs::File,
    io::{self, Read},
    os::unix::fs::PermissionsExt,
    path::Path,
    sync::Arc,
};

use tokio::net::TcpStream;
use tokio_rustls::{
    TlsAcceptor,
    rustls::{
        ServerConfig,
        crypto::ring,
        pki_types::{CertificateDer, PrivateKeyDer, pem::PemObject},
    },
};

use crate::{client::Connection, config::ProxyTls, error::GatewayError};

/// Maximum length of a certificate chain or a key.
const MOST_BYTES: u64 = 1 << 20;

/// Accepts TLS connections, if configured.
#[derive(Default)]
pub(crate) struct Tls {
    acceptor: RefCell<Option<TlsAcceptor>>,
}

impl std::fmt::Debug for Tls {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Tls").field("is_there", &self.acceptor.borrow().is_some()).finish_non_exhaustive()
    }
}

impl Tls {
    /// Reads the configured files, if any.
    ///
    /// # Errors
    /// [`GatewayError::Tls`], which names the faulty file and the reason.
    pub(crate) fn read(config: Option<&ProxyTls>) -> Result<Self, GatewayError> {
        Ok(Self { acceptor: RefCell::new(config.map(acceptor).transpose()?) })
    }

    /// Reads the files again.
    ///
    /// # Errors
    /// Same as for [`read`](Self::read); then nothing is changed.
    pub(crate) fn reload(&self, config: Option<&ProxyTls>) -> Result<(), GatewayError> {
        let found = config.map(acceptor).transpose()?;
        *self.acceptor.borrow_mut() = found;
        Ok(())
    }

    /// The connection after its handshake.
    pub(crate) async fn accept(&self, stream: TcpStream) -> io::Result<Connection> {
        let acceptor = self.acceptor.borrow().clone();
        let acceptor = acceptor.ok_or(io::ErrorKind::Unsupported)?;
        acceptor.accept(stream).await.map(|stream| Connection::Right(Box::new(stream)))
    }
}

fn acceptor(config: &ProxyTls) -> Result<TlsAcceptor, GatewayError> {
    let (at_certificate, at_key) = (&config.certificate, &config.key);
    let failed = |path: &Path, why: String| GatewayError::Tls(path.display().to_string(), why);
    let text = read(at_certificate, false).map_err(|why| failed(at_certificate, why))?;
    let chain: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(&text).collect();
    let chain = chain.map_err(|error| failed(at_certificate, format!("it is no PEM file: {error}")))?;
    if chain.is_empty() {
        return Err(failed(
            at_certificate,
            "there is no certificate in it: it should begin with -----BEGIN CERTIFICATE-----".into(),
        ));
    }
    let text = read(at_key, true).map_err(|why| failed(at_key, why))?;
    let key = PrivateKeyDer::from_pem_slice(&text)
        .map_err(|error| failed(at_key, format!("there is no private key in it that can be read: {error}")))?;
    let builder = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .map_err(|error| failed(at_key, error.to_string()))?;
    let mut server = builder
        .with_no_client_auth()
        .with_single_cert(chain, key)
        .map_err(|error| failed(at_key, format!("it does not go with {}: {error}", at_certificate.display())))?;
    server.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    Ok(TlsAcceptor::from(Arc::new(server)))
}

/// A file's contents; a secret one must be accessible to its owner and group only.
fn read(path: &Path, is_secret: bool) -> Result<Vec<u8>, String> {
    let cannot = |error: io::Error| format!("it cannot be read: {error}");
    let file = File::open(path).map_err(cannot)?;
    if is_secret && file.metadata().map_err(cannot)?.permissions().mode() & 0o007 != 0 {
        return Err("it is accessible to every user of this machine: chmod 600 it".into());
    }
    let mut bytes = Vec::new();
    file.take(MOST_BYTES + 1).read_to_end(&mut bytes).map_err(cannot)?;
    if bytes.len() as u64 > MOST_BYTES {
        return Err(format!("it is longer than {MOST_BYTES} bytes"));
    }
    Ok(bytes)
}
