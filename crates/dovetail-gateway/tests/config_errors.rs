//! Messages about invalid configurations: where, which key, what is wrong, and what to do.

#![allow(clippy::unwrap_used)]

mod written;

use dovetail_gateway::config::Config;
use written::{MINIMAL, with};

fn said(text: &str) -> String {
    match Config::parse(text) {
        Ok(_) => panic!("this is not refused:\n{text}"),
        Err(error) => error.to_string(),
    }
}

/// Keys of a separate section, from line 5 on.
fn section(name: &str, keys: &str) -> String {
    format!("{MINIMAL}[{name}]\n{keys}\n")
}

/// Each text is refused with these words, which follow "configuration".
fn refused(cases: &[(String, &str)]) {
    let wrong: Vec<_> = cases
        .iter()
        .map(|(text, expected)| (said(text), format!("configuration{expected}")))
        .filter(|(said, expected)| said != expected)
        .map(|(said, expected)| format!("said     {said}\nexpected {expected}"))
        .collect();
    assert!(wrong.is_empty(), "\n{}\n", wrong.join("\n"));
}

#[test]
fn what_has_to_be_said() {
    refused(&[
        (String::new(), r#": downlink.rate: set the link's rate, such as rate = "2Mbps""#),
        (
            "[downlink]\nrate = \"2Mbps\"".into(),
            r#": access.clients: no client is permitted: add some, such as clients = ["10.0.0.0/8"]"#,
        ),
        (
            "[downlink]\nrate = \"2Mbps\"\n[access]\nclients = []".into(),
            r#", line 4: access.clients: no client is permitted: add some, such as clients = ["10.0.0.0/8"]"#,
        ),
        (
            section("class", "").replace("[class]", "[[class]]"),
            r#", line 5: class.name: a class needs a name, such as name = "office""#,
        ),
        (section("log", ""), r#", line 5: log.access: set a path, such as access = "/var/log/dovetail/access.log""#),
    ]);
}

#[test]
fn what_is_no_toml_and_keys_that_there_are_not() {
    refused(&[
        ("[downlink\n".into(), ", line 1: unclosed table, expected `]`"),
        (format!("{MINIMAL}clients = []"), ", line 5: duplicate key"),
        (
            format!("{MINIMAL}[cache]\nsize = 1"),
            ", line 5: there is no key 'cache' here: the file has proxy, downlink, uplink, access, group, class, parent, quota, limits, timeouts, admin, log, pages, pac, store",
        ),
        (
            with("ratio = 2", "", ""),
            ", line 3: there is no key 'ratio' here: [downlink] has rate, payload, learn, policy, probe, probe_every",
        ),
        (
            with("", "destinations = { alow = [] }", ""),
            ", line 6: there is no key 'alow' here; did you mean 'allow'? [access.destinations] has allow, deny",
        ),
        (section("limits", "a = 1\n[class]\nname = \"a\""), ", line 7: class: write [[class]], with two brackets"),
        (
            MINIMAL.replace("[downlink]", "[[downlink]]"),
            ", line 1: downlink: write [downlink], with one bracket: it is one table",
        ),
        ("proxy = 3".into(), ", line 1: proxy: 3 is not a table of keys"),
        (format!("class = [1]\n{MINIMAL}"), ", line 1: class: 1 is not a table of keys"),
    ]);
}

#[test]
fn a_misspelt_key_is_unknown_and_not_missing() {
    let misspelt = |of: &str, with: &str| MINIMAL.replace(of, with);
    refused(&[
        (
            misspelt("rate", "rat"),
            ", line 2: there is no key 'rat' here; did you mean 'rate'? [downlink] has rate, payload, learn, policy, probe, probe_every",
        ),
        (
            misspelt("clients", "client"),
            ", line 4: there is no key 'client' here; did you mean 'clients'? [access] has clients, destinations, connect_ports, ports, ipv6_user, passwords, helper, helper_processes, helper_channels, helper_timeout",
        ),
        (
            misspelt("downlink", "downlnk"),
            ", line 1: there is no key 'downlnk' here; did you mean 'downlink'? the file has proxy, downlink, uplink, access, group, class, parent, quota, limits, timeouts, admin, log, pages, pac, store",
        ),
        (
            with("", "", "[[class]]\nnam = \"a\""),
            ", line 8: there is no key 'nam' here; did you mean 'name'? [class] has name, weight, weights, clients, users, groups, hosts, hosts_file, rate, hours",
        ),
        (
            section("log", "acess = \"x\""),
            ", line 6: there is no key 'acess' here; did you mean 'access'? [log] has access, format",
        ),
    ]);
}

#[test]
fn what_lacks_its_quotes() {
    let bare = |value: &str| with(&format!("probe = {value}"), "", "");
    let needs = |value: &str| {
        format!(", line 3: {value} is not a value: addresses, rates, times and words go in quotes, such as \"{value}\"")
    };
    for value in ["10.99.0.1", "10.0.0.0/8", "192.168.1.1:80", "2Mbps", "tcp", "::1", "2001:db8::1", "hop:2"] {
        for written in [value.to_owned(), format!("[\"off\", {value}]")] {
            assert_eq!(said(&bare(&written)), format!("configuration{}", needs(value)));
        }
    }
    // There is nothing to put in quotes.
    assert!(said(&bare("")).contains("must be quoted"));
}

#[test]
fn addresses() {
    let proxy = |keys: &str| section("proxy", keys);
    refused(&[
        (
            proxy("listen = \"localhost:3128\""),
            r#", line 6: proxy.listen: "localhost:3128" is not an address and a port such as "127.0.0.1:3128" or "[::1]:3128""#,
        ),
        (
            proxy("listen = 3128"),
            r#", line 6: proxy.listen: this is not an address and a port such as "127.0.0.1:3128" or "[::1]:3128"; it goes in quotes"#,
        ),
        (
            proxy("listen = [\"10.0.0.1:3128\",\n\"10.0.0.1\"]"),
            r#", line 7: proxy.listen: "10.0.0.1" is not an address and a port such as "127.0.0.1:3128" or "[::1]:3128""#,
        ),
        (
            proxy("listen = []"),
            ", line 6: proxy.listen: it does not listen anywhere: add an address here, in redirect or in tproxy",
        ),
        (
            proxy("redirect = \"127.0.0.1:3128\""),
            ", line 6: proxy.redirect: 127.0.0.1:3128 is listed twice: each listener needs its own port",
        ),
        (
            proxy("tproxy = [\"10.0.0.1:1\", \"10.0.0.1:1\"]"),
            ", line 6: proxy.tproxy: 10.0.0.1:1 is listed twice: each listener needs its own port",
        ),
        (
            proxy("nameservers = \"10.0.0.53:0\""),
            r#", line 6: proxy.nameservers: "10.0.0.53:0" is not a name server's address such as "10.0.0.53" or "10.0.0.53:5353""#,
        ),
        (
            proxy("nameservers = \"0.0.0.0\""),
            r#", line 6: proxy.nameservers: "0.0.0.0" is not a name server's address such as "10.0.0.53" or "10.0.0.53:5353""#,
        ),
        (
            proxy("name = \"two words\""),
            r#", line 6: proxy.name: "two words" is not a name of 1 to 64 letters, digits, '-', '.' and '_'"#,
        ),
        (
            proxy(&format!("name = \"{}\"", "x".repeat(65))),
            r#", line 6: proxy.name: "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx…" is not a name of 1 to 64 letters, digits, '-', '.' and '_'"#,
        ),
        (proxy("forwarded = true"), r#", line 6: proxy.forwarded: true is none of "off", "unknown", "address""#),
        (proxy("forwarded = \"yes\""), r#", line 6: proxy.forwarded: "yes" is none of "off", "unknown", "address""#),
        (
            with("", "destinations = { deny = \"10.0.0.1/8\" }", ""),
            r#", line 6: access.destinations.deny: "10.0.0.1/8" has bits beyond its length: write "10.0.0.0/8" or a longer prefix"#,
        ),
        (
            with("", "destinations = { deny = \"10.0.0.0/33\" }", ""),
            r#", line 6: access.destinations.deny: "10.0.0.0/33" is not an address prefix such as "10.0.0.0/8", "192.168.1.7" or "2001:db8::/32""#,
        ),
        (
            with("", "destinations = { deny = \"::ffff:10.0.0.0/104\" }", ""),
            r#", line 6: access.destinations.deny: "::ffff:10.0.0.0/104" is IPv4 written as IPv6: write it as IPv4"#,
        ),
        (
            with("", "destinations = { allow = \"10.1.0.0/16\", deny = [\"10.1.0.0/16\"] }", ""),
            ", line 6: access.destinations.allow: 10.1.0.0/16 is both allowed and denied: remove one of them",
        ),
        (with("", "ports = 0", ""), ", line 6: access.ports: 0 is not a whole number from 1 to 65535"),
        (
            with("", "connect_ports = [443, 65536]", ""),
            ", line 6: access.connect_ports: 65536 is not a whole number from 1 to 65535",
        ),
        (
            with("", "connect_ports = \"443\"", ""),
            r#", line 6: access.connect_ports: "443" is not a whole number from 1 to 65535"#,
        ),
        (with("", "passwords = \"\"", ""), r#", line 6: access.passwords: "" is not a file's name"#),
        (
            with("", &format!("ports = [{}]", "1,".repeat(4097)), ""),
            ", line 6: access.ports: 4097 values, and at most 4096 are allowed",
        ),
    ]);
}

#[test]
fn the_downlink() {
    let key = |key: &str| with(key, "", "");
    refused(&[
        (
            MINIMAL.replace("\"2Mbps\"", "2000000"),
            r#", line 2: downlink.rate: this is not a rate such as "2Mbps"; it goes in quotes"#,
        ),
        (
            MINIMAL.replace("2Mbps", "2MB"),
            r#", line 2: downlink.rate: "2MB": unknown unit: use one of bps kbps Mbps Gbps Tbps, or bit/s likewise; write a rate such as "2Mbps""#,
        ),
        (
            MINIMAL.replace("2Mbps", "fast"),
            r#", line 2: downlink.rate: "fast": not a number with a unit; write a rate such as "2Mbps""#,
        ),
        (
            MINIMAL.replace("2Mbps", "0Mbps"),
            r#", line 2: downlink.rate: "0Mbps": out of range: over 0 and at most 1000Tbps; write a rate such as "2Mbps""#,
        ),
        (
            MINIMAL.replace("2Mbps", "999bps"),
            r#", line 2: downlink.rate: "999bps" is out of range: from 1kbps to 1Tbps"#,
        ),
        (
            MINIMAL.replace("2Mbps", "1.1Tbps"),
            r#", line 2: downlink.rate: "1.1Tbps" is out of range: from 1kbps to 1Tbps"#,
        ),
        (key("payload = 0"), ", line 3: downlink.payload: 0 is not a share over 0 and up to 1, such as 0.956"),
        (key("payload = 1.01"), ", line 3: downlink.payload: 1.01 is not a share over 0 and up to 1, such as 0.956"),
        (key("payload = nan"), ", line 3: downlink.payload: nan is not a share over 0 and up to 1, such as 0.956"),
        (key("learn = \"off\""), r#", line 3: downlink.learn: "off" is not true or false"#),
        (
            key("learn = false\npolicy = \"grants:learn=on\""),
            r#", line 3: downlink.learn: it is false here and the opposite in the policy "grants:learn=on": set it in one place"#,
        ),
        (
            key("learn = true\npolicy = \"grants:learn=off\""),
            r#", line 3: downlink.learn: it is true here and the opposite in the policy "grants:learn=off": set it in one place"#,
        ),
        (key("probe_every = \"9ms\""), r#", line 3: downlink.probe_every: "9ms" is out of range: from 10ms to 10s"#),
        (
            key("probe_every = \"10001ms\""),
            r#", line 3: downlink.probe_every: "10001ms" is out of range: from 10ms to 10s"#,
        ),
        (
            key("probe_every = 50"),
            r#", line 3: downlink.probe_every: this is not a time such as "50ms", "10s", "2m" or "1h"; it goes in quotes"#,
        ),
        (
            key("policy = \"drr\""),
            ", line 3: downlink.policy: 'drr' orders packets, not requests: request policies are none, msf-rs, grants, delay-pools",
        ),
        (
            key("policy = \"gants\""),
            ", line 3: downlink.policy: unknown request policy 'gants': did you mean grants? Available are none, msf-rs, grants, delay-pools",
        ),
        (
            key("policy = \"grants:order=best\""),
            ", line 3: downlink.policy: grants: order=best is not srpt, las, first or fair",
        ),
        (key("policy = 1"), r#", line 3: downlink.policy: this is not a policy such as "grants"; it goes in quotes"#),
    ]);
}

#[test]
fn probes() {
    for probe in
        ["ping", "hop:0", "hop:65", "hop:2@", "hop:", "udp://10.0.0.1", "udp://10.0.0.1:0", "0.0.0.0", "224.0.0.1", ""]
    {
        let expected = format!(
            r#", line 3: downlink.probe: "{probe}" is none of "tcp", "off", an address such as "10.99.0.1", {}"#,
            r#""udp://10.99.0.1:7", "hop:2" or "hop:2@192.0.2.1"; hops are from 1 to 64"#
        );
        refused(&[(with(&format!("probe = \"{probe}\""), "", ""), &expected)]);
    }
}

#[test]
fn classes() {
    let classes = |text: &str| format!("{MINIMAL}{text}");
    let many: String = (0..64).map(|n| format!("[[class]]\nname = \"c{n}\"\nclients = \"10.{n}.0.0/16\"\n")).collect();
    refused(&[
        (
            classes("[[class]]\nname = \"a b\""),
            r#", line 6: class.name: "a b" is not a name of 1 to 64 letters, digits, '-', '.' and '_'"#,
        ),
        (
            classes("[[class]]\nname = \"\""),
            r#", line 6: class.name: "" is not a name of 1 to 64 letters, digits, '-', '.' and '_'"#,
        ),
        (
            classes("[[class]]\nname = \"a\""),
            r#", line 5: class.clients: class "a" has no clients, users, groups or hosts: add some"#,
        ),
        (
            classes("[[class]]\nname = \"a\"\nclients = \"10.1.0.0/16\"\nweight = 0"),
            ", line 8: class.weight: 0 is not a weight from 0.000001 to 1000000",
        ),
        (
            classes("[[class]]\nname = \"a\"\nclients = \"10.1.0.0/16\"\nweight = \"4\""),
            r#", line 8: class.weight: "4" is not a weight from 0.000001 to 1000000"#,
        ),
        (
            classes(
                "[[class]]\nname = \"a\"\nclients = \"10.1.0.0/16\"\n[[class]]\nname = \"a\"\nclients = \"10.2.0.0/16\"",
            ),
            r#", line 9: class.name: there are two classes "a": names are unique"#,
        ),
        (
            classes(
                "[[class]]\nname = \"a\"\nclients = \"10.1.0.0/16\"\n[[class]]\nname = \"b\"\nclients = \"10.1.0.0/16\"",
            ),
            r#", line 10: class.clients: 10.1.0.0/16 is in class "a" already"#,
        ),
        (
            classes("[[class]]\nname = \"a\"\nclients = [\"10.1.0.0/16\", \"10.1.0.0/16\"]"),
            r#", line 7: class.clients: 10.1.0.0/16 is in class "a" already"#,
        ),
        (
            classes("[[class]]\nname = \"a\"\nusers = \"ada\""),
            ", line 7: class.users: users are known by name only with access.passwords or helper: add one, or use clients",
        ),
        (
            with(
                "",
                "passwords = \"p\"",
                "[[class]]\nname = \"a\"\nusers = \"ada\"\n[[class]]\nname = \"b\"\nusers = [\"bob\", \"ada\"]",
            ),
            r#", line 12: class.users: "ada" is in class "a" already"#,
        ),
        (
            with("", "passwords = \"p\"", "[[class]]\nname = \"a\"\nusers = \"a:b\""),
            r#", line 9: class.users: "a:b" is not a user's name of 1 to 64 characters, without colons"#,
        ),
        (classes(&many), ", line 195: class.name: there are at most 64 classes, the default one included"),
    ]);
}

#[test]
fn limits_and_timeouts() {
    refused(&[
        (
            section("limits", "connections = 0"),
            ", line 6: limits.connections: 0 is not a whole number from 1 to 1000000",
        ),
        (
            section("limits", "connections_per_user = 1000001"),
            ", line 6: limits.connections_per_user: 1000001 is not a whole number from 1 to 1000000",
        ),
        (
            section("limits", "requests_per_user = -1"),
            ", line 6: limits.requests_per_user: -1 is not a whole number from 1 to 1000000",
        ),
        (
            section("limits", "header_bytes = 7999"),
            ", line 6: limits.header_bytes: 7999 is out of range: from 8000 to 1000000 bytes",
        ),
        (
            section("limits", "header_bytes = \"2MB\""),
            r#", line 6: limits.header_bytes: "2MB" is out of range: from 8000 to 1000000 bytes"#,
        ),
        (
            section("limits", "header_bytes = \"big\""),
            r#", line 6: limits.header_bytes: "big" is not a size such as "16kB""#,
        ),
        (
            section("limits", "header_bytes = \"5TB\""),
            r#", line 6: limits.header_bytes: "5TB": unknown unit: use one of B kB KiB MB MiB GB GiB; write a size such as "16kB""#,
        ),
        (section("limits", "headers = 15"), ", line 6: limits.headers: 15 is not a whole number from 16 to 1000"),
        (
            section("limits", "headers = \"100\""),
            r#", line 6: limits.headers: "100" is not a whole number from 16 to 1000"#,
        ),
        (
            section("limits", "idle_per_server = 1025"),
            ", line 6: limits.idle_per_server: 1025 is not a whole number from 0 to 1024",
        ),
        (
            section("timeouts", "header = \"9ms\""),
            r#", line 6: timeouts.header: "9ms" is out of range: from 10ms to 24h"#,
        ),
        (section("timeouts", "idle = \"25h\""), r#", line 6: timeouts.idle: "25h" is out of range: from 10ms to 24h"#),
        (
            section("timeouts", "resolve = \"-1s\""),
            r#", line 6: timeouts.resolve: "-1s" is not a time such as "50ms", "10s", "2m" or "1h""#,
        ),
        (
            section("timeouts", "connect = \"10 parsecs\""),
            r#", line 6: timeouts.connect: "10 parsecs" is not a time such as "50ms", "10s", "2m" or "1h""#,
        ),
        (
            section("timeouts", "response = 10"),
            r#", line 6: timeouts.response: this is not a time such as "50ms", "10s", "2m" or "1h"; it goes in quotes"#,
        ),
        (
            section("timeouts", "stalled = \"1e300h\""),
            r#", line 6: timeouts.stalled: "1e300h" is not a time such as "50ms", "10s", "2m" or "1h""#,
        ),
        (
            section("timeouts", "tunnel = \"\""),
            r#", line 6: timeouts.tunnel: "" is not a time such as "50ms", "10s", "2m" or "1h""#,
        ),
        (section("timeouts", "pool = \"0\""), r#", line 6: timeouts.pool: "0" is out of range: from 10ms to 24h"#),
        (
            section("timeouts", "drain = []"),
            r#", line 6: timeouts.drain: this is not a time such as "50ms", "10s", "2m" or "1h"; it goes in quotes"#,
        ),
    ]);
}

#[test]
fn admin_and_log() {
    refused(&[
        (
            section("admin", "listen = \"10.0.0.1:9180\""),
            ", line 6: admin.listen: 10.0.0.1:9180 can be reached from other machines: add token or token_file, or listen on 127.0.0.1:9180",
        ),
        (
            section("admin", "listen = \"127.0.0.1:3128\""),
            ", line 6: admin.listen: 127.0.0.1:3128 is the proxy's: choose another port",
        ),
        (
            section("admin", "token = \"0123456789abcde\""),
            ", line 6: admin.token: it is not a text of 16 to 512 letters, digits and punctuation, without spaces",
        ),
        (
            section("admin", "token = \"0123456789 abcdef\""),
            ", line 6: admin.token: it is not a text of 16 to 512 letters, digits and punctuation, without spaces",
        ),
        (
            section("admin", "token = 12345678901234567890"),
            ", line 6: admin.token: it is not a text of 16 to 512 letters, digits and punctuation, without spaces",
        ),
        (
            section("admin", "token = \"0123456789abcdef\"\ntoken_file = \"x\""),
            ", line 7: admin.token_file: there is a token as well: set one of them",
        ),
        (
            section("admin", "token_file = \"/does/not/exist\""),
            r#", line 6: admin.token_file: "/does/not/exist" cannot be read: No such file or directory (os error 2)"#,
        ),
        (
            section("log", "format = \"squid\""),
            r#", line 5: log.access: set a path, such as access = "/var/log/dovetail/access.log""#,
        ),
        (
            section("log", "access = \"/x\"\nformat = \"common\""),
            r#", line 7: log.format: "common" is none of "squid", "json""#,
        ),
        (section("log", "access = 1"), ", line 6: log.access: 1 is not a file's name"),
    ]);
}

#[test]
fn a_token_is_in_no_message() {
    let secret = "swordfish-and-more";
    for keys in [format!("token = \"{secret} \""), format!("token = \"{secret}\"\ntoken_file = \"x\"")] {
        assert!(!said(&section("admin", &keys)).contains("swordfish"));
    }
    let config = Config::parse(&section("admin", &format!("token = \"{secret}\""))).unwrap();
    assert!(!format!("{config:?} {}", config.describe()).contains("swordfish"));
}

#[test]
fn weights_by_the_hour() {
    let class =
        |weights: &str| with("", "", &format!("[[class]]\nname = \"a\"\nclients = \"10.0.0.1\"\nweights = {weights}"));
    let expected = r#"is not hours such as "22:00-06:00", "Mon-Fri 08:00-18:00" or "Sat,Sun""#;
    let wrong = [
        (class("[{ weight = 8 }]"), r#"class.weights.hours: set the hours, such as hours = "22:00-06:00""#.to_owned()),
        (class("[{ hours = \"Sat\" }]"), "class.weights.weight: set the weight at these hours, such as weight = 8".into()),
        (class("[{ hours = \"22-6\", weight = 8 }]"), format!(r#"class.weights.hours: "22-6" {expected}: "22" is not a time from 00:00 to 24:00"#)),
        (class("[{ hours = [], weight = 8 }]"), r#"class.weights.hours: there are none: write hours such as "22:00-06:00", "Mon-Fri 08:00-18:00" or "Sat,Sun""#.into()),
        (class("[{ hours = \"Sat\", weight = 0 }]"), "class.weights.weight: 0 is not a weight from 0.000001 to 1000000".into()),
        (class("[{ hour = \"Sat\", weight = 2 }]"), "there is no key 'hour' here; did you mean 'hours'? [class.weights] has hours, weight".into()),
        (class("8"), "class.weights: write [[class.weights]], with two brackets".into()),
    ];
    for (text, what) in wrong {
        assert_eq!(said(&text), format!("configuration, line 10: {what}"));
    }
}

#[test]
fn quotas() {
    let quota = |keys: &str| with("", "", &format!("[[quota]]\nname = \"q\"\nbytes = 1\n{keys}\n"));
    refused(&[
        (
            with("", "", "[[quota]]\nbytes = 1"),
            r#", line 7: quota.name: a quota needs a name, such as name = "monthly""#,
        ),
        (
            with("", "", "[[quota]]\nname = \"q\""),
            r#", line 7: quota.bytes: set how much it is, such as bytes = "500MB""#,
        ),
        (
            with("", "", "[[quota]]\nname = \"q\"\nbytes = 0"),
            ", line 9: quota.bytes: 0 is out of range: from 1 to 1000000000000000 bytes",
        ),
        (quota("classes = \"x\""), r#", line 10: quota.classes: there is no class "x": the classes are default"#),
        (quota("every = \"year\""), r#", line 10: quota.every: "year" is none of "day", "week", "month""#),
        (quota("starts = 32"), ", line 10: quota.starts: 32 is not a whole number from 1 to 31"),
        (quota("starts = \"Mon\""), ", line 10: quota.starts: a month starts on a day from 1 to 31"),
        (quota("every = \"week\"\nstarts = 1"), r#", line 11: quota.starts: a week starts on a day such as "Mon""#),
        (quota("every = \"day\"\nstarts = 1"), ", line 11: quota.starts: a day starts at midnight: leave this out"),
        (
            quota("beyond = \"slow\""),
            r#", line 10: quota.beyond: "slow" is neither "refuse" nor a weight such as { weight = 0.1 }"#,
        ),
        (quota("beyond = {}"), ", line 10: quota.beyond.weight: set the weight, such as weight = 0.1"),
        (
            quota("beyond = { weight = 1 }"),
            r#", line 10: quota.beyond: its weight is not less than 1, which class "default" has: who is beyond would lose nothing"#,
        ),
        (
            quota("beyond = { weight = 0.1 }\n[[class]]\nname = \"beyond-q\"\nclients = \"10.0.0.1\""),
            r#", line 8: quota.name: there is a class "beyond-q" already: those beyond this quota have that name"#,
        ),
        (
            quota("[[quota]]\nname = \"q\"\nbytes = 1"),
            r#", line 11: quota.name: there are two quotas "q": names are unique"#,
        ),
        (section("store", ""), r#", line 5: store.path: set a file, such as path = "/var/lib/dovetail/gateway.db""#),
    ]);
}

#[test]
fn groups() {
    let groups = |text: &str| with("", "passwords = \"p\"", text);
    let of =
        |keys: &str| groups(&format!("[[group]]\nname = \"meyer\"\nclients = \"10.0.1.7\"\nusers = \"ann\"\n{keys}"));
    refused(&[
        (
            groups("[[group]]\nclients = \"10.0.1.7\""),
            ", line 7: group.name: a group needs a name, such as name = \"family-meyer\"",
        ),
        (
            groups("[[group]]\nname = \"a\""),
            ", line 7: group.clients: group \"a\" has neither clients nor users: add some",
        ),
        (of("weight = 2"), ", line 11: there is no key 'weight' here: [group] has name, clients, users"),
        (
            of("[[group]]\nname = \"meyer\"\nclients = \"10.0.1.8\""),
            ", line 12: group.name: there are two groups \"meyer\": names are unique",
        ),
        (
            of("[[group]]\nname = \"b\"\nclients = [\"10.0.1.0/24\", \"10.0.1.7\"]"),
            ", line 13: group.clients: 10.0.1.7/32 is in group \"meyer\" already",
        ),
        (
            of("[[group]]\nname = \"b\"\nclients = [\"10.0.1.8\", \"10.0.1.8\"]"),
            ", line 13: group.clients: 10.0.1.8/32 is in this group already",
        ),
        (
            of("[[group]]\nname = \"b\"\nusers = \"ann\""),
            ", line 13: group.users: \"ann\" is in group \"meyer\" already",
        ),
        (
            with("", "", "[[group]]\nname = \"a\"\nusers = \"ann\""),
            ", line 9: group.users: users are known by name only with access.passwords or helper: add one, or use clients",
        ),
        (
            of("[[class]]\nname = \"b\"\ngroups = \"mayer\""),
            ", line 13: class.groups: there is no [[group]] with the name \"mayer\"",
        ),
        (
            of("[[class]]\nname = \"b\"\ngroups = \"meyer\"\n[[class]]\nname = \"c\"\ngroups = \"meyer\""),
            ", line 16: class.groups: \"meyer\" is in class \"b\" already",
        ),
        (with("", "ipv6_user = 0", ""), ", line 6: access.ipv6_user: 0 is not a whole number from 1 to 128"),
    ]);
}

#[test]
fn hosts() {
    let file = std::env::temp_dir().join(format!("dovetail-hosts-wrong-{}", std::process::id()));
    let class = |keys: &str| with("", "", &format!("[[class]]\nname = \"a\"\n{keys}"));
    refused(&[
        (
            class("hosts = [\"a.example\", \"b.*.example\"]"),
            r#", line 9: class.hosts: "b.*.example" is no host: a '*' stands for all labels before a name, as in "*.example.com", and nowhere else"#,
        ),
        (
            class("hosts = \"http://a.example\""),
            r#", line 9: class.hosts: "http://a.example" is no host: write a name or an address without a scheme, a port and a path"#,
        ),
        (
            class("hosts = \"10.0.0.1/8\""),
            r#", line 9: class.hosts: "10.0.0.1/8" is no host: it has bits beyond its length: write "10.0.0.0/8""#,
        ),
        (
            class("hosts = 3"),
            r#", line 9: class.hosts: this is not a host such as "*.example.com" or "203.0.113.0/24"; it goes in quotes"#,
        ),
        (
            class("hosts = \"*.A.example\"\n[[class]]\nname = \"b\"\nhosts = \".a.example.\""),
            r#", line 12: class.hosts: *.a.example is in class "a" already"#,
        ),
        (
            class("hosts = \"a\"\nrate = \"1bps\""),
            r#", line 10: class.rate: "1bps" is out of range: from 1kbps to 1Tbps"#,
        ),
    ]);
    std::fs::write(&file, "a.example\n# all\nb c\n").unwrap();
    let said = said(&class(&format!("hosts_file = \"{}\"", file.display())));
    let expected = format!(
        "configuration, line 9: class.hosts_file: {}, line 3: \"b c\" is no host: it is not a name that the DNS can have",
        file.display()
    );
    assert_eq!(said, expected);
    std::fs::remove_file(&file).unwrap();
    assert!(Config::parse(&class(&format!("hosts_file = \"{}\"", file.display()))).is_err());
}

#[test]
fn parents_by_tls() {
    let file = std::env::temp_dir().join(format!("dovetail-authorities-wrong-{}", std::process::id()));
    std::fs::write(&file, "no certificate\n").unwrap();
    let parent = |keys: &str| with("", "", &format!("[[parent]]\nname = \"a\"\naddress = \"10.0.0.1:1\"\n{keys}"));
    refused(&[
        (parent("tls_name = \"a.example\""), ", line 10: parent.tls_name: add tls = true: it is of use by TLS only"),
        (parent("ca_file = \"x\""), ", line 10: parent.ca_file: add tls = true: it is of use by TLS only"),
        (parent("tls = 1"), ", line 10: parent.tls: 1 is not true or false"),
    ]);
    let with_file = parent(&format!("tls = true\nca_file = \"{}\"", file.display()));
    let expected = format!(
        "configuration, line 11: parent.ca_file: {}: there is no certificate in it: it should begin with -----BEGIN CERTIFICATE-----",
        file.display()
    );
    assert_eq!(said(&with_file), expected);
    std::fs::remove_file(&file).unwrap();
    assert!(said(&with_file).contains("line 11: parent.ca_file: "));
    let name = parent("tls = true\ntls_name = \"a b\"");
    assert!(said(&name).contains("line 11: parent.tls_name: \"a b\" is not the name or address"), "{}", said(&name));
}
