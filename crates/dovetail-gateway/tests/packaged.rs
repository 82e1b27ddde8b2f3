//! What is packaged with the gateway matches the gateway: the packaged configuration and its documentation have every key with
//! its default; the documentation's examples are valid configurations and mean what it says.

#![allow(clippy::unwrap_used)]

mod written;

use std::{collections::BTreeMap, fs, net::SocketAddr, path::Path};

use dovetail_gateway::config::Config;
use written::with;

const PACKAGED: &str = include_str!("../../../packaging/gateway.toml");

/// All tables. `group`, `class` and `parent` are lists of tables.
const SECTIONS: [&str; 17] = [
    "proxy",
    "proxy.tls",
    "downlink",
    "uplink",
    "access",
    "access.destinations",
    "group",
    "class",
    "quota",
    "parent",
    "limits",
    "timeouts",
    "admin",
    "log",
    "pages",
    "pac",
    "store",
];

fn page(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(name);
    fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// The keys of a table, as listed in the gateway's message about an unknown key.
fn keys(section: &str) -> Vec<String> {
    let text = match section {
        "downlink" => with("unheard_of = 1", "", ""),
        "access" => with("", "unheard_of = 1", ""),
        "class" => with("", "", "[[class]]\nname = \"a\"\nclients = \"10.0.0.1\"\nunheard_of = 1"),
        "quota" => with("", "", "[[quota]]\nname = \"q\"\nbytes = 1\nunheard_of = 1"),
        "store" => with("", "", "[store]\npath = \"x\"\nunheard_of = 1"),
        "parent" => with("", "", "[[parent]]\nname = \"a\"\naddress = \"10.0.0.1:1\"\nunheard_of = 1"),
        "group" => with("", "", "[[group]]\nname = \"a\"\nclients = \"10.0.0.1\"\nunheard_of = 1"),
        "log" => with("", "", "[log]\naccess = \"x\"\nunheard_of = 1"),
        _ => with("", "", &format!("[{section}]\nunheard_of = 1")),
    };
    let error = Config::parse(&text).unwrap_err().to_string();
    let (_, keys) = error.split_once("] has ").unwrap_or_else(|| panic!("{section}: {error}"));
    keys.split(", ").map(str::to_owned).collect()
}

/// Lines that set keys, by table and key: whether they are commented out, and the value.
fn lines(text: &str) -> BTreeMap<(String, String), (bool, String)> {
    let mut section = String::new();
    let mut found = BTreeMap::new();
    for line in text.lines().filter(|line| !line.starts_with("# ")) {
        let bare = line.strip_prefix('#').unwrap_or(line);
        if let Some(name) = bare.strip_prefix('[') {
            section = name.trim_matches(['[', ']']).to_owned();
            if let Some((table, key)) = section.split_once('.') {
                found.insert((table.to_owned(), key.to_owned()), (true, "a table".to_owned()));
            }
        } else if let Some((key, value)) = bare.split_once(" = ") {
            found.insert((section.clone(), key.to_owned()), (line.starts_with('#'), value.to_owned()));
        }
    }
    // Written as a table of its own.
    let lists = found[&("access".to_owned(), "destinations".to_owned())].1.clone();
    for key in ["allow", "deny"] {
        assert!(lists.contains(&format!("{key} = []")), "{lists}");
        found.insert(("access.destinations".to_owned(), key.to_owned()), (false, "[]".to_owned()));
    }
    found
}

#[test]
fn the_packaged_configuration_says_the_defaults() {
    let packaged = Config::parse(PACKAGED).unwrap();
    let clients = PACKAGED.lines().find(|line| line.starts_with("clients = ")).unwrap();
    let least = format!("[downlink]\nrate = \"2Mbps\"\n[access]\n{clients}\n[admin]\n");
    assert_eq!(format!("{packaged:#?}"), format!("{:#?}", Config::parse(&least).unwrap()));
}

#[test]
fn the_packaged_configuration_has_every_key() {
    let found = lines(PACKAGED);
    let known: Vec<_> =
        SECTIONS.iter().flat_map(|section| keys(section).into_iter().map(|key| (section.to_string(), key))).collect();
    let missing: Vec<_> = known.iter().filter(|path| !found.contains_key(path)).collect();
    assert!(missing.is_empty(), "packaging/gateway.toml: add {missing:?}");
    assert!(known.len() > 40 && found.keys().all(|path| known.contains(path)), "{known:?}");
}

#[test]
fn what_is_commented_out_in_it_is_read_too() {
    let uncommented: String = PACKAGED
        .lines()
        // Files that do not exist, and keys that exclude others.
        .filter(|line| {
            let left_out = [
                "token_file",
                "hosts_file",
                "except_file",
                "password_file",
                "ca_file",
                "tls_name",
                "user =",
                "helper =",
            ];
            line.strip_prefix('#').is_none_or(|line| left_out.iter().all(|key| !line.starts_with(key)))
        })
        .map(|line| if line.starts_with("# ") { String::new() } else { line.trim_start_matches('#').to_owned() + "\n" })
        .collect();
    let config = Config::parse(&uncommented).unwrap();
    assert_eq!((config.classes.len(), config.downlink.payload), (2, 0.956));
    assert_eq!(config.uplink.unwrap().rate.bps(), 512e3);
    assert!(config.log.is_some() && config.admin.unwrap().token.is_some() && config.access.passwords.is_some());
}

#[test]
fn the_page_has_a_row_for_every_key_with_its_default() {
    let page = page("docs/gateway-config.md");
    let mut wrong = Vec::new();
    for ((section, key), (commented, default)) in lines(PACKAGED) {
        let heading = page
            .split("\n## ")
            .find(|part| part.starts_with(&format!("`[{section}]`")) || part.starts_with(&format!("`[[{section}]]`")));
        let row = heading.and_then(|part| part.lines().find(|line| line.starts_with(&format!("| `{key}` |"))));
        let has_default = !["rate", "clients", "destinations", "listen"].contains(&key.as_str()) && !commented;
        match row {
            None => wrong.push(format!("add a row for {key} in the part of [{section}]")),
            Some(row) if has_default && !row.contains(&format!("| `{default}` |")) => {
                wrong.push(format!("{section}.{key}: the default is {default}"));
            }
            Some(_) => (),
        }
    }
    assert!(wrong.is_empty(), "docs/gateway-config.md:\n{}", wrong.join("\n"));
}

/// The value of a key that occurs once in the packaged unit.
fn of_unit(key: &str) -> String {
    let unit = page("packaging/dovetail-gateway.service");
    let values: Vec<_> = unit.lines().filter_map(|line| line.strip_prefix(key)?.strip_prefix('=')).collect();
    assert_eq!(values.len(), 1, "{key}: {values:?}");
    values[0].to_owned()
}

/// Without netlink the gateway cannot read its own addresses.
#[test]
fn the_packaged_unit_lets_the_gateway_know_its_addresses() {
    let families = of_unit("RestrictAddressFamilies");
    let families: Vec<_> = families.split(' ').collect();
    for family in ["AF_INET", "AF_INET6", "AF_UNIX", "AF_NETLINK"] {
        assert!(families.contains(&family), "{family} is not in {families:?}");
    }
}

#[test]
fn the_packaged_sockets_are_the_packaged_configurations() {
    let unit = page("packaging/dovetail-gateway.socket");
    let passed: Vec<SocketAddr> =
        unit.lines().filter_map(|line| line.strip_prefix("ListenStream=")).map(|at| at.parse().unwrap()).collect();
    let config = Config::parse(PACKAGED).unwrap();
    let mut listen = config.proxy.listen;
    listen.push(config.admin.unwrap().listen);
    assert_eq!(passed, listen);
}

/// The limits on open files and on connections must be consistent.
#[test]
fn the_packaged_unit_allows_as_many_files_as_the_configuration_needs() {
    let files: usize = of_unit("LimitNOFILE").parse().unwrap();
    let config = Config::parse(PACKAGED).unwrap();
    assert!(files >= 2 * config.limits.connections + 128, "{files}");
}

#[test]
fn the_packaged_rules_take_http_and_https() {
    for rules in ["redirect", "tproxy"] {
        let rules = page(&format!("packaging/nftables-{rules}.nft"));
        assert_eq!(rules.matches("define ports = { 80, 443 }").count(), 1);
        assert_eq!(rules.matches("tcp dport $ports").count(), 1, "they are the ports that are taken");
    }
}

/// A page's code blocks in this language.
fn blocks<'p>(page: &'p str, language: &str) -> Vec<&'p str> {
    let open = format!("```{language}\n");
    page.split(&open).skip(1).map(|rest| rest.split("```").next().unwrap_or_default()).collect()
}

#[test]
fn the_pages_examples_are_configurations_and_mean_what_the_pages_say() {
    for (name, examples) in [("docs/gateway-config.md", 1), ("docs/from-delay-pools.md", 1)] {
        let page = page(name);
        let written = blocks(&page, "toml");
        assert_eq!(written.len(), examples, "{name}");
        for text in &written {
            Config::parse(text).unwrap_or_else(|error| panic!("{name}: {error}"));
        }
        let shown = blocks(&page, "console");
        let described = Config::parse(written[0]).unwrap().describe().to_string();
        let (_, shown) = shown[0].split_once('\n').unwrap();
        assert_eq!(shown, described, "{name}: this is what --check says of its example:\n{described}");
    }
}
