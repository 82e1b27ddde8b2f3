//! The admin port of a gateway on loopback.

#![allow(clippy::unwrap_used)]

#[allow(dead_code)]
mod browser;
mod dashboard;
mod hours;
mod me;
mod openmetrics;
mod page;
mod port;
mod quota;
mod running;
mod spent;
mod tunnels;
