//! A page of many images, its server in a testbed, and a browser that loads it there.

use std::{
    convert::Infallible,
    env,
    net::{Ipv4Addr, TcpListener},
    path::{Path, PathBuf},
    process::{Command, Stdio},
    sync::Arc,
    thread::{self, JoinHandle},
};

use bytes::Bytes;
use dovetail_bed::{Bed, Place};
use http_body_util::Full;
use hyper::{Request, Response, body::Incoming, service::service_fn};
use hyper_util::{
    rt::{TokioExecutor, TokioIo},
    server::conn::auto,
};
use rustix::net::sockopt::set_tcp_congestion;
use tokio::sync::oneshot;
use tokio_rustls::{
    TlsAcceptor,
    rustls::{
        ServerConfig,
        pki_types::{CertificateDer, PrivateKeyDer, pem::PemObject},
    },
};

use super::running::LISTEN;

pub const IMAGES: usize = 60;
const IMAGE_BYTES: usize = 20_000;

/// How the page is transferred.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Over {
    Http,
    /// HTTP/1.1 in tunnels.
    Https,
    /// HTTP/2 in a tunnel.
    H2,
}

impl Over {
    const fn port(self) -> u16 {
        match self {
            // 80 is in use by the testbed's own server.
            Self::Http => 8080,
            Self::Https | Self::H2 => 443,
        }
    }

    fn url(self) -> &'static str {
        match self {
            Self::Http => "http://10.200.0.1:8080/",
            Self::Https | Self::H2 => "https://10.200.0.1/",
        }
    }
}

/// Contains the time when it was loaded, and the number of images shown, as text.
fn page() -> String {
    let images: String = (0..IMAGES).map(|number| format!("<img src=/{number}>")).collect();
    format!(
        "<!doctype html><link rel=icon href=data:,><body>{images}<script>onload = () => {{\
         const seen = [...document.images].filter((image) => image.naturalWidth).length;\
         document.body.dataset.loaded = `${{performance.now()}} ms, ${{seen}} images`;\
         }}</script>"
    )
}

/// A bitmap of 64 by 103 pixels, padded to the length of the file.
fn image() -> Bytes {
    let mut bytes = b"BM".to_vec();
    for number in [IMAGE_BYTES as u32, 0, 54, 40, 64, 103, 1 | 24 << 16, 0, 0, 0, 0, 0, 0] {
        bytes.extend_from_slice(&number.to_le_bytes());
    }
    bytes.resize(IMAGE_BYTES, 0x55);
    bytes.into()
}

/// Serves until dropped.
pub struct PageServer {
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl PageServer {
    /// At the testbed's first server. `folder` is for its certificate.
    pub fn new(bed: &Bed, over: Over, folder: &Path) -> Self {
        let tls = tls(over, folder);
        let (stop, stopped) = oneshot::channel();
        let begin = || {
            let listener = TcpListener::bind((Ipv4Addr::new(10, 200, 0, 1), over.port()))?;
            // The same as the testbed's own servers; a kernel may lack it.
            let _ = set_tcp_congestion(&listener, &bed.spec().congestion);
            listener.set_nonblocking(true)?;
            Ok(thread::spawn(move || serve(listener, tls, stopped)))
        };
        Self { stop: Some(stop), thread: Some(bed.within(Place::Servers, begin).unwrap()) }
    }
}

impl Drop for PageServer {
    fn drop(&mut self) {
        self.stop.take().map(|stop| stop.send(()));
        self.thread.take().map(JoinHandle::join);
    }
}

/// With a self-signed certificate.
fn tls(over: Over, folder: &Path) -> Option<TlsAcceptor> {
    let protocol: &[u8] = match over {
        Over::Http => return None,
        Over::Https => b"http/1.1",
        Over::H2 => b"h2",
    };
    let [key, certificate] = ["key.pem", "certificate.pem"].map(|name| folder.join(name));
    let made = Command::new("openssl")
        .args("req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 30 -subj /CN=10.200.0.1".split(' '))
        .arg("-keyout")
        .arg(&key)
        .arg("-out")
        .arg(&certificate)
        .output();
    assert!(made.unwrap().status.success());
    let chain = vec![CertificateDer::from_pem_file(certificate).unwrap()];
    let key = PrivateKeyDer::from_pem_file(key).unwrap();
    let mut config = ServerConfig::builder().with_no_client_auth().with_single_cert(chain, key).unwrap();
    config.alpn_protocols = vec![protocol.to_vec()];
    Some(Arc::new(config).into())
}

fn serve(listener: TcpListener, tls: Option<TlsAcceptor>, stopped: oneshot::Receiver<()>) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let listener = tokio::net::TcpListener::from_std(listener).unwrap();
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                // A response's last packet does not wait for an acknowledgement.
                let _ = stream.set_nodelay(true);
                let tls = tls.clone();
                tokio::spawn(async move {
                    let server = auto::Builder::new(TokioExecutor::new());
                    // A client that aborts a connection misses nothing.
                    let _ = match tls {
                        None => server.serve_connection(TokioIo::new(stream), service_fn(answer)).await,
                        Some(tls) => {
                            let Ok(stream) = tls.accept(stream).await else { return };
                            server.serve_connection(TokioIo::new(stream), service_fn(answer)).await
                        }
                    };
                });
            }
        });
        let _ = stopped.await;
    });
}

async fn answer(asked: Request<Incoming>) -> Result<Response<Full<Bytes>>, Infallible> {
    let (what, body) = match asked.uri().path() {
        "/" => ("text/html", page().into()),
        _ => ("image/bmp", image()),
    };
    let headers = Response::builder().header("Content-Type", what).header("Cache-Control", "no-store");
    Ok(headers.body(Full::new(body)).expect("a response"))
}

pub fn browser() -> Option<PathBuf> {
    let folders: Vec<PathBuf> = env::split_paths(&env::var_os("PATH")?).collect();
    let names = ["chromium", "chromium-browser", "google-chrome"];
    names.iter().flat_map(|name| folders.iter().map(move |folder| folder.join(name))).find(|path| path.exists())
}

/// Page load time from the request until everything is loaded, in seconds, in a browser without connections.
pub fn load(bed: &Bed, browser: &Path, over: Over, profile: &Path) -> f64 {
    let mut command = Command::new(browser);
    command
        .args(["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run"])
        .args(["--disable-background-networking", "--disable-component-update", "--disable-sync", "--disable-quic"])
        // So that its priority is not lowered.
        .args(["--disable-renderer-backgrounding", "--disable-backgrounding-occluded-windows"])
        .args(["--ignore-certificate-errors", "--timeout=120000", "--dump-dom"])
        .arg(format!("--proxy-server=http://{LISTEN}"))
        .arg(format!("--user-data-dir={}", profile.display()))
        .arg(over.url())
        .stdin(Stdio::null())
        .stderr(Stdio::null());
    let output = bed.within(Place::Clients, || command.output()).unwrap();
    let seen = String::from_utf8_lossy(&output.stdout).into_owned();
    let loaded = seen.split_once("data-loaded=\"").and_then(|(_, rest)| rest.split_once(" ms, "));
    let (millis, rest) = loaded.unwrap_or_else(|| panic!("{over:?}: not loaded: {seen:.400}"));
    assert!(rest.starts_with(&format!("{IMAGES} images")), "{rest:.40}");
    millis.parse::<f64>().unwrap() / 1e3
}
