//! The section `[programs]`: where WebAssembly programs are and how much they may use.

use std::path::Path;

use dovetail_toml::{Fault, Section};

use super::model::Programs;

#[cfg(feature = "programs")]
pub(super) fn programs(root: &mut Section<'_>, folder: &Path) -> Result<Option<Programs>, Fault> {
    use std::path::PathBuf;

    use dovetail_toml::values::{bytes, text, whole, word};

    use crate::programs::{ProgramLimits, Quarantined};

    /// About 6 ms of work: with much more, a single packet might keep the box from signalling in time that it is alive.
    const MAX_FUEL: u64 = 10_000_000;

    let mut section = root.section("programs")?;
    let default = ProgramLimits::default();
    let found = section.one("folder", text("a folder", |text| Some(PathBuf::from(text))))?;
    let words = [("drop", Quarantined::Drop), ("forward", Quarantined::Forward)];
    let limits = ProgramLimits {
        fuel_per_packet: section.one("fuel_per_packet", whole(1_000..=MAX_FUEL))?.unwrap_or(default.fuel_per_packet),
        memory_bytes: section.one("memory", bytes(1 << 17..=1 << 26))?.unwrap_or(default.memory_bytes),
        traps: section.one("traps", whole(1..=1_000_000))?.map_or(default.traps, |traps| traps as u32),
        quarantined: section.one("quarantined", word(&words))?.unwrap_or(default.quarantined),
        ..default
    };
    section.end()?;
    match found {
        Some(found) => Ok(Some(Programs { folder: folder.join(found), limits })),
        None if section.is_there() => Err(section.wrong("folder", "say where programs are")),
        None => Ok(None),
    }
}

#[cfg(not(feature = "programs"))]
pub(super) fn programs(root: &mut Section<'_>, _: &Path) -> Result<Option<Programs>, Fault> {
    let section = root.section("programs")?;
    if section.is_there() { Err(root.wrong("programs", MISSING)) } else { Ok(None) }
}

/// Error message for a class that names a program although none can be loaded.
#[cfg(feature = "programs")]
pub(super) const MISSING: &str = "say where programs are: [programs] folder = \"programs\"";
#[cfg(not(feature = "programs"))]
pub(super) const MISSING: &str = "this build has no programs: build it with --features programs";
