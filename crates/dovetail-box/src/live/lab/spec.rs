//! Specification of a lab.

use std::net::Ipv4Addr;

use super::error::LabError;

/// The box's interfaces.
pub const PORTS: [&str; 2] = ["inside", "outside"];

/// One of the three namespaces.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// The hosts that the box is in front of.
    Inside,
    /// Where the box runs.
    Box,
    /// The hosts beyond it.
    Outside,
}

/// Specification of a lab.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LabSpec {
    /// Prefix of the names of its namespaces.
    pub name: String,
    /// Addresses of the inside hosts, on one interface; at least one.
    pub inside: Vec<Ipv4Addr>,
    /// Addresses of the outside hosts, on one interface; at least one.
    pub outside: Vec<Ipv4Addr>,
    /// Length of the prefix that all of them share.
    pub prefix_bits: u8,
}

impl Default for LabSpec {
    /// One address on each side.
    fn default() -> Self {
        let host = |number| vec![Ipv4Addr::new(10, 77, 0, number)];
        Self { name: "dovetail".into(), inside: host(1), outside: host(2), prefix_bits: 24 }
    }
}

impl LabSpec {
    /// The name of one of its namespaces.
    #[must_use]
    pub fn namespace(&self, place: Place) -> String {
        let place = match place {
            Place::Inside => "inside",
            Place::Box => "box",
            Place::Outside => "outside",
        };
        format!("{}-{place}", self.name)
    }

    /// The beginning of a configuration for a box in this lab: the section `[box]` with its interfaces, left open for
    /// further keys.
    #[must_use]
    pub fn box_section(&self) -> String {
        let namespace = self.namespace(Place::Box);
        let [inside, outside] = PORTS.map(|port| format!("{namespace}/{port}"));
        format!("[box]\ninside = \"{inside}\"\noutside = \"{outside}\"\n")
    }

    /// # Errors
    /// What is invalid.
    pub fn validate(&self) -> Result<(), LabError> {
        const MAX_NAME_CHARS: usize = 64;
        let wrong = |what: String| Err(LabError::Wrong(what));
        let is_fit = |letter: char| letter.is_ascii_alphanumeric() || letter == '-';
        if self.name.is_empty() || self.name.len() > MAX_NAME_CHARS || !self.name.chars().all(is_fit) {
            return wrong(format!(
                "a lab's name is 1 to {MAX_NAME_CHARS} letters, digits and dashes, which '{}' is not",
                self.name
            ));
        }
        if self.name.starts_with('-') {
            return wrong(format!("a lab's name begins with a letter or a digit, unlike '{}'", self.name));
        }
        if !(1..=30).contains(&self.prefix_bits) {
            return wrong(format!("a prefix of {} bits: 1 to 30 leave addresses for hosts", self.prefix_bits));
        }
        let prefix = |address: Ipv4Addr| address.to_bits() >> (32 - self.prefix_bits);
        let mut all: Vec<Ipv4Addr> = self.inside.iter().chain(&self.outside).copied().collect();
        if self.inside.is_empty() || self.outside.is_empty() {
            return wrong("a lab has at least one address on each side".into());
        }
        if let Some(address) = all.iter().find(|&&address| prefix(address) != prefix(all[0])) {
            return wrong(format!(
                "{address} and {} do not have their first {} bits in common: give all addresses of one network",
                all[0], self.prefix_bits
            ));
        }
        all.sort_unstable();
        match all.windows(2).find(|pair| pair[0] == pair[1]) {
            Some(pair) => wrong(format!("two hosts have the address {}", pair[0])),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_be_is_said() {
        assert!(LabSpec::default().validate().is_ok());
        let host = |number| Ipv4Addr::new(10, 77, 0, number);
        let elsewhere = Ipv4Addr::new(10, 78, 0, 1);
        for (spec, said) in [
            (LabSpec { name: String::new(), ..LabSpec::default() }, "letters"),
            (LabSpec { name: "a b".into(), ..LabSpec::default() }, "'a b'"),
            (LabSpec { name: "../x".into(), ..LabSpec::default() }, "'../x'"),
            (LabSpec { name: "-n".into(), ..LabSpec::default() }, "'-n'"),
            (LabSpec { prefix_bits: 0, ..LabSpec::default() }, "0 bits"),
            (LabSpec { prefix_bits: 31, ..LabSpec::default() }, "31 bits"),
            (LabSpec { inside: vec![], ..LabSpec::default() }, "each side"),
            (LabSpec { outside: vec![], ..LabSpec::default() }, "each side"),
            (LabSpec { inside: vec![host(1), elsewhere], ..LabSpec::default() }, "10.78.0.1 and 10.77.0.1"),
            (LabSpec { inside: vec![host(2), host(1)], ..LabSpec::default() }, "address 10.77.0.2"),
        ] {
            let error = spec.validate().unwrap_err().to_string();
            assert!(error.contains(said), "{spec:?}: {error}");
        }
    }
}
