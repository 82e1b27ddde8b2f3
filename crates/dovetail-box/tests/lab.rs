//! Labs: their contents, and that nothing remains of them.
//!
//! Needs root and iproute2; skipped, with the reason, if one is missing.

#![cfg(all(target_os = "linux", feature = "live"))]
#![allow(clippy::unwrap_used)]

use std::{
    env,
    io::{self, BufRead, BufReader, Read, Write},
    net::{Ipv4Addr, TcpListener, TcpStream},
    panic::{AssertUnwindSafe, catch_unwind},
    process::{self, Child, Command, Stdio},
    thread,
    time::Duration,
};

use dovetail_box::live::lab::{Lab, LabError, LabSpec, Place};
use dovetail_netns::{Namespace, NetnsError, exists};

/// A specification with a name for this process and test.
fn spec(test: &str) -> LabSpec {
    LabSpec { name: format!("dvl{}{test}", process::id()), ..LabSpec::default() }
}

/// A lab, or `None` if there cannot be one.
fn lab(spec: &LabSpec) -> Option<Lab> {
    match Lab::up(spec) {
        Ok(lab) => Some(lab),
        Err(error @ (LabError::NotRoot | LabError::Namespace(NetnsError::NoProgram { .. }))) => {
            dovetail_skip::skipped(error);
            None
        }
        Err(error) => panic!("{error}"),
    }
}

fn is_gone(spec: &LabSpec) -> bool {
    [Place::Inside, Place::Box, Place::Outside].iter().all(|&place| !exists(&spec.namespace(place)))
}

#[test]
fn hosts_on_both_sides_reach_each_other() {
    let host = |number| Ipv4Addr::new(10, 99, 3, number);
    let spec = LabSpec { inside: vec![host(1), host(2)], outside: vec![host(9)], ..spec("reach") };
    let Some(lab) = lab(&spec) else { return };
    let listener = lab.namespace(Place::Outside).within(|| TcpListener::bind((host(9), 80))).unwrap();
    let server = thread::spawn(move || {
        let (mut stream, from) = listener.accept().unwrap();
        stream.write_all(b"across").unwrap();
        from.ip()
    });
    let mut stream = lab.namespace(Place::Inside).within(|| TcpStream::connect((host(9), 80))).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    assert_eq!(answer, "across");
    assert_eq!(server.join().unwrap(), host(1));
    // In the other direction, to the second address inside.
    let listener = lab.namespace(Place::Inside).within(|| TcpListener::bind((host(2), 80))).unwrap();
    lab.namespace(Place::Outside).within(|| TcpStream::connect(listener.local_addr()?)).unwrap();
    let commands: Vec<String> = lab.hints().into_iter().map(|hint| hint.command).collect();
    assert!(commands.contains(&format!("ip netns exec {}-inside ping -c 3 10.99.3.9", spec.name)), "{commands:?}");
}

#[test]
fn nothing_is_left_of_a_lab() {
    let spec = spec("left");
    let Some(lab) = lab(&spec) else { return };
    let mut shell = lab.namespace(Place::Inside).within(|| Command::new("sleep").arg("1000").spawn()).unwrap();
    drop(lab);
    assert!(is_gone(&spec));
    assert!(!shell.wait().unwrap().success(), "what was started in it has ended");

    let panicked = catch_unwind(AssertUnwindSafe(|| {
        let _lab = Lab::up(&spec).unwrap();
        assert!(!is_gone(&spec));
        panic!("as a user's program may");
    }));
    assert!(panicked.is_err() && is_gone(&spec));
}

#[test]
fn a_name_is_one_lab_s() {
    let spec = spec("name");
    let Some(lab) = lab(&spec) else { return };
    let error = Lab::up(&spec).unwrap_err();
    let text = error.to_string();
    assert!(matches!(error, LabError::InUse { .. }) && text.contains(&format!("process {}", process::id())), "{text}");
    drop(lab);
    // A namespace that no lab created stays, even if it is in the way again.
    let strange = Namespace::new(spec.namespace(Place::Box)).unwrap();
    for _ in 0..2 {
        let error = Lab::up(&spec).unwrap_err();
        assert!(matches!(&error, LabError::Taken { namespace } if namespace == strange.name()), "{error}");
        assert!(exists(strange.name()) && !exists(&spec.namespace(Place::Inside)));
    }
    drop(strange);
    drop(Lab::up(&spec).unwrap());
    assert!(is_gone(&spec));
}

/// Not a test in itself: what [`a_lab_of_a_killed_process_is_cleared_away`] runs as a program.
#[test]
fn lab_as_a_program() {
    let Ok(name) = env::var("DOVETAIL_LAB_NAME") else { return };
    let _lab = Lab::up(&LabSpec { name, ..LabSpec::default() }).unwrap();
    println!("it is up");
    // Until it is killed, or its parent ends.
    let _ = io::stdin().read(&mut [0]);
}

fn program(name: &str) -> Child {
    let mut command = Command::new(env::current_exe().unwrap());
    command.args(["--exact", "lab_as_a_program", "--nocapture"]).env("DOVETAIL_LAB_NAME", name);
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut said = BufReader::new(child.stdout.as_mut().unwrap()).lines();
    assert!(said.any(|line| line.unwrap().contains("it is up")), "it ended");
    child
}

#[test]
fn a_lab_of_a_killed_process_is_cleared_away() {
    let spec = spec("killed");
    let Some(first) = lab(&spec) else { return };
    drop(first);
    let mut child = program(&spec.name);
    let error = Lab::up(&spec).unwrap_err().to_string();
    assert!(error.contains(&format!("process {} has a lab", child.id())), "{error}");
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(!is_gone(&spec), "it was killed before it could clear away");
    let lab = Lab::up(&spec).unwrap();
    // The namespaces are new, with the contents of a lab: the other side responds that nothing listens.
    let server = (spec.outside[0], 80).into();
    let answer = lab.namespace(Place::Inside).within(|| TcpStream::connect_timeout(&server, Duration::from_secs(10)));
    assert_eq!(answer.unwrap_err().kind(), io::ErrorKind::ConnectionRefused);
    drop(lab);
    assert!(is_gone(&spec));
}
