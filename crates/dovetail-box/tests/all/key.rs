//! The key of a tunnel in a file.

use std::{fmt, io::Write};

use tempfile::NamedTempFile;

/// A file that only its owner can read, removed on drop. Displayed as its path.
pub struct KeyFile(NamedTempFile);

impl KeyFile {
    pub fn new(digits: &str) -> Self {
        // Such a file is created for its owner only.
        let mut file = NamedTempFile::new().unwrap();
        file.write_all(digits.as_bytes()).unwrap();
        Self(file)
    }
}

impl fmt::Display for KeyFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.path().display().fmt(f)
    }
}
