//! The transport over simulated paths, compared with the Linux kernel's TCP over the same paths.

#![allow(clippy::unwrap_used)]

mod agreed;
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
mod shut;
mod unacceptable;
