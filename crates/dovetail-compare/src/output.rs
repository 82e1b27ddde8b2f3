//! Where what was found out goes: a writer, and files.

use std::{
    fs::{self, File},
    io::{ErrorKind, Write},
    path::Path,
    process,
};

use crate::{error::Error, report::Page};

/// Writes a text and ends the line.
///
/// # Errors
/// Where `out` takes it not.
pub fn print(out: &mut dyn Write, text: &str) -> Result<(), Error> {
    writeln!(out, "{text}").and_then(|()| out.flush()).map_err(Error::Output)
}

/// Writes one JSON document.
///
/// # Errors
/// Where `out` takes it not, or it is no JSON.
pub fn print_json(out: &mut dyn Write, document: &impl serde::Serialize) -> Result<(), Error> {
    print(out, &serde_json::to_string_pretty(document)?)
}

/// What was found out, in the forms that were asked for: a page at `report`, and to `out` one JSON document or a text.
///
/// # Errors
/// Where the page cannot be written, or `out` takes the rest not.
pub fn deliver<D: serde::Serialize>(
    out: &mut dyn Write,
    report: Option<&Path>,
    json: bool,
    page: impl FnOnce() -> Page,
    document: impl FnOnce() -> D,
    text: impl FnOnce() -> String,
) -> Result<(), Error> {
    if let Some(path) = report {
        write_file(path, &page().to_html())?;
    }
    if json { print_json(out, &document()) } else { print(out, &text()) }
}

/// Writes a file in one go.
///
/// # Errors
/// Where that cannot be done.
pub fn write_file(path: &Path, text: &str) -> Result<(), Error> {
    fs::write(path, text).map_err(|error| Error::file("write", path, error))
}

/// Writes a file so that a reader sees all of the old or all of the new text, whatever happens meanwhile: into
/// a new file beside it, which then takes its name. What is no regular file (a pipe, a device) is written to as it is.
///
/// # Errors
/// Where that cannot be done; nothing is left behind then.
pub fn replace_file(path: &Path, text: &str) -> Result<(), Error> {
    let failed = |error| Error::file("write", path, error);
    // A link stays a link: what it leads to is replaced.
    let target = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let Some(name) = target.file_name().filter(|_| !target.exists() || target.is_file()) else {
        return write_file(path, text);
    };
    let beside = target.with_file_name(format!(".{}.{}.tmp", name.to_string_lossy(), process::id()));
    let written = File::create_new(&beside)
        .and_then(|mut file| file.write_all(text.as_bytes()).and_then(|()| file.sync_all()))
        .and_then(|()| fs::rename(&beside, &target));
    written.map_err(|error| {
        // What another program left under that name is not ours to remove.
        if error.kind() != ErrorKind::AlreadyExists {
            let _ = fs::remove_file(&beside);
        }
        failed(error)
    })
}

#[cfg(test)]
mod tests {
    use std::io;

    use super::*;

    #[test]
    fn a_file_is_replaced_whole_and_nothing_is_left_beside() {
        let folder = std::env::temp_dir().join(format!("dovetail-replace-{}", process::id()));
        fs::create_dir_all(&folder).unwrap();
        let path = folder.join("a.toml");
        replace_file(&path, "old").unwrap();
        let before = File::open(&path).unwrap();
        replace_file(&path, "new").unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "new");
        // Who has the old file open still reads the old text: it was not written over.
        assert_eq!(io::read_to_string(before).unwrap(), "old");
        assert_eq!(fs::read_dir(&folder).unwrap().count(), 1);
        assert!(replace_file(&folder.join("none/a.toml"), "x").is_err());
        assert!(replace_file(&folder, "x").is_err());
        assert_eq!(fs::read_dir(&folder).unwrap().count(), 1);
        fs::remove_dir_all(&folder).unwrap();
    }
}
