//! What permits changes: a secret text, written in the configuration or in a file of its own.

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

/// The shortest and the longest token, in characters.
const SHORTEST: usize = 16;
const LONGEST: usize = 512;

/// A token. What is printed may be read by others, so no message shows it.
#[derive(Clone, PartialEq, Eq)]
pub struct Token(Arc<str>);

impl Token {
    /// Reads one of 16 to 512 letters, digits and punctuation.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let is_token = (SHORTEST..=LONGEST).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_graphic());
        is_token.then(|| Self(text.into()))
    }

    /// Reads `token` of a section, or the file that its `token_file` names, which is to be its owner's alone. `folder` is
    /// where the configuration is.
    ///
    /// # Errors
    /// What is wrong with either, or that both are there.
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
    format!("a text of {SHORTEST} to {LONGEST} letters, digits and punctuation, without spaces")
}

/// The name of a file, which is beside `folder` unless it begins with a slash.
pub fn path(folder: &Path) -> impl Fn(&DeValue<'_>) -> Result<PathBuf, String> {
    let folder = folder.to_owned();
    values::text("a file's name", move |name| (!name.is_empty() && !name.contains('\0')).then(|| folder.join(name)))
}

fn read(path: &Path) -> Result<Token, String> {
    read_secret(path, &expected(), LONGEST, Token::parse)
}

/// Reads a secret from a file that is its owner's alone: a text of at most `longest` bytes, blanks at its end left out, of
/// which `parse` makes what is `expected`. No message shows it.
///
/// # Errors
/// What is wrong with the file, or with who may read it.
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

/// Permissions are something else there.
#[cfg(not(unix))]
fn is_for_all(_: &File) -> std::io::Result<bool> {
    Ok(false)
}
