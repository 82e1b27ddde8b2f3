//! What can be wrong with a gateway's configuration.

use std::io;

use dovetail_toml::Located;
use thiserror::Error;

/// Why a file cannot be used. The message names the line, the key, what is wrong, and what to do.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ConfigError {
    /// The operating system could not deliver the bytes.
    #[error("{file}: cannot be read: {source}")]
    Read {
        /// The file's name as it was given.
        file: String,
        /// What the reader said.
        source: io::Error,
    },
    /// Something is wrong with what the file says.
    #[error(transparent)]
    Located(#[from] Located),
}
