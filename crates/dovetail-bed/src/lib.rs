//! Measures an HTTP forward proxy in the place where it is meant to help: at the users' end of a narrow downlink.
//!
//! ```text
//!  clients                gateway              provider                     servers
//!  10.0.CLASS.USER ────── 10.0.0.1 PROXY ═════ 10.99.0.1 ── delay line ──── 10.200.0.1 … :80
//!                  LAN             (downlink: token bucket, drop-tail queue)
//! ```
//!
//! Each of the four is a network namespace of its own, without a link to the machine's network. The downlink is a token bucket
//! with a drop-tail queue of a fixed number of packets. Its rate counts Ethernet frames; a full one carries 1,448 of its 1,514
//! bytes as TCP payload, so a link of `r` bit/s has a goodput of at most 0.956·r. Round trips are real to TCP: every packet
//! between provider and servers is delayed by half of its server's round-trip time each way.
//!
//! Users send requests in open loop, at random times independent of the responses, or in closed loop, where each keeps a fixed
//! number of requests outstanding. In closed loop the mean latency is N/X (Little), N being the requests outstanding and X
//! those that the link carries per second, so it shows how much of the link was wasted and nothing about the order. Sizes are
//! drawn from a lognormal distribution. The same seed gives every proxy the same requests, in open loop at the same times.
//!
//! Or users play explicit jobs ([`Bed::play`]): a download, a stream of small pieces or an upload, each on one connection and
//! measured on its own, while the downlink's rate may change and its queue is read.
//!
//! Needs Linux, root, `ip` and `tc` (iproute2) and `/dev/net/tun`; [`check`] says what is missing.
//!
//! ```no_run
//! use std::{process::Command, time::Duration};
//!
//! use dovetail_bed::{Bed, BedSpec, Load, LoadSpec, Proxy};
//!
//! # fn main() -> Result<(), dovetail_bed::BedError> {
//! let mut bed = Bed::new(&BedSpec::default())?;
//! let proxy = Proxy::command("tinyproxy", |site| {
//!     let file = site.folder.join("tinyproxy.conf");
//!     std::fs::write(&file, format!("Listen {}\nPort {}\n", site.listen.ip(), site.listen.port()))?;
//!     let mut command = Command::new("tinyproxy");
//!     command.arg("-d").arg("-c").arg(file);
//!     Ok(command)
//! });
//! let load = LoadSpec { load: Load::Open { load: 0.9 }, duration: Duration::from_secs(60), ..LoadSpec::default() };
//! let measured = bed.measure(&proxy, &load, &|_| ())?;
//! println!("{:?}", measured.latency());
//! # Ok(())
//! # }
//! ```

mod error;
mod job;
mod load;
mod measured;
mod patience;
mod played;
mod proxy;
mod spec;

#[cfg(target_os = "linux")]
mod linux;
#[cfg(target_os = "linux")]
pub use linux::{Bed, check};

#[cfg(not(target_os = "linux"))]
mod elsewhere;
#[cfg(not(target_os = "linux"))]
pub use elsewhere::{Bed, check};

pub use error::BedError;
pub use job::{Job, PlaySpec, Repeat, What};
pub use load::{Load, LoadSpec, Sizes, Via};
pub use measured::{End, Exchange, Latency, LinkUse, Measured, ProxyUse};
pub use patience::patiently;
pub use played::{Played, PlayedJob, Queued, Round, Timeline};
pub use proxy::{Place, Proxy, Site};
pub use spec::{BedSpec, Uplink};

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

#[cfg(doctest)]
#[doc = include_str!("../../../docs/bed.md")]
struct Page;
