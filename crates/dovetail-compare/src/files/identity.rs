//! The file that a path refers to.

use std::{fs, path::Path};

/// A file, however its path is written. For a file that does not exist yet, its folder and name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Identity {
    #[cfg(unix)]
    There {
        device: u64,
        inode: u64,
    },
    Path(std::path::PathBuf),
}

impl Identity {
    /// `None` for pipes and devices, where writing cannot destroy anything.
    pub(super) fn of(path: &Path) -> Option<Self> {
        match fs::metadata(path) {
            Ok(metadata) if !metadata.is_file() => None,
            #[cfg(unix)]
            Ok(metadata) => {
                use std::os::unix::fs::MetadataExt as _;
                Some(Self::There { device: metadata.dev(), inode: metadata.ino() })
            }
            #[cfg(not(unix))]
            Ok(_) => fs::canonicalize(path).ok().map(Self::Path),
            Err(_) => {
                let folder = path.parent().filter(|folder| *folder != Path::new("")).unwrap_or(Path::new("."));
                Some(Self::Path(fs::canonicalize(folder).ok()?.join(path.file_name()?)))
            }
        }
    }
}
