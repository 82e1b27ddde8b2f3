//! The admin's port of a gateway that runs on loopback.

#![allow(clippy::unwrap_used)]

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
