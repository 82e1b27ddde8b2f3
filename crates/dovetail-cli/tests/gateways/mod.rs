//! `dovetail gateway` as the proxy of a testbed.
#![allow(dead_code)]

use std::{env, fmt::Write, fs, process::Command, thread, time::Duration};

use dovetail_bed::{Bed, BedSpec, End, Job, PlaySpec, Played, Proxy, Repeat, Via, What, check};
use dovetail_skip::skipped;

/// Whether a test of minutes is enabled, and possible.
pub fn possible() -> bool {
    if env::var_os("DOVETAIL_LONG").is_none() {
        skipped("takes minutes, DOVETAIL_LONG=1 runs it");
        return false;
    }
    check().inspect_err(|lacking| skipped(lacking)).is_ok()
}

pub fn has_squid() -> bool {
    has("squid", "-v")
}

/// Whether this program exists, judging by its version output.
pub fn has(program: &str, version: &str) -> bool {
    let is_there = Command::new(program).arg(version).output().is_ok();
    if !is_there {
        skipped(format_args!("there is no {program}"));
    }
    is_there
}

/// The cells whose words contain `DOVETAIL_CELLS`, or all if that is not set.
pub fn chosen<T>(mut cells: Vec<T>, words: impl Fn(&T) -> String) -> Vec<T> {
    let wanted = env::var("DOVETAIL_CELLS").unwrap_or_default();
    cells.retain(|cell| words(cell).contains(&wanted));
    cells
}

/// All of them, this many at a time.
pub fn side_by_side<T: Copy + Send + 'static, R: Send + 'static>(
    at_a_time: usize,
    of: &[T],
    run: fn(T) -> R,
) -> Vec<R> {
    let mut done = Vec::new();
    for some in of.chunks(at_a_time) {
        let begun: Vec<_> = some.iter().map(|&one| thread::spawn(move || run(one))).collect();
        done.extend(begun.into_iter().map(|run| run.join().unwrap()));
    }
    done
}

/// The median of an odd number of values.
pub fn median(mut of: Vec<f64>) -> f64 {
    of.sort_by(f64::total_cmp);
    of[of.len() / 2]
}

pub const fn ms(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

/// A link of this rate with a queue of 150 ms, to one server.
pub fn link(rate_bps: u64, round_trip: Duration, users: &[u32]) -> BedSpec {
    BedSpec {
        rate_bps,
        buffer_packets: (rate_bps / 80_000) as u32,
        lan_bps: None,
        round_trips: vec![round_trip],
        users: users.into(),
        ..BedSpec::default()
    }
}

/// A user who downloads for the whole run.
pub fn download(class: usize, user: u32, via: Via) -> Job {
    let what = What::Get { bytes: 50_000_000 };
    Job { class, user, server: 0, at: ms(0), what, via, repeat: Repeat::UntilDuration }
}

/// Runs the jobs in a testbed of their own; none may fail.
pub fn play(bed: &BedSpec, proxy: &Proxy<'_>, jobs: &[Job], play: &PlaySpec) -> Played {
    let mut bed = Bed::new(bed).unwrap_or_else(|error| panic!("{error}"));
    let played = bed.play(proxy, jobs, play).unwrap_or_else(|error| panic!("{error}"));
    for one in &played.jobs {
        let failed = one.rounds.iter().find(|round| matches!(round.end, End::Failed(_)));
        assert_eq!(failed, None, "{:?}", one.job);
    }
    played
}

/// Duration of a single response of eight seconds of the link, or of what the testbed can send.
pub fn alone(rate_bps: u64, trip: u64, via: Via, proxy: &Proxy<'_>) -> f64 {
    let bytes = rate_bps.min(64_000_000);
    let what = What::Get { bytes };
    let job = Job { what, repeat: Repeat::Times(1), ..download(0, 0, via) };
    let spec = PlaySpec { warm_up: ms(0), duration: ms(50), drain: ms(120_000), rates: Vec::new(), queue_every: None };
    let bed = BedSpec { gso: rate_bps > 100_000_000, ..link(rate_bps, ms(trip), &[1]) };
    let played = play(&bed, proxy, &[job], &spec);
    played.jobs[0].took().unwrap_or_else(|| panic!("{rate_bps} bit/s, {trip} ms, {via:?}: unfinished")).as_secs_f64()
}

/// Settings of a gateway's configuration for a run.
#[derive(Debug, Clone, Copy)]
pub struct Settings<'a> {
    pub policy: &'a str,
    /// Weights of the classes 10.0.1.0/24, 10.0.2.0/24 and so on; if empty, all users are in one class.
    pub weights: &'a [u32],
    /// Further lines of the file.
    pub more: &'a str,
}

impl Default for Settings<'_> {
    fn default() -> Self {
        Self { policy: "grants", weights: &[], more: "" }
    }
}

/// A gateway configured with the testbed's rate.
pub fn gateway(settings: Settings<'_>) -> Proxy<'_> {
    Proxy::command("dovetail", move |site| {
        let file = site.folder.join("gateway.toml");
        let mut text = format!(
            "[proxy]\nlisten = \"{}\"\n[downlink]\nrate = \"{}bps\"\nprobe = \"{}\"\npolicy = \"{}\"\n\
             [access]\nclients = [\"10.0.0.0/16\"]\nconnect_ports = [80, 443]\ndestinations = {{ allow = [\"10.200.0.0/16\"] }}\n",
            site.listen, site.rate_bps, site.provider, settings.policy
        );
        for (number, weight) in (1..).zip(settings.weights) {
            let class =
                format!("[[class]]\nname = \"c{number}\"\nweight = {weight}\nclients = [\"10.0.{number}.0/24\"]\n");
            text.push_str(&class);
        }
        writeln!(text, "{}", settings.more).map_err(std::io::Error::other)?;
        fs::write(&file, text)?;
        // DOVETAIL is a program that was built elsewhere, for example by bin/release.
        let built = || env!("CARGO_BIN_EXE_dovetail").into();
        let mut command = Command::new(env::var_os("DOVETAIL").unwrap_or_else(built));
        command.args(["gateway", "--config"]).arg(file);
        Ok(command)
    })
}
