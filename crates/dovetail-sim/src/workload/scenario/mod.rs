//! Synthetic workloads, described in TOML.
//!
//! A [`Scenario`] is the contents of a file, checked and with units resolved; its public fields may be changed before
//! [`Scenario::workload`] creates the stream of packets. The format's reference is `docs/scenarios.md`.

mod agenda;
mod format;
mod size;
mod sources;
mod synthetic;
mod tournament;

use std::{
    collections::{BTreeMap, HashMap, HashSet},
    io,
};

use dovetail_sched::{Nanos, Weight, cost::Processing, units::Rate};
use toml::Spanned;

use self::{
    format::{
        ArrivalsForm, ClassForm, Document, EvenForm, ExpansionForm, FlowForm, NoiseForm, ProcessingForm, TransfersForm,
    },
    sources::{FlowSpec, Gap, Process, TransferSpec},
};
use super::{
    Cdf, Class, ClassError, ClassSet, Cost, Expansion, MAX_FLOWS, Noise, Resource, WorkloadError, check_printable,
    clip,
    input::Bytes,
    written::{Pace, Quantity, points, read_size},
};

pub use size::Size;
pub use synthetic::Synthetic;

/// Limit of flows listed individually, over all `[[flow]]`: each has its own state from the start.
const MAX_LISTED_FLOWS: u32 = 1_000_000;
/// Default number of flows of a `[[transfers]]`.
const DEFAULT_TRANSFERS: u32 = 1_000_000;
/// Limit of changes of class of one flow.
const MAX_CHANGES: usize = 10_000;
/// Default number of packets kept queued for a backlogged flow.
const DEFAULT_BACKLOG: u32 = 256;
/// The largest packet and the largest transfer, in bytes.
const MAX_PACKET_BYTES: f64 = 1e9;
const MAX_TRANSFER_BYTES: f64 = 1e15;

/// A synthetic workload, with its file's suggestions for the rest of the run.
#[derive(Debug, Clone)]
pub struct Scenario {
    /// Its name.
    pub name: String,
    /// Its description.
    pub description: String,
    /// Its source, such as a paper and its figure.
    pub source: String,
    /// Seeds all random numbers.
    pub seed: u64,
    /// No packet arrives at this time or later.
    pub duration: Option<Nanos>,
    /// No more packets than this arrive.
    pub packets: Option<u64>,
    /// Buffering between resources: `no-wait`, `unbounded` or `buffer=K`.
    pub pipeline: Option<String>,
    /// Limit of queued packets per flow.
    pub queue_packets: Option<u32>,
    /// Number of packets kept queued for a backlogged flow; at most `queue_packets`.
    pub backlog: u32,
    /// If set, all rates are scaled so that the busiest resource has this offered load.
    pub load: Option<f64>,
    /// Resources and classes.
    pub classes: ClassSet,
    file: String,
    flows: Vec<FlowSpec>,
    transfers: Vec<TransferSpec>,
}

impl Scenario {
    /// Parses a scenario. `file` is its name for messages; `open` opens files that the scenario refers to, relative to the
    /// scenario's location.
    ///
    /// # Errors
    /// [`WorkloadError`], with the line, when the text is not TOML, has keys that the format does not, or contradicts
    /// itself.
    pub fn parse(
        text: &str,
        file: &str,
        open: &mut dyn FnMut(&str) -> io::Result<Bytes>,
    ) -> Result<Self, WorkloadError> {
        let error = |at: usize, what: String| WorkloadError::at(text, file, at, what);
        let document: Document = dovetail_toml::read(text).map_err(|fault| WorkloadError::of(fault, text, file))?;
        let whole = |what: String| WorkloadError::File { file: file.into(), what };
        let classes = classes(&document.resource, &document.class).map_err(|(at, what)| match at {
            Some(at) => error(at, what),
            None => whole(what),
        })?;
        if let Some(pipeline) = &document.pipeline
            && !is_pipeline(pipeline.get_ref())
        {
            let what = format!("pipeline '{}': it is no-wait, unbounded or buffer=K", clip(pipeline.get_ref()));
            return Err(error(pipeline.span().start, what));
        }
        check_head(&document).map_err(|(at, what)| error(at, what))?;
        let mut scenario = Self {
            name: document.name.into_inner(),
            description: document.description,
            source: document.source,
            seed: document.seed,
            duration: document.duration.map(|duration| duration.into_inner().0),
            packets: document.packets.map(Spanned::into_inner),
            pipeline: document.pipeline.map(Spanned::into_inner),
            queue_packets: document.queue_packets.map(Spanned::into_inner),
            backlog: document.backlog.map_or(DEFAULT_BACKLOG, Spanned::into_inner),
            load: document.load.map(Spanned::into_inner),
            classes,
            file: file.into(),
            flows: Vec::new(),
            transfers: Vec::new(),
        };
        let mut names = HashSet::new();
        let mut listed = 0;
        for form in &document.flow {
            let at = form.span().start;
            let form = form.get_ref();
            let what = |what: String| error(at, format!("flow '{}': {what}", clip(&form.name)));
            let flow = scenario.flow(form, open).map_err(what)?;
            check_name(&form.name, &mut names).map_err(what)?;
            listed += u64::from(flow.count);
            if listed > u64::from(MAX_LISTED_FLOWS) {
                return Err(what(format!(
                    "with it there are over {MAX_LISTED_FLOWS} flows: use [[transfers]] for that \
                 many"
                )));
            }
            scenario.flows.push(flow);
        }
        for form in &document.transfers {
            let at = form.span().start;
            let form = form.get_ref();
            let what = |what: String| error(at, format!("transfers '{}': {what}", clip(&form.name)));
            let transfers = scenario.transfer(form, open).map_err(what)?;
            check_name(&form.name, &mut names).map_err(what)?;
            listed += u64::from(transfers.flows);
            if listed > u64::from(MAX_FLOWS) || scenario.transfers.len() == usize::from(u16::MAX) {
                return Err(what(format!("with it there may be over {MAX_FLOWS} flows: lower 'flows'")));
            }
            scenario.transfers.push(transfers);
        }
        scenario.check_copies().map_err(|(at, what)| error(document.flow[at].span().start, what))?;
        Ok(scenario)
    }

    /// Rejects a flow with the name of a copy, or of a transfer: `f-2` beside a flow `f` of which there are three. The first of
    /// the pair is the flow's number.
    fn check_copies(&self) -> Result<(), (usize, String)> {
        let copies = self.flows.iter().filter(|flow| flow.count > 1).map(|flow| (flow.name.as_str(), flow.count));
        let transfers = self.transfers.iter().map(|transfers| (transfers.name.as_str(), u32::MAX));
        let most: HashMap<&str, u32> = copies.chain(transfers).collect();
        for (at, flow) in self.flows.iter().enumerate().filter(|(_, flow)| flow.count == 1) {
            let parts =
                flow.name.rsplit_once('-').and_then(|(of, number)| Some((of, number, number.parse::<u32>().ok()?)));
            let Some((of, text, number)) = parts else { continue };
            let is_label = number > 0 && number.to_string() == text;
            if is_label && most.get(of).is_some_and(|&most| number <= most) {
                let what = format!("flow '{}': number {number} of '{}' has the same name", clip(&flow.name), clip(of));
                return Err((at, what));
            }
        }
        Ok(())
    }

    /// The offered load on each resource before [`load`](Self::load) scales it: the mean demand of the packets of all sources
    /// except backlogged flows, over the duration. Without a duration, all sources count as if they ran at the same time, in
    /// the class that they start with.
    #[must_use]
    pub fn offered_loads(&self) -> Vec<f64> {
        let mut loads = vec![0.0; self.classes.resources().len()];
        let mut add = |class: u16, bytes: f64, packets_per_ns: f64| {
            for (load, nanos) in loads.iter_mut().zip(self.classes.mean_ns(class, bytes)) {
                *load += nanos * packets_per_ns;
            }
        };
        let chances: Vec<f64> = self.classes.chances().collect();
        for flow in &self.flows {
            let Some(packets_per_ns) = flow.process.packets_per_ns(&flow.size) else { continue };
            let rate = f64::from(flow.count) * packets_per_ns;
            for (class, part) in flow.parts(self.duration) {
                match class {
                    Some(class) => add(class, flow.size.mean(), rate * part),
                    None => {
                        for (class, chance) in chances.iter().enumerate() {
                            add(class as u16, flow.size.mean(), rate * part * chance);
                        }
                    }
                }
            }
        }
        for transfers in &self.transfers {
            let rate = transfers.process.packets_per_ns(&Size::Fixed(1)).unwrap_or(0.0);
            let packets = transfers.mean_packets();
            let part = transfers.part(self.duration);
            for (class, chance) in chances.iter().enumerate() {
                let chance = transfers.class.map_or(*chance, |own| f64::from(u8::from(usize::from(own) == class)));
                add(class as u16, transfers.size.mean() / packets, rate * packets * part * chance);
            }
        }
        loads
    }

    /// The factor for all rates.
    fn rate_factor(&self) -> Result<f64, String> {
        let Some(load) = self.load else { return Ok(1.0) };
        check_load(load)?;
        let offered = self.offered_loads().into_iter().fold(0.0, f64::max);
        if offered > 0.0 {
            Ok(load / offered)
        } else {
            Err("load is given, but no source has a rate that could be scaled: backlogged flows take all that is left"
                .into())
        }
    }

    fn class_named(&self, name: Option<&str>) -> Result<Option<u16>, String> {
        let Some(name) = name else {
            // With a single class, nothing is drawn.
            return Ok((self.classes.classes().len() == 1).then_some(0));
        };
        self.classes.find(name).map(Some).ok_or_else(|| {
            let known: Vec<_> = self.classes.classes().iter().map(|class| class.name.as_str()).collect();
            format!("there is no class '{}', only {}", clip(name), known.join(", "))
        })
    }

    fn flow(&self, form: &FlowForm, open: &mut dyn FnMut(&str) -> io::Result<Bytes>) -> Result<FlowSpec, String> {
        let size = read_size(&form.size, open)?;
        size.check(MAX_PACKET_BYTES).map_err(|what| format!("size: {what}"))?;
        let process = process(&form.arrivals, &size)?;
        let count = form.count.unwrap_or(1);
        if count == 0 || form.packets == Some(0) {
            return Err("count and packets are at least 1".into());
        }
        if form.change.len() > MAX_CHANGES {
            return Err(format!("there are over {MAX_CHANGES} changes"));
        }
        let [start, stop] = period(form.start.as_ref(), form.stop.as_ref())?;
        let mut changes = Vec::new();
        for change in &form.change {
            let class = self.class_named(Some(&change.class))?.unwrap_or(0);
            if changes.last().is_some_and(|&(before, _)| before >= change.at.0) {
                return Err("changes are in order of time".into());
            }
            changes.push((change.at.0, class));
        }
        Ok(FlowSpec {
            name: form.name.clone(),
            count,
            class: self.class_named(form.class.as_deref())?,
            weight: weight(form.weight)?,
            resource_weights: form.weights.as_ref().map(|weights| self.resource_weights(weights)).transpose()?,
            size,
            process,
            start,
            stop,
            packets: form.packets.unwrap_or(u64::MAX),
            changes,
        })
    }

    fn resource_weights(&self, stated: &BTreeMap<String, f64>) -> Result<Vec<Weight>, String> {
        let names = self.classes.resource_names();
        if let Some(name) = stated.keys().find(|name| !names.contains(name)) {
            return Err(format!("weights: there is no resource '{}', only {}", clip(name), names.join(", ")));
        }
        names.iter().map(|name| weight(stated.get(name).copied())).collect()
    }

    fn transfer(
        &self,
        form: &TransfersForm,
        open: &mut dyn FnMut(&str) -> io::Result<Bytes>,
    ) -> Result<TransferSpec, String> {
        let size = read_size(&form.size, open)?;
        size.check(MAX_TRANSFER_BYTES).map_err(|what| format!("size: {what}"))?;
        let process = match process(&form.arrivals, &size)? {
            process @ Process::Poisson(_) => process,
            // At a bit rate, transfers are spaced by their mean size: the spacing must not depend on individual sizes.
            Process::Constant(gap) => Process::Constant(Gap { per_packet_ns: gap.of(size.mean()), per_byte_ns: 0.0 }),
            _ => return Err("transfers arrive constant or poisson".into()),
        };
        let mtu = form.mtu.as_ref().map_or(1500, |mtu| mtu.0.0);
        let mtu = u32::try_from(mtu).ok().filter(|&mtu| (1..=MAX_PACKET_BYTES as u32).contains(&mtu));
        let pace = match &form.pace {
            Some(pace) => pace.0,
            None => Rate::from_bps(1e9).map_err(|error| error.to_string())?,
        };
        let flows = form.flows.unwrap_or(DEFAULT_TRANSFERS);
        if flows == 0 {
            return Err("flows is at least 1".into());
        }
        let [start, stop] = period(form.start.as_ref(), form.stop.as_ref())?;
        Ok(TransferSpec {
            name: form.name.clone(),
            class: self.class_named(form.class.as_deref())?,
            weight: weight(form.weight)?,
            size,
            process,
            mtu: mtu.ok_or("mtu is from 1 byte to 1 GB")?,
            nanos_per_byte: pace.nanos_for(1.0),
            start,
            stop,
            flows,
            capped: form.flows.is_none(),
        })
    }
}

/// Rejects single values that no scenario can have; the first of the pair is their byte.
fn check_head(document: &Document) -> Result<(), (usize, String)> {
    let Document { name, duration, packets, queue_packets, backlog, load, .. } = document;
    check_printable(name.get_ref()).map_err(|what| (name.span().start, format!("name: {what}")))?;
    let least = [
        ("packets", at_zero(packets.as_ref())),
        ("queue_packets", at_zero(queue_packets.as_ref())),
        ("backlog", at_zero(backlog.as_ref())),
    ];
    if let Some((key, at)) = least.into_iter().find_map(|(key, at)| Some((key, at?))) {
        return Err((at, format!("{key} is at least 1")));
    }
    if let Some(duration) = duration.as_ref().filter(|duration| duration.get_ref().0 == Nanos::ZERO) {
        return Err((duration.span().start, "duration is longer than nothing".into()));
    }
    load.as_ref().map_or(Ok(()), |load| check_load(*load.get_ref()).map_err(|what| (load.span().start, what)))
}

/// The byte of a value that is zero.
fn at_zero<T: Copy + Into<u64>>(value: Option<&Spanned<T>>) -> Option<usize> {
    value.filter(|value| (*value.get_ref()).into() == 0).map(|value| value.span().start)
}

fn check_load(load: f64) -> Result<(), String> {
    if (1e-6..=1e6).contains(&load) {
        Ok(())
    } else {
        Err(format!("load is a number from 0.000001 to 1000000, not {load}"))
    }
}

fn check_name<'a>(name: &'a str, names: &mut HashSet<&'a str>) -> Result<(), String> {
    if name.is_empty() || name.len() > 64 || name.chars().any(|c| c.is_control() || matches!(c, ',' | '"')) {
        return Err("a name is 1 to 64 bytes long, without commas, quotes and control characters".into());
    }
    if !names.insert(name) {
        return Err("another has the same name".into());
    }
    Ok(())
}

/// When a source starts and stops.
fn period(start: Option<&Quantity<Nanos>>, stop: Option<&Quantity<Nanos>>) -> Result<[Nanos; 2], String> {
    let [start, stop] = [start.map_or(Nanos::ZERO, |start| start.0), stop.map_or(Nanos::MAX, |stop| stop.0)];
    if start < stop { Ok([start, stop]) } else { Err("stop is after start".into()) }
}

fn is_pipeline(text: &str) -> bool {
    let buffer = |text: &str| text.strip_prefix("buffer=").is_some_and(|places| places.parse::<u32>().is_ok());
    matches!(text, "no-wait" | "unbounded") || buffer(text)
}

fn weight(weight: Option<f64>) -> Result<Weight, String> {
    let weight = weight.unwrap_or(1.0);
    Weight::new(weight).ok_or_else(|| format!("weight is from 0.000001 to 1000000, not {weight}"))
}

/// Builds the classes; errors state their location if there is a single one.
fn classes(
    resources: &[Spanned<format::ResourceForm>],
    forms: &[Spanned<ClassForm>],
) -> Result<ClassSet, (Option<usize>, String)> {
    let made = resources.iter().map(|form| {
        let form = form.get_ref();
        Resource { name: form.name.clone(), rate: form.rate.as_ref().map(|rate| rate.0) }
    });
    let made: Vec<_> = made.collect();
    let classes = forms.iter().map(|form| class(form.get_ref()).map_err(|what| (Some(form.span().start), what)));
    let classes = classes.collect::<Result<Vec<_>, _>>()?;
    let free = made.iter().map(|resource| (resource.name.clone(), Cost::FREE)).collect();
    let any = Class { costs: free, ..Class::new("any", &[]) };
    ClassSet::new(made.clone(), vec![any])
        .map_err(|ClassError(what)| (resources.first().map(|form| form.span().start), what))?;
    ClassSet::new(made.clone(), classes.clone()).map_err(|ClassError(what)| {
        // More classes never repair an error in fewer, so the one to name is found by bisection.
        let wrong = |most: usize| ClassSet::new(made.clone(), classes[..most].to_vec()).is_err();
        let (mut right, mut bad) = (0, classes.len());
        while bad - right > 1 {
            let middle = right.midpoint(bad);
            if wrong(middle) { bad = middle } else { right = middle }
        }
        (forms.get(bad.saturating_sub(1)).map(|form| form.span().start), what)
    })
}

fn class(form: &ClassForm) -> Result<Class, String> {
    Ok(Class {
        name: form.name.clone(),
        costs: form.cost.iter().map(|(resource, cost)| (resource.clone(), cost.0)).collect(),
        ports: form.ports.iter().map(|ports| ports.0.clone()).collect(),
        prefixes: form.prefixes.iter().map(|prefix| prefix.0).collect(),
        share: form.share,
        processing: match form.processing {
            ProcessingForm::Header => Processing::Header,
            ProcessingForm::Payload => Processing::Payload,
        },
        expansion: match form.expansion {
            None => Expansion::default(),
            Some(ExpansionForm::Fixed(factor)) => Expansion { min: factor, max: factor },
            Some(ExpansionForm::Even(EvenForm { min, max })) => Expansion { min, max },
        },
        noise: form.noise.as_deref().map_or(Ok(Noise::default()), noise)?,
    })
}

fn noise(form: &NoiseForm) -> Result<Noise, String> {
    let measured = form.measured.as_ref().map(|pairs| Cdf::new(&points(pairs), 1.0)).transpose();
    let measured = measured.map_err(|error| format!("noise: measured: {error}"))?;
    Ok(Noise { spread: form.spread, spike_share: form.spike_share, spike_factor: form.spike_factor, measured })
}

fn process(form: &ArrivalsForm, size: &Size) -> Result<Process, String> {
    let gap = |pace: &Pace| match *pace {
        Pace::PerSecond(number) => Gap { per_packet_ns: 1e9 / number, per_byte_ns: 0.0 },
        Pace::Bits(rate) => Gap { per_packet_ns: 0.0, per_byte_ns: rate.nanos_for(1.0) },
    };
    Ok(match form {
        ArrivalsForm::Backlogged => Process::Backlogged,
        ArrivalsForm::Constant(pace) => Process::Constant(gap(pace)),
        ArrivalsForm::Poisson(pace) => Process::Poisson(gap(pace).of(size.mean())),
        ArrivalsForm::OnOff(form) => {
            let (on_ns, off_ns) = (form.on.0.as_f64(), form.off.0.as_f64());
            if on_ns == 0.0 {
                return Err("on-off: on is over 0".into());
            }
            Process::OnOff { gap: gap(&form.rate.0), on_ns, off_ns }
        }
    })
}
