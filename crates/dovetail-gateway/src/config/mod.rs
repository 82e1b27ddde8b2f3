//! What a gateway is configured with.
//!
//! A file is read into a [`Config`] in one step, key by key (`file.rs`), with everything that the keys mean together
//! checked. What holds a `Config` need not check anything again.

mod classes;
mod describe;
mod file;
mod hours;
mod model;
mod name;
mod pac;
mod pages;
mod prefixes;
mod probe;
mod reload;
mod weights;

pub use dovetail_toml::ConfigError;
pub(crate) use dovetail_toml::read_text;

pub use self::{
    hours::Hours,
    model::{
        Access, Admin, Class, Config, Direct, Downlink, Forwarded, Limits, Log, LogFormat, Pac, PacProxy, Pages, Probe,
        Proxy, ProxyTls, Timeouts, Uplink,
    },
    prefixes::{Prefix, Prefixes},
};
