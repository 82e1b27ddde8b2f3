//! One run of a box with real packets.

use std::{
    net::UdpSocket,
    panic::resume_unwind,
    sync::mpsc,
    thread,
    time::{Duration, Instant},
};

use dovetail_box::{
    config::Config,
    live::{
        Control, Live, LiveError, Status,
        lab::{Lab, LabError, LabSpec, Place},
    },
};

use super::{
    tape::{Tape, Taped},
    traffic::Flows,
};
use crate::error::Error;

/// What a run came to.
pub(super) struct Trial {
    /// Every packet, in the order of arrival.
    pub packets: Vec<Taped>,
    pub status: Status,
}

/// How often a run is tried, if the machine keeps the box from running.
const TRIES: usize = 3;
/// How long a box may need after the traffic has ended.
const PATIENCE: Duration = Duration::from_secs(60);

/// Sends `flows` through a box that is configured by `settings`, the interfaces excepted.
pub(super) fn run(settings: &str, flows: &Flows) -> Result<Trial, Error> {
    for _ in 0..TRIES {
        let trial = run_once(settings, flows)?;
        if trial.status.oddities.lapses == 0 {
            return Ok(trial);
        }
    }
    Err(Error::lacking("the machine is too busy: it kept the box from running for over 25 ms in each of three runs"))
}

fn run_once(settings: &str, flows: &Flows) -> Result<Trial, Error> {
    let spec = LabSpec { name: "dovetail-trial".into(), ..LabSpec::default() };
    let lab = Lab::up(&spec).map_err(|wrong| match wrong {
        LabError::NotRoot | LabError::Namespace(_) => Error::lacking(wrong),
        wrong => Error::broken(wrong),
    })?;
    let namespace = spec.namespace(Place::Box);
    let text = format!(
        "[box]\ninside = \"{namespace}/inside\"\noutside = \"{namespace}/outside\"\nwait = \"spin\"\n{settings}"
    );
    let config = Config::parse(&text).map_err(Error::broken)?;
    let tape = Tape::default();
    let (told, tells) = mpsc::channel();
    let running = thread::spawn({
        let tape = tape.clone();
        move || {
            let (mut live, control) = Live::open(config)?;
            live.watch(Box::new(tape));
            // Whoever waits for it is there.
            let _ = told.send(control);
            live.run()
        }
    });
    let Ok(control) = tells.recv() else {
        ended(running)?;
        return Err(Error::broken("the box ended before it began"));
    };
    let far = spec.outside[0];
    // Sockets that nobody reads: without them each datagram is answered.
    let sinks = lab.namespace(Place::Outside).within(|| {
        let mut ports = flows.ports.clone();
        ports.sort_unstable();
        ports.dedup();
        ports.into_iter().map(|port| UdpSocket::bind((far, port))).collect::<Result<Vec<_>, _>>()
    });
    let _sinks = sinks.map_err(Error::broken)?;
    let sent = flows.send(lab.namespace(Place::Inside), far).map_err(Error::broken);
    let status = sent.and_then(|()| until_all_left(&control, flows));
    control.stop();
    ended(running)?;
    Ok(Trial { status: status?, packets: tape.packets() })
}

fn ended(running: thread::JoinHandle<Result<(), LiveError>>) -> Result<(), Error> {
    running.join().unwrap_or_else(|panic| resume_unwind(panic)).map_err(Error::lacking)
}

/// Waits until all packets have left or were dropped.
fn until_all_left(control: &Control, flows: &Flows) -> Result<Status, Error> {
    let all = u64::from(flows.packets) * flows.ports.len() as u64;
    let until = Instant::now() + PATIENCE;
    loop {
        let status = control.status();
        let through: u64 = status
            .classes
            .iter()
            .map(|(_, class)| class.sent + class.queue_full + class.refused + class.too_long)
            .sum();
        let missed: u64 = status.ports.iter().map(|port| port.missed).sum();
        if through + missed >= all || status.oddities.lapses > 0 {
            return Ok(status);
        }
        if Instant::now() > until {
            return Err(Error::broken(format!("{through} of {all} packets went through the box in {PATIENCE:?}")));
        }
        thread::sleep(Duration::from_millis(50));
    }
}
