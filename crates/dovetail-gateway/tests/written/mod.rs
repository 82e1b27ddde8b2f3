//! Shared by tests of the configuration.

/// The smallest valid configuration.
pub const MINIMAL: &str = "[downlink]\nrate = \"2Mbps\"\n[access]\nclients = [\"10.0.0.0/8\"]\n";

/// The smallest configuration with more keys of the downlink (in line 3), of access, and more sections.
pub fn with(downlink: &str, access: &str, rest: &str) -> String {
    format!("{}{access}\n{rest}\n", MINIMAL.replace("[access]", &format!("{downlink}\n[access]")))
}
