//! The meaning and defaults of a configuration's keys.

#![allow(clippy::unwrap_used)]

mod written;

use std::{
    fs,
    net::IpAddr,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    process,
    time::Duration,
};

use dovetail_gateway::{
    check,
    config::{Config, Forwarded, LogFormat, Probe},
};
use proptest::{prelude::*, strategy::ValueTree};
use written::{MINIMAL, with};

/// A directory that is removed after its test.
struct Folder(PathBuf);

impl Folder {
    /// An empty directory.
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("dovetail-config-{name}-{}", process::id()));
        fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    /// Its path.
    fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn read(text: &str) -> Config {
    Config::parse(text).unwrap_or_else(|error| panic!("{error}\n{text}"))
}

fn ip(text: &str) -> IpAddr {
    text.parse().unwrap()
}

#[test]
fn the_least_that_a_file_says_has_defaults_that_work() {
    let config = read(MINIMAL);
    assert_eq!(config.proxy.listen, ["127.0.0.1:3128".parse().unwrap()]);
    assert!(config.proxy.redirect.is_empty() && config.proxy.tproxy.is_empty() && config.proxy.nameservers.is_empty());
    assert!(config.proxy.name.starts_with("dovetail-"), "{}", config.proxy.name);
    assert_eq!(config.proxy.forwarded, Forwarded::Off);
    let downlink = &config.downlink;
    assert_eq!((downlink.rate.bps(), downlink.payload), (2e6, 1448.0 / 1514.0));
    assert_eq!((downlink.goodput_bytes_per_s()).round(), 239_102.0);
    assert_eq!(
        (downlink.learn, &downlink.probe, downlink.probe_every),
        (true, &Probe::Tcp, Duration::from_millis(100))
    );
    assert_eq!(downlink.policy, "grants".parse().unwrap());
    let access = &config.access;
    assert!(access.clients.contains(ip("10.1.2.3")) && !access.clients.contains(ip("11.0.0.1")));
    assert!(access.clients.contains(ip("::ffff:10.1.2.3")), "the same address, written as IPv6");
    assert_eq!((access.allow.prefixes().count(), access.deny.prefixes().count()), (0, 0));
    assert_eq!((&access.connect_ports[..], access.ports.len(), &access.passwords), (&[443][..], 0, &None));
    assert_eq!((config.classes.len(), config.default_class), (1, 0));
    assert_eq!((&*config.classes[0].name, config.classes[0].weight.as_f64()), ("default", 1.0));
    let limits = &config.limits;
    assert_eq!((limits.connections, limits.connections_per_user, limits.requests_per_user), (16_384, 512, 1024));
    assert_eq!((limits.header_bytes, limits.headers, limits.idle_per_server), (16_000, 100, 64));
    let t = &config.timeouts;
    let times = [t.header, t.idle, t.resolve, t.connect, t.response, t.stalled, t.tunnel, t.pool, t.drain];
    assert_eq!(times.map(|time| time.as_secs()), [10, 120, 10, 20, 120, 300, 3600, 60, 30]);
    assert!(config.admin.is_none() && config.log.is_none());
}

#[test]
fn the_proxy_listens_where_it_is_told_and_says_what_it_is_told() {
    let config = read(&format!(
        "{MINIMAL}[proxy]\nlisten = [\"10.0.0.1:3128\", \"[2001:db8::1]:3128\"]\nredirect = \"0.0.0.0:3129\"\n\
         tproxy = [\"[::]:3130\"]\nname = \"gate-1.example\"\nforwarded = \"address\"\n\
         nameservers = [\"10.0.0.53\", \"10.0.0.54:5353\", \"2001:db8::53\", \"[2001:db8::54]:54\"]\n"
    ));
    let proxy = &config.proxy;
    let shown = |addresses: &[std::net::SocketAddr]| addresses.iter().map(ToString::to_string).collect::<Vec<_>>();
    assert_eq!(shown(&proxy.listen), ["10.0.0.1:3128", "[2001:db8::1]:3128"]);
    assert_eq!((shown(&proxy.redirect), shown(&proxy.tproxy)), (vec!["0.0.0.0:3129".into()], vec!["[::]:3130".into()]));
    assert_eq!(shown(&proxy.nameservers), ["10.0.0.53:53", "10.0.0.54:5353", "[2001:db8::53]:53", "[2001:db8::54]:54"]);
    assert_eq!((&*proxy.name, proxy.forwarded), ("gate-1.example", Forwarded::Address));
    let only = read(&format!(
        "{MINIMAL}[proxy]\nlisten = []\nredirect = [\"127.0.0.1:0\", \"127.0.0.1:0\"]\nforwarded = \"unknown\""
    ));
    assert_eq!((only.proxy.listen.len(), only.proxy.redirect.len(), only.proxy.forwarded), (0, 2, Forwarded::Unknown));
}

#[test]
fn rates_times_and_shares_are_read() {
    let rate = |rate: &str| read(&MINIMAL.replace("2Mbps", rate)).downlink.rate.bps();
    for (text, bps) in [("2000000bps", 2e6), ("9.6 kbit/s", 9600.0), ("1Tbps", 1e12), ("1kbps", 1e3)] {
        assert_eq!(rate(text), bps);
    }
    let payload = |text: &str| read(&with(&format!("payload = {text}"), "", "")).downlink.payload;
    assert_eq!((payload("0.956"), payload("1"), payload("1.0"), payload("1e-3")), (0.956, 1.0, 1.0, 0.001));
    let every = |text: &str| read(&with(&format!("probe_every = \"{text}\""), "", "")).downlink.probe_every;
    assert_eq!((every("10ms").as_millis(), every("1.5s").as_millis(), every("10s").as_millis()), (10, 1500, 10_000));
    let header = |text: &str| read(&with("", "", &format!("[limits]\nheader_bytes = {text}"))).limits.header_bytes;
    assert_eq!(
        [header("8000"), header("\"8kB\""), header("\"64KiB\""), header("\"1MB\"")],
        [8000, 8000, 65_536, 1_000_000]
    );
    let config = read(&with(
        "",
        "",
        "[timeouts]\ndrain = \"90s\"\ntunnel = \"1.5h\"\nstalled = \"0.5m\"\nidle = \"24h\"\nheader = \"10ms\"\npool = \"3min\"",
    ));
    let t = &config.timeouts;
    assert_eq!([t.drain, t.tunnel, t.stalled, t.idle, t.pool].map(|time| time.as_secs()), [90, 5400, 30, 86_400, 180]);
    assert_eq!(t.header.as_millis(), 10);
}

#[test]
fn probes_are_read() {
    let probe = |text: &str| read(&with(&format!("probe = \"{text}\""), "", "")).downlink.probe;
    assert_eq!(probe("tcp"), Probe::Tcp);
    assert_eq!(probe("off"), Probe::Off);
    assert_eq!(probe("10.99.0.1"), Probe::Icmp(ip("10.99.0.1")));
    assert_eq!(probe("2001:db8::1"), Probe::Icmp(ip("2001:db8::1")));
    assert_eq!(probe("udp://10.99.0.1:7"), Probe::Udp("10.99.0.1:7".parse().unwrap()));
    assert_eq!(probe("udp://[2001:db8::1]:7"), Probe::Udp("[2001:db8::1]:7".parse().unwrap()));
    assert_eq!(probe("hop:2"), Probe::Hop { hops: 2, towards: None });
    assert_eq!(probe("hop:64@192.0.2.1"), Probe::Hop { hops: 64, towards: Some(ip("192.0.2.1")) });
}

#[test]
fn learn_is_the_policys_own_knob() {
    let of = |keys: &str| {
        let downlink = read(&with(keys, "", "")).downlink;
        (downlink.learn, downlink.policy.to_string())
    };
    assert_eq!(of(""), (true, "grants".into()));
    assert_eq!(of("learn = true"), (true, "grants".into()));
    assert_eq!(of("learn = false"), (false, "grants:learn=off".into()));
    assert_eq!(of("learn = false\npolicy = \"grants:delay=40ms\""), (false, "grants:delay=40ms,learn=off".into()));
    assert_eq!(of("learn = false\npolicy = \"grants:learn=off\""), (false, "grants:learn=off".into()));
    assert_eq!(of("policy = \"grants:learn=off,delay=40ms\""), (false, "grants:learn=off,delay=40ms".into()));
    assert_eq!(of("learn = true\npolicy = \"grants:learn=on\""), (true, "grants:learn=on".into()));
    assert_eq!(of("learn = true\npolicy = \"msf-rs\""), (false, "msf-rs".into()), "it has no such knob");
}

#[test]
fn access_is_read() {
    let config = read(&with(
        "",
        "destinations = { allow = [\"192.168.7.7\"], deny = [\"192.168.0.0/16\", \"2001:db8::/32\"] }\n\
         connect_ports = [443, 563]\nports = 80\npasswords = \"people\"",
        "",
    ));
    let access = &config.access;
    assert!(access.allow.contains(ip("192.168.7.7")) && !access.allow.contains(ip("192.168.7.8")));
    assert!(access.deny.contains(ip("2001:db8::9")) && !access.deny.contains(ip("192.169.0.1")));
    assert_eq!((&access.connect_ports[..], &access.ports[..]), (&[443, 563][..], &[80][..]));
    assert_eq!(access.passwords.as_deref(), Some(Path::new("people")));
    assert!(read(&with("", "connect_ports = []", "")).access.connect_ports.is_empty());
}

const CLASSES: &str = "[[class]]\nname = \"gold\"\nweight = 4\nclients = [\"10.1.0.0/16\", \"2001:db8::/32\"]\n\
     [[class]]\nname = \"silver\"\nweight = 0.5\nclients = [\"10.1.2.0/24\"]\nusers = [\"ada\", \"Grace Höpper\"]\n";

#[test]
fn clients_are_in_the_class_of_the_longest_prefix_and_users_in_that_of_their_name() {
    let config = read(&with("", "passwords = \"people\"", CLASSES));
    let names: Vec<_> = config.classes.iter().map(|class| (&*class.name, class.weight.as_f64())).collect();
    assert_eq!(names, [("gold", 4.0), ("silver", 0.5), ("default", 1.0)]);
    assert_eq!(config.default_class, 2);
    for (address, class) in [
        ("10.1.1.1", 0),
        ("10.1.2.1", 1),
        ("::ffff:10.1.2.1", 1),
        ("10.2.0.1", 2),
        ("2001:db8::1", 0),
        ("2001:db9::1", 2),
    ] {
        assert_eq!(config.class_of(ip(address)), class, "{address}");
        assert_eq!(config.class_of_user("ada", ip(address)), 1, "{address}");
        assert_eq!(config.class_of_user("Ada", ip(address)), class, "{address}");
    }
}

#[test]
fn a_class_called_default_is_for_everybody_else_wherever_it_stands() {
    let first = read(&with("", "passwords = \"p\"", &format!("[[class]]\nname = \"default\"\nweight = 2\n{CLASSES}")));
    assert_eq!((first.classes.len(), first.default_class, first.class_of(ip("10.9.9.9"))), (3, 0, 0));
    assert_eq!((first.classes[0].weight.as_f64(), first.class_of(ip("10.1.1.1"))), (2.0, 1));
    let own = read(&with("", "", "[[class]]\nname = \"default\"\nclients = [\"10.1.0.0/16\"]"));
    assert_eq!((own.classes.len(), own.class_of(ip("10.1.1.1")), own.class_of(ip("10.2.1.1"))), (1, 0, 0));
}

#[test]
fn sixty_four_classes_are_the_most() {
    let classes = |from: u32, to: u32| -> String {
        (from..to).map(|n| format!("[[class]]\nname = \"c{n}\"\nclients = [\"10.{n}.0.0/16\"]\n")).collect()
    };
    assert_eq!(read(&with("", "", &classes(0, 63))).classes.len(), 64);
    assert!(Config::parse(&with("", "", &classes(0, 64))).is_err());
    let with_default = format!("{}[[class]]\nname = \"default\"\n", classes(0, 63));
    assert_eq!(read(&with("", "", &with_default)).classes.len(), 64);
    assert!(Config::parse(&with("", "", &format!("{with_default}{}", classes(63, 64)))).is_err());
}

#[test]
fn the_admin_is_on_this_machine_unless_there_is_a_token() {
    let admin = |keys: &str| read(&with("", "", &format!("[admin]\n{keys}"))).admin.unwrap();
    let least = admin("");
    assert_eq!((least.listen.to_string(), least.token), ("127.0.0.1:9180".into(), None));
    assert_eq!(admin("listen = \"[::1]:1\"").listen.to_string(), "[::1]:1");
    let open = admin("listen = \"10.0.0.1:9180\"\ntoken = \"0123456789abcdef\"");
    assert_eq!(open.token.as_deref(), Some("0123456789abcdef"));
}

#[test]
fn files_are_beside_the_configuration_and_a_token_is_for_its_owner_alone() {
    let folder = Folder::new("files");
    let write = |name: &str, text: &str, mode: u32| {
        let path = folder.path().join(name);
        fs::write(&path, text).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
        path
    };
    let text = with(
        "",
        "passwords = \"people\"",
        "[admin]\ntoken_file = \"token\"\n[log]\naccess = \"/x/log\"\nformat = \"json\"",
    );
    let path = write("gateway.toml", &text, 0o644);
    let token = write("token", "0123456789abcdef\n", 0o600);
    let config = Config::read(&path).unwrap();
    assert_eq!(config.access.passwords, Some(folder.path().join("people")));
    assert_eq!(config.admin.unwrap().token.as_deref(), Some("0123456789abcdef"));
    let log = config.log.unwrap();
    assert_eq!((log.path.as_path(), log.format), (Path::new("/x/log"), LogFormat::Json));

    let refused = |text: &str, mode: u32| {
        write("token", text, mode);
        let error = Config::read(&path).unwrap_err().to_string();
        let place = format!("{}, line 8: admin.token_file: \"", path.display());
        assert!(error.starts_with(&place), "{error}");
        error.rsplit_once("token\" ").map(|(_, why)| why.to_owned())
    };
    let chmod = "is accessible to every user of this machine: chmod 600 it";
    assert_eq!(refused("0123456789abcdef\n", 0o644).as_deref(), Some(chmod));
    let expected = "does not hold a text of 16 to 512 letters, digits and punctuation, without spaces";
    for text in ["0123456789abcde\n", "0123456789 abcdef", "", &"x".repeat(513)] {
        assert_eq!(refused(text, 0o600).as_deref(), Some(expected));
    }
    fs::remove_file(token).unwrap();
    assert!(Config::read(&path).unwrap_err().to_string().contains("token\" cannot be read: "));
}

#[test]
fn a_check_finds_what_a_start_would_lack() {
    let folder = Folder::new("check");
    let at = |name: &str| folder.path().join(name).display().to_string();
    let checked = |access: &str, log: &str| {
        let text = with("", access, &format!("[log]\naccess = \"{}\"", at(log)));
        check(&read(&text)).map_err(|error| error.to_string())
    };
    let passwords = format!("passwords = \"{}\"", at("people"));
    assert!(checked("", "log").is_ok());
    assert!(!folder.path().join("log").exists(), "it makes no files");
    let said = checked(&passwords, "log").unwrap_err();
    assert!(said.contains(&at("people")) && said.contains("No such file"), "{said}");
    fs::write(folder.path().join("people"), "ada:$2y$04$abcdefghijklmnopqrstuuFEaW4G5iqb1PWsUMN2tI.2Jfvr1hKy6\n")
        .unwrap();
    assert!(checked(&passwords, "log").is_ok());
    let said = checked("", "none/log").unwrap_err();
    assert!(said.contains(&at("none/log")) && said.contains(&format!("its folder {}", at("none"))), "{said}");
    let said = checked("", "people/log").unwrap_err();
    assert!(said.contains("people"), "{said}");
    fs::create_dir(folder.path().join("folder")).unwrap();
    assert!(checked("", "folder").is_err(), "a folder is no file");
}

#[test]
fn a_file_is_read_up_to_a_mebibyte() {
    let folder = Folder::new("long");
    let path = folder.path().join("gateway.toml");
    let refused = |bytes: &[u8]| {
        fs::write(&path, bytes).unwrap();
        let error = Config::read(&path).unwrap_err().to_string();
        error.strip_prefix(&path.display().to_string()).unwrap().to_owned()
    };
    let long = format!("{MINIMAL}#{}", "x".repeat((1 << 20) - MINIMAL.len()));
    assert_eq!(refused(long.as_bytes()), ": it is longer than 1 MiB: this is another file");
    assert!(Config::parse(&long).unwrap_err().to_string().contains("longer than 1 MiB"));
    fs::write(&path, &long[..1 << 20]).unwrap();
    assert!(Config::read(&path).is_ok());
    assert_eq!(refused(b"\xff"), ": it is not text in UTF-8");
    assert!(Config::read(folder.path()).unwrap_err().to_string().contains(": cannot be read: "));
    assert!(Config::read(&folder.path().join("none")).unwrap_err().to_string().contains(": cannot be read: "));
}

#[test]
fn the_uplink_is_paced_where_its_rate_is_written() {
    assert!(read(MINIMAL).uplink.is_none());
    assert!(read(&with("", "", "[uplink]")).uplink.is_none());
    let uplink = read(&with("payload = 0.5", "", "[uplink]\nrate = \"512kbps\"")).uplink.unwrap();
    assert_eq!((uplink.rate.bps(), uplink.goodput_bytes_per_s(), uplink.learn), (512e3, 32e3, true));
    assert!(!read(&with("", "", "[uplink]\nrate = \"512kbps\"\nlearn = false")).uplink.unwrap().learn);
    assert!(read(&with("", "", "[uplink]\nlearn = false")).uplink.is_none());
    for wrong in ["learn = true", "rate = \"999bps\"", "rate = \"2Tbps\"", "rate = 512", "payload = 0.9"] {
        let error = Config::parse(&with("", "", &format!("[uplink]\n{wrong}"))).unwrap_err().to_string();
        assert!(error.contains("uplink"), "{error}");
    }
}

#[test]
fn a_reload_changes_the_uplinks_rate_and_not_whether_it_is_paced() {
    let of = |rest| read(&with("", "", rest));
    let (none, slow, fast) = (of(""), of("[uplink]\nrate = \"512kbps\""), of("[uplink]\nrate = \"1Mbps\""));
    let fixed = of("[uplink]\nrate = \"512kbps\"\nlearn = false");
    assert!(!fixed.clone().reloaded(&slow, |_| true).0.uplink.unwrap().learn);
    let rate = |config: &Config| config.uplink.as_ref().map(|uplink| uplink.rate.bps());
    for (old, new, after, said) in [
        (&slow, &fast, Some(1e6), None),
        (&none, &slow, None, Some("uplink.rate stays off: restart the gateway to make it set")),
        (&slow, &none, Some(512e3), Some("uplink.rate stays set: restart the gateway to make it off")),
    ] {
        let (kept, lines) = new.clone().reloaded(old, |_| true);
        assert_eq!((rate(&kept), lines), (after, said.map(str::to_owned).into_iter().collect()));
    }
}

#[test]
fn a_reload_says_what_it_cannot_change() {
    let old = read(&format!("{MINIMAL}[proxy]\nlisten = [\"10.0.0.1:1\", \"10.0.0.1:2\"]\n[admin]\n"));
    let same = read(&with(
        "policy = \"grants\"",
        "ports = [80]",
        "[proxy]\nlisten = [\"10.0.0.1:2\", \"10.0.0.1:1\"]\n[admin]\ntoken = \"0123456789abcdef\"\n[limits]\nheaders = 50",
    ));
    assert_eq!(old.what_a_reload_cannot_change(&same), Vec::<String>::new());
    let other = read(&with("policy = \"none\"", "", "[proxy]\nredirect = \"10.0.0.1:3\"\ntproxy = \"10.0.0.1:4\""));
    assert_eq!(
        old.what_a_reload_cannot_change(&other),
        [
            "proxy.listen stays 10.0.0.1:1, 10.0.0.1:2: restart the gateway to make it 127.0.0.1:3128",
            "proxy.redirect stays off: restart the gateway to make it 10.0.0.1:3",
            "proxy.tproxy stays off: restart the gateway to make it 10.0.0.1:4",
            "admin.listen stays 127.0.0.1:9180: restart the gateway to make it off",
            "downlink.policy stays grants: restart the gateway to make it none",
        ]
    );
    let (kept, said) = other.reloaded(&old, |_| true);
    assert_eq!(said.len(), 5);
    assert_eq!(old.what_a_reload_cannot_change(&kept), Vec::<String>::new(), "it says what the gateway does");
    assert_eq!(kept.downlink.learn, old.downlink.learn);
    let (changed, said) = same.reloaded(&old, |_| true);
    assert!(said.is_empty() && changed.admin.unwrap().token.is_some() && changed.limits.headers == 50);
}

/// Texts that are almost configurations: the packaged one with its comments enabled, lines omitted, and a few values changed.
fn nearly() -> impl Strategy<Value = String> {
    const PACKAGED: &str = include_str!("../../../packaging/gateway.toml");
    const VALUES: [&str; 16] = [
        "\"\"",
        "[]",
        "{}",
        "-1",
        "1e400",
        "nan",
        "\"hop:\"",
        "\"1e300h\"",
        "\"é:\"",
        "[[1]]",
        "1979-05-27",
        "0x7f",
        "\"::/0\"",
        "\"1s\"",
        "\"off\"",
        "1",
    ];
    const REQUIRED: [&str; 10] =
        ["rate", "clients", "name", "access", "listen", "certificate", "key", "bytes", "path", "address"];
    // Files that do not exist, and keys that exclude others.
    let left_out =
        ["token_file", "hosts_file", "except_file", "password_file", "ca_file", "tls_name", "user =", "helper ="];
    let is_kept = |line: &&str| !line.starts_with("# ") && left_out.iter().all(|key| !line.contains(key));
    let lines: Vec<_> = PACKAGED.lines().filter(is_kept).collect();
    let fates = proptest::collection::vec((0..20usize, 0..50usize), lines.len());
    fates.prop_map(move |fates| {
        let of_line = |(line, (left_out, value)): (&&str, (usize, usize))| {
            let line = line.trim_start_matches('#');
            match (line.split_once(" = "), VALUES.get(value * 40 + left_out)) {
                (Some((key, _)), Some(other)) => format!("{key} = {other}\n"),
                // Required keys stay, or hardly any text would be a configuration.
                (Some((key, _)), None) if left_out < 4 && !REQUIRED.contains(&key) => String::new(),
                _ => format!("{line}\n"),
            }
        };
        lines.iter().zip(fates).map(of_line).collect()
    })
}

#[test]
fn what_is_nearly_a_configuration_often_is_one() {
    let mut runner = proptest::test_runner::TestRunner::deterministic();
    let texts: Vec<_> = (0..200).map(|_| nearly().new_tree(&mut runner).unwrap().current()).collect();
    let read = texts.iter().filter(|text| Config::parse(text).is_ok()).count();
    assert!((40..180).contains(&read), "{read} of 200 are read");
}

proptest! {
    #[test]
    fn no_text_panics(text in prop_oneof![nearly(), "\\PC{0,200}", "[\\[\\]a-z.=\"'\n{}#0-9]{0,100}"]) {
        match Config::parse(&text) {
            Ok(config) => {
                // Anything that can be read can be described, and is unchanged by a reload.
                prop_assert!(!config.describe().to_string().is_empty());
                prop_assert!(config.what_a_reload_cannot_change(&config).is_empty());
                prop_assert!(config.class_of(ip("10.1.2.3")) < config.classes.len());
            }
            Err(error) => prop_assert!(error.to_string().starts_with("configuration")),
        }
    }

    #[test]
    fn the_class_is_that_of_the_longest_prefix(
        prefixes in proptest::collection::vec((0u32..256, 0u32..=8), 1..20),
        address in 0u32..256,
    ) {
        // Distinct prefixes of the last byte of 10.0.0.x, compared bit by bit.
        let mut written = std::collections::BTreeMap::new();
        for (bits, length) in prefixes {
            let kept = if length == 0 { 0 } else { bits >> (8 - length) << (8 - length) };
            let next = written.len();
            written.entry((kept, length)).or_insert(next);
        }
        let mut classes: Vec<_> = written.iter().collect();
        classes.sort_by_key(|(_, number)| **number);
        let text: String = classes
            .iter()
            .map(|((bits, length), number)| format!("[[class]]\nname = \"c{number}\"\nclients = \"10.0.0.{bits}/{}\"\n", 24 + length))
            .collect();
        let config = read(&with("", "", &text));
        let agrees = |bits: u32, length: u32| (0..length).all(|bit| (bits ^ address) >> (7 - bit) & 1 == 0);
        let matching = classes.iter().filter(|((bits, length), _)| agrees(*bits, *length));
        let expected = matching.max_by_key(|((_, length), _)| *length).map(|(_, number)| format!("c{number}"));
        let found = &config.classes[config.class_of(ip(&format!("10.0.0.{address}")))].name;
        prop_assert_eq!(&**found, expected.as_deref().unwrap_or("default"));
    }
}

/// A configuration with classes of these names and weights.
fn of_classes(classes: &[(&str, u32)]) -> Config {
    let class = |&(name, weight): &(&str, u32)| {
        format!("[[class]]\nname = \"{name}\"\nweight = {weight}\nclients = [\"10.{weight}.0.0/16\"]\n")
    };
    read(&format!("{MINIMAL}{}", classes.iter().map(class).collect::<String>()))
}

fn class_names(config: &Config) -> Vec<String> {
    config.classes.iter().map(|class| class.name.to_string()).collect()
}

#[test]
fn a_class_keeps_its_number_across_reloads() {
    let old = of_classes(&[("a", 1), ("b", 2)]);
    let new = of_classes(&[("c", 5), ("b", 3)]).in_the_order_of(&old, |_| false);
    assert_eq!(class_names(&new), ["a", "b", "default", "c"]);
    assert_eq!(new.default_class, 2);
    assert_eq!(["10.5.0.1", "10.3.0.1", "10.1.0.1"].map(|at| new.class_of(at.parse().unwrap())), [3, 1, 2]);
    let again = of_classes(&[("a", 4)]).in_the_order_of(&new, |_| false);
    assert_eq!((class_names(&again), again.class_of("10.4.0.1".parse().unwrap())), (class_names(&new), 0));
}

#[test]
fn a_new_class_takes_the_number_of_one_that_was_removed_before_and_is_not_in_use() {
    let old = of_classes(&[("a", 1), ("b", 2)]);
    let new = of_classes(&[("b", 2), ("c", 3)]).in_the_order_of(&old, |_| false);
    assert_eq!(class_names(&new), ["a", "b", "default", "c"], "what is in flight was in a until now");
    let next = || of_classes(&[("d", 4), ("b", 2), ("e", 5)]);
    assert_eq!(class_names(&next().in_the_order_of(&new, |class| class == 0)), ["a", "b", "default", "c", "d", "e"]);
    let next = next().in_the_order_of(&new, |class| class == 1);
    assert_eq!(class_names(&next), ["d", "b", "default", "c", "e"]);
    assert_eq!(["10.4.0.1", "10.5.0.1", "10.3.0.1"].map(|at| next.class_of(at.parse().unwrap())), [0, 4, 2]);
    assert_eq!(
        next.classes.iter().map(|class| class.is_removed).collect::<Vec<_>>(),
        [false, false, false, true, false]
    );
}
