//! Checks what a start would find on this machine, without listening.

use std::{fs, io, path::Path};

use rustix::fs::{Access, access};

use crate::{
    auth::read_passwords,
    config::Config,
    descriptors::Descriptors,
    error::GatewayError,
    local_addresses::OwnAddresses,
    log::{append_to, cannot_log},
    quota,
    tls::Tls,
};

/// Checks whether this machine has what a configuration names: files and directories, and enough open files. Changes nothing
/// but the process's own limit of open files. Returns possible mistakes, a sentence each.
///
/// # Errors
/// [`GatewayError`] if a start would fail for lack of something.
pub fn check(config: &Config) -> Result<Vec<String>, GatewayError> {
    let descriptors = Descriptors::raise()?;
    OwnAddresses::read().map_err(GatewayError::Addresses)?;
    read_passwords(config.access.passwords.as_deref())?;
    let tls = Tls::read(config.proxy.tls.as_ref())?;
    if let Some(store) = &config.store {
        quota::check(&store.path)?;
    }
    if let Some(helper) = &config.access.helper {
        access(&helper.program, Access::EXEC_OK)
            .map_err(|error| GatewayError::Helper(helper.program.display().to_string(), error.into()))?;
    }
    if let Some(log) = &config.log {
        can_append(&log.path).map_err(|error| cannot_log(log, error))?;
    }
    Ok([descriptors.warning(&config.limits), tls.warning()].into_iter().flatten().collect())
}

/// Checks whether lines can be appended to a file, which need not exist.
fn can_append(path: &Path) -> io::Result<()> {
    if path.try_exists()? {
        return append_to(path, false).map(drop);
    }
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let what = |error: io::Error| io::Error::new(error.kind(), format!("its folder {}: {error}", folder.display()));
    if !fs::metadata(folder).map_err(what)?.is_dir() {
        return Err(what(io::ErrorKind::NotADirectory.into()));
    }
    access(folder, Access::WRITE_OK | Access::EXEC_OK).map_err(|error| what(error.into()))
}
