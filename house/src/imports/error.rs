//! Errors in a crate's sources.

use std::path::PathBuf;

/// Why a crate's imports cannot be listed.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A file or folder that should be there cannot be read.
    #[error("{0}: {1}")]
    Unreadable(PathBuf, std::io::Error),
    /// A file is not valid Rust.
    #[error("{0}: {1}")]
    Syntax(PathBuf, syn::Error),
    /// A `mod` without its file.
    #[error("{0}: there is no file for 'mod {1}'")]
    NoModule(PathBuf, String),
    /// A folder without `lib.rs`, `main.rs` and `bin/`.
    #[error("{0}: no crate has its root here")]
    NoRoot(PathBuf),
}
