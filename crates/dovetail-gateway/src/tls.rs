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
    time::Duration,
};

use jiff::Timestamp;
use tokio::net::TcpStream;
use tokio_rustls::{
    TlsAcceptor,
    rustls::{
        CertificateError, Error, RootCertStore, ServerConfig,
        client::verify_server_cert_signed_by_trust_anchor,
        crypto::ring,
        pki_types::{CertificateDer, PrivateKeyDer, UnixTime, pem::PemObject},
        server::ParsedCertificate,
    },
};

use crate::{client::Connection, config::ProxyTls, error::GatewayError};

/// Maximum length of a certificate chain or a key.
const MAX_BYTES: u64 = 1 << 20;
/// A certificate that ends within this time should have been renewed: Let's Encrypt's are after 60 of their 90 days.
const SOON: Duration = Duration::from_secs(14 * 86_400);

/// Accepts TLS connections, if configured.
#[derive(Default)]
pub(crate) struct Tls {
    acceptor: RefCell<Option<TlsAcceptor>>,
    /// What is wrong with the period in which the certificate is valid.
    warning: RefCell<Option<String>>,
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
        let tls = Self::default();
        tls.reload(config)?;
        Ok(tls)
    }

    /// Reads the files again.
    ///
    /// # Errors
    /// Same as for [`read`](Self::read); then nothing is changed.
    pub(crate) fn reload(&self, config: Option<&ProxyTls>) -> Result<(), GatewayError> {
        let (acceptor, warning) = config.map(acceptor).transpose()?.unzip();
        *self.acceptor.borrow_mut() = acceptor;
        *self.warning.borrow_mut() = warning.flatten();
        Ok(())
    }

    /// Says that clients refuse the certificate, or soon will, because of its dates.
    pub(crate) fn warning(&self) -> Option<String> {
        self.warning.borrow().clone()
    }

    /// The connection after its handshake.
    pub(crate) async fn accept(&self, stream: TcpStream) -> io::Result<Connection> {
        let acceptor = self.acceptor.borrow().clone();
        let acceptor = acceptor.ok_or(io::ErrorKind::Unsupported)?;
        acceptor.accept(stream).await.map(|stream| Connection::Right(Box::new(stream)))
    }
}

fn acceptor(config: &ProxyTls) -> Result<(TlsAcceptor, Option<String>), GatewayError> {
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
    let first = chain[0].clone();
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
    // Clients of HTTP/1.0 may offer it alone, and a handshake without a common protocol fails (RFC 7301, section 3.2).
    server.alpn_protocols = [&b"h2"[..], b"http/1.1", b"http/1.0"].map(<[u8]>::to_vec).into();
    let warning =
        untimely(&first, UnixTime::now()).map(|why| format!("proxy.tls: {}: {why}", at_certificate.display()));
    Ok((TlsAcceptor::from(Arc::new(server)), warning))
}

/// What is wrong with the period in which a certificate is valid, if anything.
fn untimely(certificate: &CertificateDer<'_>, now: UnixTime) -> Option<String> {
    let date = |time: UnixTime| {
        let at = i64::try_from(time.as_secs()).ok().and_then(|at| Timestamp::from_second(at).ok());
        at.map_or_else(|| "an unknown time".into(), |at| at.to_string())
    };
    match at(certificate, now) {
        Some(CertificateError::ExpiredContext { not_after, .. }) => {
            Some(format!("the certificate ended at {}, so clients refuse it: renew it and reload", date(not_after)))
        }
        Some(CertificateError::NotValidYetContext { not_before, .. }) => Some(format!(
            "the certificate begins only at {}, so clients refuse it: use another one, or correct this machine's clock",
            date(not_before)
        )),
        _ => match at(certificate, UnixTime::since_unix_epoch(Duration::from_secs(now.as_secs()) + SOON)) {
            Some(CertificateError::ExpiredContext { not_after, .. }) => {
                Some(format!("the certificate ends at {}: renew it and reload, or clients refuse it", date(not_after)))
            }
            _ => None,
        },
    }
}

/// Why a certificate is not accepted at a time. Of all reasons, its period is checked first, so nothing need be trusted.
fn at(certificate: &CertificateDer<'_>, time: UnixTime) -> Option<CertificateError> {
    let parsed = ParsedCertificate::try_from(certificate).ok()?;
    let algorithms = ring::default_provider().signature_verification_algorithms.all;
    match verify_server_cert_signed_by_trust_anchor(&parsed, &RootCertStore::empty(), &[], time, algorithms) {
        Err(Error::InvalidCertificate(error)) => Some(error),
        _ => None,
    }
}

/// A file's contents; a secret one must be accessible to its owner and group only.
fn read(path: &Path, is_secret: bool) -> Result<Vec<u8>, String> {
    let cannot = |error: io::Error| format!("it cannot be read: {error}");
    let file = File::open(path).map_err(cannot)?;
    if is_secret && file.metadata().map_err(cannot)?.permissions().mode() & 0o007 != 0 {
        return Err("it is accessible to every user of this machine: chmod 600 it".into());
    }
    let mut bytes = Vec::new();
    file.take(MAX_BYTES + 1).read_to_end(&mut bytes).map_err(cannot)?;
    if bytes.len() as u64 > MAX_BYTES {
        return Err(format!("it is longer than {MAX_BYTES} bytes"));
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Seconds from 1 January 2026.
    const BEGINS_S: u64 = 1_767_225_600;
    const DAY_S: u64 = 86_400;

    #[test]
    fn a_certificate_that_clients_refuse_or_soon_will_is_warned_of() {
        let mut names = rcgen::CertificateParams::new(["gateway.test".to_owned()]).expect("names");
        (names.not_before, names.not_after) = (rcgen::date_time_ymd(2026, 1, 1), rcgen::date_time_ymd(2026, 4, 1));
        let key = rcgen::KeyPair::generate().expect("a key");
        // Neither signed by itself nor by anyone known.
        let issuer =
            rcgen::Issuer::new(rcgen::CertificateParams::default(), rcgen::KeyPair::generate().expect("a key"));
        let made = names.signed_by(&key, &issuer).expect("a certificate");
        let says =
            |day: u64| untimely(made.der(), UnixTime::since_unix_epoch(Duration::from_secs(BEGINS_S + day * DAY_S)));
        for day in [0, 1, 75] {
            assert_eq!(says(day), None, "day {day}");
        }
        for (day, text) in [(77, "ends at 2026-04-01T00:00:00Z: renew"), (91, "ended at 2026-04-01T00:00:00Z, so")] {
            let said = says(day).expect("a warning");
            assert!(said.contains(text), "{said}");
        }
        let early = untimely(made.der(), UnixTime::since_unix_epoch(Duration::from_secs(BEGINS_S - DAY_S)));
        assert!(early.is_some_and(|said| said.contains("begins only at 2026-01-01T00:00:00Z")));
        assert_eq!(untimely(&CertificateDer::from(vec![0; 9]), UnixTime::now()), None, "no certificate");
    }

    #[test]
    fn what_is_read_and_what_is_read_again_has_a_warning() {
        let mut names = rcgen::CertificateParams::new(["gateway.test".to_owned()]).expect("names");
        names.not_after = rcgen::date_time_ymd(2020, 1, 1);
        let key = rcgen::KeyPair::generate().expect("a key");
        let folder = std::env::temp_dir().join(format!("dovetail-untimely-{}", std::process::id()));
        std::fs::create_dir_all(&folder).expect("a folder");
        let at = |name: &str, text: String| {
            let path = folder.join(name);
            std::fs::write(&path, text).expect("a file");
            std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o600)).expect("its mode");
            path
        };
        let certificate = at("certificate.pem", names.self_signed(&key).expect("a certificate").pem());
        let config = ProxyTls { listen: Vec::new(), certificate, key: at("key.pem", key.serialize_pem()) };
        let tls = Tls::read(Some(&config)).expect("files");
        let said = tls.warning().expect("a warning");
        assert!(said.contains("certificate.pem: the certificate ended at 2020-01-01T00:00:00Z"), "{said}");
        names.not_after = rcgen::date_time_ymd(4000, 1, 1);
        at("certificate.pem", names.self_signed(&key).expect("a certificate").pem());
        tls.reload(Some(&config)).expect("files");
        assert_eq!(tls.warning(), None);
        tls.reload(None).expect("nothing to read");
        assert_eq!(tls.warning(), None);
        std::fs::remove_dir_all(folder).expect("the folder");
    }
}
