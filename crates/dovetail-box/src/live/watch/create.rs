//! Creates the files that observers write.

use std::{
    fs::File,
    io::{self, ErrorKind},
    os::unix::fs::FileTypeExt,
    path::Path,
};

/// Creates a file, or empties an existing one.
///
/// # Errors
/// The system's, or the path is a pipe or a socket: a reader that pauses would stop the box.
pub(super) fn create(path: &Path) -> io::Result<File> {
    if path.metadata().is_ok_and(|found| found.file_type().is_fifo() || found.file_type().is_socket()) {
        let what = "it is a pipe, whose reader could stop the box: give a file, and watch live traffic with tcpdump at the interface";
        return Err(io::Error::new(ErrorKind::InvalidInput, what));
    }
    File::create(path)
}
