//! The capacity of a middlebox, beside that of a kernel bridge between the same interfaces, as one table.
//!
//! | module | what is measured |
//! |---|---|
//! | [`overload`] | packets a second of 60 flows that offer more than anything carries |
//! | [`flood`] | packets lost of flows beside one that offers more than anything carries |
//! | [`steady`] | packets lost of a stream below that |
//! | [`latency`] | how long a packet takes through an idle box |
//! | [`transfer`] | TCP with all offloads on |
//! | [`shaper`] | how much of a narrow shaper behind the box is used |
//! | [`memory`] | what a box with full queues holds |
//! | [`failure`] | for how long traffic is interrupted when the box is killed or stopped |
//! | [`shares`] | how equal TCP's dominant shares are |
//! | `changes` | packets lost by a start, changes and a stop; only with the feature `programs` |
//! | `churn` | what it holds after minutes of constant change; only on request, with the feature `programs` |
//! | `runaway` | how soon endless programs are stopped, and what they cost others; likewise |
//! | [`click`] | another box, for the first of these |
//! | [`alone`] | two packet sockets without a box, for throughput and latency |
//! | [`off_bridge`] | keeps the bridge from forwarding beside a subject other than the box |
//! | [`numbered`] | numbered packets, for some of these |
//!
//! Needs root, and two cores that nothing else uses: one for the box, one for the source. Subjects take turns, round after
//! round, so that a slow moment of the machine affects all of them, and figures are medians.

#[cfg(target_os = "linux")]
mod alone;
#[cfg(all(target_os = "linux", feature = "programs"))]
mod changes;
#[cfg(all(target_os = "linux", feature = "programs"))]
mod churn;
#[cfg(target_os = "linux")]
mod click;
#[cfg(target_os = "linux")]
mod cores;
#[cfg(target_os = "linux")]
mod failure;
#[cfg(target_os = "linux")]
mod flood;
#[cfg(target_os = "linux")]
mod latency;
#[cfg(target_os = "linux")]
mod memory;
#[cfg(target_os = "linux")]
mod numbered;
#[cfg(target_os = "linux")]
mod off_bridge;
#[cfg(target_os = "linux")]
mod overload;
#[cfg(all(target_os = "linux", feature = "programs"))]
mod runaway;
#[cfg(target_os = "linux")]
mod shaper;
#[cfg(target_os = "linux")]
mod shares;
#[cfg(target_os = "linux")]
mod source;
#[cfg(target_os = "linux")]
mod steady;
#[cfg(target_os = "linux")]
mod subject;
#[cfg(target_os = "linux")]
mod table;
#[cfg(target_os = "linux")]
mod transfer;

use std::path::PathBuf;

use clap::{Parser, ValueEnum};

/// Prints one table of what a middlebox carries, beside the kernel's bridge. Needs root.
#[derive(Parser)]
#[cfg_attr(not(target_os = "linux"), allow(dead_code))]
struct Args {
    /// Measure only this
    #[arg(long)]
    only: Option<Part>,
    /// How often each subject is measured
    #[arg(long, default_value_t = 5)]
    rounds: usize,
    /// Seconds of each measurement
    #[arg(long, default_value_t = 2.0)]
    seconds: f64,
    /// The function that packets go through in the box, or none
    #[arg(long, default_value = "monitoring")]
    function: String,
    /// Another build of this program whose box is measured as well
    #[arg(long, value_name = "PROGRAM")]
    beside: Option<PathBuf>,
    /// Click's userlevel driver, which is to carry packets as well under overload
    #[arg(long, value_name = "PROGRAM")]
    click: Option<PathBuf>,
    /// Run a box with this configuration, as the measurements do
    #[arg(long, hide = true, value_name = "FILE")]
    box_of: Option<PathBuf>,
    /// Send packets of so many flows and bytes without an end, as the measurements of overload and flood do
    #[arg(long, hide = true, num_args = 2, value_names = ["FLOWS", "BYTES"])]
    flood_of: Option<Vec<u16>>,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Part {
    Overload,
    Flood,
    Steady,
    Latency,
    Transfer,
    Shaper,
    Memory,
    Failure,
    Shares,
    #[cfg(feature = "programs")]
    Changes,
    #[cfg(feature = "programs")]
    Churn,
    #[cfg(feature = "programs")]
    Runaway,
}

#[cfg(target_os = "linux")]
fn main() -> Result<(), Box<dyn std::error::Error>> {
    let args = Args::parse();
    if let Some(file) = &args.box_of {
        return subject::run_box(file);
    }
    if let Some(&[flows, bytes]) = args.flood_of.as_deref() {
        return source::flood(flows, bytes.into());
    }
    let is_asked = |part: Part| args.only.is_none_or(|only| only == part);
    let mut table = table::Table::default();
    if is_asked(Part::Overload) {
        overload::measure(&args, &mut table)?;
    }
    if is_asked(Part::Flood) {
        flood::measure(&args, &mut table)?;
    }
    if is_asked(Part::Steady) {
        steady::measure(&args, &mut table)?;
    }
    if is_asked(Part::Latency) {
        latency::measure(&args, &mut table)?;
    }
    if is_asked(Part::Transfer) {
        transfer::measure(&args, &mut table)?;
    }
    if is_asked(Part::Shaper) {
        shaper::measure(&args, &mut table)?;
    }
    if is_asked(Part::Memory) {
        memory::measure(&args, &mut table)?;
    }
    if is_asked(Part::Failure) {
        failure::measure(&args, &mut table)?;
    }
    if is_asked(Part::Shares) {
        shares::measure(&args, &mut table)?;
    }
    #[cfg(feature = "programs")]
    if is_asked(Part::Changes) {
        changes::measure(&args, &mut table)?;
    }
    #[cfg(feature = "programs")]
    let passed = match args.only {
        Some(Part::Churn) => churn::measure(&args, &mut table),
        Some(Part::Runaway) => runaway::measure(&args, &mut table),
        _ => Ok(()),
    };
    #[cfg(not(feature = "programs"))]
    let passed = Ok(());
    println!("{table}");
    passed
}

#[cfg(not(target_os = "linux"))]
fn main() {
    let _ = Args::parse();
    println!("the middlebox needs Linux");
}
