//! A lab on one machine for trying the box: hosts on both sides of it, and a place for the box between them.
//!
//! ```text
//!  dovetail-inside              dovetail-box                dovetail-outside
//!  10.77.0.1 eth0 ───────── inside ─ br0 ─ outside ───────── eth0 10.77.0.2
//! ```
//!
//! Each of the three is a network namespace without a link to the machine's own network. The middle one has what a box of
//! two interfaces needs: two ports under a bridge, which forwards until the box does. [`Lab::hints`] lists commands to run
//! in the lab.
//!
//! A lab is removed when its [`Lab`] is dropped, also in a panic, together with the processes started in its namespaces. If
//! the process is killed, its lab remains until the next one of the same name is created: a file in `/run` names the owner,
//! and its lock, which the kernel releases in any case, tells whether the lab is in use. Namespaces of the same names that
//! no lab created are left alone.
//!
//! Needs root and `ip` (iproute2).
//!
//! ```no_run
//! use dovetail_box::live::lab::{Lab, LabSpec};
//!
//! let lab = Lab::up(&LabSpec::default())?;
//! for hint in lab.hints() {
//!     println!("{}: {}", hint.what, hint.command);
//! }
//! # Ok::<(), dovetail_box::live::lab::LabError>(())
//! ```

pub mod datagram;
mod error;
#[cfg(feature = "af-xdp")]
mod flood;
mod hold;
mod raw;
mod show;
mod spec;

use std::{
    io, thread,
    time::{Duration, Instant},
};

use dovetail_netns::{Namespace, NetnsError, exists, remove, tool};
use rustix::process::geteuid;

use super::switch::ports::{Port, PortState};
pub use error::LabError;
#[cfg(feature = "af-xdp")]
pub use flood::Flood;
use hold::{Before, Hold};
pub use raw::Raw;
pub use show::{Show, ShowError, show};
pub use spec::{LabSpec, PORTS, Place};

/// The bridge whose ports are the box's interfaces, [`PORTS`].
pub const BRIDGE: &str = "br0";
/// The hosts' interface.
pub const HOST_INTERFACE: &str = "eth0";

/// Timeout for the bridge to forward: links come up some time after they are set up.
const TO_FORWARD: Duration = Duration::from_secs(10);
const LOOK: Duration = Duration::from_millis(5);

/// A command to run in a lab.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hint {
    /// What it does.
    pub what: &'static str,
    /// The command, for a root shell.
    pub command: String,
}

/// A lab; see the [module](self).
#[derive(Debug)]
pub struct Lab {
    // In order of removal: the name is released last.
    inside: Namespace,
    between: Namespace,
    outside: Namespace,
    _hold: Hold,
    spec: LabSpec,
}

impl Lab {
    /// Creates the lab; its bridge forwards when this returns.
    ///
    /// # Errors
    /// An invalid specification, a lab of this name that exists already, or an error of the kernel or `ip`. Nothing is left
    /// behind.
    pub fn up(spec: &LabSpec) -> Result<Self, LabError> {
        spec.validate()?;
        if !geteuid().is_root() {
            return Err(LabError::NotRoot);
        }
        let (hold, before) = Hold::take(&spec.name)?;
        let names = [Place::Inside, Place::Box, Place::Outside].map(|place| spec.namespace(place));
        for name in names.iter().filter(|name| exists(name)) {
            match before {
                Before::ALab => remove(name),
                Before::Nothing => return Err(LabError::Taken { namespace: name.clone() }),
            }
        }
        let [inside, between, outside] = names;
        let lab = Self {
            inside: Namespace::new(inside)?,
            between: Namespace::new(between)?,
            outside: Namespace::new(outside)?,
            _hold: hold,
            spec: spec.clone(),
        };
        lab.furnish()?;
        lab.wait_until_it_forwards()?;
        Ok(lab)
    }

    /// The specification that it was created from.
    #[must_use]
    pub fn spec(&self) -> &LabSpec {
        &self.spec
    }

    /// One of its namespaces. Processes started there end with the lab.
    #[must_use]
    pub fn namespace(&self, place: Place) -> &Namespace {
        match place {
            Place::Inside => &self.inside,
            Place::Box => &self.between,
            Place::Outside => &self.outside,
        }
    }

    /// Raw frames at the host of one side.
    ///
    /// # Errors
    /// The system's error.
    pub fn raw(&self, side: Place) -> io::Result<Raw> {
        self.namespace(side).within(|| Raw::open(HOST_INTERFACE))
    }

    /// Commands to run in it, from simple to demanding.
    #[must_use]
    pub fn hints(&self) -> Vec<Hint> {
        let exec = |place, command: &str| format!("ip netns exec {} {command}", self.spec.namespace(place));
        let far = self.spec.outside[0];
        vec![
            Hint { what: "reach the other side", command: exec(Place::Inside, &format!("ping -c 3 {far}")) },
            Hint { what: "a shell on the inside", command: exec(Place::Inside, "bash") },
            Hint { what: "a server on the outside", command: exec(Place::Outside, "iperf3 -s") },
            Hint {
                what: "throughput of the path, with that server",
                command: exec(Place::Inside, &format!("iperf3 -c {far}")),
            },
            Hint { what: "the ports under the box", command: exec(Place::Box, "bridge -s link") },
        ]
    }

    fn furnish(&self) -> Result<(), LabError> {
        // A bridge without addresses sends nothing of its own. There may be no IPv6 to disable.
        let _ = self.between.set("ipv6/conf/default/disable_ipv6", "1");
        ip(&self.between, &format!("link add {BRIDGE} type bridge mcast_snooping 0"))?;
        ip(&self.between, &format!("link set {BRIDGE} up"))?;
        let sides = [(&self.inside, &self.spec.inside), (&self.outside, &self.spec.outside)];
        for (port, (host, addresses)) in PORTS.into_iter().zip(sides) {
            let peer = host.name();
            ip(&self.between, &format!("link add {port} type veth peer name {HOST_INTERFACE} netns {peer}"))?;
            ip(&self.between, &format!("link set {port} master {BRIDGE} up"))?;
            ip(host, "link set lo up")?;
            ip(host, &format!("link set {HOST_INTERFACE} up"))?;
            for address in addresses {
                ip(host, &format!("address add {address}/{} dev {HOST_INTERFACE}", self.spec.prefix_bits))?;
            }
        }
        Ok(())
    }

    fn wait_until_it_forwards(&self) -> Result<(), LabError> {
        let begun = Instant::now();
        let look = |port: &'static str| {
            let found = self.between.within(|| Ok(Port::find(port)));
            found.map_err(|error| LabError::System { what: format!("enter {}", self.between.name()), error })
        };
        for port in PORTS {
            while look(port)??.above.and_then(|bridge| bridge.state) != Some(PortState::Forwarding) {
                if begun.elapsed() > TO_FORWARD {
                    return Err(LabError::Silent { port, waited: TO_FORWARD });
                }
                thread::sleep(LOOK);
            }
        }
        Ok(())
    }
}

fn ip(namespace: &Namespace, words: &str) -> Result<(), NetnsError> {
    tool("ip", &format!("-n {} {words}", namespace.name())).map(drop)
}
