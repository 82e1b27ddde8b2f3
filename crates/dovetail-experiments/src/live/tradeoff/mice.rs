//! Fig. 6: three elephants that demand more than there is, and three mice that demand next to nothing.

use dovetail_sched::Nanos;

use super::{
    super::{
        again::Way,
        beside::{self, Came, LATENCY_PERCENT, compare, line},
        setting::{Class, Setting},
        traffic::{Flow, Flows, Pace},
    },
    modules::{FRAME_BYTES, MODULES, setting, tradeoff},
};
use crate::{
    error::Error,
    experiment::{Finding, Given},
    row::Row,
    tradeoff::{mice::TIMES_LOWER, paper::ALPHAS, queues::QUEUE},
};

const SECONDS: u32 = 6;
/// Packets per second of an elephant.
const ELEPHANT: u32 = 20_000;
/// Packets per second of a mouse: ten times the scenario's, in a tenth of its time.
const MOUSE: u32 = 20;
/// A mouse waits some 0.2 ms. If the middlebox loses time, every later mouse waits that much longer: by then the fluid has
/// let more pass than the link could send.
const MAX_LATENESS: Nanos = Nanos::from_micros(100);
/// Mice have separate classes, at ports offset by this.
const MICE: [&str; 3] = ["mouse-checking", "mouse-monitoring", "mouse-ipsec"];
const FURTHER: u16 = 1000;

pub(in super::super) fn fig6(_: &Given<'_>) -> Result<Finding, Error> {
    let mut finding = Finding::default();
    let mut table = beside::table();
    for alpha in ALPHAS {
        let policy = tradeoff(alpha);
        let setting = with_mice(setting(&policy, QUEUE));
        let runs = beside::ways(&setting, &flows())?;
        let [here, there] = runs.each_ref().map(|ways| Came::of(ways));
        let [live, simulated] = runs.each_ref().map(|ways| Means::of(ways, &setting));
        let what = format!("quickest elephant's mean latency over slowest mouse's, alpha={alpha}, live");
        finding.rows.push(Row::at_least(
            what,
            "",
            Some(100.0),
            TIMES_LOWER,
            live.quickest_elephant / live.slowest_mouse,
        ));
        let what = format!("mice's mean latency, alpha={alpha}, live over simulated");
        let over = live.mice / simulated.mice * 100.0;
        finding.rows.push(Row::new(what, "%", None, 100.0, over, LATENCY_PERCENT));
        compare(&mut finding, &policy, &here, &there);
        table.push(line(&policy, &here, &there));
    }
    finding.tables.push((beside::HEADING.into(), table));
    finding.remarks.push(format!(
        "The paper says \"two orders of magnitude\". Mice send {MOUSE} packets a second at random times, for {SECONDS} s; none is \
         dropped. Rows by alpha compare an elephant of any module with a mouse of any."
    ));
    Ok(finding)
}

/// Mean latencies in nanoseconds.
struct Means {
    quickest_elephant: f64,
    slowest_mouse: f64,
    /// Mean over all mice.
    mice: f64,
}

impl Means {
    fn of(ways: &[Way], setting: &Setting) -> Self {
        let of_class = |name: &str| {
            let class = setting.class(name);
            let latencies =
                ways.iter().filter(|way| way.class == class).map(|way| (way.link[1] - way.arrival).as_f64());
            latencies.fold((0.0, 0.0), |(count, sum), latency| (count + 1.0, sum + latency))
        };
        let mean = |(count, sum): (f64, f64)| sum / count;
        let elephants = MODULES.map(|(name, ..)| mean(of_class(name)));
        let mice = MICE.map(of_class);
        Self {
            quickest_elephant: elephants.into_iter().fold(f64::INFINITY, f64::min),
            slowest_mouse: mice.into_iter().map(mean).fold(0.0, f64::max),
            mice: mean(mice.into_iter().fold((0.0, 0.0), |all, of| (all.0 + of.0, all.1 + of.1))),
        }
    }
}

fn with_mice(mut setting: Setting) -> Setting {
    let mice = MICE.into_iter().zip(&setting.classes);
    let mice: Vec<_> = mice.map(|(name, class)| Class { name, port: class.port + FURTHER, ..class.clone() }).collect();
    setting.classes.extend(mice);
    Setting { most_late: MAX_LATENESS, ..setting }
}

/// An elephant and a mouse for each module.
fn flows() -> Flows {
    let elephant = |&(_, port, _): &(_, u16, _)| Flow {
        port,
        frame_bytes: FRAME_BYTES,
        rate: ELEPHANT,
        packets: ELEPHANT * SECONDS,
        pace: Pace::Constant,
    };
    let mouse = |elephant: Flow| Flow {
        port: elephant.port + FURTHER,
        rate: MOUSE,
        packets: MOUSE * SECONDS,
        pace: Pace::Random(elephant.port.into()),
        ..elephant
    };
    let elephants = MODULES.each_ref().map(elephant);
    Flows(elephants.into_iter().chain(elephants.map(mouse)).collect())
}
