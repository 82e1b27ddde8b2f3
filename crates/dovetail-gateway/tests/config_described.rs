//! Warnings about configurations, and that descriptions are complete.

#![allow(clippy::unwrap_used)]

mod written;

use dovetail_gateway::config::Config;
use written::with;

/// The smallest configuration without warnings.
fn sound(downlink: &str, access: &str, rest: &str) -> String {
    with(&format!("probe = \"10.99.0.1\"\n{downlink}"), access, &format!("{rest}\n[admin]"))
}

const QUOTA: &str = "[store]\npath = \"/s\"\n[[quota]]\nname = \"q\"\nbytes = \"1GB\"\n";
const HOSTS: &str = "[[class]]\nname = \"updates\"\nhosts = \"a.example\"";

fn warnings(text: &str) -> Vec<String> {
    Config::parse(text).unwrap_or_else(|error| panic!("{error}\n{text}")).warnings()
}

#[test]
fn nothing_is_said_against_what_is_sound() {
    assert_eq!(warnings(&sound("", "", "")), Vec::<String>::new());
    // Half of all addresses, and a quota for a class of users beside one of hosts.
    assert_eq!(warnings(&sound("", "", "").replace("10.0.0.0/8", "0.0.0.0/1")), Vec::<String>::new());
    assert_eq!(warnings(&sound("", "", &format!("{QUOTA}classes = \"default\"\n{HOSTS}"))), Vec::<String>::new());
    // A class with a part of the clients, with more than the clients, and with all of them.
    for clients in ["10.1.0.0/16", "0.0.0.0/0", "10.0.0.0/8"] {
        let class = format!("[[class]]\nname = \"a\"\nclients = \"{clients}\"");
        assert_eq!(warnings(&sound("", "", &class)), Vec::<String>::new());
    }
}

#[test]
fn what_may_be_a_mistake_is_named() {
    let open = sound("", "", "").replace("10.0.0.0/8", "0.0.0.0/0");
    let class = "[[class]]\nname = \"a\"\nclients = [\"10.1.0.0/16\", \"11.0.0.0/8\", \"fd00::/8\"]";
    for (text, expected) in [
        (
            sound("", "", "[proxy]\nlisten = [\"10.0.0.1:1\", \"0.0.0.0:3128\"]"),
            &["0.0.0.0:3128 listens on all of this machine's addresses: also on the downlink's"][..],
        ),
        (open.clone(), &["access.clients has 0.0.0.0/0: an open proxy for every IPv4 address"]),
        (
            open.replace("\"0.0.0.0/0\"", "\"128.0.0.0/1\", \"0.0.0.0/2\", \"64.0.0.0/2\""),
            &["access.clients has 0.0.0.0/0: an open proxy for every IPv4 address"],
        ),
        (open.replace("0.0.0.0/0", "::/0"), &["access.clients has ::/0: an open proxy for every IPv6 address"]),
        (
            sound("", "passwords = \"p\"", ""),
            &["passwords cross the network in clear: anyone who can listen on the users' side can read them"],
        ),
        (
            sound("", "passwords = \"p\"", "[proxy]\ntproxy = \"10.0.0.1:3130\""),
            &[
                "passwords cross the network in clear: anyone who can listen on the users' side can read them",
                "clients of redirect and tproxy do not know of the proxy, so they cannot authenticate and are refused",
            ],
        ),
        (
            sound("", "", "[proxy.tls]\nlisten = \"10.0.0.1:3129\"\ncertificate = \"c\"\nkey = \"k\""),
            &[
                "there is no pac.proxy: over TLS the PAC file names the host that it was requested from, which may be an \
                 address that the certificate lacks: set it, such as pac.proxy = \"https://gateway.example.org:3129\"",
            ],
        ),
        (
            sound("", "", &format!("{QUOTA}classes = [\"updates\", \"default\"]\n{HOSTS}")),
            &[
                "quota q: what users get from the hosts of class updates counts for the users' own classes: list those in \
                 quota.classes",
            ],
        ),
        (
            sound("", "", &format!("{QUOTA}beyond = {{ weight = 0.1 }}\n{HOSTS}")),
            &["quota q: requests to hosts of class updates keep the weight of that class, also beyond the quota: use \
                 beyond = \"refuse\", or give the class a small weight or a rate"],
        ),
        (sound("", "", "").replace("10.99.0.1", "off"), &["downlink.probe is off: the far queue is not measured"]),
        (
            sound("", "", "").replace("10.99.0.1", "tcp"),
            &["downlink.probe is tcp: its measurements include servers' own delays; name an address beyond the link"],
        ),
        (
            sound("policy = \"msf-rs\"", "", ""),
            &["msf-rs takes the link's rate as 2 Mbit/s: a rate that is too high fills the far queue"],
        ),
        (
            sound("learn = false", "", "").replace("2Mbps", "500kbps"),
            &["grants takes the link's rate as 500 kbit/s: a rate that is too high fills the far queue"],
        ),
        (sound("", "", "").replace("[admin]", ""), &["there is no [admin]: no page and no metrics"]),
        (
            sound("", "", class),
            &[
                "class a: 11.0.0.0/8 is outside of access.clients, so its requests are refused",
                "class a: fd00::/8 is outside of access.clients, so its requests are refused",
            ],
        ),
        (
            sound("", "", "[[group]]\nname = \"a\"\nclients = [\"10.0.0.1\", \"fd00::/48\"]"),
            &["group a: fd00::/48 is outside of access.clients, so its requests are refused"],
        ),
        (
            sound(
                "",
                "",
                "[[group]]\nname = \"g\"\nclients = [\"10.0.0.1\", \"10.1.0.1\"]\n[[class]]\nname = \"a\"\nclients = \"10.1.0.0/16\"",
            ),
            &[
                "group g: some of it would be in class default and some in a; all of it is in default: list it in a class's groups",
            ],
        ),
        (
            sound("", "", "[[class]]\nname = \"a\"\nhosts = \"a.example\"\nrate = \"2Mbps\""),
            &["class a: its rate is not below the downlink's, so it caps nothing"],
        ),
        (
            sound("", "", "[limits]\nconnections = 100"),
            &["limits.connections_per_user is over limits.connections: one client can take all connections"],
        ),
    ] {
        assert_eq!(warnings(&text), expected);
        let described = Config::parse(&text).unwrap().describe().to_string();
        let told: Vec<_> = described.lines().filter_map(|line| line.strip_prefix("warning: ")).collect();
        assert_eq!(told, expected, "the description ends with them");
    }
}

/// Every key changes the description: each line sets one key to a value other than the default.
#[test]
fn every_key_is_in_the_description() {
    let described =
        |text: &str| Config::parse(text).unwrap_or_else(|why| panic!("{why}\n{text}")).describe().to_string();
    let class = "[[class]]\nname = \"a\"\nclients = [\"10.1.0.0/16\"]\n";
    let base = described(&sound("", "passwords = \"p\"", &format!("{class}[log]\naccess = \"/x\"")));
    for (downlink, access, in_class, section) in [
        ("", "", "", "[proxy]\nlisten = \"10.0.0.1:3128\""),
        ("", "", "", "[proxy]\nredirect = \"10.0.0.1:3129\""),
        ("", "", "", "[proxy]\ntproxy = \"10.0.0.1:3129\""),
        ("", "", "", "[proxy]\nname = \"gate\""),
        ("", "", "", "[proxy]\ntrusted = \"10.0.0.2\""),
        ("", "", "", "[proxy.tls]\nlisten = \"10.0.0.1:3129\"\ncertificate = \"c\"\nkey = \"k\""),
        ("", "", "", "[proxy]\nforwarded = \"unknown\""),
        ("", "", "", "[proxy]\nforwarded = \"address\""),
        ("", "", "", "[pages]\nhost = \"gateway.home\""),
        ("", "", "", "[pac]\nproxy = \"10.0.0.1:3128\""),
        ("", "", "", "[pac]\ndirect = \".lan\""),
        ("", "", "", "[pac]\nfallback = \"direct\""),
        ("", "", "", "[proxy]\nnameservers = \"10.0.0.53\""),
        ("learn = false", "", "", ""),
        ("payload = 0.9", "", "", ""),
        ("probe_every = \"60ms\"", "", "", ""),
        ("policy = \"grants:delay=40ms\"", "", "", ""),
        ("policy = \"none\"", "", "", ""),
        ("", "", "", "[uplink]\nrate = \"1Mbps\""),
        ("", "destinations = { allow = [\"10.9.0.0/16\"] }", "", ""),
        ("", "destinations = { deny = [\"10.9.0.0/16\"] }", "", ""),
        ("", "connect_ports = [443, 563]", "", ""),
        ("", "ports = [80]", "", ""),
        ("", "ipv6_user = 56", "", ""),
        ("", "", "", "[[group]]\nname = \"g\"\nclients = \"10.0.0.1\""),
        ("", "", "", "[[group]]\nname = \"g\"\nusers = \"ada\""),
        ("", "", "groups = \"g\"", "[[group]]\nname = \"g\"\nusers = \"ada\""),
        ("", "", "", "[[parent]]\nname = \"up\"\naddress = \"10.0.0.1:3128\""),
        ("", "", "weight = 2", ""),
        ("", "", "rate = \"1Mbps\"", ""),
        ("", "", "hosts = [\"*.example.com\"]", ""),
        ("", "", "users = [\"ada\"]", ""),
        ("", "", "", "[limits]\nconnections = 20000"),
        ("", "", "", "[limits]\nconnections_per_user = 500"),
        ("", "", "", "[limits]\nrequests_per_user = 500"),
        ("", "", "", "[limits]\nheader_bytes = \"8kB\""),
        ("", "", "", "[limits]\nheaders = 50"),
        ("", "", "", "[limits]\nidle_per_server = 4"),
        ("", "", "", "[timeouts]\nheader = \"7s\""),
        ("", "", "", "[timeouts]\nidle = \"7s\""),
        ("", "", "", "[timeouts]\nresolve = \"7s\""),
        ("", "", "", "[timeouts]\nconnect = \"7s\""),
        ("", "", "", "[timeouts]\nresponse = \"7s\""),
        ("", "", "", "[timeouts]\nstalled = \"7s\""),
        ("", "", "", "[timeouts]\ntunnel = \"7s\""),
        ("", "", "", "[timeouts]\npool = \"7s\""),
        ("", "", "", "[timeouts]\ndrain = \"7s\""),
    ] {
        let access = format!("passwords = \"p\"\n{access}");
        let text = sound(downlink, &access, &format!("{class}{in_class}\n{section}\n[log]\naccess = \"/x\""));
        assert_ne!(described(&text), base, "{text}");
    }
    let text = sound("", "passwords = \"p\"", &format!("{class}[log]\naccess = \"/x\""));
    for (old, new) in [
        ("2Mbps", "3Mbps"),
        ("10.99.0.1", "udp://10.99.0.1:7"),
        ("10.99.0.1", "hop:2"),
        ("10.0.0.0/8", "10.0.0.0/9"),
        ("\"p\"", "\"q\""),
        ("\"a\"", "\"b\""),
        ("10.1.0.0/16", "10.2.0.0/16"),
        ("\"/x\"", "\"/y\""),
        ("\"/x\"", "\"/x\"\nformat = \"json\""),
        ("[admin]", "[admin]\nlisten = \"127.0.0.1:1\""),
        ("[admin]", "[admin]\ntoken = \"0123456789abcdef\""),
    ] {
        assert_ne!(described(&text.replace(old, new)), base, "{old} becomes {new}");
    }
}
