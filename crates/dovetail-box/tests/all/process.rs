//! A box as a separate process, which can be killed and stopped: this test binary, started again.

use std::{
    env, fs,
    io::{BufRead, BufReader},
    path::PathBuf,
    process::{self, Child, Command, ExitStatus, Stdio},
    sync::{
        atomic::{AtomicU32, Ordering::Relaxed},
        mpsc::{Receiver, channel},
    },
    thread,
    time::{Duration, Instant},
};

use dovetail_box::{
    config::Config,
    live::{
        Control, Files,
        lab::{Lab, Place},
        run_until_signalled,
    },
};
use rustix::process::{Pid, Signal, kill_process};

use crate::{live::settings, traffic::PATIENCE};

/// Environment variables: the configuration's file, and whether to report how much has passed.
const FILE: &str = "DOVETAIL_BOX_FILE";
const TELLS: &str = "DOVETAIL_BOX_TELLS";
/// The test that is run as the program.
const PROGRAM: &str = "process::box_as_a_program";

/// A box in a lab. It is killed when dropped.
pub struct Process {
    child: Child,
    file: PathBuf,
    said: Receiver<String>,
}

impl Process {
    /// Starts one with these settings, which begin within `[box]`. With `tells`, a thread reports how much has passed.
    pub fn start(lab: &Lab, text: &str, tells: bool) -> Self {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let name = format!("dovetail-box-{}-{}.toml", process::id(), NUMBER.fetch_add(1, Relaxed));
        let file = env::temp_dir().join(name);
        fs::write(&file, settings(lab, text)).unwrap();
        let mut command = Command::new(env::current_exe().unwrap());
        command.args(["--exact", PROGRAM, "--nocapture"]).env(FILE, &file);
        if tells {
            command.env(TELLS, "1");
        }
        command.stdin(Stdio::null()).stdout(Stdio::piped());
        // Its last output, when it is killed, does not matter.
        let mut child = lab.namespace(Place::Box).within(|| command.spawn()).unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let (say, said) = channel();
        thread::spawn(move || lines.map_while(Result::ok).try_for_each(|line| say.send(line)));
        let process = Self { child, file, said };
        process.hear("runs");
        process
    }

    /// Waits until it prints these words; returns what follows them.
    pub fn hear(&self, words: &str) -> String {
        let asked = Instant::now();
        loop {
            let line = self.said.recv_timeout(PATIENCE.saturating_sub(asked.elapsed()));
            let line = line.unwrap_or_else(|_| panic!("the box never said '{words}'"));
            if let Some((_, rest)) = line.split_once(words) {
                return rest.trim().to_owned();
            }
        }
    }

    /// Waits until this many more frames have passed through it.
    pub fn passes(&self, more: u64) {
        while self.said.try_recv().is_ok() {}
        let told = || self.hear("passed").parse::<u64>().unwrap();
        let first = told();
        while told() < first + more {}
    }

    /// Makes it read other settings.
    pub fn reload(&self, lab: &Lab, text: &str) {
        fs::write(&self.file, settings(lab, text)).unwrap();
        self.signal(Signal::HUP);
    }

    pub fn id(&self) -> u32 {
        self.child.id()
    }

    pub fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.child), signal).unwrap();
    }

    pub fn wait(&mut self) -> ExitStatus {
        self.child.wait().unwrap()
    }

    /// Its memory in kilobytes.
    pub fn resident_kb(&self) -> u64 {
        let status = fs::read_to_string(format!("/proc/{}/status", self.id())).unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
        line.trim().trim_end_matches(" kB").parse().unwrap()
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        let _ = fs::remove_file(&self.file);
    }
}

/// Not a test in itself: what [`Process::start`] runs.
#[test]
fn box_as_a_program() {
    let Some(file) = env::var_os(FILE).map(PathBuf::from) else { return };
    let config = Config::read(&file).unwrap();
    let ready = |control: &Control| {
        println!("runs");
        if env::var_os(TELLS).is_some() {
            let control = control.clone();
            thread::spawn(move || tell(&control));
        }
    };
    if let Err(wrong) = run_until_signalled(config, file, &Files::default(), ready) {
        panic!("{wrong}");
    }
}

fn tell(control: &Control) {
    loop {
        let status = control.status();
        println!("passed {}", status.ports.iter().map(|port| port.received.min(port.sent)).sum::<u64>());
        println!("lapsed {}", status.oddities.lapses);
        thread::sleep(Duration::from_millis(20));
    }
}
