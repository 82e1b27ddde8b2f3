//! Locations in the repository, so that a rule need not list the files it applies to.

use std::{
    fs,
    path::{Path, PathBuf},
};

/// The repository's root.
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("this crate is in the repository").to_owned()
}

/// Reads a file's text.
///
/// # Panics
/// When it cannot be read.
pub fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// The path relative to the repository.
pub fn shown(path: &Path) -> String {
    path.strip_prefix(root()).unwrap_or(path).display().to_string()
}

fn entries(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.expect("a readable folder").path()).collect();
    paths.sort();
    paths
}

/// All files in a folder and its subfolders, in order of name.
///
/// # Panics
/// When a folder cannot be read.
pub fn all_files(folder: &Path) -> Vec<PathBuf> {
    let below = |path: PathBuf| if path.is_dir() { all_files(&path) } else { vec![path] };
    entries(folder).into_iter().flat_map(below).collect()
}

/// All files with this extension in a folder and its subfolders, in order of name.
///
/// # Panics
/// When a folder cannot be read.
pub fn files(folder: &Path, extension: &str) -> Vec<PathBuf> {
    let has_it = |path: &PathBuf| path.extension().is_some_and(|other| other == extension);
    all_files(folder).into_iter().filter(has_it).collect()
}

/// The folders of the crates under `crates/`, in order of name.
///
/// # Panics
/// When the folder cannot be read.
pub fn crates() -> Vec<PathBuf> {
    let folders = entries(&root().join("crates"));
    folders.into_iter().filter(|folder| folder.join("Cargo.toml").exists()).collect()
}

/// The folder of the package in a folder of this name, under `crates/` or at this path.
pub fn package(name: &str) -> Option<PathBuf> {
    let folders = [root().join("crates").join(name), root().join(name)];
    folders.into_iter().find(|folder| folder.join("Cargo.toml").exists())
}

/// The book's pages and the README.
///
/// # Panics
/// When a folder cannot be read.
pub fn pages() -> Vec<PathBuf> {
    let mut pages = files(&root().join("docs"), "md");
    pages.push(root().join("README.md"));
    pages
}

/// Fails with one line per error.
///
/// # Panics
/// If there are any errors.
pub fn assert_none(wrong: &[String]) {
    assert!(wrong.is_empty(), "\n{}\n", wrong.join("\n"));
}
