//! Whether there is a bridge under the box's two interfaces, as there must be to fail open, or none, to fail closed.

use std::io;

pub use super::rtnetlink::PortState;
use super::rtnetlink::{Query, ask};
pub use crate::config::OnFailure;

/// An interface, as it was when it was looked up.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Port {
    /// Its name.
    pub name: String,
    /// Its number in its network namespace.
    pub index: u32,
    /// The longest packet that it carries, without the Ethernet header.
    pub mtu_bytes: u32,
    /// What it is a port of.
    pub above: Option<Above>,
}

/// What an interface is a port of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Above {
    /// Its name.
    pub name: String,
    /// Its number.
    pub index: u32,
    /// As `ip link show type` has it: `bridge`, `bond`.
    pub kind: String,
    /// For a bridge: whether it forwards at this port.
    pub state: Option<PortState>,
}

/// Why a box cannot be between two interfaces.
#[derive(Debug, thiserror::Error)]
pub enum PortError {
    /// There is no interface of that name.
    #[error("there is no interface {name} in this network namespace: 'ip link' lists those that are there")]
    Unknown {
        /// The name.
        name: String,
    },
    /// Both are one.
    #[error("the box needs two interfaces, and both are {name}")]
    Same {
        /// Its name.
        name: String,
    },
    /// An interface is not a port of a bridge.
    #[error(
        "{port} is {}, so nothing would forward if the box failed: 'ip link set {port} master {bridge}' (a \
         bridge is made by 'ip link add br0 type bridge' and 'ip link set br0 up'), or on_failure = \"closed\"",
        of(.above)
    )]
    NoBridge {
        /// The interface.
        port: String,
        /// What it is a port of instead.
        above: Option<Above>,
        /// The bridge of the other interface, or an example.
        bridge: String,
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
        /// What it is a port of.
        above: String,
    },
    /// The kernel does not answer.
    #[error("ask the kernel about {name}: {error}")]
    System {
        /// What was asked about.
        name: String,
        /// What the system answered.
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
    /// That it is not there.
    pub fn find(name: &str) -> Result<Self, PortError> {
        let asked = Query::Name(name);
        let link = ask(&asked).map_err(|error| match error.raw_os_error() {
            // The kernel's answers to a name of nothing, and to one that nothing can have.
            Some(libc::ENODEV | libc::ERANGE | libc::EINVAL) => PortError::Unknown { name: name.into() },
            _ => PortError::System { name: name.into(), error },
        })?;
        let above = match link.above {
            Some(index) => {
                let error = |error| PortError::System { name: format!("what {name} is a port of"), error };
                let above = ask(&Query::Index(index)).map_err(error)?;
                let kind = above.kind.unwrap_or_else(|| "of no kind".into());
                Some(Above { name: above.name, index, kind, state: link.state })
            }
            None => None,
        };
        Ok(Self { name: link.name, index: link.index, mtu_bytes: link.mtu_bytes, above })
    }

    /// The bridge that it is a port of.
    #[must_use]
    pub fn bridge(&self) -> Option<&Above> {
        self.above.as_ref().filter(|above| above.kind == "bridge")
    }
}

/// Sees to it that what is under two interfaces does what it is to do when the box fails. That the bridge forwards at a port
/// at this moment is not asked: a cable may be out. [`Above::state`] tells.
///
/// # Errors
/// What is to be changed, and how.
pub fn check([inside, outside]: [&Port; 2], on_failure: OnFailure) -> Result<(), PortError> {
    if inside.index == outside.index {
        return Err(PortError::Same { name: inside.name.clone() });
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

#[cfg(test)]
mod tests {
    use super::*;

    fn port(name: &str, index: u32, above: Option<(&str, u32, &str)>) -> Port {
        let above = above.map(|(name, index, kind)| Above { name: name.into(), index, kind: kind.into(), state: None });
        Port { name: name.into(), index, mtu_bytes: 1500, above }
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
    fn the_loopback_is_a_port_of_nothing() {
        let lo = Port::find("lo").unwrap();
        assert_eq!((lo.name.as_str(), lo.index, &lo.above), ("lo", 1, &None));
        assert!(lo.mtu_bytes >= 1500, "{lo:?}");
        for name in ["", "nothing0", "a-name-that-is-too-long", "a name\nof two"] {
            let error = Port::find(name).unwrap_err();
            assert!(matches!(error, PortError::Unknown { .. }), "{name}: {error}");
        }
    }
}
