//! Parses the configuration file: every key with its default and range.

use std::{collections::HashSet, path::Path, sync::Arc, time::Duration};

use dovetail_sched::{
    DropPolicy, Limits, Nanos, PolicySpec, Setup, Weight,
    cost::{Cost, CostError},
};
use dovetail_toml::{
    ConfigError, Fault, Section, Token, read_text,
    values::{self, number, quoted, text, whole, word},
};
use toml::de::DeValue;

use super::{
    class::{Class, Effect, Match},
    given::{Tunnels, named, routes, tunnels},
    interface::Interface,
    model::{Admin, Config, Cpu, Io, OnFailure, Queues, Segments, Side, Wait},
    programs::{self, programs},
    tunnel::Direction,
};
use crate::{
    functions,
    node::{self, Link, Pace, Room},
    wire::named::Name,
};

/// Maximum number of classes, the last one included: each is a label of metrics.
const MAX_CLASSES: usize = node::MAX_CLASSES as usize;
/// Maximum number of workers: one thread schedules for all of them.
const MAX_WORKERS: u64 = 32;
/// Maximum number of packets queued between CPU and link.
const MAX_BUFFERED: u64 = 1 << 16;
/// Maximum link delay: two round trips to a satellite.
const MAX_DELAY: Duration = Duration::from_secs(1);
/// Maximum wake-up latency: no processor takes longer to wake.
const MAX_WAKE: Duration = Duration::from_secs(1);
/// Default address of the admin port: this machine only, on the port next to a gateway's.
const ADMIN: &str = "127.0.0.1:9181";
/// The last class, for packets that match no other.
const DEFAULT: &str = "default";
/// Error message for AF_XDP in a build without it.
pub(crate) const NO_AF_XDP: &str = "this build has no AF_XDP: build with --features af-xdp";
/// How long `spin-then-sleep` spins: longer than a sleep and a wake-up cost, 83 µs of CPU and lateness in a prototype.
const SPIN: Nanos = Nanos::from_micros(100);

impl Config {
    /// Parses a configuration. Paths in it are relative to the working directory.
    ///
    /// # Errors
    /// [`ConfigError`], with the line and the key, when the text is not TOML, has unknown keys, values out of range, or
    /// contradicts itself.
    pub fn parse(text: &str) -> Result<Self, ConfigError> {
        dovetail_toml::parse(text, "configuration", |root| config(root, Path::new("")))
    }

    /// Parses a policy over CPU and link, as written in the file. A policy without an estimator of costs gets one that
    /// learns from the packets that have passed.
    ///
    /// # Errors
    /// A message that says what is wrong.
    pub fn policy(text: &str) -> Result<PolicySpec, String> {
        let parse = |text: &str| text.parse::<PolicySpec>().map_err(|wrong| wrong.to_string());
        let spec = parse(text)?;
        let spec = if spec.estimates() {
            spec
        } else {
            let joint = if text.contains(':') { ',' } else { ':' };
            parse(&format!("{text}{joint}estimator=ses"))?
        };
        let scheduler = spec.build(&Setup::new(2, Limits::per_flow(1)));
        if scheduler.map_err(|wrong| wrong.to_string())?.later_stages().is_some() {
            return Err(format!(
                "{} orders packets before the link too, which the box does not offer yet",
                quoted(text)
            ));
        }
        Ok(spec)
    }

    /// Reads a configuration file of at most 1 MiB. Paths in it are relative to its folder.
    ///
    /// # Errors
    /// Same as for [`parse`](Self::parse), and when the file cannot be read.
    pub fn read(path: &Path) -> Result<Self, ConfigError> {
        let folder = path.parent().unwrap_or(Path::new(""));
        dovetail_toml::parse(&read_text(path)?, &path.display().to_string(), |root| config(root, folder))
    }
}

fn config(mut root: Section<'_>, folder: &Path) -> Result<Config, Fault> {
    let (mut in_box, in_cpu, in_link) = (root.section("box")?, root.section("cpu")?, root.section("link")?);
    let (in_queues, in_classes) = (root.section("queues")?, root.sections("class")?);
    let in_admin = root.section("admin")?;
    let (in_tunnels, in_ipsec, in_routes) = (root.sections("tunnel")?, root.section("ipsec")?, root.sections("route")?);
    let programs = programs(&mut root, folder)?;
    // Report a misspelt name before reporting the key that is missing because of it.
    root.end()?;
    let interfaces = [interface(&mut in_box, "inside")?, interface(&mut in_box, "outside")?];
    let sides = [("outside", Side::Outside), ("inside", Side::Inside)];
    let toward = in_box.one("toward", word(&sides))?.unwrap_or(Side::Outside);
    let policy = in_box.one("policy", policy)?;
    let failures = [("open", OnFailure::Open), ("closed", OnFailure::Closed)];
    let on_failure = in_box.one("on_failure", word(&failures))?.unwrap_or(OnFailure::Open);
    let ios = [("af-packet", Io::AfPacket), ("af-xdp", Io::AfXdp)];
    let io = in_box.one("io", word(&ios))?.unwrap_or(Io::AfPacket);
    if io == Io::AfXdp && !cfg!(feature = "af-xdp") {
        return Err(in_box.wrong("io", NO_AF_XDP));
    }
    let waits = [("sleep", Wait::Sleep), ("spin-then-sleep", Wait::SpinThenSleep(SPIN)), ("spin", Wait::Spin)];
    let wait = in_box.one("wait", word(&waits))?.unwrap_or(Wait::Sleep);
    let ways = [("split", Segments::Split), ("whole", Segments::Whole)];
    let segments = in_box.one("segments", word(&ways))?.unwrap_or(Segments::Split);
    in_box.end()?;
    let [Some(inside), Some(outside)] = interfaces else {
        let lacking = if interfaces[0].is_none() { "inside" } else { "outside" };
        return Err(in_box.wrong(lacking, "name the interface, such as \"eth1\""));
    };
    if inside == outside {
        return Err(in_box.wrong("outside", format!("{inside} is the interface inside already")));
    }
    if inside.namespace != outside.namespace {
        return Err(in_box.wrong("outside", "both interfaces are to be in one network namespace"));
    }
    let Some(policy) = policy else {
        return Err(in_box.wrong("policy", "name a policy, such as \"drfq\"; `dovetail policies` lists them"));
    };
    let tunnels = tunnels(in_tunnels, in_ipsec, folder)?;
    let classes = classes(in_classes, programs.is_some(), &tunnels)?;
    if let (OnFailure::Open, Some(class)) = (on_failure, classes.iter().find(|class| class.encrypts())) {
        let name = quoted(&class.name);
        let what = format!("what class {name} encrypts the bridge would carry on as it came: use \"closed\"");
        return Err(in_box.wrong("on_failure", what));
    }
    let changes =
        |class: &&Class| class.effect == Effect::Apply && class.functions.iter().any(|entry| entry.changes_frames);
    if let (Segments::Whole, Some(class)) = (segments, classes.iter().find(changes)) {
        let what = format!(
            "class {} has functions that change frames, which no interface can split afterwards: use \"split\", or effect = \
             \"discard\" there",
            quoted(&class.name)
        );
        return Err(in_box.wrong("segments", what));
    }
    let (link, room, delay) = link(in_link)?;
    if io == Io::AfXdp && link.pace == Pace::Device {
        let what = "with pace = \"device\" a queue pushes back what does not leave, and AF_XDP passes queues by: use \"af-packet\"";
        return Err(in_box.wrong("io", what));
    }
    Ok(Config {
        interfaces: [inside, outside],
        toward,
        policy,
        on_failure,
        io,
        wait,
        segments,
        cpu: cpu(in_cpu)?,
        link,
        room,
        delay,
        queues: queues(in_queues)?,
        classes,
        tunnels: tunnels.all,
        sequence_file: tunnels.sequence_file,
        routes: routes(in_routes)?,
        programs,
        admin: admin(in_admin, folder)?,
    })
}

fn interface(section: &mut Section<'_>, key: &'static str) -> Result<Option<Interface>, Fault> {
    section
        .one(key, text("an interface's name such as \"eth1\" or, of another namespace, \"lab/eth1\"", Interface::parse))
}

fn policy(value: &DeValue<'_>) -> Result<PolicySpec, String> {
    Config::policy(values::written(value, "a policy such as \"drfq\"")?)
}

fn cpu(mut section: Section<'_>) -> Result<Cpu, Fault> {
    let part = |number: f64| (0.001..=1.0).contains(&number).then_some(number);
    let share = section.one("share", number("a part of a CPU from 0.001 to 1", part))?.unwrap_or(1.0);
    let core = section.one("core", whole(0..=u64::from(u16::MAX)))?.map(|core| core as u16);
    let workers = section.one("workers", whole(1..=MAX_WORKERS))?.unwrap_or(1) as u16;
    let wake_latency = section.one("wake_latency", values::time(Duration::ZERO..=MAX_WAKE))?.map(Nanos::from);
    section.end()?;
    Ok(Cpu { share, workers, core, wake_latency })
}

fn link(mut section: Section<'_>) -> Result<(Link, Room, Nanos), Fault> {
    let rate = section.one("rate", values::rate)?;
    let overhead_bytes = section.one("overhead", whole(0..=256))?.unwrap_or(0) as u32;
    let pace = section.one("pace", word(&[("own", Pace::Own), ("device", Pace::Device)]))?.unwrap_or(Pace::Own);
    let buffer = section.one("buffer", values::time(Duration::ZERO..=Duration::from_secs(1)))?;
    let buffer_packets = section.one("buffer_packets", whole(0..=MAX_BUFFERED))?;
    let delay = section.one("delay", values::time(Duration::ZERO..=MAX_DELAY))?.map_or(Nanos::ZERO, Nanos::from);
    section.end()?;
    if delay > Nanos::ZERO && pace == Pace::Device {
        let what =
            "the interface pushes back what has not left, and with a delay nothing leaves at once: use pace = \"own\"";
        return Err(section.wrong("delay", what));
    }
    let Some(rate) = rate else {
        return Err(section.wrong("rate", "give the rate of the narrow link, such as \"200Mbps\""));
    };
    let room = match (buffer, buffer_packets) {
        (Some(_), Some(_)) => {
            return Err(section.wrong("buffer_packets", "the buffer has a length in time already: give one of the two"));
        }
        (None, Some(packets)) => Room::Packets(packets as u32),
        (Some(time), None) => Room::LinkTime(Nanos::from(time)),
        (None, None) => Room::DEFAULT,
    };
    Ok((Link { rate, overhead_bytes, pace }, room, delay))
}

fn queues(mut section: Section<'_>) -> Result<Queues, Fault> {
    let queues = Queues {
        packets_per_flow: section.one("packets_per_flow", whole(1..=1 << 20))?.unwrap_or(200) as u32,
        packets: section.one("packets", whole(1..=1 << 20))?.unwrap_or(12_000) as u32,
        flows: section.one("flows", whole(1..=1 << 24))?.unwrap_or(65_536) as u32,
        timeout: section
            .one("timeout", values::time(Duration::from_secs(1)..=Duration::from_secs(86_400)))?
            .map_or(Nanos::from_secs(30), Nanos::from),
        on_full: section
            .one(
                "on_full",
                word(&[("longest", DropPolicy::Longest), ("tail", DropPolicy::Tail), ("head", DropPolicy::Head)]),
            )?
            .unwrap_or(DropPolicy::Longest),
    };
    section.end()?;
    Ok(queues)
}

fn classes(sections: Vec<Section<'_>>, has_programs: bool, tunnels: &Tunnels) -> Result<Vec<Class>, Fault> {
    let mut classes = Vec::new();
    let mut names = HashSet::new();
    let mut last = None;
    for mut section in sections {
        let class = class(&mut section, tunnels)?;
        if !names.insert(class.name.clone()) {
            let name = quoted(&class.name);
            return Err(section.wrong("name", format!("there are two classes {name}: names are unique")));
        }
        if class.program.is_some() && !has_programs {
            return Err(section.wrong("program", programs::MISSING));
        }
        if &*class.name == DEFAULT {
            if class.matches != Match::default() {
                return Err(
                    section.wrong("name", "\"default\" takes what no other class does: give it nothing to match")
                );
            }
            last = Some(class);
            continue;
        }
        if class.matches == Match::default() {
            let name = quoted(&class.name);
            let what = format!(
                "class {name} would take all there is: give it ports, prefixes, vlans, dscp or named, or call it \"default\""
            );
            return Err(section.wrong("name", what));
        }
        classes.push(class);
        if classes.len() == MAX_CLASSES {
            return Err(section.wrong("name", format!("more than {} classes", MAX_CLASSES - 1)));
        }
    }
    classes.push(last.unwrap_or_else(|| Class {
        name: DEFAULT.into(),
        matches: Match::default(),
        weight: Weight::ONE,
        functions: Vec::new(),
        tunnel: None,
        program: None,
        effect: Effect::Apply,
        time: None,
        cost: 1.0,
    }));
    Ok(classes)
}

fn class(section: &mut Section<'_>, tunnels: &Tunnels) -> Result<Class, Fault> {
    let name = section.one("name", named)?;
    let matches = Match {
        ports: section
            .list("ports", whole(1..=65_535))?
            .unwrap_or_default()
            .into_iter()
            .map(|port| port as u16)
            .collect(),
        prefixes: section.list("prefixes", values::prefix)?.unwrap_or_default(),
        vlans: section
            .list("vlans", whole(0..=4094))?
            .unwrap_or_default()
            .into_iter()
            .map(|vlan| vlan as u16)
            .collect(),
        dscp: section.list("dscp", whole(0..=63))?.unwrap_or_default().into_iter().map(|dscp| dscp as u8).collect(),
        named: section.list("named", packets_name)?.unwrap_or_default(),
    };
    let weight =
        section.one("weight", number("a weight from 0.000001 to 1000000", Weight::new))?.unwrap_or(Weight::ONE);
    let functions = section.list("functions", function)?.unwrap_or_default();
    let tunnel = section.one("tunnel", |value| {
        let name = values::written(value, "a tunnel's name")?;
        let found = tunnels.find(name);
        let found = found.ok_or_else(|| format!("there is no [[tunnel]] with the name {}", quoted(name)))?;
        match found.direction {
            Direction::Out => Ok(found.clone()),
            Direction::In { .. } => {
                Err(format!("tunnel {} decrypts what comes back: name one that leads out", quoted(name)))
            }
        }
    })?;
    let program = section.one("program", program)?;
    let effects = [("apply", Effect::Apply), ("discard", Effect::Discard)];
    let effect = section.one("effect", word(&effects))?.unwrap_or(Effect::Apply);
    let factor = |number: f64| (1e-3..=1e6).contains(&number).then_some(number);
    let cost = section.one("cost", number("a factor from 0.001 to 1000000", factor))?.unwrap_or(1.0);
    let time = section.one("time", time)?;
    section.end()?;
    let Some(name) = name else { return Err(section.wrong("name", "a class has a name")) };
    if tunnel.is_some() && !functions.iter().any(|entry| entry.name == functions::ipsec::NAME) {
        return Err(section.wrong("tunnel", "nothing is encrypted here: functions = [\"ipsec\"] does"));
    }
    Ok(Class { name, matches, weight, functions, tunnel, program, effect, time, cost })
}

fn time(value: &DeValue<'_>) -> Result<Cost, String> {
    let text = values::written(value, "a cost such as \"15ns*bytes + 84.5us\"")?;
    text.parse().map_err(|wrong: CostError| wrong.to_string())
}

/// A name that packets carry.
fn packets_name(value: &DeValue<'_>) -> Result<Name, String> {
    let expected = "a name that packets carry: up to 32 letters, digits, '-' and '_'";
    let text = values::written(value, expected)?;
    Name::new(text.as_bytes()).ok_or_else(|| format!("{} is not {expected}", quoted(text)))
}

/// A program's name, or its file name.
fn program(value: &DeValue<'_>) -> Result<Arc<str>, String> {
    let expected = "a program's name, such as \"count\" or \"count.wasm\"";
    let text = values::written(value, expected)?;
    let name = text.strip_suffix(".wasm").unwrap_or(text);
    let is_name = (1..=64).contains(&name.len())
        && name.chars().all(|letter| letter.is_ascii_alphanumeric() || "-_".contains(letter));
    if is_name { Ok(name.into()) } else { Err(format!("{} is not {expected}", quoted(text))) }
}

fn function(value: &DeValue<'_>) -> Result<&'static functions::Entry, String> {
    let name = values::written(value, "a function's name")?;
    functions::find(name).ok_or_else(|| {
        let known: Vec<_> = functions::REGISTRY.iter().map(|entry| entry.name).collect();
        format!("there is no function {}: use {}", quoted(name), known.join(", "))
    })
}

fn admin(mut section: Section<'_>, folder: &Path) -> Result<Option<Admin>, Fault> {
    let listen = section.one("listen", values::address)?;
    let token = Token::of(&mut section, folder)?;
    section.end()?;
    let Some(listen) = listen else {
        let lacking = || section.wrong("listen", format!("say where it listens, such as \"{ADMIN}\""));
        return if section.is_there() { Err(lacking()) } else { Ok(None) };
    };
    if token.is_none() && !listen.ip().to_canonical().is_loopback() {
        let what =
            format!("{listen} can be reached from other machines: add token or token_file, or listen on {ADMIN}");
        return Err(section.wrong("listen", what));
    }
    Ok(Some(Admin { listen, token }))
}
