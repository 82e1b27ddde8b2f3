//! The proxy auto-configuration file, evaluated by a JavaScript engine, and that no configuration can break it.

use std::process::{Command, Stdio};

use dovetail_gateway::config::Config;
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::{
    pages::Passwords,
    support::{Running, Setup},
};

/// The file at this path, requested under this host name.
fn file(gateway: &Running, path: &str, host: &str) -> String {
    let found = gateway.ask(format!("GET {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n"));
    assert_eq!(found.status, 200, "{found:?}");
    assert_eq!(found.field("content-type"), Some("application/x-ns-proxy-autoconfig"), "{found:?}");
    assert_eq!(
        (found.field("cache-control"), found.field("x-content-type-options")),
        (Some("no-store"), Some("nosniff"))
    );
    found.text()
}

/// The file's results for URLs, in an engine without a browser's functions. `None` if there is no engine.
fn evaluated(file: &str, urls: &[&str]) -> Option<Vec<String>> {
    // As browsers do: in sloppy mode, with the host as a name or an address without brackets.
    let script = "const [file, urls] = JSON.parse(require('fs').readFileSync(0, 'utf8'));\
        const context = require('vm').createContext(Object.create(null));\
        require('vm').runInContext(file, context);\
        const ask = (url) => { context.url = url; context.host = new URL(url).hostname.replace(/^\\[|\\]$/g, '');\
          return require('vm').runInContext('FindProxyForURL(url, host)', context); };\
        console.log(JSON.stringify(urls.map(ask)));";
    let engine = Command::new("node").args(["-e", script]).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn();
    let Ok(mut engine) = engine else {
        dovetail_skip::skipped("node is not installed");
        return None;
    };
    serde_json::to_writer(engine.stdin.take().unwrap(), &json!([file, urls])).unwrap();
    let said = engine.wait_with_output().unwrap();
    assert!(said.status.success(), "{file}");
    Some(serde_json::from_slice(&said.stdout).unwrap())
}

/// Checks the result for each URL.
fn judged(file: &str, table: &[(&str, &str)]) {
    let urls: Vec<_> = table.iter().map(|(url, _)| *url).collect();
    let Some(said) = evaluated(file, &urls) else { return };
    for ((url, expected), said) in table.iter().zip(said) {
        assert_eq!(said, *expected, "{url}\n{file}");
    }
}

#[test]
fn by_default_everything_but_the_own_network_goes_through_the_gateway() {
    let gateway = Setup::rest("[pages]\nhost = \"gateway\"").start();
    let text = file(&gateway, "/proxy.pac", "gateway");
    assert_eq!(text, file(&gateway, "/wpad.dat", "wpad.evil.example"), "under any name, and the same");
    let proxy = &*format!("PROXY {}", gateway.address);
    judged(
        &text,
        &[
            ("http://example.org/", proxy),
            ("https://example.org/a?b", proxy),
            ("ws://example.org/", proxy),
            ("http://gateway/me", proxy),
            ("http://gateway./me", proxy),
            ("http://printer/", "DIRECT"),
            ("http://localhost:8080/", "DIRECT"),
            ("http://printer.lan/", proxy),
            ("http://10.1.2.3/", "DIRECT"),
            ("http://11.1.2.3/", proxy),
            ("http://172.15.255.255/", proxy),
            ("http://172.16.0.1/", "DIRECT"),
            ("http://172.31.255.255/", "DIRECT"),
            ("http://172.32.0.0/", proxy),
            ("http://192.168.1.1:81/", "DIRECT"),
            ("http://192.169.1.1/", proxy),
            ("http://127.0.0.1/", "DIRECT"),
            ("http://10.example.org/", proxy),
            ("http://[::1]/", "DIRECT"),
            ("http://[::2]/", proxy),
            ("http://[fd12::1]/", "DIRECT"),
            ("http://[fe80::1]/", "DIRECT"),
            ("http://[fec0::1]/", proxy),
            ("http://[2001:db8::1]/", proxy),
        ],
    );
    gateway.quiet();
}

#[test]
fn what_is_direct_and_which_proxies_there_are_is_as_written() {
    let setup = "[pac]\nproxy = [\"https://Gateway.example.org:3129\", \"10.0.0.1:3128\", \"[2001:db8::1]:3128\"]\n\
                 direct = [\"intranet.example.org\", \".lan.example\", \"198.51.100.0/25\", \"2001:db8:8000::/33\"]\n\
                 fallback = \"direct\"";
    let gateway = Setup::rest(setup).start();
    let proxies = "HTTPS gateway.example.org:3129; PROXY 10.0.0.1:3128; PROXY [2001:db8::1]:3128; DIRECT";
    judged(
        &file(&gateway, "/proxy.pac", "127.0.0.1"),
        &[
            ("http://intranet.example.org/", "DIRECT"),
            ("http://INTRANET.example.org./", "DIRECT"),
            ("http://a.intranet.example.org/", proxies),
            ("http://intranet.example.org.evil.example/", proxies),
            ("http://lan.example/", "DIRECT"),
            ("http://a.b.lan.example/", "DIRECT"),
            ("http://elan.example/", proxies),
            ("http://printer/", proxies),
            ("http://198.51.100.127/", "DIRECT"),
            ("http://198.51.100.128/", proxies),
            ("http://[2001:db8:8000::]/", "DIRECT"),
            ("http://[2001:db8:ffff:1:2:3:4:5]/", "DIRECT"),
            ("http://[2001:db8:7fff::]/", proxies),
            ("http://10.1.2.3/", proxies),
        ],
    );
    gateway.quiet();
}

#[test]
fn those_who_may_not_use_the_gateway_get_no_file_and_names_are_not_asked_for() {
    let passwords = Passwords::new("pac", &[("ann", "a")]);
    let access = format!("clients = [\"127.1.0.0/16\"]\npasswords = \"{}\"", passwords.path());
    let gateway = Setup::access(&access).start();
    let ask = |from: [u8; 4]| {
        let mut client = gateway.connect_from(from);
        std::io::Write::write_all(&mut client, b"GET /wpad.dat HTTP/1.0\r\n\r\n").unwrap();
        crate::answer::answer(&mut client).status
    };
    // A browser looking for a proxy knows no password for it yet.
    assert_eq!((ask([127, 2, 0, 1]), ask([127, 1, 0, 1])), (403, 200));
    gateway.quiet();
}

fn parsed(key: &str, value: &str) -> Result<Config, String> {
    let text = Value::from(value).to_string();
    let setup = format!("[downlink]\nrate = \"2Mbps\"\n[access]\nclients = \"10.0.0.0/8\"\n[{key}]\n");
    let (section, key) = key.split_once('.').unwrap();
    let setup = setup.replace(&format!("[{section}.{key}]\n"), &format!("[{section}]\n{key} = {text}\n"));
    Config::parse(&setup).map_err(|error| error.to_string())
}

#[test]
fn names_with_script_in_them_are_none() {
    for hostile in [
        "\"; alert(1); \"",
        "a\\",
        "a\nreturn \"DIRECT\"",
        "a\u{2028}b",
        "</script>",
        "a b",
        "{{proxy}}",
        "a/*",
        "",
        ".",
        "..",
        "-",
        "a..b",
        "a.",
        "\u{e9}.example",
    ] {
        assert!(parsed("pac.direct", hostile).is_err(), "{hostile:?}");
        assert!(parsed("pages.host", hostile).is_err(), "{hostile:?}");
        for written in [hostile.to_owned(), format!("{hostile}:80"), format!("https://{hostile}:80")] {
            assert!(parsed("pac.proxy", &written).is_err(), "{written:?}");
        }
    }
    for wrong in ["a", "a:0", "a:+80", "a:99999", "http://a:80", "a:80/", "a:80; DIRECT", "10.0.0.1", "2001:db8::1:80"]
    {
        assert!(parsed("pac.proxy", wrong).is_err(), "{wrong}");
    }
    assert!(parsed("pages.host", "10.0.0.1").is_err(), "an address leads to where it leads");
}

proptest! {
    /// Any accepted name is free of characters with a meaning in JavaScript.
    #[test]
    fn what_is_taken_is_plain(name in "[a-zA-Z0-9.:/\\[\\]\"'\\\\;<>{}() \\n\u{2028}-]{1,20}") {
        let is_plain = |text: &str| text.chars().all(|letter| letter.is_ascii_alphanumeric() || "-._:/[]".contains(letter));
        for key in ["pac.direct", "pac.proxy", "pages.host"] {
            if parsed(key, &name).is_ok() {
                prop_assert!(name == "<local>" || is_plain(&name), "{key}: {name:?}");
            }
        }
    }
}
