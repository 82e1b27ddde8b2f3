//! The subject between the two sides of the lab: the bridge alone, a box, Click, or two sockets.

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
use rustix::process::{Pid, Signal, kill_process, set_parent_process_death_signal};

use crate::{alone::Alone, click::Click, cores::BOX_CORE};

pub type Failed = Box<dyn Error>;

/// A lab of this process, whose hosts are silent.
pub fn lab() -> Result<Lab, Failed> {
    let lab = Lab::up(&LabSpec { name: format!("dvbench{}", process::id()), ..LabSpec::default() })?;
    // Packets are counted: neither hosts nor the bridge may send anything of their own. There may be no IPv6 to disable.
    for place in [Place::Inside, Place::Box, Place::Outside] {
        let _ = lab.namespace(place).set("ipv6/conf/all/disable_ipv6", "1");
    }
    Ok(lab)
}

/// A subject to be measured.
#[derive(Debug, Clone)]
pub struct Subject {
    pub label: String,
    between: Between,
}

/// What forwards the packets.
#[derive(Debug, Clone)]
enum Between {
    Bridge,
    Box {
        /// The configuration after the interfaces.
        settings: String,
        /// The program that runs it; this one if `None`.
        program: Option<PathBuf>,
    },
    /// Click's userlevel driver, with nothing but a queue.
    Click(PathBuf),
    /// Two packet sockets.
    Alone,
}

impl Subject {
    pub fn bridge() -> Self {
        Self { label: "bridge".into(), between: Between::Bridge }
    }

    pub fn click(program: &Path) -> Self {
        Self { label: "Click".into(), between: Between::Click(program.to_owned()) }
    }

    /// Two packet sockets, and nothing between them.
    pub fn alone() -> Self {
        Self { label: Alone::LABEL.into(), between: Between::Alone }
    }

    /// A box with these settings after its interfaces.
    pub fn configured(label: impl Into<String>, settings: String) -> Self {
        Self { label: label.into(), between: Between::Box { settings, program: None } }
    }

    /// A box in front of a link that nothing saturates.
    pub fn fast(policy: &str, wait: &str, function: &str) -> Self {
        let function = if function == "none" { String::new() } else { format!("functions = [\"{function}\"]\n") };
        let settings = format!(
            "policy = \"{policy}\"\nwait = \"{wait}\"\n[cpu]\ncore = {BOX_CORE}\n[link]\nrate = \"100Gbps\"\n\
             [[class]]\nname = \"measured\"\nports = [4500]\n{function}effect = \"discard\"\n"
        );
        Self::configured(policy, settings)
    }

    /// The same, with processors kept from sleeping.
    pub fn awake(&self) -> Self {
        self.but("awake", |settings| settings.replace("[cpu]\n", "[cpu]\nwake_latency = \"0s\"\n"))
    }

    /// The same with AF_XDP.
    pub fn by_af_xdp(&self) -> Self {
        self.but("AF_XDP", |settings| format!("io = \"af-xdp\"\n{settings}"))
    }

    /// The same with modified settings, if it is a box.
    fn but(&self, what: &str, settings: impl FnOnce(&str) -> String) -> Self {
        let mut other = self.clone();
        other.label = format!("{}, {what}", self.label);
        if let Between::Box { settings: of_other, .. } = &mut other.between {
            *of_other = settings(of_other);
        }
        other
    }

    /// The boxes, followed by the same boxes of another program, if there is one.
    pub fn beside(boxes: Vec<Self>, program: Option<&PathBuf>) -> Vec<Self> {
        let of_other = |subject: &Self| {
            let mut other = subject.clone();
            other.label = format!("{}, the other", subject.label);
            if let Between::Box { program: of_other, .. } = &mut other.between {
                *of_other = program.cloned();
            }
            other
        };
        let others: Vec<Self> = program.iter().flat_map(|_| boxes.iter().map(of_other)).collect();
        boxes.into_iter().chain(others).collect()
    }

    /// Starts it.
    pub fn start(&self, lab: &Lab) -> Result<Running, Failed> {
        Ok(match &self.between {
            Between::Bridge => Running::Bridge,
            Between::Box { settings, program } => Running::Box(RunningBox::start(lab, settings, program.as_deref())?),
            Between::Click(program) => Running::Click { _until_dropped: Click::start(lab, program, BOX_CORE)? },
            Between::Alone => Running::Alone { _until_dropped: Alone::start(lab, BOX_CORE)? },
        })
    }
}

/// A running subject, stopped on drop.
pub enum Running {
    Bridge,
    Box(RunningBox),
    Click { _until_dropped: Click },
    Alone { _until_dropped: Alone },
}

impl Running {
    /// The box's process.
    pub fn id(&self) -> Result<u32, Failed> {
        Ok(self.as_box()?.child.id())
    }

    /// Sends the box a signal.
    pub fn signal(&self, signal: Signal) -> Result<(), Failed> {
        Ok(kill_process(Pid::from_child(&self.as_box()?.child), signal)?)
    }

    fn as_box(&self) -> Result<&RunningBox, Failed> {
        match self {
            Self::Box(running) => Ok(running),
            Self::Bridge | Self::Click { .. } | Self::Alone { .. } => Err("no box".into()),
        }
    }
}

/// A box in a separate process.
pub struct RunningBox {
    child: Child,
    file: PathBuf,
}

impl RunningBox {
    fn start(lab: &Lab, settings: &str, program: Option<&Path>) -> Result<Self, Failed> {
        let text = lab.spec().box_section() + settings;
        let file = env::temp_dir().join(format!("dovetail-bench-{}.toml", process::id()));
        fs::write(&file, text)?;
        let program = program.map_or_else(env::current_exe, |program| Ok(program.to_owned()))?;
        let mut command = Command::new(program);
        command.arg("--box-of").arg(&file).stdin(Stdio::null()).stdout(Stdio::piped());
        let mut running = Self { child: command.spawn()?, file };
        let out = running.child.stdout.take().ok_or("no output")?;
        let mut line = String::new();
        BufReader::new(out).read_line(&mut line)?;
        if line.trim() != "runs" {
            return Err("the box did not start".into());
        }
        // The box starts receiving some milliseconds later.
        thread::sleep(Duration::from_millis(200));
        Ok(running)
    }
}

impl Drop for RunningBox {
    fn drop(&mut self) {
        // If it has ended already, it has printed the reason.
        let _ = kill_process(Pid::from_child(&self.child), Signal::TERM);
        let _ = self.child.wait();
        let _ = fs::remove_file(&self.file);
    }
}

/// Runs a box until stopped.
pub fn run_box(file: &Path) -> Result<(), Failed> {
    // It ends with the measuring process, however that ends.
    set_parent_process_death_signal(Some(Signal::TERM))?;
    let config = Config::read(file)?;
    Ok(run_until_signalled(config, file.to_owned(), &Files::default(), |_| println!("runs"))?)
}
