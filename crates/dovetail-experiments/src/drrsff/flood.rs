//! A flood of one-packet flows at twice the link's rate, together with long flows.

use dovetail_sched::{FlowId, Nanos, Packet};
use dovetail_sim::{Observer, Passage, Profile, network::Network};

use super::runs::play;
use crate::{
    error::Error,
    experiment::{Finding, Given},
    once::Once,
    row::Row,
};
use dovetail_compare::{
    network::{builtin, times::Rates},
    table::{Table, figure},
};

const POLICIES: [&str; 6] = ["fifo", "drr", "las", "run2c", "drr-sff:steal=long-first", "drr-sff"];

/// When the flood has lasted ten seconds.
const FROM: Nanos = Nanos::from_secs(30);

/// The long group's fraction of the two groups' quanta at a ratio of 2.
const LONG_PART: f64 = 1.0 / 3.0;

pub(super) fn flood(given: &Given<'_>) -> Result<Finding, Error> {
    static RUNS: Once<(&str, &str), Beside> = Once::new();
    let jobs: Vec<_> = ["stream", "ftp"].iter().flat_map(|long| POLICIES.map(|policy| (*long, policy))).collect();
    let made = RUNS.make(&jobs, |(long, policy)| beside(long, policy, given))?;
    let (stream, ftp) = made.split_at(POLICIES.len());
    let mut table = Table::new(
        &["policy", "UDP stream: its part of the link while queued %", "Mbit/s", "FTP alone: Mbit/s", "of the link %"],
        1,
    );
    for ((policy, stream), ftp) in POLICIES.iter().zip(stream).zip(ftp) {
        table.push([
            (*policy).to_owned(),
            figure(stream.part_while_waiting * 100.0),
            figure(stream.mbps),
            figure(ftp.mbps),
            figure(ftp.mbps / ftp.link_mbps * 100.0),
        ]);
    }
    let [.., shares] = &stream else { return Err(Error::broken("a run is missing")) };
    let [.., starved, ftp] = &ftp else { return Err(Error::broken("a run is missing")) };
    Ok(Finding {
        rows: vec![
            Row::at_least(
                "long group while queued, of its part: steal=shares",
                "%",
                None,
                90.0,
                shares.part_while_waiting / LONG_PART * 100.0,
            ),
            Row::at_most(
                "FTP, steal=long-first, of the link",
                "%",
                None,
                5.0,
                starved.mbps / starved.link_mbps * 100.0,
            ),
            Row::at_least(
                "FTP, steal=shares, of the long group's part",
                "%",
                None,
                50.0,
                ftp.mbps / ftp.link_mbps / LONG_PART * 100.0,
            ),
        ],
        tables: vec![("A long flow beside the flood, from ten seconds after its beginning".into(), table)],
        charts: Vec::new(),
        remarks: vec![
            "The flood and the stream send three times what the link carries. UDP does not slow down when it loses \
             packets, so FIFO gives the stream about its part of the arrivals; the FTP does, and gets nothing. Under \
             policies that distinguish flows, every packet of the flood is a flow of its own, as short as can be."
                .into(),
        ],
    })
}

/// What a long flow received during the flood.
struct Beside {
    part_while_waiting: f64,
    mbps: f64,
    link_mbps: f64,
}

/// The flood with only the traffic `long` in addition.
fn beside(long: &str, policy: &str, given: &Given<'_>) -> Result<Beside, Error> {
    let mut network: Network = builtin("drr-sff-flood")?;
    network.traffic.retain(|traffic| traffic.name == "flood" || traffic.name == long);
    let mut watch = Watch { long: Vec::new(), name: long, waiting: 0, of_long: 0, of_all: 0 };
    let outcome = play(&network, policy, &mut watch, given)?;
    let stream = outcome.streams.iter().find(|stream| network.traffic[stream.traffic].name == long);
    let stream = stream.ok_or_else(|| Error::broken(format!("there is no traffic '{long}'")))?;
    Ok(Beside {
        part_while_waiting: watch.of_long as f64 / watch.of_all.max(1) as f64,
        mbps: Rates::of(stream, FROM.as_secs_f64() as usize, outcome.ended).mean_mbps.unwrap_or(0.0),
        link_mbps: network.links[network.watched].rate.bps() / 1e6,
    })
}

/// Counts which flows are served while a long flow is backlogged.
struct Watch<'a> {
    // Whether a flow is the long one.
    long: Vec<bool>,
    name: &'a str,
    waiting: u64,
    of_long: u64,
    of_all: u64,
}

impl Watch<'_> {
    fn is_long(&self, flow: FlowId) -> bool {
        self.long.get(flow.index()).copied().unwrap_or(false)
    }
}

impl Observer for Watch<'_> {
    fn appeared(&mut self, flow: FlowId, profile: &Profile<'_>) {
        if flow.index() >= self.long.len() {
            self.long.resize(flow.index() + 1, false);
        }
        self.long[flow.index()] = profile.class == Some(self.name);
    }

    fn arrived(&mut self, packet: &Packet) {
        self.waiting += u64::from(self.is_long(packet.flow));
    }

    fn dropped(&mut self, packet: &Packet, _: Nanos) {
        self.waiting -= u64::from(self.is_long(packet.flow));
    }

    fn sent(&mut self, packet: &Packet, passage: &Passage) {
        let long = self.is_long(packet.flow);
        if self.waiting > 0 && passage.start()[0] >= FROM {
            self.of_all += u64::from(packet.bytes);
            self.of_long += u64::from(packet.bytes) * u64::from(long);
        }
        self.waiting -= u64::from(long);
    }
}
