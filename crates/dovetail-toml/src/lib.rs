//! TOML files with errors that name the line.
//!
//! Scenarios, networks, reservations and the gateway's configuration are read in two steps: TOML is deserialised to a form,
//! and the form is resolved into something meaningful. Either can fail at a position in the text ([`Fault`]), which becomes
//! a message with the file's name and a line ([`Located`]).
//!
//! For keys with units, ranges and defaults, a [`Section`] is queried key by key, with a reader of [`values`]. A [`Token`]
//! authorises changes at an admin port.
//!
//! ```
//! use dovetail_toml::{Fault, read};
//! use serde::Deserialize;
//!
//! #[derive(Debug, Deserialize)]
//! struct Form {
//!     rate: String,
//! }
//!
//! let text = "# a link\nrate = 2Mbps\n";
//! let wrong = read::<Form>(text).unwrap_err().located(text, "link.toml");
//! assert_eq!(
//!     wrong.to_string(),
//!     "link.toml, line 2: 2Mbps is not a value: addresses, rates, times and words go in quotes, such as \"2Mbps\""
//! );
//! let wrong = Fault::whole("there is no link").located(text, "link.toml");
//! assert_eq!(wrong.to_string(), "link.toml: there is no link");
//! ```
#![forbid(unsafe_code)]

pub mod values;

mod config;
mod fault;
mod heading;
mod located;
mod once;
mod section;
mod token;
mod wording;

pub use config::{ConfigError, parse, read_text};
pub use fault::{Fault, read};
pub use located::Located;
pub use once::Once;
pub use section::Section;
pub use token::{Token, path, read_secret};

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
