//! The packaged configuration means what it says.

use std::{fs, path::Path};

use dovetail_box::config::Config;

use crate::key::KeyFile;

fn packaged() -> String {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../packaging/middlebox.toml");
    fs::read_to_string(file).unwrap()
}

/// Keys with a default are in the file with this default: without them it means the same.
#[test]
fn the_file_shows_every_default() {
    let whole = packaged();
    let needed = ["[", "inside =", "outside =", "policy =", "rate =", "name =", "ports =", "weight =", "functions ="];
    let bare: String = whole
        .lines()
        .filter(|line| needed.iter().any(|needed| line.starts_with(needed)))
        .map(|line| format!("{line}\n"))
        .collect();
    let [whole, bare] = [&whole, &bare].map(|text| Config::parse(text).unwrap().describe());
    assert_eq!(whole, bare);
}

/// Commented-out keys are valid as well, one at a time.
#[test]
fn every_key_that_is_shown_is_a_key() {
    let whole = packaged();
    let keys: Vec<_> =
        whole.lines().filter_map(|line| line.strip_prefix('#')).filter(|line| !line.starts_with(' ')).collect();
    assert!(keys.len() > 5);
    // Sections without defaults are tried as a whole.
    let in_sections = ["listen", "token", "folder", "fuel", "memory", "traps", "quarantined", "program ="];
    let in_sections: Vec<_> = in_sections.iter().chain(GIVEN).collect();
    let alone = |key: &&&str| key.contains('=') && !in_sections.iter().any(|start| key.starts_with(**start));
    for key in keys.iter().filter(alone) {
        let with = whole.replace(&format!("#{key}\n"), &format!("{key}\n"));
        // The buffer is given in time or in packets.
        let with = if key.starts_with("buffer_packets") { with.replace("buffer = \"500us\"\n", "") } else { with };
        Config::parse(&with).unwrap_or_else(|wrong| panic!("{key}: {wrong}"));
    }
    let admin = whole.replace("#[admin]", "[admin]").replace("#listen", "listen");
    assert!(Config::parse(&admin).unwrap().admin.is_some());
    // The key is valid: only its file is missing.
    let token = Config::parse(&admin.replace("#token", "token")).unwrap_err().to_string();
    assert!(token.contains("admin.token_file: \"/etc/dovetail/token\" cannot be read"), "{token}");
}

/// The headers of tunnels and routes.
const GIVEN: &[&str] = &[
    "[ipsec]",
    "sequence_file",
    "[[tunnel]]",
    "name =",
    "spi",
    "source",
    "destination",
    "direction",
    "key_file",
    "tunnel =",
    "[[route]]",
    "prefix =",
    "prefixes = [\"10.8",
    "via",
    "from",
];

#[test]
fn a_tunnel_and_a_route_can_be_had_as_shown() {
    let [key, back] = ["0123456789", "9876543210"].map(|digits| KeyFile::new(&digits.repeat(4)));
    let mut whole = packaged().replace("/etc/dovetail/branch.key", &key.to_string());
    whole = whole.replace("/etc/dovetail/branch-in.key", &back.to_string());
    for start in GIVEN {
        whole = whole.replace(&format!("\n#{start}"), &format!("\n{start}"));
    }
    let whole = whole.replace("functions = [\"monitoring\"]", "functions = [\"ipsec\", \"forwarding\"]");
    let open = Config::parse(&whole).unwrap_err().to_string();
    assert!(open.contains("box.on_failure: what class \"vpn\" encrypts"), "{open}");
    let text = Config::parse(&whole.replace("\"open\"", "\"closed\"")).unwrap().describe();
    let back = "branch-in, from 198.51.100.1 to 192.0.2.1, SPI 0x2000; what arrives outside is decrypted, and must come from 10.8.0.0/16";
    for shown in
        ["branch, from 192.0.2.1 to 198.51.100.1, SPI 0x1000", back, "1, via 1 next hop", "ipsec by branch, then"]
    {
        assert!(text.contains(shown), "{text}");
    }
}

/// The section of programs shows its defaults, and a build without programs refuses it.
#[test]
fn programs_can_be_had_with_the_defaults_shown() {
    let mut whole = packaged();
    for start in ["[programs]", "folder", "fuel", "memory", "traps", "quarantined", "program ="] {
        whole = whole.replace(&format!("#{start}"), start);
    }
    let config = Config::parse(&whole);
    #[cfg(feature = "programs")]
    {
        let config = config.unwrap();
        assert_eq!(config.programs.unwrap().limits, dovetail_box::programs::ProgramLimits::default());
        assert_eq!(config.classes[0].program.as_deref(), Some("count"));
    }
    #[cfg(not(feature = "programs"))]
    assert!(config.unwrap_err().to_string().contains("this build has no programs"));
}
