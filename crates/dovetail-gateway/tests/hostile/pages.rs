//! The gateway's own pages: who gets them, under which names, and that they give access to nothing else.

use std::{fs, io::Write, path::PathBuf, process};

use base64::{Engine, prelude::BASE64_STANDARD};
use http::{Method, Request, Version};

use crate::{
    answer::{answer, answer_to, is_closed},
    limits::{http2, run},
    parents::{parent, with},
    server::strict_server,
    support::{Running, Setup, get},
};

/// With a name for its pages, and name servers that do not answer.
fn named() -> Setup {
    let proxy = "nameservers = [\"127.9.9.9:9\"]".into();
    Setup { proxy, ..Setup::rest("[pages]\nhost = \"gateway.home\"\n[timeouts]\nresolve = \"200ms\"") }
}

fn line(line: &str, host: &str) -> String {
    format!("{line} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n")
}

/// A file of names and passwords that is removed after its test.
pub struct Passwords(PathBuf);

impl Passwords {
    pub fn path(&self) -> String {
        self.0.display().to_string()
    }

    pub fn new(name: &str, users: &[(&str, &str)]) -> Self {
        let path = std::env::temp_dir().join(format!("dovetail-pages-{name}-{}", process::id()));
        let lines = users.iter().map(|(user, password)| format!("{user}:{}\n", bcrypt::hash(password, 4).unwrap()));
        fs::write(&path, lines.collect::<String>()).unwrap();
        Self(path)
    }
}

impl Drop for Passwords {
    fn drop(&mut self) {
        fs::remove_file(&self.0).ok();
    }
}

#[test]
fn a_page_is_strict_and_says_who_looks() {
    let gateway = named().start();
    for target in ["/".to_owned(), "http://gateway.home/".into(), format!("http://{}/", gateway.address)] {
        let found = gateway.ask(line(&format!("GET {target}"), "gateway.home"));
        assert_eq!((found.status, found.is_whole), (200, true), "{target}: {found:?}");
        let text = found.text();
        assert!(text.contains("<strong>127.0.0.1</strong>, in the class <strong>default</strong>"), "{text}");
        let policy = found.field("content-security-policy").unwrap();
        assert!(policy.contains("default-src 'none'") && policy.contains("frame-ancestors 'none'"), "{policy}");
        assert!(!policy.contains("unsafe") && !text.contains("NONCE") && !text.contains("{{"), "{policy} {text}");
        for (name, value) in [
            ("cache-control", "no-store"),
            ("x-content-type-options", "nosniff"),
            ("referrer-policy", "no-referrer"),
            ("cross-origin-resource-policy", "same-origin"),
        ] {
            assert_eq!(found.field(name), Some(value), "{found:?}");
        }
        let mut client = gateway.connect();
        client.write_all(line(&format!("HEAD {target}"), "gateway.home").as_bytes()).unwrap();
        let head = answer_to(&mut client, "HEAD");
        assert_eq!((head.status, head.field("content-length")), (200, found.field("content-length")));
        assert!(is_closed(&mut client), "a body");
    }
    gateway.quiet();
}

#[test]
fn pages_are_only_read() {
    let gateway = named().start();
    for method in ["POST", "PUT", "DELETE", "OPTIONS", "PATCH", "BREW"] {
        for target in ["/", "/nothing", "http://gateway.home/"] {
            let found = gateway.ask(line(&format!("{method} {target}"), "gateway.home"));
            assert_eq!((found.status, found.field("allow")), (405, Some("GET, HEAD")), "{method} {target}");
        }
    }
    // What follows an unread body is not taken for a request.
    let body = "GET http://127.0.0.1:1/ HTTP/1.1\r\nHost: x\r\n\r\n";
    let mut client = gateway.connect();
    let length = body.len();
    let request = format!("POST / HTTP/1.1\r\nHost: gateway.home\r\nContent-Length: {length}\r\n\r\n{body}");
    client.write_all(request.as_bytes()).unwrap();
    assert_eq!(answer(&mut client).status, 405);
    client.write_all(get("http://gateway.home/nothing").as_bytes()).unwrap();
    assert!(matches!(answer(&mut client).status, 0 | 404));
    assert_eq!(gateway.ask(line("GET /nothing", "gateway.home")).status, 404);
    drop(client);
    gateway.quiet();
}

#[test]
fn pages_and_errors_are_in_the_visitor_s_language() {
    let gateway = named().start();
    for (method, target, host, status, says) in [
        ("GET", "/", "gateway.home", 200, "Es kennt Sie als <strong>127.0.0.1</strong>, in der Klasse <strong>"),
        (
            "GET",
            "/nothing",
            "gateway.home",
            404,
            "erste Seite ist <a href=\"http://gateway.home/\">http://gateway.home/</a>.",
        ),
        ("PUT", "/", "gateway.home", 405, "lassen sich nur lesen"),
        ("GET", "/", "evil.example", 421, "stellen Sie es als Proxy ein"),
    ] {
        let head = format!(
            "{method} {target} HTTP/1.1\r\nHost: {host}\r\nAccept-Language: de-AT\r\nConnection: close\r\n\r\n"
        );
        let found = gateway.ask(head);
        assert_eq!(found.status, status, "{found:?}");
        assert!(found.text().contains("<html lang=\"de\">") && found.text().contains(says), "{found:?}");
        assert_eq!((found.field("content-language"), found.field("vary")), (Some("de"), Some("accept-language")));
        // A style without the nonce of its answer would not be applied.
        let policy = found.field("content-security-policy").expect("a policy");
        let nonce =
            found.text().split("nonce=\"").nth(1).and_then(|rest| rest.split('"').next()).expect("a nonce").to_owned();
        assert!(policy.contains(&format!("style-src 'nonce-{nonce}'")), "{found:?}");
    }
    gateway.quiet();
}

#[test]
fn a_site_whose_name_was_made_to_lead_here_reads_nothing() {
    let gateway = named().start();
    for host in ["evil.example", "gateway.home.evil.example:3128", "127.0.0.1.evil.example", "x@gateway.home", ""] {
        let found = gateway.ask(line("GET /", host));
        assert_eq!(found.status, 421, "{host}: {found:?}");
        assert!(!found.text().contains("127.0.0.1"), "{found:?}");
    }
    for host in ["gateway.home", "DOVETAIL:3128", "localhost", "127.0.0.1", "[::1]:3128"] {
        assert_eq!(gateway.ask(line("GET /", host)).status, 200, "{host}");
    }
    assert_eq!(gateway.ask("GET / HTTP/1.0\r\n\r\n").status, 200, "no browser is without a Host");
    gateway.quiet();
}

#[test]
fn no_page_is_a_way_to_anywhere() {
    let server = strict_server();
    let gateway = named().start();
    let own = gateway.address;
    // Anything but the gateway's name and port is forwarded as usual: here to a name server that does not answer, and to what
    // is allowed.
    for target in ["http://gateway.home:8080/", "http://x.gateway.home/", "http://gateway.homer/"] {
        assert!(matches!(gateway.get(target).status, 502 | 504), "{target}");
    }
    assert_eq!(gateway.ask(format!("CONNECT {own} HTTP/1.1\r\nHost: {own}\r\n\r\n")).status, 403);
    assert_eq!(gateway.get(&server.url("/other")).text(), "/other");
    // `Host` does not determine where a request goes.
    let found = gateway.ask(line("GET /", &server.address.to_string()));
    assert!(found.text().contains("The gateway dovetail"), "{found:?}");
    let found = gateway.ask(line(&format!("GET {}", server.url("/own")), "gateway.home"));
    assert_eq!(found.text(), "/own");
    // Nor can a request loop through the gateway's own port, although loopback is allowed here.
    for target in ["/".to_owned(), "http://gateway.home/".into(), format!("http://{own}/")] {
        let request = format!("GET {target} HTTP/1.1\r\nHost: {own}\r\nVia: 1.1 dovetail\r\nConnection: close\r\n\r\n");
        assert_eq!(gateway.ask(request).status, 508, "{target}");
        let request = format!("GET {target} HTTP/1.1\r\nHost: {own}\r\nHost: {own}\r\n\r\n");
        assert_eq!(gateway.ask(request).status, 400, "{target}");
    }
    assert_eq!(server.rest().len(), 2);
    gateway.quiet();
}

#[test]
fn strangers_get_no_page() {
    let gateway = Setup { access: "clients = [\"127.1.0.0/16\"]".into(), ..named() }.start();
    for target in ["/", "/nothing", "http://gateway.home/"] {
        let mut stranger = gateway.connect_from([127, 2, 0, 1]);
        stranger.write_all(line(&format!("GET {target}"), "gateway.home").as_bytes()).unwrap();
        let found = answer(&mut stranger);
        assert_eq!(found.status, 403, "{target}: {found:?}");
        assert!(!found.text().contains("class"), "{found:?}");
    }
    gateway.quiet();
}

#[test]
fn where_users_have_names_a_page_is_for_who_proves_one() {
    let passwords = Passwords::new("names", &[("<ann>", "a"), ("{{class}}", "b")]);
    let access = format!("passwords = \"{}\"", passwords.path());
    let class = "[[class]]\nname = \"staff\"\nusers = [\"<ann>\"]";
    let setup = named();
    let gateway = Setup { access, rest: format!("{class}\n{}", setup.rest), ..setup }.start();
    let says = |field: &str, credentials: &str| format!("{field}: Basic {}\r\n", BASE64_STANDARD.encode(credentials));
    let ask = |gateway: &Running, target: &str, field: &str| {
        gateway.ask(format!("GET {target} HTTP/1.1\r\nHost: gateway.home\r\n{field}Connection: close\r\n\r\n"))
    };
    for (target, field, other, status, question) in [
        ("/", "Authorization", "Proxy-Authorization", 401, "www-authenticate"),
        ("http://gateway.home/", "Proxy-Authorization", "Authorization", 407, "proxy-authenticate"),
    ] {
        for denied in [String::new(), says(field, "<ann>:x"), says(other, "<ann>:a")] {
            let found = ask(&gateway, target, &denied);
            assert_eq!(found.status, status, "{target}: {found:?}");
            assert_eq!(found.field(question), Some("Basic realm=\"gateway\", charset=\"UTF-8\""));
            assert!(!found.text().contains("staff"), "{found:?}");
        }
        let found = ask(&gateway, target, &format!("{}Accept-Language: de\r\n", says(field, "<ann>:x")));
        assert!(found.text().contains("<p>Der Benutzername oder das Passwort ist falsch.</p>"), "{found:?}");
        assert!(found.text().contains(&format!("<small>{status} vom Gateway")), "{found:?}");
        let found = ask(&gateway, target, &says(field, "<ann>:a"));
        assert_eq!(found.status, 200, "{target}: {found:?}");
        assert!(
            found.text().contains("<strong>&lt;ann&gt;</strong>, in the class <strong>staff</strong>"),
            "{found:?}"
        );
        let found = ask(&gateway, target, &says(field, "{{class}}:b"));
        assert!(found.text().contains("<strong>{{class}}</strong>"), "a name is no template: {found:?}");
    }
    gateway.quiet();
}

#[test]
fn who_comes_through_another_proxy_does_not_see_what_its_users_do() {
    let passwords = Passwords::new("through", &[("ada", "a")]);
    let secret = std::env::temp_dir().join(format!("dovetail-pages-secret-{}", process::id()));
    fs::write(&secret, "a\n").unwrap();
    let head = Setup { access: format!("passwords = \"{}\"", passwords.path()), ..named() }.start();
    let keys = format!("user = \"ada\"\npassword_file = \"{}\"", secret.display());
    let kid = with(&parent("head", head.address.port(), &keys)).start();
    for path in ["/", "/me"] {
        let found = kid.get(&format!("http://gateway.home{path}"));
        assert_eq!(found.status, 403, "{path}: {found:?}");
        assert!(found.text().contains("Ask your own gateway") && !found.text().contains("ada"), "{found:?}");
    }
    let found =
        head.ask("GET /me HTTP/1.1\r\nHost: gateway.home\r\nVia: 1.0 squid\r\nAuthorization: Basic YWRhOmE=\r\n\r\n");
    assert_eq!(found.status, 403, "as a server too: {found:?}");
    assert_eq!(kid.get("http://gateway.home/proxy.pac").status, 200, "the file is the same for all");
    assert_eq!(kid.get(&format!("http://{}/me", kid.address)).status, 200, "its own gateway's");
    fs::remove_file(secret).unwrap();
    kid.quiet();
}

#[test]
fn pages_over_http2() {
    let gateway = named().start();
    run(async {
        let mut sender = http2(gateway.address).await;
        let own = format!("http://{}/", gateway.address);
        for (method, uri, status) in [
            (Method::GET, "http://gateway.home/", 200),
            (Method::GET, &own, 200),
            (Method::HEAD, "http://gateway.home/", 200),
            (Method::GET, "http://gateway.home/nothing", 404),
            (Method::PUT, "http://gateway.home/", 405),
            (Method::GET, "https://gateway.home/", 400),
        ] {
            let request = Request::builder().method(&method).uri(uri).version(Version::HTTP_2).body(()).unwrap();
            let (answer, _) = sender.send_request(request, true).unwrap();
            let answer = answer.await.unwrap();
            assert_eq!(answer.status(), status, "{method} {uri}");
            let length: usize = answer.headers()["content-length"].to_str().unwrap().parse().unwrap();
            let mut body = answer.into_body();
            let mut came = 0;
            while let Some(part) = body.data().await {
                came += part.unwrap().len();
            }
            assert_eq!(came, if method == Method::HEAD { 0 } else { length }, "{method} {uri}");
        }
    });
    gateway.quiet();
}
