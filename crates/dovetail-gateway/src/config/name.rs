//! Names of gateways and classes.
//!
//! Without a configured name, a gateway is named after its host, since two gateways in a row with the same name look like a
//! loop.

use std::{
    hash::{BuildHasher, RandomState},
    sync::{Arc, LazyLock},
};

/// Maximum length of a name in characters.
pub(super) const MAX_NAME: usize = 64;
/// Describes a valid name in messages.
pub(super) const EXPECTED: &str = "a name of 1 to 64 letters, digits, '-', '.' and '_'";
const PREFIX: &str = "dovetail-";

pub(super) fn is_in_name(letter: char) -> bool {
    letter.is_ascii_alphanumeric() || "-._".contains(letter)
}

/// The default name, constant for the lifetime of this process.
pub(super) fn default_name() -> Arc<str> {
    static NAME: LazyLock<Arc<str>> =
        LazyLock::new(|| of_host(&rustix::system::uname().nodename().to_string_lossy()).into());
    Arc::clone(&NAME)
}

fn of_host(host: &str) -> String {
    let plain: String = host.chars().map(|letter| if is_in_name(letter) { letter } else { '-' }).collect();
    let plain = plain.trim_matches(['-', '.']);
    // Names of machines that were never named.
    let is_none = ["", "none", "localhost", "localhost.localdomain"].contains(&plain);
    let suffix = if is_none { format!("{:08x}", RandomState::new().hash_one(0_u8) as u32) } else { plain.to_owned() };
    PREFIX.chars().chain(suffix.chars()).take(MAX_NAME).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hosts_name_is_made_one_that_may_be_written() {
        for (host, name) in [
            ("gate", "dovetail-gate"),
            ("gate-1.example.net", "dovetail-gate-1.example.net"),
            ("büro gate", "dovetail-b-ro-gate"),
            ("-gate.", "dovetail-gate"),
        ] {
            assert_eq!(of_host(host), name);
        }
        let long = of_host(&"x".repeat(100));
        assert_eq!((long.len(), long.chars().all(is_in_name)), (MAX_NAME, true));
    }

    #[test]
    fn hosts_without_a_name_have_different_ones() {
        for host in ["", "localhost", "(none)", "localhost.localdomain", "--"] {
            let (one, other) = (of_host(host), of_host(host));
            assert!(one != other && one.len() == PREFIX.len() + 8, "{host}: {one} {other}");
        }
        assert_eq!(default_name(), default_name());
    }
}
