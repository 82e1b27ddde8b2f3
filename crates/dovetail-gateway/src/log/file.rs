//! Files that a log may be appended to.

use std::{
    fs::{File, OpenOptions},
    io,
    os::unix::fs::{FileExt, MetadataExt, OpenOptionsExt},
    path::Path,
};

use rustix::{
    fs::{OFlags, fcntl_getfl, fcntl_setfl},
    io::Errno,
};

/// Opens a file to append lines to it, and creates it if `creates`.
pub(crate) fn append_to(path: &Path, creates: bool) -> io::Result<File> {
    // Opening a FIFO would otherwise wait for its reader.
    let flags = OFlags::NONBLOCK.bits().cast_signed();
    let file = OpenOptions::new().create(creates).append(true).custom_flags(flags).open(path);
    let file = file.map_err(|error| match error.raw_os_error() == Some(Errno::NXIO.raw_os_error()) {
        true => io::Error::other("it is a socket, or a pipe that nothing reads from: name a regular file"),
        false => error,
    })?;
    // The writer's thread may wait: for a pipe that is full for a moment, no line is lost.
    fcntl_setfl(&file, fcntl_getfl(&file)? - OFlags::NONBLOCK)?;
    Ok(file)
}

/// Whether a file's last line has no end, if that can be seen: only a regular file has a last byte that stays.
pub(super) fn is_torn(file: &File, path: &Path) -> Option<bool> {
    let about = file.metadata().ok().filter(|about| about.is_file())?;
    let Some(last) = about.len().checked_sub(1) else { return Some(false) };
    // The log itself is open for writing only, as it may be all that is permitted.
    let readable = OpenOptions::new().read(true).custom_flags(OFlags::NONBLOCK.bits().cast_signed()).open(path).ok()?;
    let same = readable.metadata().ok().filter(|same| (same.dev(), same.ino()) == (about.dev(), about.ino()));
    let mut byte = [0];
    same.and_then(|_| readable.read_exact_at(&mut byte, last).ok())?;
    Some(byte != *b"\n")
}
