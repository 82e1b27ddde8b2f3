//! How a parent proxy is authenticated over TLS: by a certificate for its name from a trusted authority.
//!
//! Each response has a connection of its own, whose receive window holds it back. Over HTTP/2 all responses would share one, so
//! HTTP/2 is not offered.

use std::{
    fmt,
    path::{Path, PathBuf},
    sync::Arc,
};

use dovetail_toml::{
    Fault, Section, read_text,
    values::{quoted, text, truth},
};
use tokio_rustls::{
    TlsConnector,
    rustls::{
        ClientConfig, RootCertStore,
        crypto::ring,
        pki_types::{CertificateDer, ServerName, pem::PemObject},
    },
};

use super::path::path;

/// `tls`, `tls_name` and `ca_file` of a `[[parent]]`.
#[derive(Clone)]
pub struct ParentTls {
    /// The name or address that its certificate must be valid for.
    pub name: ServerName<'static>,
    /// A PEM file of trusted authorities; if `None`, the system's.
    pub ca_file: Option<PathBuf>,
    connector: TlsConnector,
}

impl fmt::Debug for ParentTls {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { name, ca_file, .. } = self;
        f.debug_struct("ParentTls").field("name", name).field("ca_file", ca_file).finish_non_exhaustive()
    }
}

impl ParentTls {
    /// The connector for TLS to it.
    #[must_use]
    pub const fn connector(&self) -> &TlsConnector {
        &self.connector
    }
}

/// The TLS settings of a parent at this host, if it is reached over TLS.
pub(super) fn read(section: &mut Section<'_>, host: &str, folder: &Path) -> Result<Option<ParentTls>, Fault> {
    let is_so = section.one("tls", truth)?.unwrap_or(false);
    let expected = "the name or address that its certificate is for, such as \"proxy.provider.example\"";
    let name = section.one("tls_name", text(expected, server_name))?;
    let ca_file = section.one("ca_file", path(folder))?;
    if !is_so {
        let lone =
            [("tls_name", name.is_some()), ("ca_file", ca_file.is_some())].into_iter().find(|(_, is_there)| *is_there);
        return lone.map_or(Ok(None), |(key, _)| Err(section.wrong(key, "add tls = true: it is of use by TLS only")));
    }
    let name = match name.or_else(|| server_name(host)) {
        Some(name) => name,
        None => return Err(section.wrong("tls", format!("{} is in no certificate: add tls_name", quoted(host)))),
    };
    let roots = match &ca_file {
        Some(file) => authorities(file).map_err(|why| section.wrong("ca_file", why))?,
        None => of_system().map_err(|why| section.wrong("tls", why))?,
    };
    let builder = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()));
    let builder =
        builder.with_safe_default_protocol_versions().map_err(|error| section.wrong("tls", error.to_string()))?;
    let mut client = builder.with_root_certificates(roots).with_no_client_auth();
    client.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(Some(ParentTls { name, ca_file, connector: TlsConnector::from(Arc::new(client)) }))
}

fn server_name(text: &str) -> Option<ServerName<'static>> {
    ServerName::try_from(text.to_owned()).ok()
}

fn authorities(file: &Path) -> Result<RootCertStore, String> {
    let text = read_text(file).map_err(|error| error.to_string())?;
    let failed = |why: String| format!("{}: {why}", file.display());
    let mut roots = RootCertStore::empty();
    for certificate in CertificateDer::pem_slice_iter(text.as_bytes()) {
        let certificate = certificate.map_err(|error| failed(format!("it is no PEM file: {error}")))?;
        roots.add(certificate).map_err(|error| failed(format!("a certificate in it cannot be read: {error}")))?;
    }
    if roots.is_empty() {
        return Err(failed("there is no certificate in it: it should begin with -----BEGIN CERTIFICATE-----".into()));
    }
    Ok(roots)
}

fn of_system() -> Result<RootCertStore, String> {
    let mut roots = RootCertStore::empty();
    // A bundle may contain certificates that cannot be parsed; the others are usable without them.
    roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    if roots.is_empty() {
        return Err(
            "this system has no certificates of authorities: install them (ca-certificates), or set ca_file".into()
        );
    }
    Ok(roots)
}
