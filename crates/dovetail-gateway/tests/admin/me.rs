//! The user's own page: its contents and language, and that no other user can see it.

use std::io::Write;

use crate::running::{Answer, Running};

const LINK: &str = "rate = \"4Mbps\"\nprobe = \"off\"";
const QUOTA: &str = "[[quota]]\nname = \"monthly\"\nbytes = \"1MB\"\nclasses = \"guests\"\n";

impl Running {
    fn me(&self, client: &str, target: &str, headers: &str) -> Answer {
        let mut stream = self.proxy_from(client);
        let host = if headers.contains("Host:") { String::new() } else { format!("Host: {}\r\n", self.proxy) };
        write!(stream, "GET {target} HTTP/1.1\r\n{host}{headers}Connection: close\r\n\r\n").unwrap();
        Answer::read(stream)
    }
}

#[test]
fn a_user_sees_their_share_their_quota_and_what_they_wait_for() {
    let gateway = Running::with(LINK, "", QUOTA);
    let page = gateway.me("127.0.2.1", "/me", "");
    assert_eq!(page.status, 200);
    for text in [
        "knows you as 127.0.2.1, in the class guests",
        "all of it is yours, about 3.8 Mbit/s",
        "Your weight is 1:",
        "<strong>monthly</strong>: 0 bytes of 1 MB used this month, 1 MB left",
        "You have no requests in progress.",
        // With and without a script it is renewed as often as it says.
        "every 10 seconds",
        "data-every-s=\"10\"",
        "http-equiv=\"refresh\" content=\"10\"",
    ] {
        assert!(page.body.contains(text), "{text}: {}", page.body);
    }
    let live = [gateway.ask("127.0.2.1", 0), gateway.ask("127.0.1.1", 0)];
    gateway.status_when("two requests", |status| status["outstanding"] == 2);
    assert_eq!(gateway.fetch("127.0.2.1", 250_000), 200);
    // The office has weight 3: a quarter of the link is left.
    let page = gateway.me("127.0.2.1", "/me", "");
    for text in [
        "2 users share the connection at the moment, you among them. Your share is about 25 %, or 956 kbit/s.",
        "250 kB of 1 MB used this month, 749 kB left",
        "<strong>127.0.0.1</strong> the server has not answered yet",
    ] {
        assert!(page.body.contains(text), "{text}: {}", page.body);
    }
    assert!(gateway.me("127.0.1.1", "/me", "").body.contains("You have no quota."));
    drop(live);
}

#[test]
fn requests_to_hosts_with_a_class_of_their_own_are_the_users_too() {
    let gateway = Running::with(LINK, "", "[[class]]\nname = \"updates\"\nhosts = \"127.0.0.1\"\n");
    let live = gateway.ask("127.0.2.1", 0);
    gateway.status_when("a request", |status| status["outstanding"] == 1);
    let page = gateway.me("127.0.2.1", "/me", "");
    for text in ["all of it is yours", "<strong>127.0.0.1</strong> the server has not answered yet"] {
        assert!(page.body.contains(text), "{text}: {}", page.body);
    }
    let page = gateway.me("127.0.2.2", "/me", "");
    assert!(page.body.contains("2 users share") && page.body.contains("no requests in progress"), "{}", page.body);
    drop(live);
}

#[test]
fn beyond_the_quota_the_page_still_opens_and_says_until_when() {
    let gateway = Running::with(LINK, "", QUOTA);
    gateway.fetch("127.0.2.1", 1_100_000);
    assert_eq!(gateway.fetch("127.0.2.1", 10), 429);
    let page = gateway.me("127.0.2.1", "/me", "");
    assert!(page.status == 200 && page.body.contains("It is used up: pages open again on 1 "), "{}", page.body);
}

#[test]
fn the_page_is_in_the_users_language() {
    let gateway = Running::with(LINK, "", QUOTA);
    for (wanted, text) in [
        ("de-AT,de;q=0.8,en;q=0.5", "<html lang=\"de\">"),
        ("fr", "Ma part de la connexion"),
        ("nl,es;q=0.3", "No tiene ninguna petición en curso."),
        ("nl", "My part of the connection"),
    ] {
        let page = gateway.me("127.0.2.1", "/me", &format!("Accept-Language: {wanted}\r\n"));
        assert!(page.body.contains(text), "{wanted}: {}", page.body);
        assert!(page.head.contains("cache-control: no-store"), "{}", page.head);
        assert!(
            page.head.contains("content-language: ") && page.head.contains("vary: accept-language"),
            "{}",
            page.head
        );
    }
    assert!(gateway.me("127.0.2.1", "/me", "Accept-Language: de\r\n").body.contains("0 bytes von 1 MB verbraucht"));
}

#[test]
fn nothing_that_a_client_says_shows_them_another_users_page() {
    let gateway = Running::with(LINK, "", QUOTA);
    let live = gateway.ask("127.0.2.7", 0);
    gateway.status_when("a request", |status| status["outstanding"] == 1);
    assert!(gateway.me("127.0.2.7", "/me", "").body.contains("has not answered yet"));
    let headers = [
        "X-Forwarded-For: 127.0.2.7\r\n",
        "Forwarded: for=127.0.2.7\r\n",
        "X-Real-IP: 127.0.2.7\r\nClient-IP: 127.0.2.7\r\nTrue-Client-IP: 127.0.2.7\r\n",
        "Authorization: Basic MTI3LjAuMi43Og==\r\nProxy-Authorization: Basic MTI3LjAuMi43Og==\r\n",
        "From: 127.0.2.7\r\nCookie: user=127.0.2.7\r\nX-User: 127.0.2.7\r\n",
        "Accept-Language: 127.0.2.7\r\n",
    ];
    for headers in headers {
        for target in ["/me", "/me?user=127.0.2.7", "/me?who=127.0.2.7&class=office"] {
            let page = gateway.me("127.0.2.1", target, headers);
            assert_eq!(page.status, 200, "{target} {headers}");
            assert!(page.body.contains("127.0.2.1") && !page.body.contains("127.0.2.7"), "{}", page.body);
            assert!(page.body.contains("You have no requests in progress."), "{}", page.body);
        }
    }
    for target in ["/me/127.0.2.7", "/me/", "//me", "/users/127.0.2.7", "/me/../127.0.2.7"] {
        let page = gateway.me("127.0.2.1", target, "");
        assert!(page.status == 404 && !page.body.contains("127.0.2.7"), "{target}: {}", page.body);
    }
    // Another site's page under a name that was made to resolve here, and a client without access.
    assert_eq!(gateway.me("127.0.2.1", "/me", "Host: evil.example\r\n").status, 421);
    drop(live);
}

#[test]
fn what_others_write_is_no_markup_of_the_page() {
    let gateway = Running::with(LINK, "", QUOTA);
    let page = gateway.me("127.0.2.1", "/me?%3Cscript%3Ealert(1)", "Accept-Language: <b>de</b>, <script>\r\n");
    assert_eq!(page.body.matches("<script").count(), 1, "the page's own: {}", page.body);
    assert!(page.body.contains("<script nonce=") && !page.body.contains("<b>"), "{}", page.body);
    assert!(!page.body.contains("alert(1)"), "{}", page.body);
    assert!(page.head.contains("content-security-policy: default-src 'none'"), "{}", page.head);
}
