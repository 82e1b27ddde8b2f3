//! Configuration files: at most a megabyte, read section by section.

use std::{
    fs::File,
    io::{self, Read},
    path::Path,
};

use thiserror::Error;
use toml::de::DeTable;

use super::{Located, fault::Fault, section::Section};

/// Maximum size of a file, in bytes.
const MAX_FILE_BYTES: u64 = 1 << 20;

/// Why a file cannot be used. The message names the line, the key, what is wrong, and what to do.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ConfigError {
    /// The file cannot be read.
    #[error("{file}: cannot be read: {source}")]
    Read {
        /// The file's name as given.
        file: String,
        /// The error of the reader.
        source: io::Error,
    },
    /// The contents of the file are invalid.
    #[error(transparent)]
    Located(#[from] Located),
}

/// Reads the text of a file of at most 1 MiB, without the byte order mark that some editors begin files with.
///
/// # Errors
/// When it cannot be read, is longer, or is not UTF-8.
pub fn read_text(path: &Path) -> Result<String, ConfigError> {
    let file = path.display().to_string();
    let mut bytes = Vec::new();
    let read = File::open(path).and_then(|read| read.take(MAX_FILE_BYTES + 1).read_to_end(&mut bytes));
    read.map_err(|source| ConfigError::Read { file: file.clone(), source })?;
    is_short(bytes.len()).map_err(|wrong| wrong.located("", &file))?;
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").map(<[u8]>::to_vec).unwrap_or(bytes);
    String::from_utf8(bytes).map_err(|_| Fault::whole("it is not text in UTF-8").located("", &file).into())
}

/// Parses a text and applies `read` to its root section; `file` names it in errors.
///
/// # Errors
/// With the line, if the text is over 1 MiB or not TOML, or `read` returns an error.
pub fn parse<T>(text: &str, file: &str, read: impl FnOnce(Section<'_>) -> Result<T, Fault>) -> Result<T, ConfigError> {
    is_short(text.len()).map_err(|wrong| wrong.located(text, file))?;
    let table = DeTable::parse(text).map_err(|wrong| Fault::of_toml(&wrong, text).located(text, file))?;
    Ok(read(Section::root(table.get_ref())).map_err(|wrong| wrong.located(text, file))?)
}

fn is_short(bytes: usize) -> Result<(), Fault> {
    if bytes as u64 > MAX_FILE_BYTES {
        Err(Fault::whole("it is longer than 1 MiB: this is another file"))
    } else {
        Ok(())
    }
}
