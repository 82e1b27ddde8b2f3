//! What tests of the configuration share.

/// The least that a configuration says.
pub const LEAST: &str = "[downlink]\nrate = \"2Mbps\"\n[access]\nclients = [\"10.0.0.0/8\"]\n";

/// The least, with more keys of the downlink (in line 3), of access, and more sections.
pub fn with(downlink: &str, access: &str, rest: &str) -> String {
    format!("{}{access}\n{rest}\n", LEAST.replace("[access]", &format!("{downlink}\n[access]")))
}
