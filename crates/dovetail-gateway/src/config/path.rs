//! Files that a configuration names.

use std::path::{Path, PathBuf};

use dovetail_toml::values::text;
use toml::de::DeValue;

/// A file's name; beside `folder` if it is not absolute.
pub(super) fn path(folder: &Path) -> impl Fn(&DeValue<'_>) -> Result<PathBuf, String> {
    let folder = folder.to_owned();
    text("a file's name", move |name| (!name.is_empty() && !name.contains('\0')).then(|| folder.join(name)))
}
