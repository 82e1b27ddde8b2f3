//! The node against the simulator, and the box between namespaces.
//!
//! | file | what |
//! |---|---|
//! | `node` | the node in virtual time |
//! | `workers` | a CPU of several workers in virtual time |
//! | `paced` | the node before a device that says when there is room |
//! | `live` | the box as a whole: planned changes, TCP |
//! | `failing` | killed, hung, without a bridge, without capabilities |
//! | `standing` | what is under and beside a box |
//! | `frames` | every kind of frame comes out as it went in |
//! | `shares` | what transfers over TCP have of CPU and link |
//! | `wakes` | processors that are not to sleep deeply |
//! | `stopping` | a box kept from running while it ends |
//! | `waits` | what packets waited for, against a brute force |
//! | `firewall` | the nftables rules to load beside a box |
//! | `config`, `packaged` | configurations and what is wrong with them |
//! | `shaper` | behind a shaper that paces the box |
//! | `links` | links that go down, or are narrower than others |
//! | `long_link` | a link that is long |
//! | `syn` | SYNs that are told smaller segments |
//! | `joined` | packets in tunnels that an interface has joined |
//! | `answers` | what senders of packets that are not forwarded are told |
//! | `tunnel` | what is encrypted and routed for others |
//! | `tunnel_in` | what others encrypted comes in decrypted |
//! | `key` | files of their keys |
//! | `named` | packets that name their class |
//! | `hostile` | nonsense |
//! | `changes` | configurations that change under traffic |
//! | `process`, `traffic`, `numbered` | a box that can be killed, and frames that are counted |
#![allow(clippy::unwrap_used)]

#[cfg(all(target_os = "linux", feature = "live"))]
mod admin;
#[cfg(all(target_os = "linux", feature = "live"))]
mod answers;
#[cfg(all(target_os = "linux", feature = "live"))]
#[allow(dead_code)]
#[path = "../../../dovetail-gateway/tests/admin/browser.rs"]
mod browser;
#[cfg(all(target_os = "linux", feature = "live"))]
mod changes;
mod config;
#[cfg(all(target_os = "linux", feature = "live"))]
mod failing;
mod firewall;
#[cfg(all(target_os = "linux", feature = "live"))]
mod frames;
#[cfg(all(target_os = "linux", feature = "live"))]
mod hostile;
#[cfg(all(target_os = "linux", feature = "live"))]
mod joined;
mod key;
#[cfg(all(target_os = "linux", feature = "live"))]
mod links;
#[cfg(all(target_os = "linux", feature = "live"))]
mod live;
#[cfg(all(target_os = "linux", feature = "live", feature = "programs"))]
mod live_programs;
#[cfg(all(target_os = "linux", feature = "live"))]
mod long_link;
#[cfg(all(target_os = "linux", feature = "live"))]
mod named;
mod node;
#[cfg(all(target_os = "linux", feature = "live"))]
#[path = "../numbered/mod.rs"]
mod numbered;
#[cfg(all(target_os = "linux", feature = "live"))]
#[path = "../../../dovetail-gateway/tests/admin/openmetrics.rs"]
mod openmetrics;
mod paced;
mod packaged;
#[cfg(all(target_os = "linux", feature = "live"))]
mod process;
#[cfg(all(target_os = "linux", feature = "live"))]
mod shaper;
#[cfg(all(target_os = "linux", feature = "live"))]
mod shares;
#[cfg(all(target_os = "linux", feature = "live"))]
mod standing;
#[cfg(all(target_os = "linux", feature = "live"))]
mod stopping;
#[cfg(all(target_os = "linux", feature = "live"))]
mod syn;
#[cfg(all(target_os = "linux", feature = "live"))]
mod traffic;
#[cfg(all(target_os = "linux", feature = "live"))]
mod tunnel;
#[cfg(all(target_os = "linux", feature = "live"))]
mod tunnel_in;
mod waits;
#[cfg(all(target_os = "linux", feature = "live"))]
mod wakes;
mod workers;
