//! Ownership of a lab: a lock file.
//!
//! The file exists as long as the lab may; the lock is held by the process that uses the lab, and released by the kernel
//! however that process ends.

use std::{
    fs::{self, File, OpenOptions},
    io::{self, Read, Write},
    os::unix::fs::MetadataExt,
    path::PathBuf,
    process,
};

use rustix::{
    fs::{FlockOperation, flock},
    io::Errno,
};

use super::error::LabError;

const FOLDER: &str = "/run";

/// Reserves the name of a lab for this process until dropped.
#[derive(Debug)]
pub struct Hold {
    path: PathBuf,
    /// Keeps the lock.
    _file: File,
}

/// What existed under this name before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Before {
    Nothing,
    /// A lab whose process has ended.
    ALab,
}

impl Hold {
    /// # Errors
    /// When the name is taken, or the system's error.
    pub fn take(name: &str) -> Result<(Self, Before), LabError> {
        let path = PathBuf::from(FOLDER).join(format!("dovetail-lab-{name}.lock"));
        let error = |error| LabError::System { what: format!("lock {}", path.display()), error };
        loop {
            let mut options = OpenOptions::new();
            options.read(true).write(true).create(true).truncate(false);
            let mut file = options.open(&path).map_err(error)?;
            let mut owner = String::new();
            match flock(&file, FlockOperation::NonBlockingLockExclusive) {
                Ok(()) => {}
                Err(Errno::WOULDBLOCK) => {
                    // Only for the message.
                    let _ = file.read_to_string(&mut owner);
                    return Err(LabError::InUse { name: name.into(), owner: owner.trim_end().into() });
                }
                Err(other) => return Err(error(other.into())),
            }
            // The previous owner may have removed the file after it was opened here.
            if file.metadata().map_err(error)?.nlink() == 0 {
                continue;
            }
            file.read_to_string(&mut owner).map_err(error)?;
            let before = if owner.is_empty() { Before::Nothing } else { Before::ALab };
            write(&file).map_err(error)?;
            return Ok((Self { path, _file: file }, before));
        }
    }
}

fn write(mut file: &File) -> io::Result<()> {
    file.set_len(0)?;
    io::Seek::rewind(&mut file)?;
    writeln!(file, "{}", process::id())
}

impl Drop for Hold {
    fn drop(&mut self) {
        // If removal fails, the next lab treats the file as left behind.
        let _ = fs::remove_file(&self.path);
    }
}
