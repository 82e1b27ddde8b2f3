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
        self.write_path(text)?;
        self.write_cpu_and_link(text)?;
        self.write_queues(text)?;
        self.write_functions(text)?;
        if let Some(admin) = &self.admin {
            let token = if admin.token.is_some() { "changes need the token" } else { "read-only: no token" };
            line(text, "admin", format_args!("http://{} ({token})", admin.listen))?;
        }
        writeln!(text, "\nclasses, tried in this order:")?;
        self.classes.iter().try_for_each(|class| line(text, &class.name, described(class)))
    }

    fn write_path(&self, text: &mut String) -> fmt::Result {
        let [inside, outside] = &self.interfaces;
        line(text, "between", format_args!("{inside} (inside) and {outside} (outside)"))?;
        let (from, to) = match self.toward {
            Side::Outside => ("inside", "outside"),
            Side::Inside => ("outside", "inside"),
        };
        line(text, "scheduled", format_args!("what goes from {from} to {to}; the other way passes at once"))?;
        line(text, "policy", &self.policy)?;
        let failing = match self.on_failure {
            OnFailure::Open => "open: the bridge under both interfaces carries traffic on",
            OnFailure::Closed => "closed: traffic stops",
        };
        line(text, "on failure", failing)?;
        let io = match self.io {
            Io::AfPacket => "by packet sockets",
            Io::AfXdp => "by AF_XDP, copied",
        };
        line(text, "frames", io)?;
        let segments = match self.segments {
            Segments::Split => "frames of many packets are split",
            Segments::Whole => "frames of many packets stay whole",
        };
        line(text, "offloads", segments)
    }

    fn write_cpu_and_link(&self, text: &mut String) -> fmt::Result {
        let wait = match self.wait {
            Wait::Sleep => "the box sleeps until something is due".into(),
            Wait::SpinThenSleep(time) => format!("the box spins for {time}, then sleeps"),
            Wait::Spin => "the box spins: it needs a core of its own".into(),
        };
        let wakes = match self.cpu.wake_latency {
            None => String::new(),
            Some(Nanos::ZERO) => "; no core of the machine sleeps".into(),
            Some(latency) => format!("; the machine's cores wake within {latency}"),
        };
        line(text, "while idle", format_args!("{wait}{wakes}"))?;
        let core = self.cpu.core.map_or(String::new(), |core| format!(", bound to core {core}"));
        let workers = match self.cpu.workers {
            0 | 1 => String::new(),
            workers => format!(" on each of {workers} workers"),
        };
        line(text, "CPU", format_args!("{} % for functions{workers}{core}", self.cpu.share * 100.0))?;
        let pace = match self.link.pace {
            Pace::Own => "paced by the box",
            Pace::Device => "paced by the interface or a shaper behind it",
        };
        let overhead = match self.link.overhead_bytes {
            0 => String::new(),
            bytes => format!(", {bytes} bytes more per frame"),
        };
        let delay = match self.delay {
            Nanos::ZERO => String::new(),
            delay => format!(", {delay} of delay each way"),
        };
        line(text, "link", format_args!("{} Mbit/s, {pace}{overhead}{delay}", self.link.rate.bps() / 1e6))
    }

    fn write_queues(&self, text: &mut String) -> fmt::Result {
        match self.room {
            Room::Packets(packets) => line(text, "CPU to link", format_args!("a buffer of {packets} packets"))?,
            Room::LinkTime(time) => {
                line(text, "CPU to link", format_args!("a buffer of {time} of link time, at least a packet"))?;
            }
        }
        let queues = &self.queues;
        let dropped = match queues.on_full {
            DropPolicy::Tail => "the new packet",
            DropPolicy::Head => "the flow's oldest packet",
            DropPolicy::Longest | DropPolicy::Policy => "a packet of the longest queue",
        };
        let (each, all) = (queues.packets_per_flow, queues.packets);
        line(text, "queues", format_args!("{each} packets per flow, {all} in total; when full, {dropped} is dropped"))?;
        let timeout = written_time(std::time::Duration::from_nanos(queues.timeout.0));
        line(text, "flows", format_args!("{}, forgotten after {timeout}", queues.flows))
    }

    fn write_functions(&self, text: &mut String) -> fmt::Result {
        let to = match self.toward {
            Side::Outside => "outside",
            Side::Inside => "inside",
        };
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
            line(text, "tunnel", format_args!("{name}, from {source} to {destination}, SPI {spi:#x}{decrypts}"))?;
        }
        if let Some(routes) = &self.routes {
            let (routes, hops) = routes.counts();
            let plural = if hops == 1 { "" } else { "s" };
            line(text, "routes", format_args!("{routes}, via {hops} next hop{plural}"))?;
        }
        self.programs.iter().try_for_each(|programs| line(text, "programs", in_words(programs)))
    }
}

fn line(text: &mut String, what: &str, value: impl fmt::Display) -> fmt::Result {
    writeln!(text, "  {what:<18}{value}")
}

#[cfg(feature = "programs")]
fn in_words(programs: &Programs) -> String {
    use crate::programs::Quarantined;

    let (folder, limits) = (programs.folder.display(), &programs.limits);
    let then = match limits.quarantined {
        Quarantined::Drop => "its packets are dropped",
        Quarantined::Forward => "its packets bypass it",
    };
    let (fuel, bytes, traps) = (limits.fuel_per_packet, limits.memory_bytes, limits.traps);
    format!("from {folder}, {fuel} fuel per packet and {bytes} bytes of memory; after {traps} failures of one, {then}")
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
    let conditions = if conditions.is_empty() { "everything else".into() } else { conditions.join(" and ") };
    let by = |function: &str| match &class.tunnel {
        Some(tunnel) if function == ipsec::NAME => format!("{function} by {}", tunnel.name),
        _ => function.to_owned(),
    };
    let mut work: Vec<_> = class.functions.iter().map(|entry| by(entry.name)).collect();
    work.extend(class.program.iter().map(|name| format!("program {name}")));
    let work = if work.is_empty() { "forwarded".into() } else { work.join(", then ") };
    let mut text = format!("{conditions}: {work}; weight {}", class.weight.as_f64());
    if class.effect == Effect::Discard {
        text.push_str("; frames leave unchanged");
    }
    if let Some(time) = class.time {
        text.push_str(&format!("; its work counts as {time}, however long it takes"));
    }
    if class.cost != 1.0 {
        text.push_str(&format!("; its time counts {}-fold", class.cost));
    }
    text
}
