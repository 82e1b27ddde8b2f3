//! The names of interfaces.

use std::fmt;

/// The kernel's limit for an interface name, including the terminator (`IFNAMSIZ`, linux/if.h).
const NAME_BYTES: usize = 16;

/// An interface, in this network namespace or in a named one: `eth1`, or `lab/eth1` for `eth1` of the namespace `lab`.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Interface {
    /// The namespace, as `ip netns` lists it.
    pub namespace: Option<String>,
    /// The name within the namespace.
    pub name: String,
}

impl Interface {
    /// Parses an interface name; `None` if it is not a valid one.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let (namespace, name) = match text.split_once('/') {
            Some((namespace, name)) => (Some(namespace), name),
            None => (None, text),
        };
        let is_word = |word: &str| !word.is_empty() && !matches!(word, "." | "..") && word.chars().all(is_in_word);
        let is_name = is_word(name) && name.len() < NAME_BYTES;
        let is_namespace = namespace.is_none_or(|namespace| is_word(namespace) && namespace.len() < 256);
        (is_name && is_namespace).then(|| Self { namespace: namespace.map(str::to_owned), name: name.to_owned() })
    }
}

fn is_in_word(letter: char) -> bool {
    !letter.is_whitespace() && !letter.is_control() && !matches!(letter, '/' | ':')
}

impl fmt::Display for Interface {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.namespace {
            Some(namespace) => write!(f, "{namespace}/{}", self.name),
            None => f.write_str(&self.name),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_the_kernels() {
        let found = Interface::parse("lab/eth1").expect("both are names");
        assert_eq!(
            (found.namespace.as_deref(), &*found.name, found.to_string()),
            (Some("lab"), "eth1", "lab/eth1".into())
        );
        assert!(Interface::parse("eth1").is_some_and(|found| found.namespace.is_none()));
        for wrong in ["", "/", "lab/", "/eth1", "a/b/c", "..", "../eth1", "an interface", "sixteen-letters-", "a:b"] {
            assert!(Interface::parse(wrong).is_none(), "{wrong:?}");
        }
    }
}
