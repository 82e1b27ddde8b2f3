//! An nftables ruleset to load alongside a box.
//!
//! While the box runs, frames are received and sent through packet sockets and pass only one of netfilter's hooks: `egress`
//! of the interface that they leave on. Once the bridge has taken over, they pass the hooks of the bridge as well as
//! `egress`. Rules that must hold at all times therefore belong at `egress`; the rules at the bridge restrict it to what
//! the box does.

use std::fmt::Write;

use super::model::{Config, Io, OnFailure};

/// The name of the tables.
const TABLE: &str = "dovetail";

impl Config {
    /// Tables for `nft -f` that replace existing ones of the same name: chains for rules that hold whether the box or the
    /// bridge forwards, and rules that keep the bridge from doing more than the box does.
    ///
    /// # Errors
    /// When an interface's name cannot be written in nftables' syntax.
    pub fn nftables(&self) -> Result<String, String> {
        let [inside, outside] = self.interfaces.each_ref().map(|interface| &*interface.name);
        let is_odd = |name: &&str| !name.chars().all(|letter| letter.is_ascii_graphic() && !"\"*\\".contains(letter));
        if let Some(odd) = [inside, outside].into_iter().find(is_odd) {
            return Err(format!("nftables cannot name {odd}: give the interface another name"));
        }
        let mut text = String::new();
        // Writing to a string cannot fail.
        let _ = self.write_tables(&mut text, inside, outside);
        Ok(text)
    }

    fn write_tables(&self, text: &mut String, inside: &str, outside: &str) -> std::fmt::Result {
        writeln!(text, "# What nftables should say beside the middlebox between {inside} and {outside}.")?;
        let within = match &self.interfaces[0].namespace {
            Some(namespace) => format!("ip netns exec {namespace} "),
            None => String::new(),
        };
        writeln!(text, "# Try it with '{within}nft -c -f FILE', load it with '{within}nft -f FILE'.")?;
        if self.io == Io::AfXdp {
            text.push_str(
                "#\n\
                 # With io = \"af-xdp\" frames of the box bypass egress as well: NO rule below holds for them while the box runs.\n",
            );
        }
        text.push_str(
            "#\n\
             # While the box runs, its frames pass none of the hooks prerouting, input, forward, output and postrouting, of no\n\
             # family, and no conntrack: rules there hold for them only while the bridge forwards. By packet sockets they pass egress below.\n\
             # Keep both interfaces out of flowtables: one in hardware forwards past the box.\n\n",
        );
        writeln!(
            text,
            "table netdev {TABLE}\n\
             delete table netdev {TABLE}\n\
             table netdev {TABLE} {{\n\
             \t# Rules that hold whether the box or the bridge forwards. Without state: conntrack does not see these frames.\n\
             \tchain toward_outside {{\n\
             \t\ttype filter hook egress device \"{outside}\" priority filter; policy accept;\n\
             \t}}\n\
             \tchain toward_inside {{\n\
             \t\ttype filter hook egress device \"{inside}\" priority filter; policy accept;\n\
             \t}}\n\
             }}"
        )?;
        if self.on_failure == OnFailure::Closed {
            return text.write_str("\n# There is no bridge: on_failure = \"closed\".\n");
        }
        let both = format!("{{ \"{inside}\", \"{outside}\" }}");
        writeln!(
            text,
            "\n\
             # The bridge, when it forwards, does so between these two alone, as the box does, and the machine itself hears\n\
             # nothing there, as while the box runs. To have 'ip' and 'inet' rules and their conntrack leave its frames alone as\n\
             # well: sysctl net.bridge.bridge-nf-call-iptables=0 net.bridge.bridge-nf-call-ip6tables=0\n\
             table bridge {TABLE}\n\
             delete table bridge {TABLE}\n\
             table bridge {TABLE} {{\n\
             \tchain forward {{\n\
             \t\ttype filter hook forward priority filter; policy accept;\n\
             \t\tiifname {both} oifname != {both} drop\n\
             \t\tiifname != {both} oifname {both} drop\n\
             \t}}\n\
             \tchain input {{\n\
             \t\ttype filter hook input priority filter; policy accept;\n\
             \t\tiifname {both} drop\n\
             \t}}\n\
             }}"
        )
    }
}
