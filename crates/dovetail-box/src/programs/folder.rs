//! The folder of programs: which files count, and how much of them is read.
//!
//! Files that end in `.wasm` are programs, except for hidden ones; everything else is ignored, so that sources and notes
//! can be kept beside them, and a file can be uploaded under another name and renamed once it is complete.

use std::{
    ffi::OsStr,
    fs::{self, File},
    io::Read,
    path::{Path, PathBuf},
};

use super::{
    error::{Flaw, FolderError},
    limits::{MAX_PROGRAMS, MODULE_BYTES, NAME_LENGTH},
};

/// The program files, in order of name.
pub(super) fn files(folder: &Path) -> Result<Vec<PathBuf>, FolderError> {
    let unreadable = |error| FolderError::Unreadable { path: folder.to_owned(), error };
    let mut files = Vec::new();
    for entry in fs::read_dir(folder).map_err(unreadable)? {
        let path = entry.map_err(unreadable)?.path();
        if is_program(&path) {
            if files.len() == MAX_PROGRAMS {
                return Err(FolderError::TooMany { path: folder.to_owned() });
            }
            files.push(path);
        }
    }
    files.sort();
    Ok(files)
}

fn is_program(path: &Path) -> bool {
    let hidden = path.file_name().is_some_and(|name| name.as_encoded_bytes().starts_with(b"."));
    !hidden && path.extension() == Some(OsStr::new("wasm"))
}

/// The name of the program in this file.
pub(super) fn name(path: &Path) -> Result<&str, Flaw> {
    path.file_stem().and_then(OsStr::to_str).filter(|name| is_name(name)).ok_or(Flaw::Name)
}

/// Whether this is a valid name for a program.
pub(super) fn is_name(name: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_';
    (1..=NAME_LENGTH).contains(&name.len()) && name.bytes().all(plain)
}

/// Reads a file's bytes, but no more than the maximum length of a program.
pub(super) fn read(path: &Path) -> Result<Vec<u8>, Flaw> {
    // Opening a pipe would wait for its other end.
    if !fs::metadata(path)?.is_file() {
        return Err(Flaw::NotAFile);
    }
    let mut bytes = Vec::new();
    File::open(path)?.take(MODULE_BYTES + 1).read_to_end(&mut bytes)?;
    Ok(bytes)
}
