//! Checks whether a testbed can be created here.

use std::{
    fs::OpenOptions,
    io::ErrorKind,
    process::{Command, Stdio},
};

use rustix::process::geteuid;

use crate::BedError;

/// Checks whether this machine has what a testbed needs, without creating one.
///
/// # Errors
/// The first thing that is missing, and how to get it.
pub fn check() -> Result<(), BedError> {
    if !geteuid().is_root() {
        return Err(BedError::NotRoot);
    }
    for program in ["ip", "tc"] {
        let begun = Command::new(program).arg("-V").stdout(Stdio::null()).stderr(Stdio::null()).status();
        if begun.is_err_and(|error| error.kind() == ErrorKind::NotFound) {
            return Err(BedError::NoProgram { program, package: "iproute2" });
        }
    }
    OpenOptions::new().read(true).write(true).open("/dev/net/tun").map(drop).map_err(BedError::NoTun)
}
