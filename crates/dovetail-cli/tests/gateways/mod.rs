//! `dovetail gateway` as the proxy of a bed.
#![allow(dead_code)]

use std::{fmt::Write, fs, process::Command, time::Duration};

use dovetail_bed::{Bed, BedSpec, End, Job, PlaySpec, Played, Proxy, Repeat, Via, What};

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

/// A user who downloads as long as the run lasts.
pub fn download(class: usize, user: u32, via: Via) -> Job {
    let what = What::Get { bytes: 50_000_000 };
    Job { class, user, server: 0, at: ms(0), what, via, repeat: Repeat::UntilDuration }
}

/// Plays the jobs in a bed of their own, of which none may fail.
pub fn play(bed: &BedSpec, proxy: &Proxy<'_>, jobs: &[Job], play: &PlaySpec) -> Played {
    let mut bed = Bed::new(bed).unwrap_or_else(|error| panic!("{error}"));
    let played = bed.play(proxy, jobs, play).unwrap_or_else(|error| panic!("{error}"));
    for one in &played.jobs {
        let failed = one.rounds.iter().find(|round| matches!(round.end, End::Failed(_)));
        assert_eq!(failed, None, "{:?}", one.job);
    }
    played
}

/// What a run sets of a gateway's configuration.
#[derive(Debug, Clone, Copy)]
pub struct Settings<'a> {
    pub policy: &'a str,
    /// Of the classes 10.0.1.0/24, 10.0.2.0/24 and so on; all users are of one class where there is none.
    pub weights: &'a [u32],
    /// More of the file, after the rest.
    pub more: &'a str,
}

impl Default for Settings<'_> {
    fn default() -> Self {
        Self { policy: "grants", weights: &[], more: "" }
    }
}

/// A gateway that knows the bed's rate.
pub fn gateway(settings: Settings<'_>) -> Proxy<'_> {
    Proxy::command("dovetail", move |site| {
        let file = site.folder.join("gateway.toml");
        let mut text = format!(
            "[proxy]\nlisten = \"{}\"\n[downlink]\nrate = \"{}bps\"\nprobe = \"{}\"\npolicy = \"{}\"\n\
             [access]\nclients = [\"10.0.0.0/16\"]\nconnect_ports = [80]\ndestinations = {{ allow = [\"10.200.0.0/16\"] }}\n",
            site.listen, site.rate_bps, site.provider, settings.policy
        );
        for (number, weight) in (1..).zip(settings.weights) {
            let class =
                format!("[[class]]\nname = \"c{number}\"\nweight = {weight}\nclients = [\"10.0.{number}.0/24\"]\n");
            text.push_str(&class);
        }
        writeln!(text, "{}", settings.more).map_err(std::io::Error::other)?;
        fs::write(&file, text)?;
        let mut command = Command::new(env!("CARGO_BIN_EXE_dovetail"));
        command.args(["gateway", "--config"]).arg(file);
        Ok(command)
    })
}
