//! `dovetail gateway` intercepting connections to servers, between network namespaces.
#![cfg(target_os = "linux")]

mod support;

use std::{
    fs,
    process::{Command, Stdio},
};

use support::folder;

const SCRIPT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/intercept.sh");

/// Requirements of the script that are missing.
fn lacking() -> Option<String> {
    let is_missing = |program: &&str| {
        let begun = Command::new(program).arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status();
        begun.is_err()
    };
    if let Some(program) = ["ip", "nft", "curl", "python3"].into_iter().find(is_missing) {
        return Some(format!("there is no {program}"));
    }
    let made = Command::new("ip").args(["netns", "add", "dvi-try"]).stderr(Stdio::null()).status();
    let _ = Command::new("ip").args(["netns", "del", "dvi-try"]).stderr(Stdio::null()).status();
    let is_made = made.is_ok_and(|status| status.success());
    (!is_made).then(|| "network namespaces need root".to_owned())
}

#[test]
fn connections_go_where_they_were_meant_to_go() {
    if let Some(lacking) = lacking() {
        return dovetail_skip::skipped(lacking);
    }
    let folder = folder("intercept");
    let config = format!(
        "[proxy]\nlisten = \"10.1.0.1:3128\"\nredirect = \"10.1.0.1:3129\"\ntproxy = \"0.0.0.0:3130\"\n\
         [downlink]\nrate = \"10Mbps\"\nprobe = \"hop:1\"\n\
         [access]\nclients = [\"10.1.0.0/24\"]\ndestinations = {{ allow = [\"10.9.0.0/24\"] }}\n\
         [log]\naccess = \"{}/access.log\"\n",
        folder.display()
    );
    fs::write(folder.join("gateway.toml"), config).expect("a folder of ours");
    let ran = Command::new("bash").arg(SCRIPT).arg(env!("CARGO_BIN_EXE_dovetail")).arg(&folder).output();
    let ran = ran.expect("there is a shell");
    let [said, failed] = [ran.stdout, ran.stderr].map(|text| String::from_utf8_lossy(&text).into_owned());
    assert_eq!(said, "from-the-server\nfrom-the-server\nnobody\n", "{failed}");
    let log = fs::read_to_string(folder.join("access.log")).expect("requests were logged");
    let count =
        |text: &str| log.lines().filter(|line| line.contains(text) && line.contains("HIER_DIRECT/10.9.0.2")).count();
    assert_eq!((count("GET http://elsewhere.example/a.txt"), count("CONNECT x.example:443")), (2, 2), "{log}");
}
