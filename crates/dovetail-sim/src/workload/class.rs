//! Classes of flows: the costs of their packets on every resource, and which flows belong to which class.
//!
//! A flow belongs to the first class with a port or an address prefix that matches either of its ends. Flows that match none
//! are assigned at random in proportion to the classes' shares, by a hash of the flow and the seed: the same flow is in the
//! same class on every machine and in every run.

use std::{ops::RangeInclusive, str::FromStr};

use dovetail_sched::{
    Demand, MAX_RESOURCES, Nanos,
    cost::{Processing, Program, ProgramTable},
    flow::FiveTuple,
    units::Rate,
};
use thiserror::Error;

use super::{Cost, Expansion, Noise, Prefix, clip, random::Random};

/// Limit of classes in a set: each flow that matches none is compared with all of them.
const MAX_CLASSES: usize = 1024;

/// A resource of the pipeline.
#[derive(Debug, Clone, PartialEq)]
pub struct Resource {
    /// Its name: letters, digits, `-` and `_`, at most 32 of them.
    pub name: String,
    /// The rate at which it processes the bits of packets, if its cost is proportional to length.
    pub rate: Option<Rate>,
}

impl Resource {
    /// A resource whose costs are given by the classes.
    #[must_use]
    pub fn new(name: &str) -> Self {
        Self { name: name.into(), rate: None }
    }

    /// A resource that packets occupy for as long as their bits take at `rate`, unless their class specifies otherwise.
    #[must_use]
    pub fn with_rate(name: &str, rate: Rate) -> Self {
        Self { name: name.into(), rate: Some(rate) }
    }
}

/// A port or a range of ports: `443`, `8000-8099`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ports(pub RangeInclusive<u16>);

impl FromStr for Ports {
    type Err = ClassError;

    fn from_str(text: &str) -> Result<Self, ClassError> {
        let (first, last) = text.split_once('-').unwrap_or((text, text));
        match (first.trim().parse(), last.trim().parse()) {
            (Ok(first), Ok(last)) if first <= last => Ok(Self(first..=last)),
            _ => Err(ClassError(format!("'{}' is neither a port nor a range such as 8000-8099", clip(text)))),
        }
    }
}

/// Costs of one kind of flows, and which flows belong to it.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Class {
    /// Its name.
    pub name: String,
    /// Costs by resource; a resource not listed needs a rate.
    pub costs: Vec<(String, Cost)>,
    /// Flows with one of these ports at either end belong to the class.
    pub ports: Vec<Ports>,
    /// Flows with one of these addresses at either end belong to the class.
    pub prefixes: Vec<Prefix>,
    /// The class's share of the flows that match no class. By default 1 for a class without ports and prefixes, else 0.
    pub share: Option<f64>,
    /// What its program reads of a packet.
    pub processing: Processing,
    /// Factor by which its program changes a packet's length.
    pub expansion: Expansion,
    /// Deviation of true costs from the line for the first resource.
    pub noise: Noise,
}

impl Class {
    /// A class with costs by resource, for flows that match no class.
    #[must_use]
    pub fn new(name: &str, costs: &[(&str, Cost)]) -> Self {
        let costs = costs.iter().map(|&(resource, cost)| (resource.into(), cost)).collect();
        Self { name: name.into(), costs, ..Self::default() }
    }

    fn matches(&self, tuple: &FiveTuple) -> bool {
        let has_port = |port| self.ports.iter().any(|ports| ports.0.contains(&port));
        let has_address = |address| self.prefixes.iter().any(|prefix| prefix.contains(address));
        // Port 0 stands for no port, and matches only where it is given explicitly.
        has_port(tuple.source_port)
            || has_port(tuple.destination_port)
            || has_address(tuple.source)
            || has_address(tuple.destination)
    }

    fn share(&self) -> f64 {
        self.share.unwrap_or(if self.ports.is_empty() && self.prefixes.is_empty() { 1.0 } else { 0.0 })
    }
}

/// Inconsistent classes or resources; the text says how.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{0}")]
pub struct ClassError(pub(crate) String);

/// A pipeline's resources and the classes of flows that cross them.
#[derive(Debug, Clone)]
pub struct ClassSet {
    resources: Vec<Resource>,
    names: Vec<String>,
    classes: Vec<Class>,
    // By class, then by resource.
    costs: Vec<[Cost; MAX_RESOURCES]>,
    // By class: packets cost exactly what its lines give, and keep their length.
    is_exact: Vec<bool>,
    // Running sums of the shares.
    shares: Vec<f64>,
}

impl ClassSet {
    /// `classes` over `resources`, which are in pipeline order. Without classes there is one, `all`, with costs from the
    /// resources' rates.
    ///
    /// # Errors
    /// [`ClassError`] when there are not 1 to [`MAX_RESOURCES`] resources, a name is duplicate or invalid, a cost is for a
    /// resource that does not exist, a resource has neither rate nor cost, or a share is not a number from 0 on.
    pub fn new(resources: Vec<Resource>, classes: Vec<Class>) -> Result<Self, ClassError> {
        if resources.is_empty() || resources.len() > MAX_RESOURCES {
            return Err(ClassError(format!("a pipeline has 1 to {MAX_RESOURCES} resources, not {}", resources.len())));
        }
        for (at, resource) in resources.iter().enumerate() {
            check_name("resource", &resource.name)?;
            if resources[..at].iter().any(|other| other.name == resource.name) {
                return Err(ClassError(format!("there are two resources '{}'", resource.name)));
            }
        }
        let classes = if classes.is_empty() { vec![Class::new("all", &[])] } else { classes };
        if classes.len() > MAX_CLASSES {
            return Err(ClassError(format!("there are {} classes; at most {MAX_CLASSES} may be", classes.len())));
        }
        let mut sum = 0.0;
        let mut shares = Vec::with_capacity(classes.len());
        for (at, class) in classes.iter().enumerate() {
            check_name("class", &class.name)?;
            if classes[..at].iter().any(|other| other.name == class.name) {
                return Err(ClassError(format!("there are two classes '{}'", class.name)));
            }
            if !(0.0..1e12).contains(&class.share()) {
                return Err(ClassError(format!("class '{}': a share is a number from 0 on", class.name)));
            }
            let odd = class.noise.check().and_then(|()| class.expansion.check());
            odd.map_err(|what| ClassError(format!("class '{}': {what}", class.name)))?;
            sum += class.share();
            shares.push(sum);
        }
        let names = resources.iter().map(|resource| resource.name.clone()).collect();
        let is_exact = |class: &Class| class.noise.is_none() && class.expansion == Expansion::default();
        let is_exact = classes.iter().map(is_exact).collect();
        let mut set = Self { resources, names, classes, costs: Vec::new(), is_exact, shares };
        set.costs = set.cost_table()?;
        Ok(set)
    }

    /// The four functions used in the literature on multi-resource scheduling (ATFQ, Table II: CPU time as measured for
    /// DRFQ), each with a quarter of the flows, over a CPU and a link with the given rate.
    #[must_use]
    pub fn table_ii(link: Rate) -> Self {
        let cpu = |per_byte_ns, per_packet_ns| Cost::new(per_byte_ns, per_packet_ns).unwrap_or(Cost::FREE);
        let classes = vec![
            Class::new("ipsec", &[("cpu", cpu(15.0, 84_500.0))]),
            Class::new("monitoring", &[("cpu", cpu(0.8, 12_100.0))]),
            Class::new("forwarding", &[("cpu", cpu(2.86, 6_200.0))]),
            Class::new("redundancy", &[("cpu", cpu(6.987, 10_970.0))]),
        ];
        let resources = vec![Resource::new("cpu"), Resource::with_rate("link", link)];
        Self::new(resources, classes).expect("the table has distinct names and all costs")
    }

    fn cost_table(&self) -> Result<Vec<[Cost; MAX_RESOURCES]>, ClassError> {
        let mut table = Vec::with_capacity(self.classes.len());
        for class in &self.classes {
            let mut row = [Cost::FREE; MAX_RESOURCES];
            for (cost, resource) in row.iter_mut().zip(&self.resources) {
                let stated = class.costs.iter().find(|(name, _)| *name == resource.name).map(|&(_, cost)| cost);
                *cost = stated.or_else(|| resource.rate.map(Cost::at_rate)).ok_or_else(|| {
                    let (class, resource) = (&class.name, &resource.name);
                    ClassError(format!("class '{class}' has no cost for '{resource}', and '{resource}' has no rate"))
                })?;
            }
            if let Some((name, _)) = class.costs.iter().find(|(name, _)| !self.names.contains(name)) {
                let (class, name) = (&class.name, clip(name));
                let known = self.names.join(", ");
                return Err(ClassError(format!("class '{class}' has a cost for '{name}', but there are only {known}")));
            }
            table.push(row);
        }
        Ok(table)
    }

    /// The resources, in pipeline order.
    #[must_use]
    pub fn resources(&self) -> &[Resource] {
        &self.resources
    }

    /// The resources' names.
    #[must_use]
    pub fn resource_names(&self) -> &[String] {
        &self.names
    }

    /// The rate of the resource with this name, if it has one.
    #[must_use]
    pub fn rate(&self, resource: &str) -> Option<Rate> {
        self.resources.iter().find(|known| known.name == resource)?.rate
    }

    /// The classes, in the order in which they are matched.
    #[must_use]
    pub fn classes(&self) -> &[Class] {
        &self.classes
    }

    /// The index of the class with this name.
    #[must_use]
    pub fn find(&self, name: &str) -> Option<u16> {
        self.classes.iter().position(|class| class.name == name).map(|at| at as u16)
    }

    /// Changes the rate of a resource. Costs that a class gives for it remain.
    ///
    /// # Errors
    /// [`ClassError`] when there is no such resource.
    pub fn set_rate(&mut self, resource: &str, rate: Rate) -> Result<(), ClassError> {
        let known = self.names.join(", ");
        let found = self.resources.iter_mut().find(|known| known.name == resource);
        let found =
            found.ok_or_else(|| ClassError(format!("there is no resource '{}', only {known}", clip(resource))))?;
        found.rate = Some(rate);
        self.costs = self.cost_table()?;
        Ok(())
    }

    /// The class of a flow, by its ends or at random.
    ///
    /// # Errors
    /// [`ClassError`] when nothing matches and every share is 0.
    pub fn of_flow(&self, tuple: Option<&FiveTuple>, hash: u64) -> Result<u16, ClassError> {
        if let Some(at) = tuple.and_then(|tuple| self.classes.iter().position(|class| class.matches(tuple))) {
            return Ok(at as u16);
        }
        let sum = self.shares.last().copied().unwrap_or(0.0);
        if sum <= 0.0 {
            let what = "a flow matches no class, and no class has a share: give one a share, such as share = 1";
            return Err(ClassError(what.into()));
        }
        // 53 bits make a number in [0, 1).
        let drawn = (hash >> 11) as f64 * (1.0 / (1u64 << 53) as f64) * sum;
        Ok(self.shares.partition_point(|&to| to <= drawn).min(self.shares.len() - 1) as u16)
    }

    /// Demand of a packet of `bytes` in a class. `class` is an index returned by this set.
    #[inline]
    #[must_use]
    pub fn demand(&self, class: u16, bytes: u32) -> Demand {
        let costs = &self.costs[usize::from(class)];
        let time = |at: usize| costs[at].of(bytes);
        // Written out for the usual numbers of resources: copies of known length need no call.
        match self.resources.len() {
            1 => Demand::of_one(time(0)),
            2 => Demand::of_two(time(0), time(1)),
            len => {
                let times = core::array::from_fn::<Nanos, MAX_RESOURCES, _>(time);
                Demand::new(&times[..len]).expect("a set has 1 to 8 resources")
            }
        }
    }

    /// True demand of a packet of `bytes` in a class, and the factor by which its length changes. `draw` is unique to the
    /// packet.
    #[inline(always)]
    pub(super) fn outcome(&self, class: u16, bytes: u32, draw: impl FnOnce() -> Random) -> (Demand, f64) {
        if self.is_exact[usize::from(class)] {
            return (self.demand(class, bytes), 1.0);
        }
        self.drawn_outcome(class, bytes, draw())
    }

    fn drawn_outcome(&self, class: u16, bytes: u32, mut random: Random) -> (Demand, f64) {
        let known = &self.classes[usize::from(class)];
        let factor = known.noise.draw(&mut random);
        let expansion = known.expansion.draw(&mut random);
        let costs = &self.costs[usize::from(class)][..self.resources.len()];
        let mut times = [Nanos::ZERO; MAX_RESOURCES];
        for (at, (time, cost)) in times.iter_mut().zip(costs).enumerate() {
            // Costs that do not depend on the length do not expand.
            let (factor, length) = if at == 0 { (factor, 1.0) } else { (1.0, expansion) };
            *time = Nanos::from_f64(cost.mean_ns(f64::from(bytes) * length) * factor);
        }
        (Demand::new(&times[..costs.len()]).expect("a set has 1 to 8 resources"), expansion)
    }

    /// The classes as programs, each with its line for the first resource.
    #[must_use]
    pub fn programs(&self) -> ProgramTable {
        let program = |(class, costs): (&Class, &[Cost; MAX_RESOURCES])| Program {
            name: class.name.clone(),
            processing: class.processing,
            cost: Some(costs[0]),
            expansion: class.expansion.mean(),
        };
        ProgramTable::new(self.classes.iter().zip(&self.costs).map(program).collect())
    }

    /// Whether flows that match no class are assigned to several at random.
    #[must_use]
    pub fn is_dealt_at_random(&self) -> bool {
        self.chances().filter(|&chance| chance > 0.0).count() > 1
    }

    /// The probability of each class for a flow that matches none; all 0 if no class has a share.
    pub fn chances(&self) -> impl Iterator<Item = f64> + '_ {
        let sum = self.shares.last().copied().filter(|&sum| sum > 0.0).unwrap_or(f64::INFINITY);
        let before = core::iter::once(0.0).chain(self.shares.iter().copied());
        self.shares.iter().zip(before).map(move |(to, from)| (to - from) / sum)
    }

    /// The mean cost on each resource, in nanoseconds, for a class's packets with a mean length of `bytes`.
    pub fn mean_ns(&self, class: u16, bytes: f64) -> impl Iterator<Item = f64> + '_ {
        let known = &self.classes[usize::from(class)];
        let (factor, expansion) = (known.noise.mean(), known.expansion.mean());
        let costs = self.costs[usize::from(class)][..self.resources.len()].iter().enumerate();
        costs
            .map(move |(at, cost)| if at == 0 { cost.mean_ns(bytes) * factor } else { cost.mean_ns(bytes * expansion) })
    }
}

fn check_name(what: &str, name: &str) -> Result<(), ClassError> {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_');
    if name.is_empty() || name.len() > 32 || !name.chars().all(plain) {
        let name = clip(name);
        return Err(ClassError(format!("{what} '{name}': a name is 1 to 32 of the characters A-Z a-z 0-9 - _")));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use dovetail_sched::units::parse_rate;
    use std::net::Ipv4Addr;

    fn tuple(source: &str, source_port: u16, destination: &str, destination_port: u16) -> FiveTuple {
        let address = |text: &str| text.parse::<Ipv4Addr>().unwrap().to_ipv6_mapped().octets();
        let (source, destination) = (address(source), address(destination));
        FiveTuple { protocol: 6, source, destination, source_port, destination_port }
    }

    #[test]
    fn table_ii_is_atfq_s() {
        let set = ClassSet::table_ii(parse_rate("400Mbps").unwrap());
        let at = |name, bytes| set.demand(set.find(name).unwrap(), bytes).times().to_vec();
        assert_eq!(at("ipsec", 1000), [Nanos(99_500), Nanos(20_000)]);
        assert_eq!(at("monitoring", 800), [Nanos(12_740), Nanos(16_000)]);
        assert_eq!(at("forwarding", 200), [Nanos(6_772), Nanos(4_000)]);
        assert_eq!(at("redundancy", 600), [Nanos(15_162), Nanos(12_000)]);
    }

    #[test]
    fn first_match_wins_at_either_end() {
        let cost = [("cpu", Cost::FREE)];
        let mut web = Class::new("web", &cost);
        web.ports = vec!["443".parse().unwrap(), "8000-8099".parse().unwrap()];
        let mut site = Class::new("site", &cost);
        site.prefixes = vec!["10.0.0.0/8".parse().unwrap()];
        let set = ClassSet::new(vec![Resource::new("cpu")], vec![web, site, Class::new("rest", &cost)]).unwrap();
        let class = |tuple: &FiveTuple| set.of_flow(Some(tuple), 0).unwrap();
        assert_eq!(class(&tuple("10.0.0.1", 5000, "1.1.1.1", 443)), 0);
        assert_eq!(class(&tuple("1.1.1.1", 8099, "1.1.1.2", 5000)), 0);
        assert_eq!(class(&tuple("1.1.1.1", 8100, "10.9.9.9", 5000)), 1);
        assert_eq!(class(&tuple("1.1.1.1", 8100, "1.1.1.2", 5000)), 2);
        assert_eq!(set.of_flow(None, u64::MAX), Ok(2), "matched classes have no share unless they state one");
    }

    #[test]
    fn shares_are_kept_in_proportion() {
        let share = |name, share| Class { share: Some(share), ..Class::new(name, &[("cpu", Cost::FREE)]) };
        let set = ClassSet::new(vec![Resource::new("cpu")], vec![share("a", 1.0), share("b", 0.0), share("c", 3.0)]);
        let set = set.unwrap();
        let mut count = [0u32; 3];
        for flow in 0..40_000 {
            count[usize::from(set.of_flow(None, super::super::mix(7, flow)).unwrap())] += 1;
        }
        // Four standard deviations of a binomial with p = 1/4 are 346.
        assert!(count[0].abs_diff(10_000) < 350 && count[1] == 0, "{count:?}");
    }

    #[test]
    fn contradictions_are_errors() {
        let cpu = || vec![Resource::new("cpu")];
        let class = || Class::new("a", &[("cpu", Cost::FREE)]);
        let wrong = |resources, classes: Vec<Class>| ClassSet::new(resources, classes).unwrap_err().to_string();
        assert!(wrong(vec![], vec![]).contains("1 to 8 resources, not 0"));
        assert!(wrong(vec![Resource::new("cpu"); 9], vec![]).contains("not 9"));
        assert!(wrong(vec![Resource::new("cpu"); 2], vec![]).contains("two resources 'cpu'"));
        assert!(wrong(vec![Resource::new("c,pu")], vec![]).contains("a name is"));
        assert!(wrong(cpu(), vec![]).contains("class 'all' has no cost for 'cpu'"));
        assert!(wrong(cpu(), vec![class(), class()]).contains("two classes 'a'"));
        assert!(wrong(cpu(), vec![Class { share: Some(f64::NAN), ..class() }]).contains("a share is"));
        let stray = Class::new("a", &[("cpu", Cost::FREE), ("gpu", Cost::FREE)]);
        assert!(wrong(cpu(), vec![stray]).contains("a cost for 'gpu', but there are only cpu"));
        let none = ClassSet::new(cpu(), vec![Class { share: Some(0.0), ..class() }]).unwrap();
        assert!(none.of_flow(None, 5).is_err());
        let mut set = ClassSet::table_ii(parse_rate("400Mbps").unwrap());
        assert!(set.set_rate("disk", parse_rate("1Gbps").unwrap()).is_err());
        set.set_rate("link", parse_rate("800Mbps").unwrap()).unwrap();
        assert_eq!(set.demand(0, 1000).times()[1], Nanos(10_000));
    }
}
