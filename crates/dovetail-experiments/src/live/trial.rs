//! One run of a middlebox with real packets.

use std::{
    net::UdpSocket,
    panic::resume_unwind,
    thread,
    time::{Duration, Instant},
};

use dovetail_box::{
    config::Config,
    live::{
        ClassCounters, Control, Spawned, Status,
        lab::{Lab, LabError, LabSpec, Place},
    },
};

use super::{
    setting::Setting,
    tape::{Tape, Taped},
    traffic::Flows,
};
use crate::error::Error;

/// Results of a run.
pub(super) struct Trial {
    /// Every packet, in order of arrival.
    pub packets: Vec<Taped>,
}

/// How often a run is tried if the machine delays the middlebox.
const TRIES: usize = 10;
/// How long a middlebox may take after the traffic has ended.
const PATIENCE: Duration = Duration::from_secs(60);

/// Sends `flows` through a middlebox.
pub(super) fn run(setting: &Setting, flows: &Flows) -> Result<Trial, Error> {
    let mut kept = Vec::new();
    for _ in 0..TRIES {
        match run_once(setting, flows)? {
            Ok(trial) => return Ok(trial),
            Err(why) => kept.push(why),
        }
    }
    let kept = kept.join("; ");
    Err(Error::lacking(format!("the machine is too busy: in each of {TRIES} runs it kept the box waiting: {kept}")))
}

/// A run, or the reason why the machine was too busy for it.
fn run_once(setting: &Setting, flows: &Flows) -> Result<Result<Trial, String>, Error> {
    let spec = LabSpec { name: "dovetail-trial".into(), ..LabSpec::default() };
    let lab = Lab::up(&spec).map_err(|wrong| match wrong {
        LabError::NotRoot | LabError::Namespace(_) => Error::lacking(wrong),
        wrong => Error::broken(wrong),
    })?;
    // At real-time priority, a middlebox that spins is suspended for 50 ms per second in favour of other processes. Late
    // wake-ups do not matter, since CPU and link are settled at their own times.
    let text = format!("{}wait = \"sleep\"\n{}", spec.box_section(), setting.text());
    let config = Config::parse(&text).map_err(Error::broken)?;
    // Some frames are not part of the traffic, such as address resolution.
    let tape = Tape::new(setting, flows.packets() + 1000);
    let watch = Box::new(tape.clone());
    let running = Spawned::start(config, |live| live.watch(watch)).map_err(Error::lacking)?;
    let far = spec.outside[0];
    // Sockets that are never read: without them each datagram would be answered with an error.
    let sinks = lab.namespace(Place::Outside).within(|| {
        let mut ports: Vec<_> = flows.0.iter().map(|flow| flow.port).collect();
        ports.sort_unstable();
        ports.dedup();
        ports.into_iter().map(|port| UdpSocket::bind((far, port))).collect::<Result<Vec<_>, _>>()
    });
    let _sinks = sinks.map_err(Error::broken)?;
    let sent = thread::scope(|scope| {
        let sender = scope.spawn(|| flows.send(lab.namespace(Place::Inside), far));
        sender.join().unwrap_or_else(|panic| resume_unwind(panic))
    });
    let came = sent.map_err(Error::broken).and_then(|in_time| Ok((in_time, until_all_left(running.control())?)));
    running.stop().map_err(Error::lacking)?;
    let (in_time, status) = came?;
    let (lapses, late) = (status.oddities.lapses, status.figures.late);
    let is_fit = in_time && lapses == 0 && late < setting.most_late;
    let delayed = if in_time { "" } else { ", and so was its traffic" };
    Ok(if is_fit {
        Ok(Trial { packets: tape.packets() })
    } else {
        Err(format!("{late} in all, {lapses} times for over 25 ms{delayed}"))
    })
}

/// Waits until all packets that arrived have left or were dropped, and no more arrive. A few may have been lost on the way to
/// the middlebox: the kernel's queue between two processors has 1,000 places.
fn until_all_left(control: &Control) -> Result<Status, Error> {
    const LOOK: Duration = Duration::from_millis(300);
    let until = Instant::now() + PATIENCE;
    let mut before = None;
    loop {
        thread::sleep(LOOK);
        let status = control.status();
        let sum = |of: fn(&ClassCounters) -> u64| status.classes.iter().map(|(_, class)| of(class)).sum::<u64>();
        let arrived = sum(|class| class.arrived);
        let through = sum(|class| class.sent + class.dropped());
        if (through == arrived && before == Some(arrived)) || status.oddities.lapses > 0 {
            return Ok(status);
        }
        before = Some(arrived);
        if Instant::now() > until {
            return Err(Error::broken(format!("{through} of {arrived} packets went through the box in {PATIENCE:?}")));
        }
    }
}
