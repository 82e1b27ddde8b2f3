//! Chromium with the proxy over TLS: it uses the gateway's PAC file, and pages load.

use std::net::Ipv4Addr;

use base64::{Engine, prelude::BASE64_STANDARD};
use rcgen::{KeyPair, PublicKeyData};
use tokio_rustls::rustls::crypto::ring::cipher_suite::TLS13_AES_128_GCM_SHA256;

use crate::{
    browser::Browser,
    dns::{Reply, name_server},
    parents_tls::{head, says, sealed},
    server::Server,
    support::Setup,
    tls::{Files, by_tls},
};

/// What Chromium should trust: the SHA-256 of a public key.
fn fingerprint(files: &Files) -> String {
    let key = KeyPair::from_pem(&std::fs::read_to_string(files.key()).unwrap()).unwrap();
    let hash = TLS13_AES_128_GCM_SHA256.tls13().unwrap().common.hash_provider;
    BASE64_STANDARD.encode(hash.hash(&key.subject_public_key_info()).as_ref())
}

const PAGE: &str = "<!doctype html><title>there</title><p>it came";

#[test]
fn chromium_loads_pages_through_it_as_the_pac_file_says() {
    let files = Files::new("chromium");
    let answer = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{PAGE}", PAGE.len());
    let plain = {
        let answer = answer.clone();
        Server::start(move |mut connection| {
            let asked = head(&mut connection.stream);
            std::io::Write::write_all(&mut connection.stream, answer.as_bytes()).ok();
            connection.tell(asked);
        })
    };
    let secure = sealed(&files, &["http/1.1"], move |stream| {
        let asked = head(stream);
        says(stream, answer.as_bytes(), true);
        asked
    });
    let names = name_server(|_, _| Reply::Addresses(vec![Ipv4Addr::LOCALHOST]));
    let setup = files.setup();
    // To Chromium, names under example are not loopback addresses, and so go through the proxy.
    let gateway = Setup {
        proxy: format!("nameservers = [\"{names}\"]"),
        access: format!("connect_ports = [{}]", secure.address.port()),
        ..Setup::rest(&setup.rest)
    }
    .start();
    // Requested over TLS, the file names the proxy with TLS.
    let pac = format!("--proxy-pac-url=https://{}/proxy.pac", by_tls(&gateway));
    let believes = format!("--ignore-certificate-errors-spki-list={}", fingerprint(&files));
    let Some(mut browser) = Browser::open_with(&[pac.clone(), believes]) else { return };
    browser.go(&format!("http://page.example:{}/", plain.address.port()));
    assert_eq!(
        (browser.text("document.title"), browser.text("document.body.innerText.trim()")),
        ("there".into(), "it came".into())
    );
    // HTTP/2, which Chromium speaks to a proxy only over TLS.
    let asked = plain.told();
    assert!(asked.to_ascii_lowercase().contains("\r\nvia: 2.0 dovetail\r\n"), "{asked}");
    // And in a tunnel, TLS in TLS.
    browser.go(&format!("https://page.example:{}/", secure.address.port()));
    assert_eq!(browser.text("document.title"), "there");
    assert!(secure.told().starts_with("GET / HTTP/1.1\r\n"));
    drop(browser);
    // A browser that does not trust the certificate sends no request.
    let at = format!("--proxy-server=https://{}", by_tls(&gateway));
    let Some(mut browser) = Browser::open_with(&[at]) else { return };
    let why = browser.failure(&format!("http://page.example:{}/", plain.address.port()));
    assert_eq!(why, "net::ERR_PROXY_CERTIFICATE_INVALID");
    let asks: Vec<_> = plain.rest().into_iter().filter(|asked| asked.starts_with("GET / ")).collect();
    assert_eq!(asks, Vec::<String>::new());
    drop(browser);
    gateway.quiet();
}
