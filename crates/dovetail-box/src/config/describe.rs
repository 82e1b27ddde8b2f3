//! Plain-text description of a configuration.

use std::{
    fmt::{self, Write},
    net::Ipv4Addr,
};

use dovetail_sched::{DropPolicy, Nanos};
use dovetail_toml::values::written_time;

use super::{
    class::{Class, Effect},
    model::{Config, Io, OnFailure, Programs, Segments, Side, Wait},
    tunnel::{Direction, Tunnel},
};
use crate::{
    functions::ipsec,
    node::{Pace, Room},
};

impl Config {
    /// The configuration in aligned lines.
    #[must_use]
    pub fn describe(&self) -> String {
        let mut text = String::new();
        // Writing to a string cannot fail.
        let _ = self.write(&mut text);
        text
    }

    /// Likely mistakes that the file alone shows.
    #[must_use]
    pub fn warnings(&self) -> Vec<String> {
        let is_partial = |class: &&Class| class.encrypts() && !class.matches.ports.is_empty();
        let told = |class: &Class| {
            format!(
                "class {} encrypts by ports, which the later fragments of a packet do not show: they leave in the clear; use \
                 'prefixes'",
                class.name
            )
        };
        self.classes.iter().filter(is_partial).map(told).collect()
    }

    fn write(&self, text: &mut String) -> fmt::Result {
        let mut line = |what: &str, value: String| writeln!(text, "  {what:<18}{value}");
        let [inside, outside] = &self.interfaces;
        line("between", format!("{inside} (inside) and {outside} (outside)"))?;
        let (from, to) = match self.toward {
            Side::Outside => ("inside", "outside"),
            Side::Inside => ("outside", "inside"),
        };
        line("scheduled", format!("what goes from {from} to {to}; the other way passes at once"))?;
        line("policy", self.policy.to_string())?;
        let failing = match self.on_failure {
            OnFailure::Open => "open: the bridge under both interfaces carries traffic on",
            OnFailure::Closed => "closed: traffic stops",
        };
        line("on failure", failing.into())?;
        let io = match self.io {
            Io::AfPacket => "by packet sockets",
            Io::AfXdp => "by AF_XDP, copied",
        };
        line("frames", io.into())?;
        let wait = match self.wait {
            Wait::Sleep => "the box sleeps until something is due".into(),
            Wait::SpinThenSleep(time) => format!("the box spins for {time}, then sleeps"),
            Wait::Spin => "the box spins: a core for it alone".into(),
        };
        let wakes = match self.cpu.wake_latency {
            None => String::new(),
            Some(Nanos::ZERO) => "; no processor of the machine sleeps".into(),
            Some(latency) => format!("; processors of the machine wake within {latency}"),
        };
        line("while idle", format!("{wait}{wakes}"))?;
        let segments = match self.segments {
            Segments::Split => "frames of many packets are split",
            Segments::Whole => "frames of many packets stay whole",
        };
        line("offloads", segments.into())?;
        let core = self.cpu.core.map_or(String::new(), |core| format!(", bound to core {core}"));
        let workers = match self.cpu.workers {
            0 | 1 => String::new(),
            workers => format!(" on each of {workers} workers"),
        };
        line("CPU", format!("{} % for functions{workers}{core}", self.cpu.share * 100.0))?;
        let pace = match self.link.pace {
            Pace::Own => "kept by the box",
            Pace::Device => "kept by the interface or a shaper behind it",
        };
        let overhead = match self.link.overhead_bytes {
            0 => String::new(),
            bytes => format!(", {bytes} bytes more a frame"),
        };
        let delay = match self.delay {
            Nanos::ZERO => String::new(),
            delay => format!(", {delay} long each way"),
        };
        line("link", format!("{} Mbit/s, {pace}{overhead}{delay}", self.link.rate.bps() / 1e6))?;
        let room = match self.room {
            Room::Packets(packets) => format!("{packets} packets"),
            Room::LinkTime(time) => format!("{time} of the link, at least a packet"),
        };
        line("between the two", room)?;
        let queues = &self.queues;
        let loses = match queues.on_full {
            DropPolicy::Tail => "the last to come",
            DropPolicy::Head => "the oldest of that flow",
            DropPolicy::Longest | DropPolicy::Policy => "the longest queue",
        };
        let (each, all) = (queues.packets_per_flow, queues.packets);
        line("queues", format!("{each} packets a flow, {all} in all; one too many is lost by {loses}"))?;
        let timeout = written_time(std::time::Duration::from_nanos(queues.timeout.0));
        line("flows", format!("{}, forgotten after {timeout}", queues.flows))?;
        for Tunnel { name, association, direction } in self.tunnels.iter().map(|tunnel| &**tunnel) {
            let [source, destination] = [association.source, association.destination].map(Ipv4Addr::from);
            let decrypts = match direction {
                Direction::Out => String::new(),
                Direction::In { prefixes } => {
                    let prefixes: Vec<_> = prefixes.iter().map(ToString::to_string).collect();
                    format!("; what arrives {to} is decrypted, and must come from {}", prefixes.join(" or "))
                }
            };
            let spi = association.spi;
            line("tunnel", format!("{name}, from {source} to {destination}, SPI {spi:#x}{decrypts}"))?;
        }
        if let Some(routes) = &self.routes {
            let (routes, hops) = routes.counts();
            line("routes", format!("{routes}, by {hops} routers"))?;
        }
        if let Some(programs) = &self.programs {
            line("programs", in_words(programs))?;
        }
        if let Some(admin) = &self.admin {
            let token = if admin.token.is_some() { "changes need the token" } else { "read-only: no token" };
            line("admin", format!("http://{} ({token})", admin.listen))?;
        }
        writeln!(text, "\nclasses, tried in this order:")?;
        for class in &self.classes {
            writeln!(text, "  {:<18}{}", class.name, described(class))?;
        }
        Ok(())
    }
}

#[cfg(feature = "programs")]
fn in_words(programs: &Programs) -> String {
    use crate::programs::Quarantined;

    let (folder, limits) = (programs.folder.display(), &programs.limits);
    let then = match limits.quarantined {
        Quarantined::Drop => "its packets are dropped",
        Quarantined::Forward => "its packets pass it by",
    };
    let (fuel, bytes, traps) = (limits.fuel_per_packet, limits.memory_bytes, limits.traps);
    format!(
        "of {folder}, with {fuel} instructions a packet and {bytes} bytes of memory; after {traps} failures of one, {then}"
    )
}

#[cfg(not(feature = "programs"))]
fn in_words(programs: &Programs) -> String {
    programs.folder.display().to_string()
}

fn described(class: &Class) -> String {
    let list =
        |what: &str, values: Vec<String>| (!values.is_empty()).then(|| format!("{what} {}", values.join(" or ")));
    let matches = &class.matches;
    let conditions: Vec<_> = [
        list("port", matches.ports.iter().map(ToString::to_string).collect()),
        list("address in", matches.prefixes.iter().map(ToString::to_string).collect()),
        list("VLAN", matches.vlans.iter().map(ToString::to_string).collect()),
        list("DSCP", matches.dscp.iter().map(ToString::to_string).collect()),
        list("named", matches.named.iter().map(|name| name.as_str().to_owned()).collect()),
    ]
    .into_iter()
    .flatten()
    .collect();
    let conditions = if conditions.is_empty() { "whatever is left".into() } else { conditions.join(" and ") };
    let by = |function: &str| match &class.tunnel {
        Some(tunnel) if function == ipsec::NAME => format!("{function} by {}", tunnel.name),
        _ => function.to_owned(),
    };
    let mut work: Vec<_> = class.functions.iter().map(|entry| by(entry.name)).collect();
    work.extend(class.program.iter().map(|name| format!("program {name}")));
    let work = if work.is_empty() { "passed on".into() } else { work.join(", then ") };
    let mut text = format!("{conditions}: {work}; weight {}", class.weight.as_f64());
    if class.effect == Effect::Discard {
        text.push_str("; frames go on as they came");
    }
    if let Some(time) = class.time {
        text.push_str(&format!("; its work counts as {time}, whatever it takes"));
    }
    if class.cost != 1.0 {
        text.push_str(&format!("; its time counts {} times", class.cost));
    }
    text
}
