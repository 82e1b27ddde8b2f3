//! A demonstration: a lab with a running box and traffic.
//!
//! Three transfers over the kernel's TCP run from the inside to the outside, each in a class of its own: one whose packets
//! are only counted, one whose packets are encrypted, one whose content is searched for repetitions. The CPU is the
//! bottleneck of the last, the link of the first, and the share of both that each of them gets is printed every second.

use std::{
    fmt::Write as _,
    io::{self, Read, Write},
    net::{SocketAddr, TcpListener, TcpStream},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use dovetail_sched::Nanos;
use signal_hook::{
    consts::{SIGHUP, SIGINT, SIGTERM},
    flag,
};

use super::{Lab, LabError, LabSpec, Place};
use crate::{
    config::{Config, ConfigError},
    live::{Control, LiveError, Spawned, Status},
};

/// Options of the demonstration.
#[derive(Debug, Clone)]
pub struct Show {
    /// The policy of the box.
    pub policy: String,
    /// The rate of the link behind it.
    pub link: String,
    /// Duration; `None` runs until a signal arrives.
    pub time: Option<Nanos>,
    /// Whether to run without traffic.
    pub is_idle: bool,
}

/// Why the demonstration failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ShowError<E> {
    /// The policy or the rate is invalid.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// The lab cannot be set up.
    #[error(transparent)]
    Lab(#[from] LabError),
    /// The box cannot be run.
    #[error(transparent)]
    Live(#[from] LiveError),
    /// The transfers could not be started.
    #[error("traffic: {0}")]
    Traffic(#[from] io::Error),
    /// The output could not be written.
    #[error("{0}")]
    Print(E),
}

/// The classes: name, port, function.
const CLASSES: [(&str, u16, &str); 3] =
    [("counted", 5001, "monitoring"), ("encrypted", 5002, "ipsec"), ("searched", 5003, "redundancy")];
/// Factor by which work counts for more than it takes: modern machines encrypt a packet in under a microsecond, and a link
/// of some Mbit/s needs hundreds.
const COST: u32 = 40;
const EVERY: Duration = Duration::from_secs(1);

/// Sets up a lab, runs a box and traffic in it, and prints a line per second until the time is up or a signal arrives; then
/// removes everything.
///
/// # Errors
/// Why the demonstration failed.
pub fn show<E>(show: &Show, print: &mut dyn FnMut(&str) -> Result<(), E>) -> Result<(), ShowError<E>> {
    let is_over = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM] {
        flag::register(signal, is_over.clone())?;
    }
    // The terminal may be closed; `nohup` is to outlive that.
    if !ignores(SIGHUP) {
        flag::register(SIGHUP, is_over.clone())?;
    }
    let spec = LabSpec::default();
    let config = Config::parse(&text(show, &spec))?;
    let lab = Lab::up(&spec)?;
    let running = Spawned::start(config.clone(), |_| {})?;
    let shown = (|| {
        if !show.is_idle {
            traffic(&lab, spec.outside[0].into(), &is_over)?;
        }
        print(&introduction(&lab, show)).map_err(ShowError::Print)?;
        watch(show, &config, running.control(), &is_over, print)
    })();
    is_over.store(true, Ordering::Relaxed);
    running.stop()?;
    shown
}

fn text(show: &Show, spec: &LabSpec) -> String {
    let (policy, link) = (show.policy.escape_debug(), show.link.escape_debug());
    let mut text =
        format!("{}policy = \"{policy}\"\n[cpu]\nshare = 0.2\n[link]\nrate = \"{link}\"\n", spec.box_section());
    for (name, port, function) in CLASSES {
        // Writing to a string cannot fail.
        let _ = write!(
            text,
            "[[class]]\nname = \"{name}\"\nports = [{port}]\nfunctions = [\"{function}\"]\neffect = \"discard\"\n\
             cost = {COST}\n"
        );
    }
    text
}

fn introduction(lab: &Lab, show: &Show) -> String {
    let spec = lab.spec();
    let [inside, between, outside] = [Place::Inside, Place::Box, Place::Outside].map(|place| spec.namespace(place));
    let mut text = format!(
        "{inside} ── {between} ── {outside}\n\
         A box with {} between two namespaces: 20 % of a CPU, whose work counts {COST} times, and a link of {}.\n\
         Ctrl-C stops and cleans up. Meanwhile, in another root shell:\n",
        show.policy, show.link
    );
    for hint in lab.hints() {
        let _ = writeln!(text, "  {:<42} {}", hint.what, hint.command);
    }
    text
}

/// Starts a transfer for each class, which ends with the demonstration.
fn traffic(lab: &Lab, to: std::net::IpAddr, is_over: &Arc<AtomicBool>) -> io::Result<()> {
    for (_, port, _) in CLASSES {
        let address = SocketAddr::new(to, port);
        let listener = lab.namespace(Place::Outside).within(|| TcpListener::bind(address))?;
        thread::spawn(move || {
            // A transfer that breaks off is visible in the table.
            let _ = listener.accept().and_then(|(stream, _)| take_all(stream));
        });
        let stream = lab.namespace(Place::Inside).within(|| TcpStream::connect(address))?;
        let is_over = is_over.clone();
        thread::spawn(move || send_on(stream, &is_over));
    }
    Ok(())
}

fn take_all(mut stream: TcpStream) -> io::Result<()> {
    let mut bytes = [0; 1 << 16];
    while stream.read(&mut bytes)? > 0 {}
    Ok(())
}

/// Whether a signal has been ignored since before this process began.
fn ignores(signal: i32) -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| u64::from_str_radix(line.strip_prefix("SigIgn:")?.trim(), 16).ok());
    mask.is_some_and(|mask| mask >> (signal - 1) & 1 == 1)
}

fn send_on(mut stream: TcpStream, is_over: &AtomicBool) {
    let bytes: Vec<u8> = (0..1 << 16).map(|at: u32| (at.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
    while !is_over.load(Ordering::Relaxed) && stream.write_all(&bytes).is_ok() {}
}

fn watch<E>(
    show: &Show,
    config: &Config,
    control: &Control,
    is_over: &AtomicBool,
    print: &mut dyn FnMut(&str) -> Result<(), E>,
) -> Result<(), ShowError<E>> {
    let began = Instant::now();
    let mut before = control.status();
    let mut next = began + EVERY;
    let mut is_first = true;
    loop {
        while Instant::now() < next && !is_over.load(Ordering::Relaxed) {
            thread::sleep(Duration::from_millis(20));
        }
        if is_over.load(Ordering::Relaxed) {
            return Ok(());
        }
        next += EVERY;
        let now = control.status();
        if is_first {
            print(&head()).map_err(ShowError::Print)?;
            is_first = false;
        }
        // A box that has not published its status yet has no classes.
        if now.at > before.at && before.at > Nanos::ZERO {
            print(&line(config, &before, &now)).map_err(ShowError::Print)?;
        }
        before = now;
        if show.time.is_some_and(|time| began.elapsed() >= Duration::from_nanos(time.0)) {
            return Ok(());
        }
    }
}

fn head() -> String {
    let classes: String = CLASSES.iter().map(|(name, _, _)| format!(" | {name:^22}")).collect();
    let columns = " |  Mbit/s   CPU %  link %".repeat(CLASSES.len());
    format!("{:14}{classes}\n  CPU %  link %{}", "", columns)
}

/// The line for the time between two statuses.
fn line(config: &Config, before: &Status, now: &Status) -> String {
    let time = (now.at - before.at).as_f64();
    let percent = |part: Nanos| 100.0 * part.as_f64() / time;
    let cpu = percent(now.figures.cpu_busy - before.figures.cpu_busy);
    let link = percent(now.figures.link_busy - before.figures.link_busy);
    let mut text = format!("{cpu:7.1} {link:7.1}");
    for ((_, before), (_, now)) in before.classes.iter().zip(&now.classes).take(CLASSES.len()) {
        let bps = (now.sent_bytes - before.sent_bytes) as f64 * 8e9 / time;
        let of_link = 100.0 * bps / config.link.rate.bps();
        let _ = write!(text, " | {:7.2} {:7.1} {of_link:7.1}", bps / 1e6, percent(now.cpu - before.cpu));
    }
    text
}
