//! Programs that check passwords, with all kinds of failures.

use std::{
    fs,
    io::Write,
    os::unix::fs::PermissionsExt,
    path::PathBuf,
    sync::atomic::{AtomicUsize, Ordering},
};

use base64::{Engine, prelude::BASE64_STANDARD};
use dovetail_gateway::Control;
use http::Request;
use tokio::task::JoinSet;

use crate::{
    answer::answer,
    limits::{http2, run},
    server::strict_server,
    support::{Running, Setup},
};

/// A directory with a program in it.
struct Script {
    folder: PathBuf,
}

impl Script {
    fn new(text: &str) -> Self {
        static NUMBER: AtomicUsize = AtomicUsize::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let folder = std::env::temp_dir().join(format!("dovetail-helper-{}-{number}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let path = folder.join("helper");
        let text = format!("#!/bin/sh\ncd {}\n{text}\n", folder.display());
        fs::write(&path, text).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        Self { folder }
    }

    fn setup(&self, keys: &str) -> Setup {
        let program = self.folder.join("helper");
        Setup::access(&format!("helper = [\"{}\", \"an argument; touch shell\"]\n{keys}", program.display()))
    }

    fn file(&self, name: &str) -> String {
        fs::read_to_string(self.folder.join(name)).unwrap_or_default()
    }
}

impl Drop for Script {
    fn drop(&mut self) {
        drop(fs::remove_dir_all(&self.folder));
    }
}

fn request(url: &str, credentials: &str) -> String {
    let says = BASE64_STANDARD.encode(credentials);
    format!("GET {url} HTTP/1.1\r\nHost: x\r\nProxy-Authorization: Basic {says}\r\nConnection: close\r\n\r\n")
}

fn status(gateway: &Running, url: &str, credentials: &str) -> u16 {
    gateway.ask(request(url, credentials)).status
}

/// Answers correctly, and records what it was asked.
const NCSA: &str = "echo \"$1\" > argument\nwhile read -r user password; do\n  echo \"$user $password\" >> asked\n  \
                    if [ \"$password\" = open%20sesame ]; then echo \"OK tag=x\"; else echo ERR; fi\ndone";

#[test]
fn a_helper_says_who_is_let_in_and_is_asked_once() {
    let (server, script) = (strict_server(), Script::new(NCSA));
    let log = script.folder.join("log");
    let setup = script.setup("helper_processes = 1");
    let setup = Setup { rest: format!("[log]\naccess = \"{}\"\nformat = \"json\"", log.display()), ..setup };
    let gateway = setup.start();
    let url = server.url("/");
    assert_eq!(gateway.get(&url).status, 407, "it has to say who it is");
    for _ in 0..3 {
        assert_eq!(status(&gateway, &url, "Ann:open sesame"), 200);
        assert_eq!(status(&gateway, &url, "bob:no"), 407);
    }
    assert_eq!(status(&gateway, &url, "a\nOK\n:x:y%"), 407);
    assert_eq!(status(&gateway, &url, "no colon"), 407);
    assert_eq!(script.file("asked"), "Ann open%20sesame\nbob no\n");
    assert_eq!(script.file("argument"), "an argument; touch shell\n");
    assert!(!script.folder.join("shell").exists());
    // A reload that does not change the helper keeps it and its results.
    gateway.tell(Control::Reload(Box::new(setup.config())));
    assert_eq!(status(&gateway, &url, "Ann:open sesame"), 200);
    assert_eq!(script.file("asked").lines().count(), 2);
    gateway.quiet();
    drop(gateway);
    let mut lines = fs::read_to_string(log).unwrap();
    lines.retain(|letter| letter != ' ');
    assert!(lines.contains("\"user\":\"ann\"") && !lines.contains("\"user\":\"Ann\""), "{lines}");
}

#[test]
fn with_channels_answers_come_in_any_order() {
    // It reads two lookups before it answers the second, and then the first.
    let script = Script::new(
        "while read -r one user password; do\n  read -r two other second\n  echo \"$one $user $two $other\" >> asked\n  \
         echo \"$two OK\"\n  echo \"$one ERR\"\ndone",
    );
    let server = strict_server();
    let gateway = script.setup("helper_processes = 1\nhelper_channels = 2").start();
    let ask = |address: [u8; 4], credentials: &str| {
        let mut client = gateway.connect_from(address);
        client.write_all(request(&server.url("/"), credentials).as_bytes()).unwrap();
        client
    };
    let mut clients = [ask([127, 0, 0, 1], "ann:a"), ask([127, 0, 0, 2], "bob:b")];
    let found = clients.each_mut().map(|client| answer(client).status);
    let asked = script.file("asked");
    let expected =
        if asked.contains(" ann ") && asked.find("ann") < asked.find("bob") { [407, 200] } else { [200, 407] };
    assert_eq!(found, expected, "{asked}");
    gateway.quiet();
}

#[test]
fn a_helper_that_fails_lets_nobody_in() {
    let server = strict_server();
    for (what, text) in [
        ("it ends at once", "exit 1"),
        ("it ends when it is asked", "read -r line; exit 0"),
        ("it answers nonsense", "while read -r line; do echo Welcome; done"),
        ("it answers an OK that is none", "while read -r line; do echo OKAY; done"),
        ("it is broken and says so", "while read -r line; do echo BH; done"),
        ("it hangs", "exec sleep 1000"),
        ("it answers without an end", "read -r line; printf OK; exec sleep 1000"),
        ("it answers a line of any length", "read -r line; exec cat /dev/zero"),
        ("it is no program", "\u{1}"),
        ("it closes its output", "exec >&-; exec sleep 1000"),
    ] {
        let script = Script::new(text);
        let gateway = script.setup("helper_processes = 2\nhelper_timeout = \"300ms\"").start();
        for _ in 0..2 {
            let found = status(&gateway, &server.url("/"), "ann:a");
            assert_eq!(found, 503, "{what}");
        }
        gateway.quiet();
    }
    assert!(server.rest().is_empty(), "a client was let in");
}

/// They all wait for one lookup, and count as one user's.
#[test]
fn a_clients_requests_wait_for_one_look_and_are_bounded() {
    let script = Script::new(
        "while read -r line; do\n  while [ ! -e go ]; do sleep 0.05; done\n  echo x >> asked; echo OK\ndone",
    );
    let server = strict_server();
    let limits = "[limits]\nrequests_per_user = 256".to_owned();
    let gateway = Setup { rest: limits, ..script.setup("helper_timeout = \"60s\"") }.start();
    run(async {
        let mut asked = JoinSet::new();
        for _ in 0..3 {
            let mut sender = http2(gateway.address).await;
            for _ in 0..100 {
                let says = format!("Basic {}", BASE64_STANDARD.encode("ann:a"));
                let request = Request::get(server.url("/get")).header("proxy-authorization", says).body(()).unwrap();
                sender = sender.ready().await.unwrap();
                let (answer, _) = sender.send_request(request, true).unwrap();
                asked.spawn(async move { answer.await.unwrap().status().as_u16() });
            }
        }
        for _ in 0..44 {
            assert_eq!(asked.join_next().await.unwrap().unwrap(), 429, "256 wait");
        }
        assert!(asked.try_join_next().is_none());
        fs::write(script.folder.join("go"), "").unwrap();
        assert_eq!(asked.join_all().await, [200; 256]);
    });
    assert_eq!(script.file("asked"), "x\n");
    gateway.quiet();
}

#[test]
fn a_helper_that_died_is_started_again() {
    let (server, script) = (strict_server(), Script::new("read -r user password\necho OK\nexit 3"));
    let gateway = script.setup("helper_processes = 1").start();
    for user in ["ann", "bob", "carol"] {
        // The lookup that finds it dead fails.
        let found =
            (0..50).map(|_| status(&gateway, &server.url("/"), &format!("{user}:x"))).find(|status| *status == 200);
        assert_eq!(found, Some(200), "{user}");
    }
    gateway.quiet();
}

#[test]
fn a_helper_that_is_not_there_fails_and_check_says_so() {
    let setup = Setup::access("helper = \"/no/such/helper\"");
    let said = dovetail_gateway::check(&setup.config()).unwrap_err().to_string();
    assert!(said.starts_with("access.helper /no/such/helper cannot be run: "), "{said}");
    let gateway = setup.start();
    assert_eq!(status(&gateway, "http://127.0.0.1:1/", "ann:a"), 503);
    gateway.quiet();
}

#[test]
fn a_helper_may_say_what_a_user_is_called() {
    let server = strict_server();
    // Two names of one user, and one that is no name.
    let script = Script::new(
        "while read -r user password; do\n  case $user in\n    none) echo 'OK user=%00';;\n    \
         *) echo 'OK tag=\"user=x\" user=Ann%20Lee';;\n  esac\ndone",
    );
    let log = script.folder.join("log");
    let rest = format!("[log]\naccess = \"{}\"\nformat = \"json\"", log.display());
    let gateway = Setup { rest, ..script.setup("helper_processes = 1") }.start();
    for credentials in ["ann@example.org:a", "EXAMPLE\\ann:a"] {
        assert_eq!(status(&gateway, &server.url("/"), credentials), 200);
    }
    assert_eq!(status(&gateway, &server.url("/"), "none:a"), 503);
    gateway.quiet();
    drop(gateway);
    let lines = fs::read_to_string(log).unwrap();
    assert_eq!(lines.matches("\"user\":\"ann lee\"").count(), 2, "{lines}");
}
