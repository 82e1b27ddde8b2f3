//! The language of error pages.

use std::{
    io::Write,
    net::{Ipv4Addr, TcpListener},
};

use crate::{
    answer::{Answer, answer_to},
    support::{Running, Setup},
};

/// What is accepted, the language that is chosen, and parts of its page about a port that `CONNECT` may not reach.
const PAGES: [(&str, &str, &str, &str); 5] = [
    (
        "de-AT,de;q=0.8,en;q=0.5",
        "de",
        "<h1>Nicht erlaubt</h1>\n<p>CONNECT zu Port 25 ist hier nicht erlaubt.",
        "vom Gateway",
    ),
    ("fr", "fr", "<h1>Accès non autorisé</h1>\n<p>CONNECT vers le port 25 n’est pas autorisé ici.", "de la passerelle"),
    ("nl,es;q=0.3", "es", "<h1>No permitido</h1>\n<p>Aquí no se permite CONNECT al puerto 25.", "de la pasarela"),
    ("nl", "en", "<h1>Not allowed</h1>\n<p>CONNECT to port 25 is not allowed here.", "from the gateway"),
    ("", "en", "<h1>Not allowed</h1>\n<p>CONNECT to port 25 is not allowed here.", "from the gateway"),
];

fn connect(gateway: &Running, accept: &[u8]) -> Answer {
    let mut client = gateway.connect();
    let head = b"CONNECT mail.example:25 HTTP/1.1\r\nHost: mail.example:25\r\nAccept-Language: ";
    client.write_all(&[head, accept, b"\r\n\r\n"].concat()).unwrap();
    answer_to(&mut client, "CONNECT")
}

#[test]
fn an_error_page_is_in_the_users_language() {
    let gateway = Setup::default().start();
    for (accept, tag, says, origin) in PAGES {
        let refusal = connect(&gateway, accept.as_bytes());
        assert_eq!((refusal.status, refusal.is_whole), (403, true), "{refusal:?}");
        assert_eq!(refusal.field("proxy-status"), Some("dovetail; error=http_request_denied"));
        assert_eq!((refusal.field("content-language"), refusal.field("vary")), (Some(tag), Some("accept-language")));
        let text = refusal.text();
        for part in [&format!("<html lang=\"{tag}\">"), says, &format!("<small>403 {origin} dovetail, ")] {
            assert!(text.contains(part), "{accept}: {part}: {text}");
        }
    }
    gateway.quiet();
}

#[test]
fn what_a_server_could_not_be_reached_for_is_added_in_english() {
    let closed = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap().local_addr().unwrap();
    let gateway = Setup::access(&format!("connect_ports = [{}]", closed.port())).start();
    for request in [format!("GET http://{closed}/"), format!("CONNECT {closed}")] {
        let refusal = gateway.ask(format!("{request} HTTP/1.1\r\nHost: {closed}\r\nAccept-Language: de\r\n\r\n"));
        assert_eq!((refusal.status, refusal.is_whole), (502, true), "{refusal:?}");
        assert!(refusal.field("proxy-status").unwrap().ends_with("error=connection_refused"), "{refusal:?}");
        for part in [
            "<p>Es kam keine Verbindung zu „127.0.0.1“ zustande.</p>",
            "nicht von der Website.<br><span lang=\"en\">Connection refused",
        ] {
            assert!(refusal.text().contains(part), "{}", refusal.text());
        }
    }
    gateway.quiet();
}

#[test]
fn no_language_is_markup_and_none_is_known_of_what_cannot_be_parsed() {
    let gateway = Setup::default().start();
    let long = [&b"x,".repeat(1_000)[..], b"de"].concat();
    for accept in [&b"<b>de</b>, <script>"[..], b"de\xff, fr", b"\"><script>;q=1", &b";q=0,".repeat(500), &long] {
        let refusal = connect(&gateway, accept);
        assert_eq!((refusal.status, refusal.field("content-language")), (403, Some("en")), "{refusal:?}");
        let text = refusal.text();
        assert!(text.contains("<html lang=\"en\">") && !text.contains("script") && !text.contains("<b>"), "{text}");
    }
    let refusal = gateway.ask("GET / HTTP/1.1\r\nAccept-Language: de\r\nno field\r\n\r\n");
    assert_eq!((refusal.status, refusal.is_whole), (400, true), "{refusal:?}");
    assert!(refusal.text().contains("400 from the gateway"), "{refusal:?}");
    gateway.quiet();
}
