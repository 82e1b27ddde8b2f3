//! Linux network namespaces that are removed when dropped, and the iproute2 programs to configure them.
//!
//! A thread that has entered a namespace stays there, and so do the threads and processes that it starts and the sockets that
//! it opens, wherever they are used. So [`Namespace::within`] works on a thread of its own.
//!
//! ```no_run
//! use dovetail_netns::{Namespace, tool};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let namespace = Namespace::new("example")?;
//! tool("ip", "-n example link set lo up")?;
//! let listener = namespace.within(|| std::net::TcpListener::bind("127.0.0.1:80"))?;
//! # Ok(())
//! # }
//! ```
#![cfg(target_os = "linux")]

mod error;
mod namespace;
mod tool;

pub use error::NetnsError;
pub use namespace::{FOLDER, Namespace, exists, remove};
pub use tool::{run, tool};

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
