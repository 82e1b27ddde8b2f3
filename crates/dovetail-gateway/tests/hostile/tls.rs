//! TLS between clients and the gateway: everything that works in clear works over TLS, and nothing else does.

use std::{
    fs,
    io::{Read, Write},
    net::{SocketAddr, TcpStream},
    os::unix::fs::{DirBuilderExt, PermissionsExt},
    path::PathBuf,
    process::{self, Command},
    sync::Arc,
    thread,
    time::Duration,
};

use dovetail_gateway::{Control, check};
use http::{Request, Version};
use tokio_rustls::{
    TlsConnector,
    rustls::{
        ClientConfig, ClientConnection, RootCertStore, StreamOwned,
        crypto::ring,
        pki_types::{CertificateDer, ServerName, pem::PemObject},
    },
};

use crate::{
    answer::is_closed,
    limits::run,
    server::{Server, echo, strict_server},
    strict,
    support::{Running, Setup, connect_from, get},
};

/// A certificate and its key, in files that are removed after their test.
pub struct Files(PathBuf);

impl Files {
    pub fn new(name: &str) -> Self {
        let folder = std::env::temp_dir().join(format!("dovetail-tls-{name}-{}", process::id()));
        fs::DirBuilder::new().mode(0o700).recursive(true).create(&folder).unwrap();
        let files = Self(folder);
        files.renew();
        files
    }

    /// Replaces the certificate and the key.
    pub fn renew(&self) {
        let made = rcgen::generate_simple_self_signed(["gateway.test".to_owned(), "127.0.0.1".to_owned()]).unwrap();
        fs::write(self.certificate(), made.cert.pem()).unwrap();
        self.write_key(&made.signing_key.serialize_pem());
    }

    fn write_key(&self, text: &str) {
        fs::write(self.key(), text).unwrap();
        fs::set_permissions(self.key(), fs::Permissions::from_mode(0o600)).unwrap();
    }

    pub fn certificate(&self) -> PathBuf {
        self.0.join("certificate.pem")
    }

    pub fn key(&self) -> PathBuf {
        self.0.join("key.pem")
    }

    /// A gateway that uses them, and soon gives up on clients that say nothing.
    pub fn setup(&self) -> Setup {
        self.setup_within("400ms")
    }

    /// A gateway that uses them, and waits for a header for this long.
    fn setup_within(&self, header: &str) -> Setup {
        let tls = format!(
            "[proxy.tls]\nlisten = \"127.0.0.1:0\"\ncertificate = \"{}\"\nkey = \"{}\"\n",
            self.certificate().display(),
            self.key().display()
        );
        Setup::rest(&format!("{tls}[timeouts]\nheader = \"{header}\"\n"))
    }

    /// A client that trusts the current certificate and speaks these protocols.
    fn client(&self, protocols: &[&str]) -> Arc<ClientConfig> {
        let mut roots = RootCertStore::empty();
        roots.add(CertificateDer::from_pem_file(self.certificate()).unwrap()).unwrap();
        let builder = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()));
        let builder = builder.with_safe_default_protocol_versions().unwrap();
        let mut config = builder.with_root_certificates(roots).with_no_client_auth();
        config.alpn_protocols = protocols.iter().map(|protocol| protocol.as_bytes().to_vec()).collect();
        Arc::new(config)
    }

    /// Connects over TLS.
    fn connect(&self, gateway: &Running) -> StreamOwned<ClientConnection, TcpStream> {
        self.over(connect_from([127, 0, 0, 1], by_tls(gateway)))
    }

    fn over(&self, stream: TcpStream) -> StreamOwned<ClientConnection, TcpStream> {
        let client = ClientConnection::new(self.client(&["http/1.1"]), name()).unwrap();
        StreamOwned::new(client, stream)
    }
}

impl Drop for Files {
    fn drop(&mut self) {
        fs::remove_dir_all(&self.0).ok();
    }
}

fn name() -> ServerName<'static> {
    ServerName::try_from("gateway.test").unwrap()
}

/// Makes the files unusable.
type Spoil<'s> = Box<dyn Fn() + 's>;

/// The gateway's TLS address.
pub fn by_tls(gateway: &Running) -> SocketAddr {
    gateway.addresses[1]
}

/// The answer to a request, up to the end of its connection.
fn ask(stream: &mut StreamOwned<ClientConnection, TcpStream>, request: &str) -> String {
    stream.write_all(request.as_bytes()).unwrap();
    let mut text = Vec::new();
    stream.read_to_end(&mut text).unwrap();
    String::from_utf8_lossy(&text).into_owned()
}

#[test]
fn a_client_may_offer_http_1_0_alone() {
    let (files, server) = (Files::new("old"), strict_server());
    let gateway = files.setup().start();
    let client = ClientConnection::new(files.client(&["http/1.0"]), name()).unwrap();
    let mut stream = StreamOwned::new(client, connect_from([127, 0, 0, 1], by_tls(&gateway)));
    let text = ask(&mut stream, &format!("GET {} HTTP/1.0\r\n\r\n", server.url("/a")));
    assert_eq!(stream.conn.alpn_protocol(), Some(&b"http/1.0"[..]));
    assert!(text.starts_with("HTTP/1.0 200") && text.ends_with("/a"), "{text}");
}

#[test]
fn requests_uploads_pages_and_tunnels_go_through_tls() {
    let files = Files::new("all");
    let server = strict_server();
    let tunnels = echo();
    let setup = files.setup();
    let access = format!("connect_ports = [{}]", tunnels.address.port());
    let gateway = Setup { access, ..setup }.start();
    let found = ask(&mut files.connect(&gateway), &get(&server.url("/a")));
    assert!(found.starts_with("HTTP/1.1 200 ") && found.ends_with("/a"), "{found}");
    server.told().unwrap();
    let body = "x".repeat(200_000);
    let request = format!(
        "POST {} HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: {}\r\n\r\n{body}",
        server.url("/up"),
        body.len()
    );
    assert!(ask(&mut files.connect(&gateway), &request).ends_with("/up"));
    assert_eq!(server.told().unwrap().body.len(), body.len());
    let page = ask(&mut files.connect(&gateway), "GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n");
    assert!(page.contains("<strong>127.0.0.1</strong>"), "{page}");
    let pac = ask(&mut files.connect(&gateway), "GET /proxy.pac HTTP/1.0\r\n\r\n");
    assert!(pac.contains(&format!("var PROXY = \"HTTPS {}\";", by_tls(&gateway))), "{pac}");
    let pac = ask(&mut files.connect(&gateway), "GET /proxy.pac HTTP/1.0\r\nHost: gateway.test:3129\r\n\r\n");
    assert!(pac.contains("var PROXY = \"HTTPS gateway.test:3129\";"), "{pac}");
    // Refusals are sent too.
    let refused = ask(&mut files.connect(&gateway), &get(&format!("https://{}/", server.address)));
    assert!(refused.starts_with("HTTP/1.1 400 "), "{refused}");
    let mut tunnel = files.connect(&gateway);
    let connect = format!("CONNECT {0} HTTP/1.1\r\nHost: {0}\r\n\r\nearly", tunnels.address);
    tunnel.write_all(connect.as_bytes()).unwrap();
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        let mut byte = [0];
        tunnel.read_exact(&mut byte).unwrap();
        head.push(byte[0]);
    }
    assert!(head.starts_with(b"HTTP/1.1 200 "));
    let mut bytes = vec![0; 5];
    tunnel.read_exact(&mut bytes).unwrap();
    assert_eq!(bytes, b"early");
    for length in [1, 1_000, 100_000] {
        let sent: Vec<u8> = (0..length).map(|at| (at % 251) as u8).collect();
        tunnel.write_all(&sent).unwrap();
        let mut came = vec![0; length];
        tunnel.read_exact(&mut came).unwrap();
        assert!(came == sent, "{length} bytes are others");
    }
    drop(tunnel);
    tunnels.told();
    gateway.quiet();
}

#[test]
fn http2_is_agreed_upon() {
    let files = Files::new("http2");
    let server = strict_server();
    let gateway = files.setup().start();
    let at = by_tls(&gateway);
    run(async {
        let stream = tokio::net::TcpStream::connect(at).await.unwrap();
        let stream = TlsConnector::from(files.client(&["h2", "http/1.1"])).connect(name(), stream).await.unwrap();
        assert_eq!(stream.get_ref().1.alpn_protocol(), Some(&b"h2"[..]));
        let (sender, connection) = h2::client::handshake(stream).await.unwrap();
        tokio::spawn(async move { drop(connection.await) });
        let mut sender = sender.ready().await.unwrap();
        let own = format!("https://{at}/");
        for (uri, status) in [
            (&*server.url("/a"), 200),
            (&*own, 200),
            ("https://dovetail/me", 200),
            ("https://gateway.test:3129/me", 421),
            ("https://example.org/a", 421),
        ] {
            let request = Request::builder().uri(uri).version(Version::HTTP_2).body(()).unwrap();
            let (answer, _) = sender.send_request(request, true).unwrap();
            assert_eq!(answer.await.unwrap().status(), status, "{uri}");
        }
        // The file names the proxy by the name that the certificate has.
        for (uri, proxy) in [
            ("https://Gateway.test:3129/proxy.pac".to_owned(), "gateway.test:3129".to_owned()),
            ("https://gateway.test/wpad.dat".into(), "gateway.test:443".into()),
            (format!("https://{at}/proxy.pac"), at.to_string()),
        ] {
            let request = Request::builder().uri(&uri).version(Version::HTTP_2).body(()).unwrap();
            let (answer, _) = sender.send_request(request, true).unwrap();
            let answer = answer.await.unwrap();
            assert_eq!(answer.status(), 200, "{uri}");
            let (mut body, mut file) = (answer.into_body(), Vec::new());
            while let Some(part) = body.data().await {
                file.extend(part.unwrap());
            }
            let file = String::from_utf8(file).unwrap();
            assert!(file.contains(&format!("var PROXY = \"HTTPS {proxy}\";")), "{uri}: {file}");
        }
    });
    gateway.quiet();
}

#[test]
fn what_is_no_tls_ends_and_is_not_waited_for() {
    let files = Files::new("none");
    let gateway = Setup {
        access: "clients = [\"127.0.0.1/32\"]".into(),
        ..Setup::rest(&format!("{}[limits]\nconnections_per_user = 2\n", files.setup().rest))
    }
    .start();
    let at = by_tls(&gateway);
    for bytes in
        [&b"GET http://example.org/ HTTP/1.1\r\nHost: a\r\n\r\n"[..], b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", &[22; 60]]
    {
        let mut stream = connect_from([127, 0, 0, 1], at);
        stream.write_all(bytes).unwrap();
        let mut rest = Vec::new();
        stream.read_to_end(&mut rest).ok();
        assert!(!rest.starts_with(b"HTTP"), "{}", String::from_utf8_lossy(&rest));
    }
    // Silence, or an incomplete record, is waited for as long as a header; and it counts as a connection.
    let mut slow: Vec<_> = [&b""[..], &[22, 3, 1, 2, 0, 1]]
        .map(|bytes| {
            let mut stream = connect_from([127, 0, 0, 1], at);
            stream.write_all(bytes).unwrap();
            stream
        })
        .into();
    gateway.until("they are not there", |counts| counts.connections == 2);
    assert!(is_closed(&mut connect_from([127, 0, 0, 1], at)), "one more than a client may have");
    assert!(slow.iter_mut().all(is_closed));
    // A client without access gets no handshake.
    let mut stranger = files.over(connect_from([127, 0, 0, 2], at));
    assert!(stranger.write_all(b"GET / HTTP/1.1\r\n\r\n").and_then(|()| stranger.read(&mut [0])).is_err());
    // On the plain port TLS is not a request.
    let mut client = files.over(gateway.connect());
    assert!(client.write_all(b"GET / HTTP/1.1\r\n\r\n").is_err());
    drop(client);
    gateway.quiet();
}

#[test]
fn a_reload_takes_up_another_certificate_and_keeps_the_old_one_if_the_new_is_no_good() {
    let files = Files::new("reload");
    let server = strict_server();
    // One connection says nothing until the end.
    let setup = files.setup_within("10m");
    let gateway = setup.start();
    let mut before = files.connect(&gateway);
    before.flush().unwrap();
    let old = files.client(&["http/1.1"]);
    let reload = || {
        gateway.tell(Control::Reload(Box::new(setup.config())));
        gateway.look();
    };
    let reaches = |client: &Arc<ClientConfig>| {
        let stream = connect_from([127, 0, 0, 1], by_tls(&gateway));
        let mut stream = StreamOwned::new(ClientConnection::new(Arc::clone(client), name()).unwrap(), stream);
        stream.write_all(get(&server.url("/")).as_bytes()).and_then(|()| stream.read(&mut [0])).is_ok()
    };
    assert!(reaches(&old));
    // Each of these is refused, and changes nothing.
    let (certificate, key) =
        (fs::read_to_string(files.certificate()).unwrap(), fs::read_to_string(files.key()).unwrap());
    let other = rcgen::generate_simple_self_signed(["gateway.test".to_owned()]).unwrap();
    let restore = || {
        fs::write(files.certificate(), &certificate).unwrap();
        files.write_key(&key);
    };
    let spoilt: [(&str, Spoil<'_>); 7] = [
        ("does not go with", Box::new(|| files.write_key(&other.signing_key.serialize_pem()))),
        ("there is no private key", Box::new(|| files.write_key("-----BEGIN PRIVATE KEY-----\nAAAA\n"))),
        ("there is no certificate in it", Box::new(|| fs::write(files.certificate(), &key).unwrap())),
        (
            "does not go with",
            Box::new(|| {
                fs::write(files.certificate(), "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n")
                    .unwrap()
            }),
        ),
        ("it is longer than", Box::new(|| fs::write(files.certificate(), vec![b'x'; 2 << 20]).unwrap())),
        ("it cannot be read", Box::new(|| fs::remove_file(files.key()).unwrap())),
        (
            "accessible to every user",
            Box::new(|| {
                fs::set_permissions(files.key(), fs::Permissions::from_mode(0o644)).unwrap();
            }),
        ),
    ];
    for (why, spoil) in spoilt {
        spoil();
        let said = check(&setup.config()).unwrap_err().to_string();
        assert!(said.starts_with("proxy.tls: ") && said.contains(why), "{why}: {said}");
        reload();
        assert!(reaches(&old), "{why}");
        restore();
    }
    files.renew();
    check(&setup.config()).unwrap();
    reload();
    assert!(!reaches(&old) && reaches(&files.client(&[])));
    // An earlier connection continues with its certificate.
    assert!(ask(&mut before, &get(&server.url("/before"))).ends_with("/before"));
    gateway.quiet();
}

#[test]
fn a_balancer_names_the_client_before_tls_begins() {
    let files = Files::new("balanced");
    let setup = files.setup();
    let access = "clients = [\"10.1.0.0/16\"]".into();
    let gateway = Setup { proxy: "trusted = [\"127.0.0.2/32\"]".into(), access, ..setup }.start();
    let with = |header: &str| {
        let mut stream = connect_from([127, 0, 0, 2], by_tls(&gateway));
        stream.write_all(header.as_bytes()).unwrap();
        files.over(stream)
    };
    let mut stream = with("PROXY TCP4 10.1.2.3 192.0.2.1 4000 3129\r\n");
    let page = ask(&mut stream, "GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n");
    assert!(page.contains("<strong>10.1.2.3</strong>"), "{page}");
    let mut stream = with("PROXY TCP4 10.1.2.3 192.0.2.1 4000 3129\r\n");
    let pac = ask(&mut stream, "GET /wpad.dat HTTP/1.0\r\n\r\n");
    assert!(pac.contains("var PROXY = \"HTTPS 192.0.2.1:3129\";"), "the balancer's address: {pac}");
    // Within TLS it is not a header, and without one there is no TLS.
    let mut stream = with("PROXY TCP4 10.1.2.3 192.0.2.1 4000 3129\r\n");
    let found =
        ask(&mut stream, "PROXY TCP4 10.1.9.9 192.0.2.1 4000 3129\r\nGET / HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n");
    assert!(found.starts_with("HTTP/1.1 400 ") && !found.contains("10.1.9.9"), "{found}");
    assert!(with("").write_all(b"GET / HTTP/1.1\r\n\r\n").is_err());
    gateway.quiet();
}

#[test]
fn a_response_that_is_longer_than_any_buffer_comes_whole_and_in_order() {
    let files = Files::new("long");
    const LENGTH: usize = 8_000_000;
    let server = Server::<()>::start(|mut connection| {
        while let Ok(Some(_)) = strict::request(&mut connection.stream) {
            let body: Vec<u8> = (0..LENGTH).map(|at| (at / 1000) as u8).collect();
            let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {LENGTH}\r\n\r\n");
            if connection.stream.write_all(&[head.as_bytes(), &body].concat()).is_err() {
                return;
            }
        }
    });
    let gateway = files.setup().start();
    let mut client = files.connect(&gateway);
    client.write_all(get(&server.url("/")).as_bytes()).unwrap();
    // Slowly at first.
    thread::sleep(Duration::from_millis(100));
    let mut text = Vec::new();
    client.read_to_end(&mut text).unwrap();
    let at = text.windows(4).position(|end| end == b"\r\n\r\n").unwrap() + 4;
    assert_eq!(text.len() - at, LENGTH);
    assert!(text[at..].iter().enumerate().all(|(at, byte)| *byte == (at / 1000) as u8));
    gateway.quiet();
}

#[test]
fn curl_reaches_a_server_through_it() {
    let files = Files::new("curl");
    let server = strict_server();
    let gateway = files.setup().start();
    let proxy = format!("https://{}", by_tls(&gateway));
    for option in ["--http1.1", "--proxy-http2"] {
        let mut curl = Command::new("curl");
        curl.args(["-sS", "--max-time", "20", option, "--proxy", &proxy, "--proxy-cacert"]).arg(files.certificate());
        let Ok(said) = curl.arg(server.url("/curl")).output() else {
            return dovetail_skip::skipped("curl is not installed");
        };
        let error = String::from_utf8_lossy(&said.stderr);
        if !said.status.success() && (error.contains("is unknown") || error.contains("does not support")) {
            dovetail_skip::skipped(format!("this curl has no {option}"));
            continue;
        }
        assert_eq!(String::from_utf8_lossy(&said.stdout), "/curl", "{error}");
    }
    gateway.quiet();
}
