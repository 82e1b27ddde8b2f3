//! Standard output, and files.

use std::{
    fs::{self, File},
    io::{self, ErrorKind, Write},
    path::Path,
    process,
};

use crate::{failure::Failure, report::Page};

/// Prints a text and ends the line. A closed pipe means that the reader has seen enough.
pub(crate) fn print(text: &str) -> Result<(), Failure> {
    let mut out = io::stdout().lock();
    match writeln!(out, "{text}").and_then(|()| out.flush()) {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => {
            Err(Failure::new(format!("cannot write to standard output: {error}")))
        }
        _ => Ok(()),
    }
}

/// Prints one JSON document.
pub(crate) fn print_json(document: &impl serde::Serialize) -> Result<(), Failure> {
    let text = serde_json::to_string_pretty(document);
    print(&text.map_err(|error| Failure::new(format!("cannot write JSON: {error}")))?)
}

/// What a command has found out, in the forms that were asked for: a page at `report`, and on standard output one JSON
/// document or a text.
pub(crate) fn deliver<D: serde::Serialize>(
    report: Option<&Path>,
    json: bool,
    page: impl FnOnce() -> Page,
    document: impl FnOnce() -> D,
    text: impl FnOnce() -> String,
) -> Result<(), Failure> {
    if let Some(path) = report {
        write_file(path, &page().to_html())?;
    }
    if json { print_json(&document()) } else { print(&text()) }
}

/// Writes a file in one go.
pub(crate) fn write_file(path: &Path, text: &str) -> Result<(), Failure> {
    fs::write(path, text).map_err(|error| Failure::file("write", path, error))
}

/// Writes a file so that whoever reads it sees all of the old or all of the new text, whatever happens meanwhile: into
/// a new file beside it, which then takes its name. What is no regular file (a pipe, a device) is written to as it is.
pub(crate) fn replace_file(path: &Path, text: &str) -> Result<(), Failure> {
    let failed = |error| Failure::file("write", path, error);
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
