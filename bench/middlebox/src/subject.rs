//! What is between the two sides of the lab: the bridge alone, or a box.

use std::{
    env,
    error::Error,
    fs,
    io::{BufRead, BufReader},
    path::{Path, PathBuf},
    process::{self, Child, Command, Stdio},
    thread,
    time::Duration,
};

use dovetail_box::{
    config::Config,
    live::{
        Files,
        lab::{Lab, LabSpec, Place},
        run_until_signalled,
    },
};
use rustix::{
    process::{Pid, Signal, kill_process, set_parent_process_death_signal},
    thread::{CpuSet, sched_setaffinity},
};

use crate::click::Click;

pub type Failed = Box<dyn Error>;

/// The box's core, and the source's.
pub const BOX_CORE: usize = 0;
pub const SOURCE_CORE: usize = 1;

/// A lab of this process, whose hosts say nothing.
pub fn lab() -> Result<Lab, Failed> {
    let lab = Lab::up(&LabSpec { name: format!("dvbench{}", process::id()), ..LabSpec::default() })?;
    // Packets are counted: neither hosts nor the bridge are to say anything of their own. There may be no IPv6 to switch off.
    for place in [Place::Inside, Place::Box, Place::Outside] {
        let _ = lab.namespace(place).set("ipv6/conf/all/disable_ipv6", "1");
    }
    Ok(lab)
}

/// Keeps this thread on a core.
pub fn stay_on(core: usize) -> Result<(), Failed> {
    let mut cores = CpuSet::new();
    cores.set(core);
    Ok(sched_setaffinity(None, &cores)?)
}

/// A box that is to be measured.
#[derive(Debug, Clone)]
pub struct Subject {
    pub label: String,
    /// What the configuration says after the interfaces; nothing: the bridge alone.
    pub settings: Option<String>,
    /// The program that runs it; this one if not given.
    pub program: Option<PathBuf>,
    /// The program that takes its place.
    pub click: Option<PathBuf>,
}

impl Subject {
    pub fn bridge() -> Self {
        Self { label: "bridge".into(), settings: None, program: None, click: None }
    }

    /// Click, which goes by nothing but a queue.
    pub fn click(program: &Path) -> Self {
        Self { label: "Click".into(), click: Some(program.to_owned()), ..Self::bridge() }
    }

    /// A box before a link that nothing fills.
    pub fn fast(policy: &str, wait: &str, function: &str) -> Self {
        let function = if function == "none" { String::new() } else { format!("functions = [\"{function}\"]\n") };
        let settings = format!(
            "policy = \"{policy}\"\nwait = \"{wait}\"\n[cpu]\ncore = {BOX_CORE}\n[link]\nrate = \"100Gbps\"\n\
             [[class]]\nname = \"measured\"\nports = [4500]\n{function}effect = \"discard\"\n"
        );
        Self { label: policy.into(), settings: Some(settings), ..Self::bridge() }
    }

    /// The same, and no processor sleeps.
    pub fn awake(&self) -> Self {
        let awake = |settings: &String| settings.replace("[cpu]\n", "[cpu]\nwake_latency = \"0s\"\n");
        Self { label: format!("{}, awake", self.label), settings: self.settings.as_ref().map(awake), ..self.clone() }
    }

    /// The same by AF_XDP.
    pub fn by_af_xdp(&self) -> Self {
        let settings = self.settings.as_ref().map(|settings| format!("io = \"af-xdp\"\n{settings}"));
        let label = format!("{}, AF_XDP", self.label);
        Self { label, settings, ..self.clone() }
    }

    /// The same boxes, and after them those of another program, if there is one.
    pub fn beside(subjects: Vec<Self>, program: Option<&PathBuf>) -> Vec<Self> {
        let other = |subject: &Self| Self {
            label: format!("{}, the other", subject.label),
            program: program.cloned(),
            ..subject.clone()
        };
        let others: Vec<Self> = program.iter().flat_map(|_| subjects.iter().map(other)).collect();
        subjects.into_iter().chain(others).collect()
    }

    /// Puts it in charge.
    pub fn start(&self, lab: &Lab) -> Result<Running, Failed> {
        if let Some(program) = &self.click {
            return Ok(Running { child: None, file: None, _click: Some(Click::start(lab, program, BOX_CORE)?) });
        }
        let Some(settings) = &self.settings else { return Ok(Running { child: None, file: None, _click: None }) };
        let text = lab.spec().box_section() + settings;
        let file = env::temp_dir().join(format!("dovetail-bench-{}.toml", process::id()));
        fs::write(&file, text)?;
        let program = self.program.clone().map_or_else(env::current_exe, Ok)?;
        let mut command = Command::new(program);
        command.arg("--box-of").arg(&file).stdin(Stdio::null()).stdout(Stdio::piped());
        let mut child = command.spawn()?;
        let out = child.stdout.take().ok_or("no output")?;
        let running = Running { child: Some(child), file: Some(file), _click: None };
        let mut line = String::new();
        BufReader::new(out).read_line(&mut line)?;
        if line.trim() != "runs" {
            return Err("the box did not start".into());
        }
        // It takes frames some milliseconds later.
        thread::sleep(Duration::from_millis(200));
        Ok(running)
    }
}

/// A subject at work, until this is dropped.
pub struct Running {
    child: Option<Child>,
    file: Option<PathBuf>,
    _click: Option<Click>,
}

impl Running {
    pub fn id(&self) -> Option<u32> {
        self.child.as_ref().map(Child::id)
    }

    /// Sends it a signal.
    pub fn signal(&self, signal: Signal) -> Result<(), Failed> {
        let child = self.child.as_ref().ok_or("no box")?;
        Ok(kill_process(Pid::from_child(child), signal)?)
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if let Some(child) = &mut self.child {
            // One that has ended already has said why.
            let _ = kill_process(Pid::from_child(child), Signal::TERM);
            let _ = child.wait();
        }
        if let Some(file) = &self.file {
            let _ = fs::remove_file(file);
        }
    }
}

/// Runs a box until it is told to stop.
pub fn run_box(file: &Path) -> Result<(), Failed> {
    // It ends with the measurement, however that ends.
    set_parent_process_death_signal(Some(Signal::TERM))?;
    let config = Config::read(file)?;
    Ok(run_until_signalled(config, file.to_owned(), &Files::default(), |_| println!("runs"))?)
}
