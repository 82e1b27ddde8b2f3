//! Paths in a configuration.

use std::path::{Path, PathBuf};

use dovetail_toml::values::text;
use toml::de::DeValue;

/// A path, relative to `folder` unless absolute.
pub(super) fn path(folder: &Path) -> impl Fn(&DeValue<'_>) -> Result<PathBuf, String> {
    let folder = folder.to_owned();
    text("a file's name", move |name| (!name.is_empty() && !name.contains('\0')).then(|| folder.join(name)))
}
