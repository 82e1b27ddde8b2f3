//! Checks that the box's two interfaces are ports of a bridge, to fail open, or of none, to fail closed, and whether that
//! bridge would forward now.

use std::io;

pub use super::rtnetlink::PortState;
use super::rtnetlink::{Query, ask};
pub use crate::config::OnFailure;

/// An interface at the time it was looked up.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Port {
    /// Its name.
    pub name: String,
    /// Its index in its network namespace.
    pub index: u32,
    /// Its MTU: the longest packet that it carries, without the Ethernet header.
    pub mtu_bytes: u32,
    /// Its type of link, as in linux/if_arp.h: 1 is Ethernet.
    pub link: u16,
    /// Whether it is set up; a cable may be missing nonetheless.
    pub is_up: bool,
    /// Whether it is a bridge itself.
    pub is_bridge: bool,
    /// The bridge or other master interface that it is a port of.
    pub above: Option<Above>,
}

/// The master of an interface.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Above {
    /// Its name.
    pub name: String,
    /// Its index.
    pub index: u32,
    /// Its kind, as for `ip link show type`: `bridge`, `bond`.
    pub kind: String,
    /// Whether it is set up.
    pub is_up: bool,
    /// For a bridge: its state at this port.
    pub state: Option<PortState>,
    /// For a bridge: whether it forwards multicast only to those of whom it knows that they have joined.
    pub snoops: bool,
}

/// Why a box cannot be between two interfaces.
#[derive(Debug, thiserror::Error)]
pub enum PortError {
    /// There is no interface of this name.
    #[error("there is no interface {name} in this network namespace: 'ip link' lists those that are there")]
    Unknown {
        /// The name.
        name: String,
    },
    /// Both interfaces are the same.
    #[error("the box needs two interfaces, and both are {name}")]
    Same {
        /// Its name.
        name: String,
    },
    /// Frames of an interface have no Ethernet header.
    #[error(
        "{port} carries no Ethernet frames (its link is of type {link}, as a tunnel's or the loopback's): the box needs two \
         Ethernet interfaces"
    )]
    NotEthernet {
        /// The interface.
        port: String,
        /// Its type of link, as in linux/if_arp.h.
        link: u16,
    },
    /// An interface has a box already.
    #[error("interface {port} belongs to another middlebox that is running: stop it first")]
    InUse {
        /// The interface.
        port: String,
    },
    /// An interface is not a port of a bridge.
    #[error(
        "{port} is {}, so nothing would forward if the box failed: 'ip link set {port} master {bridge}' (a \
         bridge is made by 'ip link add br0 type bridge mcast_snooping 0' and 'ip link set br0 up'), or on_failure = \"closed\"",
        of(.above)
    )]
    NoBridge {
        /// The interface.
        port: String,
        /// The master that it has instead, if any.
        above: Option<Above>,
        /// The bridge of the other interface, or an example.
        bridge: String,
    },
    /// An interface is the bridge itself, where one of its ports is wanted.
    #[error(
        "{port} is a bridge, and no bridge can be a port of another: name the two interfaces that are to be its ports, which \
         'ip link show master {port}' lists, or on_failure = \"closed\""
    )]
    ItselfBridge {
        /// The interface.
        port: String,
    },
    /// The interfaces are ports of two bridges.
    #[error(
        "{inside} is a port of {bridge} and {outside} of {other}, so nothing would forward if the box failed: 'ip link set \
         {outside} master {bridge}', or on_failure = \"closed\""
    )]
    TwoBridges {
        /// The first interface.
        inside: String,
        /// Its bridge.
        bridge: String,
        /// The second interface.
        outside: String,
        /// Its bridge.
        other: String,
    },
    /// Something would forward although nothing may.
    #[error(
        "{port} is a port of {above}, which would forward if the box failed: 'ip link set {port} nomaster', or on_failure = \
         \"open\""
    )]
    Bridged {
        /// The interface.
        port: String,
        /// Its master.
        above: String,
    },
    /// A query to the kernel failed.
    #[error("ask the kernel about {name}: {error}")]
    System {
        /// The interface queried.
        name: String,
        /// The system's error.
        error: io::Error,
    },
}

fn of(above: &Option<Above>) -> String {
    match above {
        None => "not a port of a bridge".into(),
        Some(above) => format!("a port of {} ({}), which is not a bridge", above.name, above.kind),
    }
}

impl Port {
    /// Looks an interface up in the calling thread's network namespace.
    ///
    /// # Errors
    /// When it does not exist.
    pub fn find(name: &str) -> Result<Self, PortError> {
        let asked = Query::Name(name);
        let link = ask(&asked).map_err(|error| match error.raw_os_error() {
            // The kernel's errors for a name of nothing, and for names that are invalid.
            Some(libc::ENODEV | libc::ERANGE | libc::EINVAL) => PortError::Unknown { name: name.into() },
            _ => PortError::System { name: name.into(), error },
        })?;
        let above = match link.above {
            Some(index) => {
                let error = |error| PortError::System { name: format!("what {name} is a port of"), error };
                let above = ask(&Query::Index(index)).map_err(error)?;
                let kind = above.kind.unwrap_or_else(|| "of no kind".into());
                Some(Above {
                    name: above.name,
                    index,
                    kind,
                    is_up: above.is_up,
                    state: link.state,
                    snoops: above.snoops,
                })
            }
            None => None,
        };
        let is_bridge = link.kind.as_deref() == Some("bridge");
        let (index, mtu_bytes, is_up) = (link.index, link.mtu_bytes, link.is_up);
        Ok(Self { name: link.name, index, mtu_bytes, link: link.link, is_up, is_bridge, above })
    }

    /// The bridge that it is a port of.
    #[must_use]
    pub fn bridge(&self) -> Option<&Above> {
        self.above.as_ref().filter(|above| above.kind == "bridge")
    }
}

/// Checks that two interfaces suit a box, and that what is under them will do as configured when the box fails. Whether the
/// bridge currently forwards at a port is not checked, as a cable may be unplugged: see [`weaknesses`].
///
/// # Errors
/// What is to be changed, and how.
pub fn check([inside, outside]: [&Port; 2], on_failure: OnFailure) -> Result<(), PortError> {
    if inside.index == outside.index {
        return Err(PortError::Same { name: inside.name.clone() });
    }
    if let Some(port) = [inside, outside].into_iter().find(|port| port.link != libc::ARPHRD_ETHER) {
        return Err(PortError::NotEthernet { port: port.name.clone(), link: port.link });
    }
    match on_failure {
        OnFailure::Open => match (inside.bridge(), outside.bridge()) {
            (Some(one), Some(other)) if one.index == other.index => Ok(()),
            (Some(one), Some(other)) => Err(PortError::TwoBridges {
                inside: inside.name.clone(),
                bridge: one.name.clone(),
                outside: outside.name.clone(),
                other: other.name.clone(),
            }),
            (one, other) => {
                let port = if one.is_none() { inside } else { outside };
                if let Some(port) = [inside, outside].into_iter().find(|port| port.is_bridge) {
                    return Err(PortError::ItselfBridge { port: port.name.clone() });
                }
                let bridge = one.or(other).map_or("br0", |bridge| &bridge.name).to_owned();
                Err(PortError::NoBridge { port: port.name.clone(), above: port.above.clone(), bridge })
            }
        },
        OnFailure::Closed => [inside, outside].into_iter().try_for_each(|port| match &port.above {
            Some(above) => Err(PortError::Bridged { port: port.name.clone(), above: above.name.clone() }),
            None => Ok(()),
        }),
    }
}

/// Why not all traffic would pass, or some would although none must, if the box failed now: what [`check`] refuses, or the state
/// of the bridge and of its ports.
#[must_use]
pub fn weaknesses([inside, outside]: [&Port; 2], on_failure: OnFailure) -> Vec<String> {
    if let Err(error) = check([inside, outside], on_failure) {
        return vec![error.to_string()];
    }
    let bridge = inside.bridge();
    let down = bridge.filter(|bridge| !bridge.is_up).map(|Above { name, .. }| {
        format!("the bridge {name} is down, so nothing would forward if the box failed: 'ip link set {name} up'")
    });
    // A bridge that is down has disabled its ports.
    let is_bridge_up = down.is_none();
    let of_ports = [inside, outside].into_iter().filter_map(|port| weakness(port, is_bridge_up));
    let snoops = bridge.filter(|bridge| bridge.snoops).map(|Above { name, .. }| {
        format!(
            "the bridge {name} snoops on multicast, but sees none while the box runs, so receivers could lack their groups, and \
             IPv6 hosts be unreachable, if the box failed: 'ip link set {name} type bridge mcast_snooping 0'"
        )
    });
    down.into_iter().chain(of_ports).chain(snoops).collect()
}

fn weakness(port: &Port, is_bridge_up: bool) -> Option<String> {
    let name = &port.name;
    if !port.is_up {
        return Some(format!("{name} is down, and nothing passes: 'ip link set {name} up'"));
    }
    let bridge = port.bridge().filter(|_| is_bridge_up)?;
    let above = &bridge.name;
    match bridge.state? {
        PortState::Forwarding => None,
        PortState::Disabled => {
            Some(format!("{name} has no carrier, and nothing passes: look at its cable and its other end"))
        }
        // One text for both, as the one becomes the other.
        PortState::Listening | PortState::Learning => Some(format!(
            "the bridge {above} does not forward at {name} yet, so nothing would pass if the box failed now: its spanning tree \
             waits first; 'ip link set {above} type bridge stp_state 0' switches that off"
        )),
        PortState::Blocking => Some(format!(
            "the bridge {above} blocks {name}, so nothing would pass if the box failed: its spanning tree has found another \
             path; 'ip link set {above} type bridge stp_state 0' switches that off"
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn port(name: &str, index: u32, above: Option<(&str, u32, &str)>) -> Port {
        let above = above.map(|(name, index, kind)| Above {
            name: name.into(),
            index,
            kind: kind.into(),
            is_up: true,
            state: None,
            snoops: false,
        });
        Port {
            name: name.into(),
            index,
            mtu_bytes: 1500,
            link: libc::ARPHRD_ETHER,
            is_up: true,
            is_bridge: false,
            above,
        }
    }

    fn checked(one: &Port, other: &Port, on_failure: OnFailure) -> String {
        check([one, other], on_failure).map_or_else(|error| error.to_string(), |()| String::new())
    }

    #[test]
    fn to_fail_open_needs_one_bridge() {
        let bridged = |name, index, bridge| port(name, index, Some((bridge, 9, "bridge")));
        let (one, other) = (bridged("eth1", 1, "br7"), bridged("eth2", 2, "br7"));
        assert_eq!(checked(&one, &other, OnFailure::Open), "");
        assert_eq!(checked(&one, &one, OnFailure::Open), "the box needs two interfaces, and both are eth1");
        for (one, other) in [(&one, &port("eth2", 2, None)), (&port("eth2", 2, None), &one)] {
            let error = checked(one, other, OnFailure::Open);
            assert!(error.contains("'ip link set eth2 master br7'"), "{error}");
        }
        let error = checked(&one, &port("eth2", 2, Some(("bond0", 4, "bond"))), OnFailure::Open);
        assert!(error.starts_with("eth2 is a port of bond0 (bond), which is not a bridge, so nothing"), "{error}");
        let error = checked(&one, &port("eth2", 2, Some(("br8", 8, "bridge"))), OnFailure::Open);
        assert!(error.starts_with("eth1 is a port of br7 and eth2 of br8"), "{error}");
        let error = checked(&port("eth1", 1, None), &port("eth2", 2, None), OnFailure::Open);
        assert!(error.contains("'ip link set eth1 master br0'"), "{error}");
        // While the box runs, the bridge does not see who joins a group.
        assert!(error.contains("'ip link add br0 type bridge mcast_snooping 0'"), "{error}");
    }

    #[test]
    fn a_bridge_is_told_to_name_its_ports_instead() {
        let bridge = Port { is_bridge: true, ..port("br7", 9, None) };
        let port_of_it = port("eth2", 2, Some(("br7", 9, "bridge")));
        for other in [&port_of_it, &port("eth2", 2, None)] {
            for (one, other) in [(&bridge, other), (other, &bridge)] {
                let error = checked(one, other, OnFailure::Open);
                // The kernel refuses a bridge as a port of a bridge.
                assert!(error.contains("'ip link show master br7'") && !error.contains("ip link set"), "{error}");
            }
        }
        assert_eq!(checked(&bridge, &port("eth2", 2, None), OnFailure::Closed), "");
    }

    #[test]
    fn to_fail_closed_needs_none() {
        let (free, bridged) = (port("eth1", 1, None), port("eth2", 2, Some(("br0", 9, "bridge"))));
        assert_eq!(checked(&free, &port("eth2", 2, None), OnFailure::Closed), "");
        for (one, other) in [(&free, &bridged), (&bridged, &free)] {
            let error = checked(one, other, OnFailure::Closed);
            assert!(error.contains("'ip link set eth2 nomaster'"), "{error}");
        }
    }

    #[test]
    fn what_would_not_forward_now_is_told() {
        let bridged = |name, index, state| {
            let mut port = port(name, index, Some(("br0", 9, "bridge")));
            port.above.as_mut().unwrap().state = Some(state);
            port
        };
        let told = |change: &dyn Fn(&mut Port)| {
            let mut ports = [("eth1", 1), ("eth2", 2)].map(|(name, index)| bridged(name, index, PortState::Forwarding));
            change(&mut ports[1]);
            weaknesses(ports.each_ref(), OnFailure::Open)
        };
        assert_eq!(told(&|_| {}), [""; 0]);
        assert_eq!(told(&|port| port.is_up = false), ["eth2 is down, and nothing passes: 'ip link set eth2 up'"]);
        let in_state = |state| told(&|port| port.above.as_mut().unwrap().state = Some(state)).concat();
        assert!(in_state(PortState::Disabled).contains("eth2 has no carrier"));
        assert!(in_state(PortState::Listening).contains("br0 does not forward at eth2 yet"));
        assert_eq!(in_state(PortState::Learning), in_state(PortState::Listening));
        assert!(in_state(PortState::Blocking).contains("br0 blocks eth2"));

        let mut snoops = [bridged("eth1", 1, PortState::Forwarding), bridged("eth2", 2, PortState::Forwarding)];
        snoops.iter_mut().for_each(|port| port.above.as_mut().unwrap().snoops = true);
        let snoops = weaknesses(snoops.each_ref(), OnFailure::Open);
        assert!(
            snoops.len() == 1 && snoops[0].contains("'ip link set br0 type bridge mcast_snooping 0'"),
            "{snoops:?}"
        );

        let lost = told(&|port| port.above = None);
        assert!(lost.len() == 1 && lost[0].starts_with("eth2 is not a port of a bridge"), "{lost:?}");

        let mut ports = [bridged("eth1", 1, PortState::Disabled), bridged("eth2", 2, PortState::Disabled)];
        ports.iter_mut().for_each(|port| port.above.as_mut().unwrap().is_up = false);
        let down = weaknesses(ports.each_ref(), OnFailure::Open);
        assert!(down.len() == 1 && down[0].starts_with("the bridge br0 is down"), "{down:?}");

        let free = [port("eth1", 1, None), port("eth2", 2, None)];
        assert_eq!(weaknesses(free.each_ref(), OnFailure::Closed), [""; 0]);
        assert!(weaknesses(ports.each_ref(), OnFailure::Closed)[0].contains("which would forward if the box failed"));
    }

    #[test]
    fn the_loopback_is_a_port_of_nothing() {
        let lo = Port::find("lo").unwrap();
        assert_eq!((lo.name.as_str(), lo.index, &lo.above), ("lo", 1, &None));
        assert!(lo.mtu_bytes >= 1500 && lo.link == libc::ARPHRD_LOOPBACK, "{lo:?}");
        for (one, other) in [(&lo, &port("eth2", 2, None)), (&port("eth2", 2, None), &lo)] {
            let error = checked(one, other, OnFailure::Closed);
            assert!(error.starts_with("lo carries no Ethernet frames (its link is of type 772"), "{error}");
        }
        for name in ["", "nothing0", "a-name-that-is-too-long", "a name\nof two"] {
            let error = Port::find(name).unwrap_err();
            assert!(matches!(error, PortError::Unknown { .. }), "{name}: {error}");
        }
    }
}
