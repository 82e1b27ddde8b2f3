//! `dovetail gateway` as the proxy of a bed.
#![allow(dead_code)]

use std::{fmt::Write, fs, process::Command};

use dovetail_bed::Proxy;

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
