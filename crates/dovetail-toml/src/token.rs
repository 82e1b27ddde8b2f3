//! A token that authorises changes: a secret text in the configuration or in a separate file.

use std::{
    fmt,
    fs::File,
    io::Read,
    ops::Deref,
    path::{Path, PathBuf},
    sync::Arc,
};

use toml::de::DeValue;

use crate::{Fault, Section, values};

/// Minimum and maximum length of a token, in characters.
const MIN_CHARS: usize = 16;
const MAX_CHARS: usize = 512;

/// A token. Output may be read by others, so no message shows it.
#[derive(Clone, PartialEq, Eq)]
pub struct Token(Arc<str>);

impl Token {
    /// Parses a token of 16 to 512 letters, digits and punctuation.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let is_token =
            (MIN_CHARS..=MAX_CHARS).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_graphic());
        is_token.then(|| Self(text.into()))
    }

    /// Reads `token` of a section, or the file named by its `token_file`, which only its owner may read. `folder` is the
    /// folder of the configuration.
    ///
    /// # Errors
    /// What is wrong with either, or that both are given.
    pub fn of(section: &mut Section<'_>, folder: &Path) -> Result<Option<Self>, Fault> {
        let written = section.one("token", written)?;
        let file = section.one("token_file", path(folder))?;
        match (written, file) {
            (Some(_), Some(_)) => Err(section.wrong("token_file", "there is a token as well: set one of them")),
            (written, None) => Ok(written),
            (None, Some(file)) => read(&file).map(Some).map_err(|what| section.wrong("token_file", what)),
        }
    }
}

impl Deref for Token {
    type Target = str;

    fn deref(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("\"…\"")
    }
}

fn written(value: &DeValue<'_>) -> Result<Token, String> {
    value.as_str().and_then(Token::parse).ok_or_else(|| format!("it is not {}", expected()))
}

fn expected() -> String {
    format!("a text of {MIN_CHARS} to {MAX_CHARS} letters, digits and punctuation, without spaces")
}

/// Reads a file name, relative to `folder` unless it begins with a slash.
pub fn path(folder: &Path) -> impl Fn(&DeValue<'_>) -> Result<PathBuf, String> {
    let folder = folder.to_owned();
    values::text("a file's name", move |name| (!name.is_empty() && !name.contains('\0')).then(|| folder.join(name)))
}

fn read(path: &Path) -> Result<Token, String> {
    read_secret(path, &expected(), MAX_CHARS, Token::parse)
}

/// Reads a secret from a file that only its owner may read: a text of at most `longest` bytes, without trailing white
/// space, parsed by `parse`; `expected` describes it in errors. No message shows it.
///
/// # Errors
/// What is wrong with the file or its permissions.
pub fn read_secret<T>(
    path: &Path,
    expected: &str,
    longest: usize,
    parse: impl FnOnce(&str) -> Option<T>,
) -> Result<T, String> {
    let name = format!("\"{}\"", path.display().to_string().escape_debug());
    let cannot = |why: std::io::Error| format!("{name} cannot be read: {why}");
    let file = File::open(path).map_err(cannot)?;
    if is_for_all(&file).map_err(cannot)? {
        return Err(format!("{name} is accessible to every user of this machine: chmod 600 it"));
    }
    let mut text = String::new();
    file.take(longest as u64 + 2).read_to_string(&mut text).map_err(cannot)?;
    parse(text.trim_end()).ok_or_else(|| format!("{name} does not hold {expected}"))
}

#[cfg(unix)]
fn is_for_all(file: &File) -> std::io::Result<bool> {
    use std::os::unix::fs::PermissionsExt;
    Ok(file.metadata()?.permissions().mode() & 0o007 != 0)
}

/// Other systems have different permissions.
#[cfg(not(unix))]
fn is_for_all(_: &File) -> std::io::Result<bool> {
    Ok(false)
}
