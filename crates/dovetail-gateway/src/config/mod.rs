//! The gateway's configuration.
//!
//! A file is read into a [`Config`] in one step, key by key (`file.rs`), which also checks that the keys are consistent. Users
//! of a `Config` need not check anything again.

mod classes;
mod describe;
mod every;
mod file;
mod groups;
mod hosts;
mod hours;
mod model;
mod name;
mod pac;
mod pages;
mod parent_tls;
mod parents;
mod path;
mod prefixes;
mod probe;
mod quotas;
mod reload;
mod weights;

pub use dovetail_toml::ConfigError;
pub(crate) use dovetail_toml::read_text;

pub use self::{
    every::Every,
    groups::{Group, Groups},
    hosts::{HostIndex, HostPattern},
    hours::Hours,
    model::{
        Access, Admin, Beyond, Class, Config, Direct, Downlink, Forwarded, Helper, Limits, Log, LogFormat, Pac,
        PacProxy, Pages, Per, Probe, Proxy, ProxyTls, Quota, Store, Timeouts, Uplink,
    },
    parent_tls::ParentTls,
    parents::Parent,
    prefixes::{Prefix, Prefixes},
};
pub(crate) use self::{model::written_bytes, pages::host};
