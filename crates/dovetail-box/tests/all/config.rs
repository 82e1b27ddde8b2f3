//! Errors of a configuration are reported with line, key and remedy.

use dovetail_box::config::Config;

#[cfg(unix)]
use crate::key::KeyFile;

const BOX: &str = "[box]\ninside = \"eth1\"\noutside = \"eth2\"\npolicy = \"drfq\"\n[link]\nrate = \"200Mbps\"\n";

fn wrong(text: &str) -> String {
    Config::parse(text).map(|config| config.describe()).unwrap_err().to_string()
}

#[test]
fn the_least_there_is_to_say() {
    let config = Config::parse(BOX).unwrap();
    assert_eq!(config.policy.to_string(), "drfq:estimator=ses");
    assert_eq!((config.classes.len(), &*config.classes[0].name), (1, "default"));
}

#[test]
fn errors_say_where_and_what_to_do() {
    let with = |more: &str| format!("{BOX}{more}");
    let class = |keys: &str| with(&format!("[[class]]\nname = \"a\"\n{keys}\n"));
    let cases = [
        ("", "box.inside: name the interface"),
        ("[box]\ninside = \"eth1\"\n", "box.outside: name the interface"),
        ("[bux]\n", "line 1: there is no key 'bux' here; did you mean 'box'?"),
        (&BOX.replace("eth2", "eth1"), "box.outside: eth1 is the interface inside already"),
        (&BOX.replace("eth2", "lab/eth2"), "both interfaces are to be in one network namespace"),
        (&BOX.replace("eth2", "a/b/c"), "line 3: box.outside: \"a/b/c\" is not an interface's name"),
        (&BOX.replace("drfq", "dfrq"), "line 4: box.policy: unknown policy 'dfrq': did you mean drfq?"),
        (&BOX.replace("drfq", "wfq-split"), "orders packets before the link too"),
        (&BOX.replace("drfq", "grants"), "box.policy"),
        (&BOX.replace("[link]\nrate = \"200Mbps\"\n", ""), "link.rate: give the rate of the narrow link"),
        (&BOX.replace("200Mbps", "200"), "link.rate"),
        (
            &with("buffer = \"1ms\"\nbuffer_packets = 3\n"),
            "line 8: link.buffer_packets: the buffer has a length in time already",
        ),
        (&with("delay = \"2s\"\n"), "line 7: link.delay: \"2s\" is out of range: from 0ns to 1s"),
        (&with("pace = \"device\"\ndelay = \"40ms\"\n"), "line 8: link.delay: the interface pushes back"),
        (&BOX.replace("[link]", "io = \"xdp\"\n[link]"), "line 5: box.io: \"xdp\" is none of"),
        (
            &BOX.replace("[link]", "io = \"af-xdp\"\n[link]\npace = \"device\""),
            if cfg!(feature = "af-xdp") { "a queue pushes back" } else { "this build has no AF_XDP" },
        ),
        (&with("[queues]\non_full = \"first\"\n"), "line 8: queues.on_full: \"first\" is none of"),
        (&with("[cpu]\nshare = 20\n"), "line 8: cpu.share: 20 is not a part of a CPU from 0.001 to 1"),
        (&with("[cpu]\nworkers = 0\n"), "line 8: cpu.workers: 0 is not a whole number from 1 to 32"),
        (&with("[cpu]\nworkers = 33\n"), "line 8: cpu.workers: 33 is not a whole number from 1 to 32"),
        (&with("[cpu]\nwake_latency = \"2s\"\n"), "line 8: cpu.wake_latency: \"2s\" is out of range: from 0ns to 1s"),
        (&with("[queues]\nflows = 0\n"), "line 8: queues.flows: 0 is not a whole number from 1 to"),
        (&class(""), "class \"a\" would take all there is"),
        (&class("ports = [0]"), "line 9: class.ports: 0 is not a whole number from 1 to 65535"),
        (
            &class("ports = [1]\nfunctions = [\"esp\"]"),
            "there is no function \"esp\": use forwarding, monitoring, ipsec",
        ),
        (&class("ports = [1]\nprogram = \"a.so\""), "line 10: class.program: \"a.so\" is not a program's name"),
        (&class("named = [\"a b\"]"), "line 9: class.named: \"a b\" is not a name that packets carry"),
        (&class("ports = [1]\ntime = \"soon\""), "class.time: 'soon' is not a cost"),
        (&class("ports = [1]\n[[class]]\nname = \"a\"\nports = [2]"), "there are two classes \"a\": names are unique"),
        (&with("[[class]]\nname = \"default\"\nports = [1]\n"), "\"default\" takes what no other class does"),
        (&with("[[class]]\nports = [1]\n"), "class.name: a class has a name"),
        (&with("[class]\nname = \"a\"\n"), "class: write [[class]], with two brackets"),
        (&with("").replace("[link]", "[[link]]"), "link: write [link], with one bracket: it is one table"),
        (
            &class("ports = [1]\nfunctions = [\"ipsec\"]").replace("[link]", "segments = \"whole\"\n[link]"),
            "box.segments: class \"a\" has functions that change frames",
        ),
        (&with("[admin]\n"), "admin.listen: say where it listens"),
    ];
    let amiss: Vec<_> = cases
        .iter()
        .map(|&(text, expected)| (wrong(text), expected))
        .filter(|(got, want)| !got.contains(want))
        .collect();
    assert!(amiss.is_empty(), "{amiss:#?}");
}

/// A key file that other users can read.
#[cfg(unix)]
fn with_mode(digits: &str, mode: u32) -> KeyFile {
    let file = KeyFile::new(digits);
    std::fs::set_permissions(file.to_string(), std::os::unix::fs::PermissionsExt::from_mode(mode)).unwrap();
    file
}

#[cfg(unix)]
#[test]
fn what_is_wrong_with_tunnels_and_routes_is_said() {
    let digits = "00112233445566778899".repeat(2);
    let files = [
        KeyFile::new(&format!("0x{digits}\n")),
        with_mode(&digits.replace('0', "a"), 0o640),
        with_mode(&digits, 0o604),
        KeyFile::new(&digits[2..]),
    ];
    let [key, other, public, short] = files.each_ref().map(ToString::to_string);
    let closed = BOX.replace("[link]", "on_failure = \"closed\"\n[link]");
    let tunnel = |name: &str, key: &str| {
        format!(
            "[[tunnel]]\nname = \"{name}\"\nspi = 256\nsource = \"192.0.2.1\"\ndestination = \"192.0.2.2\"\n\
             key_file = \"{key}\"\n"
        )
    };
    let class = "[[class]]\nname = \"vpn\"\nports = [1]\nfunctions = [\"ipsec\"]\ntunnel = \"one\"\n";
    let file = "[ipsec]\nsequence_file = \"numbers\"\n";
    let route = "[[route]]\nprefix = \"10.0.0.0/8\"\nvia = \"02:00:00:00:00:02\"\nfrom = \"02:00:00:00:00:01\"\n";
    let whole = format!("{closed}{file}{}{class}{route}{}", tunnel("one", &key), route.replace("10.0.0.0/8", "::/0"));
    let config = Config::parse(&whole).unwrap();
    assert_eq!(config.classes[0].tunnel.as_ref().map(|tunnel| tunnel.association.spi), Some(256));
    assert_eq!(config.routes.unwrap().counts(), (2, 1));
    assert!(!Config::parse(&whole).unwrap().describe().contains(&digits[..6]));
    let warnings = |text: &str| Config::parse(text).unwrap().warnings();
    assert!(warnings(&whole)[0].starts_with("class vpn encrypts by ports"));
    assert!(warnings(&whole.replace("ports = [1]", "prefixes = [\"10.0.0.0/8\"]")).is_empty());
    for (text, expected) in [
        (whole.replace("closed", "open"), "line 5: box.on_failure: what class \"vpn\" encrypts"),
        (whole.replace(file, ""), "ipsec.sequence_file: name a file"),
        (whole.replace("spi = 256", "spi = 255"), "line 12: tunnel.spi: 255 is not a whole number from 256"),
        (whole.replace("spi = 256\n", ""), "tunnel.spi: give the number"),
        (whole.replace("\"192.0.2.1\"", "\"2001:db8::1\""), "line 13: tunnel.source: \"2001:db8::1\" is not the IPv4"),
        (whole.replace("192.0.2.2", "224.0.0.1"), "line 14: tunnel.destination: \"224.0.0.1\" is not the IPv4"),
        (whole.replace(&key, &public), "tunnel.key_file: "),
        (whole.replace(&key, &public), "is accessible to every user of this machine: chmod 600 it"),
        (whole.replace(&key, &short), "does not hold a key of AES-128 or AES-256"),
        (whole.replace(&key, "none"), "line 15: tunnel.key_file: \"none\" cannot be read"),
        (whole.replace(&format!("key_file = \"{key}\"\n"), ""), "a configuration has no keys itself"),
        (whole.clone() + &tunnel("one", &other), "tunnel.name: there are two tunnels \"one\""),
        (whole.clone() + &tunnel("two", &key), "tunnel.key_file: tunnel \"one\" has this key as well"),
        (
            whole.replace("tunnel = \"one\"", "tunnel = \"on\""),
            "class.tunnel: there is no [[tunnel]] with the name \"on\"",
        ),
        (whole.replace("[\"ipsec\"]", "[\"monitoring\"]"), "class.tunnel: nothing is encrypted here"),
        (whole.replace("::/0", "10.0.0.0/8"), "route.prefix: there is a route for 10.0.0.0/8 already"),
        (whole.replace("::/0", "10.0.0.1/8"), "route.prefix: \"10.0.0.1/8\" has bits beyond its length"),
        (whole.replace("00:02\"", "00:2\""), "route.via: \"02:00:00:00:00:2\" is not one station's Ethernet address"),
        (
            whole.replace("\"02:00:00:00:00:01", "\"03:00:00:00:00:01"),
            "route.from: \"03:00:00:00:00:01\" is not one station's",
        ),
        (whole.replace("from = \"02:00:00:00:00:01\"\n", ""), "route.from: give an Ethernet address"),
    ] {
        let error = wrong(&text);
        assert!(error.contains(expected) && !error.contains(&digits[..6]), "{expected}: {error}");
    }
}

#[cfg(unix)]
#[test]
fn what_is_wrong_with_a_tunnel_that_leads_in_is_said() {
    let digits = "00112233445566778899".repeat(2);
    let files = [digits.clone(), digits.replace('0', "a")].map(|digits| KeyFile::new(&digits));
    let [key, other] = files.each_ref().map(ToString::to_string);
    let tunnel = |name: &str, key: &str| {
        format!(
            "[[tunnel]]\nname = \"{name}\"\ndirection = \"in\"\nspi = 256\nsource = \"192.0.2.2\"\n\
             destination = \"192.0.2.1\"\nkey_file = \"{key}\"\nprefixes = [\"10.8.0.0/16\", \"2001:db8::/32\"]\n"
        )
    };
    // It records no numbers, and what the bridge forwards meanwhile is encrypted.
    let whole = format!("{BOX}{}", tunnel("back", &key));
    let said = Config::parse(&whole).unwrap().describe();
    let wanted = "back, from 192.0.2.2 to 192.0.2.1, SPI 0x100; what arrives outside is decrypted, and must come from \
                  10.8.0.0/16 or 2001:db8::/32";
    assert!(said.contains(wanted), "{said}");
    let class = "[[class]]\nname = \"vpn\"\nports = [1]\nfunctions = [\"ipsec\"]\ntunnel = \"back\"\n";
    for (text, expected) in [
        (whole.replace("\"in\"", "\"back\""), "line 9: tunnel.direction: \"back\" is none of"),
        (whole.replace("prefixes", "#"), "tunnel.prefixes: say which sources the other end speaks for"),
        (whole.replace("direction = \"in\"\n", ""), "tunnel.prefixes: classes say what is encrypted"),
        (whole.replace("10.8.0.0/16", "10.8.0.1/16"), "tunnel.prefixes: \"10.8.0.1/16\" has bits beyond its length"),
        (whole.clone() + &tunnel("two", &other), "tunnel.spi: tunnel \"back\" has this number and destination as well"),
        (whole.clone() + &tunnel("two", &key).replace("256", "257"), "tunnel \"back\" has this key as well"),
        (whole.clone() + class, "class.tunnel: tunnel \"back\" decrypts what comes back"),
    ] {
        let error = wrong(&text);
        assert!(error.contains(expected) && !error.contains(&digits[..6]), "{expected}: {error}");
    }
    // Outbound tunnels are identified by the fingerprint of the key, not by number and destination.
    let out = |text: &str| text.replace("\"in\"", "\"out\"").replace("prefixes", "#");
    let closed = whole.clone() + &out(&tunnel("two", &other)) + "[ipsec]\nsequence_file = \"numbers\"\n";
    assert!(Config::parse(&closed).is_ok());
}

#[cfg(not(feature = "programs"))]
#[test]
fn a_build_without_programs_says_so() {
    let missing = "this build has no programs: build it with --features programs";
    let error = wrong(&format!("{BOX}[programs]\nfolder = \"programs\"\n"));
    assert!(error.contains("line 7: programs: ") && error.contains(missing), "{error}");
    let error = wrong(&format!("{BOX}[[class]]\nname = \"a\"\nports = [1]\nprogram = \"count\"\n"));
    assert!(error.contains("line 10: class.program: ") && error.contains(missing), "{error}");
}

#[cfg(feature = "programs")]
#[test]
fn programs_are_named_by_name_or_file() {
    use dovetail_box::programs::{ProgramLimits, Quarantined};

    let with = |programs: &str, name: &str| {
        format!("{BOX}{programs}[[class]]\nname = \"a\"\nports = [1]\nprogram = \"{name}\"\n")
    };
    for name in ["count", "count.wasm"] {
        let config = Config::parse(&with("[programs]\nfolder = \"of\"\n", name)).unwrap();
        assert_eq!(config.classes[0].program.as_deref(), Some("count"));
        assert_eq!(config.programs.unwrap().limits, ProgramLimits::default());
    }
    let keys = "[programs]\nfolder = \"of\"\nfuel_per_packet = 5000\nmemory = \"2MiB\"\ntraps = 3\nquarantined = \"forward\"\n";
    let config = Config::parse(&with(keys, "count")).unwrap();
    assert!(config.describe().contains("from of, 5000 fuel per packet and 2097152 bytes of memory"));
    let limits = config.programs.unwrap().limits;
    assert_eq!((limits.fuel_per_packet, limits.memory_bytes, limits.traps), (5000, 2 << 20, 3));
    assert_eq!(limits.quarantined, Quarantined::Forward);

    let folder = "[programs]\nfolder = \"of\"\n";
    for (programs, expected) in [
        (String::new(), "class.program: say where programs are"),
        ("[programs]\n".to_owned(), "programs.folder: say where programs are"),
        (
            format!("{folder}fuel_per_packet = 10\n"),
            "line 9: programs.fuel_per_packet: 10 is not a whole number from 1000",
        ),
        (format!("{folder}memory = \"1kB\"\n"), "line 9: programs.memory: \"1kB\" is out of range: from 131072"),
        (format!("{folder}quarantined = \"open\"\n"), "line 9: programs.quarantined: \"open\" is none of"),
    ] {
        let error = wrong(&with(&programs, "count"));
        assert!(error.contains(expected), "{error}");
    }
}

#[cfg(feature = "programs")]
#[test]
fn the_example_of_the_page_on_programs_is_one() {
    let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/programs.md");
    let page = std::fs::read_to_string(page).unwrap();
    let (_, section) = page.split_once("## In the middlebox").unwrap();
    let example = section.split_once("```toml\n").unwrap().1.split_once("```").unwrap().0;
    let config = Config::parse(example).unwrap();
    assert_eq!(config.classes[0].program.as_deref(), Some("mark"));
}
