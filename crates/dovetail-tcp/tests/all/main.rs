//! The transport over simulated paths, beside the Linux kernel's TCP over the same.

#![allow(clippy::unwrap_used)]

mod comparison;
mod crowd;
mod events;
mod goodput;
mod hostile;
mod lossy;
mod not_yet;
mod pace;
mod path;
mod recorded;
mod scripts;
mod short;
