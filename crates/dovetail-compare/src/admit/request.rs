//! A valid file: a node, best-effort flows, and reservations in order.

use std::collections::HashSet;

use dovetail_sched::{
    MAX_RESOURCES, Nanos,
    cost::admission::{Amount, Amounts, BestEffort, Node, Reservation, ReservationError, Resource},
    units::parse_time,
};
use dovetail_toml::Fault;
use toml::Spanned;

use super::{
    form::{BestEffortForm, Document, ReservationForm, ResourceForm, Texts},
    parse::{Unit, capacity, cost, quoted, rate},
};

/// Limits on what a file may request.
const MAX_RESERVATIONS: usize = 100_000;
const MAX_KINDS: usize = 1000;
const MAX_FLOWS: u32 = 1_000_000;

/// The request, with units resolved.
#[derive(Debug)]
pub(super) struct Request {
    pub(super) resources: Vec<Named>,
    pub(super) node: Node,
    /// Best-effort flows that request admission.
    pub(super) flows: u32,
    /// Packets queued in each best-effort queue.
    pub(super) waiting: Vec<u32>,
    pub(super) reservations: Vec<(String, Reservation)>,
}

/// A resource's name and unit.
#[derive(Debug)]
pub(super) struct Named {
    pub(super) name: String,
    pub(super) unit: Unit,
    capacity: f64,
}

impl Request {
    /// Parses a file. `file` is its name for messages, which state the error and its line.
    pub(super) fn parse(text: &str, file: &str) -> Result<Self, String> {
        let request = dovetail_toml::read(text).and_then(|document| Self::resolve(&document));
        request.map_err(|fault| fault.located(text, file).to_string())
    }

    fn resolve(document: &Document) -> Result<Self, Fault> {
        if !(1..=MAX_RESOURCES).contains(&document.resource.len()) {
            return Err(format!("there are 1 to {MAX_RESOURCES} [[resource]], not {}", document.resource.len()).into());
        }
        let mut names = HashSet::new();
        let mut resources = Vec::new();
        let mut made = Vec::new();
        for form in &document.resource {
            let (at, form) = (form.span().start, form.get_ref());
            let about = format!("resource {}", quoted(&form.name));
            let (named, resource) = resource(form).map_err(|wrong| wrong.about(at, &about))?;
            if !names.insert(form.name.as_str()) {
                return Err(Fault::at(at, format!("{about}: another has the same name")));
            }
            resources.push(named);
            made.push(resource);
        }
        let about = |wrong: Fault| Fault { what: format!("best_effort: {}", wrong.what), ..wrong };
        let (best_effort, flows, waiting) = best_effort(&document.best_effort, &resources).map_err(about)?;
        let node = Node::new(&made, best_effort).map_err(|error| error.to_string())?;
        if let Some(form) = document.reservation.get(MAX_RESERVATIONS) {
            return Err(Fault::at(form.span().start, format!("there are over {MAX_RESERVATIONS} [[reservation]]")));
        }
        let mut names = HashSet::new();
        let mut reservations = Vec::new();
        for form in &document.reservation {
            let (at, form) = (form.span().start, form.get_ref());
            let about = format!("reservation {}", quoted(&form.name));
            let reservation = reservation(form, &resources).map_err(|wrong| wrong.about(at, &about))?;
            if !names.insert(form.name.as_str()) {
                return Err(Fault::at(at, format!("{about}: another has the same name")));
            }
            reservations.push((form.name.clone(), reservation));
        }
        Ok(Self { resources, node, flows, waiting, reservations })
    }
}

fn resource(form: &ResourceForm) -> Result<(Named, Resource), Fault> {
    let letter = |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '-' | '_');
    if form.name.is_empty() || form.name.len() > 32 || !form.name.chars().all(letter) {
        return Err("a name is 1 to 32 of the characters A-Z a-z 0-9 - _".to_owned().into());
    }
    let text = match (&form.capacity, &form.rate) {
        (Some(text), None) | (None, Some(text)) => text,
        _ => return Err("it needs either a capacity or, for a link, a rate".to_owned().into()),
    };
    let (units, unit) = capacity(text.get_ref()).map_err(|what| Fault::at(text.span().start, what))?;
    if form.rate.is_some() && unit != Unit::Bytes {
        let what = format!("{}: a rate is that of a link, such as \"100Mbps\"; write capacity", quoted(text.get_ref()));
        return Err(Fault::at(text.span().start, what));
    }
    let (at, target) = form.target.as_ref().map_or((0, 1.0), |target| (target.span().start, *target.get_ref()));
    // Check the target first, so that any other error concerns the capacity.
    Resource::new(1.0, target).map_err(|error| Fault::at(at, format!("target = {target}: {error}")))?;
    let resource = Resource::new(units, target).map_err(|error| Fault::at(text.span().start, error.to_string()))?;
    Ok((Named { name: form.name.clone(), unit, capacity: units }, resource))
}

fn best_effort(form: &BestEffortForm, resources: &[Named]) -> Result<(BestEffort, u32, Vec<u32>), Fault> {
    let flows = form.flows.as_ref().map_or(0, |flows| *flows.get_ref());
    if let Some(given) = form.flows.as_ref().filter(|_| flows > MAX_FLOWS) {
        return Err(Fault::at(given.span().start, format!("flows = {flows}: there are at most {MAX_FLOWS}")));
    }
    if let Some(queue) = form.waiting.get(flows as usize) {
        let what = format!("waiting lists more queues than there are flows, which are {flows}");
        return Err(Fault::at(queue.span().start, what));
    }
    let best_effort = BestEffort {
        most_flows: form.most_flows.unwrap_or(u32::MAX),
        queue_packets: form.queue_packets.unwrap_or(u32::MAX),
        packets: kinds(&form.packets, resources)?,
    };
    Ok((best_effort, flows, form.waiting.iter().map(|waiting| *waiting.get_ref()).collect()))
}

fn reservation(form: &ReservationForm, resources: &[Named]) -> Result<Reservation, Fault> {
    if form.name.is_empty() || form.name.len() > 64 || form.name.chars().any(char::is_control) {
        return Err("a name is 1 to 64 bytes long, without control characters".to_owned().into());
    }
    let rate_per_s = read(&form.rate, resources, |text, named| rate(text, &named.unit, named.capacity))?;
    let most_delay = form.delay.as_ref().map(delay).transpose()?;
    Reservation::new(rate_per_s, &kinds(&form.packets, resources)?, most_delay, form.priority).map_err(|error| {
        match error {
            ReservationError::NoRate { resource } => {
                let name = &resources[resource].name;
                format!("its packets use {name}, of which it reserves nothing: give it a rate of {name}")
            }
            other => other.to_string(),
        }
        .into()
    })
}

fn delay(text: &Spanned<String>) -> Result<Nanos, Fault> {
    let wrong = |error| format!("{}: {error}; a delay is such as \"130ms\"", quoted(text.get_ref()));
    parse_time(text.get_ref()).map_err(|error| Fault::at(text.span().start, wrong(error)))
}

fn kinds(forms: &[Texts], resources: &[Named]) -> Result<Vec<Amounts>, Fault> {
    if forms.len() > MAX_KINDS {
        return Err(format!("packets: there are over {MAX_KINDS} kinds").into());
    }
    forms.iter().map(|form| read(form, resources, |text, named| cost(text, &named.unit))).collect()
}

/// One amount per resource; zero for those not listed.
fn read(
    texts: &Texts,
    resources: &[Named],
    amount: impl Fn(&str, &Named) -> Result<Amount, String>,
) -> Result<Amounts, Fault> {
    let mut amounts = vec![Amount::ZERO; resources.len()];
    for (name, text) in texts {
        let Some(which) = resources.iter().position(|named| named.name == *name.get_ref()) else {
            let known: Vec<_> = resources.iter().map(|named| named.name.as_str()).collect();
            let what = format!("there is no resource {}, only {}", quoted(name.get_ref()), known.join(", "));
            return Err(Fault::at(name.span().start, what));
        };
        let about = |what| format!("{}: {what}", name.get_ref());
        let wrong = |what| Fault::at(text.span().start, about(what));
        amounts[which] = amount(text.get_ref(), &resources[which]).map_err(wrong)?;
    }
    Amounts::from_amounts(&amounts).map_err(|error| error.to_string().into())
}
