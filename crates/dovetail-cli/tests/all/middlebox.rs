//! `dovetail middlebox` and `dovetail lab`, from outside.

use std::{
    fs,
    io::{BufRead, BufReader},
    path::{Path, PathBuf},
    process::{self, Child, Command, Stdio},
    sync::{Mutex, MutexGuard, PoisonError},
    thread,
    time::{Duration, Instant},
};

use dovetail_netns::{Namespace, NetnsError, tool};
use rustix::process::{Pid, Signal, geteuid, kill_process};

use crate::support::{dovetail, folder};

/// A busy machine may take its time.
const PATIENCE: Duration = Duration::from_secs(30);

fn said(arguments: &[&str]) -> (Option<i32>, String) {
    let output = dovetail(arguments);
    (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
}

#[test]
fn what_lacks_for_a_box_is_said() {
    let file = folder("middlebox").join("box.toml");
    let file = file.to_str().unwrap();
    let (status, errors) = said(&["middlebox", "--config", file]);
    assert_eq!(status, Some(1));
    assert!(errors.contains("box.toml: cannot be read"), "{errors}");

    let text = "[box]\ninside = \"no-such-one\"\noutside = \"lo\"\npolicy = \"drfq\"\n[link]\nrate = \"1Gbps\"\n";
    fs::write(file, text).unwrap();
    for check in [&["--check"][..], &[]] {
        let (status, errors) = said(&[&["middlebox", "--config", file], check].concat());
        assert_eq!(status, Some(1));
        assert!(errors.contains("no-such-one"), "{errors}");
    }

    fs::write(file, text.replace("[link]", "[lonk]")).unwrap();
    let (status, errors) = said(&["middlebox", "--config", file, "--check"]);
    assert_eq!(status, Some(1));
    assert!(errors.contains("line 5: there is no key 'lonk' here; did you mean 'link'?"), "{errors}");
}

#[test]
fn what_a_firewall_should_say_needs_no_interfaces() {
    let file = folder("firewall").join("box.toml");
    let file = file.to_str().unwrap();
    let text = "[box]\ninside = \"no-such-one\"\noutside = \"nor-this\"\npolicy = \"drfq\"\n[link]\nrate = \"1Gbps\"\n";
    fs::write(file, text).unwrap();
    let output = dovetail(&["middlebox", "--config", file, "--nftables"]);
    let tables = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success() && tables.contains("hook egress device \"nor-this\""), "{tables}");

    fs::write(file, text.replace("nor-this", "eth*")).unwrap();
    let (status, errors) = said(&["middlebox", "--config", file, "--nftables"]);
    assert_eq!(status, Some(1));
    assert!(errors.contains("nftables cannot name eth*: give the interface another name"), "{errors}");
}

#[test]
fn only_some_experiments_have_trials() {
    let (status, errors) = said(&["reproduce", "atfq-fig5", "--live"]);
    assert_eq!(status, Some(2));
    let why = "--live: atfq-fig5 has no field trial; those that have are tradeoff-table2, tradeoff-fig3";
    assert!(errors.contains(why), "{errors}");
}

/// The command's lab has one name, so one test at a time has it.
fn the_lab() -> MutexGuard<'static, ()> {
    static LAB: Mutex<()> = Mutex::new(());
    LAB.lock().unwrap_or_else(PoisonError::into_inner)
}

fn is_lab_there() -> bool {
    let is_there = |name: &&str| Path::new("/run/netns").join(name).exists();
    ["dovetail-inside", "dovetail-box", "dovetail-outside"].iter().any(is_there)
}

#[test]
fn a_lab_whose_terminal_is_closed_leaves_nothing_behind() {
    let _lab = the_lab();
    if !geteuid().is_root() || is_lab_there() {
        dovetail_skip::skipped("a lab needs root, and that there is none of its name");
        return;
    }
    let mut command = Command::new(env!("CARGO_BIN_EXE_dovetail"));
    command.args(["lab", "up", "--idle"]).stdin(Stdio::null()).stdout(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let said =
        BufReader::new(child.stdout.take().unwrap()).lines().map_while(Result::ok).any(|line| line.contains("Ctrl-C"));
    if !said {
        dovetail_skip::skipped(format_args!("no lab: {}", child.wait().unwrap()));
        return;
    }
    assert!(is_lab_there());
    // Its output goes nowhere from here on, as when a terminal is closed.
    kill_process(Pid::from_child(&child), Signal::HUP).unwrap();
    child.wait().unwrap();
    assert!(!is_lab_there());
}

/// A namespace with a box's two interfaces and a bridge over them, or nothing where there can be none.
fn bridged(name: &str) -> Option<Namespace> {
    if !geteuid().is_root() {
        dovetail_skip::skipped("network namespaces need root");
        return None;
    }
    let namespace = match Namespace::new(format!("dvc{}{name}", process::id())) {
        Ok(namespace) => namespace,
        Err(error @ NetnsError::NoProgram { .. }) => {
            dovetail_skip::skipped(error);
            return None;
        }
        Err(error) => panic!("{error}"),
    };
    for words in ["link add br0 type bridge mcast_snooping 0", "link set br0 up"] {
        ip(&namespace, words);
    }
    for (port, peer) in [("eth1", "far1"), ("eth2", "far2")] {
        ip(&namespace, &format!("link add {port} type veth peer name {peer}"));
        ip(&namespace, &format!("link set {peer} up"));
        ip(&namespace, &format!("link set {port} master br0 up"));
    }
    Some(namespace)
}

fn ip(namespace: &Namespace, words: &str) {
    tool("ip", &format!("-n {} {words}", namespace.name())).expect("the tool runs");
}

/// A box that runs; it is killed when dropped.
struct Running {
    child: Child,
    log: PathBuf,
}

impl Running {
    fn start(file: &str, log: &Path) -> Self {
        let mut command = Command::new(env!("CARGO_BIN_EXE_dovetail"));
        command.args(["middlebox", "--config", file]).stderr(fs::File::create(log).expect("the log is created"));
        let running = Self { child: command.spawn().expect("the command runs"), log: log.to_owned() };
        running.hear("running between");
        running
    }

    fn said(&self) -> String {
        fs::read_to_string(&self.log).expect("the log")
    }

    fn hear(&self, words: &str) {
        let asked = Instant::now();
        while !self.said().contains(words) {
            assert!(asked.elapsed() < PATIENCE, "it never said '{words}': {}", self.said());
            thread::sleep(Duration::from_millis(10));
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn a_box_tells_when_the_bridge_under_it_is_lost_and_a_second_one_that_it_is_there() {
    let Some(namespace) = bridged("lost") else { return };
    let folder = folder("middlebox-lost");
    let (file, log) = (folder.join("box.toml"), folder.join("log"));
    let name = namespace.name();
    let text = format!(
        "[box]\ninside = \"{name}/eth1\"\noutside = \"{name}/eth2\"\npolicy = \"drfq\"\n[link]\nrate = \"1Gbps\"\n"
    );
    fs::write(&file, text).unwrap();
    let file = file.to_str().unwrap();
    let running = Running::start(file, &log);

    let why = "interface eth1 belongs to another middlebox that is running: stop it first";
    let (status, errors) = said(&["middlebox", "--config", file]);
    assert_eq!((status, errors.matches(why).count()), (Some(1), 1), "{errors}");
    // Its file may be checked before a reload.
    let checked = dovetail(&["middlebox", "--config", file, "--check"]);
    assert!(checked.status.success() && String::from_utf8_lossy(&checked.stdout).contains(why), "{checked:?}");

    ip(&namespace, "link set eth2 nomaster");
    running.hear("eth2 is not a port of a bridge, so nothing would forward if the box failed");
    ip(&namespace, "link set eth2 master br0");
    running.hear("interfaces and bridge are as they should be again");
    ip(&namespace, "link set br0 down");
    running.hear("the bridge br0 is down");
    // Twice what it takes to look again.
    thread::sleep(Duration::from_secs(2));
    assert_eq!(running.said().matches("the bridge br0 is down").count(), 1, "{}", running.said());
    ip(&namespace, "link del br0");
    running.hear("eth1 is not a port of a bridge");
}

#[test]
fn a_lab_shows_a_box_at_work_and_leaves_nothing_behind() {
    let _lab = the_lab();
    let arguments = ["lab", "up", "--duration", "3s", "--policy", "drr"];
    let output = dovetail(&arguments);
    let errors = String::from_utf8_lossy(&output.stderr);
    if !output.status.success() && (errors.contains("root") || errors.contains("there is a lab")) {
        dovetail_skip::skipped(errors.trim());
        return;
    }
    assert!(output.status.success(), "{errors}");
    let text = String::from_utf8(output.stdout).unwrap();
    let head = text.lines().position(|line| line.trim_start().starts_with("CPU %")).expect("there is a table");
    let rows: Vec<_> = text.lines().skip(head + 1).collect();
    if rows.is_empty() {
        dovetail_skip::skipped("the machine is too busy: the box did not tell of itself for two seconds");
        return;
    }
    // CPU and link, and three figures of each class.
    assert!(rows.iter().all(|row| row.replace('|', " ").split_whitespace().count() == 11), "{text}");
    let passed: f64 = rows.iter().filter_map(|row| row.split_whitespace().nth(1)?.parse::<f64>().ok()).sum();
    assert!(passed > 0.0, "{text}");
    assert!(!is_lab_there());
}

#[test]
fn a_policy_that_cannot_be_is_refused_before_anything_is_built() {
    let (status, errors) = said(&["lab", "up", "--policy", "drfqq"]);
    assert_eq!(status, Some(1));
    assert!(errors.contains("unknown policy 'drfqq': did you mean drfq?"), "{errors}");
}
