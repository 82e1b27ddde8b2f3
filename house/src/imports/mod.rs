//! Which files of a crate import each other in a cycle. Rust allows it, and the price comes later: none of the files in a
//! cycle can be understood, tested or moved without all the others.
//!
//! There is an edge from one file to another if the first mentions a path (in a private `use`, or in code) to an item that
//! the second defines, whichever modules re-export that item on the way. Variants and associated items are where their
//! type is. Declaring a module and re-exporting from it are no mention: a `mod.rs` that only names its parts is in no
//! cycle; one that works with its parts while they use its own items is. What is for tests alone is left out, and so is
//! what no path names: methods, fields, and paths within the strings of attributes.

mod components;
mod edges;
mod item;
mod mentions;
mod names;
mod resolve;
mod scope;
mod tokens;
mod tree;

use std::{
    fmt,
    fs::read_dir,
    path::{Path, PathBuf},
};

use self::{components::components, edges::edges, tree::Tree};

/// Files that import each other, directly or by way of others of them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cycle {
    /// The files, in order of name.
    pub files: Vec<PathBuf>,
    /// Who imports whom among them.
    pub edges: Vec<Edge>,
}

/// One file's mention of another's item.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Edge {
    /// The file that mentions.
    pub from: PathBuf,
    /// The file that defines.
    pub to: PathBuf,
    /// One path that does so, as it is written.
    pub by: String,
}

/// Why a crate's imports cannot be listed.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A file or folder that should be there cannot be read.
    #[error("{0}: {1}")]
    Unreadable(PathBuf, std::io::Error),
    /// A file that is no Rust.
    #[error("{0}: {1}")]
    Syntax(PathBuf, syn::Error),
    /// A `mod` without its file.
    #[error("{0}: there is no file for 'mod {1}'")]
    NoModule(PathBuf, String),
    /// A folder without `lib.rs`, `main.rs` and `bin/`.
    #[error("{0}: no crate has its root here")]
    NoRoot(PathBuf),
}

/// The cycles of all crates that have their root in this `src` folder.
///
/// # Errors
/// When the sources cannot be read.
pub fn cycles(src: &Path) -> Result<Vec<Cycle>, Error> {
    let mut cycles = Vec::new();
    for root in roots(src)? {
        let tree = Tree::load(&root)?;
        let edges = edges(&tree);
        for files in components(tree.files.len(), edges.keys().copied()) {
            let within = edges.iter().filter(|((from, to), _)| files.contains(from) && files.contains(to));
            let path = |file: usize| tree.files[file].clone();
            let edge =
                |(&(from, to), by): (&(usize, usize), &String)| Edge { from: path(from), to: path(to), by: by.clone() };
            let mut cycle =
                Cycle { files: files.iter().map(|&file| path(file)).collect(), edges: within.map(edge).collect() };
            cycle.files.sort();
            cycle.edges.sort_by(|one, other| (&one.from, &one.to).cmp(&(&other.from, &other.to)));
            cycles.push(cycle);
        }
    }
    Ok(cycles)
}

/// The root files of a package's crates: its library, its command and what is in `bin/`.
fn roots(src: &Path) -> Result<Vec<PathBuf>, Error> {
    let mut roots = vec![src.join("lib.rs"), src.join("main.rs")];
    let bin = src.join("bin");
    if bin.is_dir() {
        for entry in read_dir(&bin).map_err(|error| Error::Unreadable(bin.clone(), error))? {
            let path = entry.map_err(|error| Error::Unreadable(bin.clone(), error))?.path();
            let is_source = path.extension().is_some_and(|extension| extension == "rs");
            roots.push(if is_source { path } else { path.join("main.rs") });
        }
    }
    roots.retain(|root| root.is_file());
    roots.sort();
    if roots.is_empty() { Err(Error::NoRoot(src.to_owned())) } else { Ok(roots) }
}

impl fmt::Display for Cycle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let common = self.common_folder();
        let short = |path: &Path| path.strip_prefix(&common).unwrap_or(path).display().to_string();
        writeln!(f, "{} files of {} import each other:", self.files.len(), common.display())?;
        for file in &self.files {
            writeln!(f, "  {}", short(file))?;
            for edge in self.edges.iter().filter(|edge| &edge.from == file) {
                writeln!(f, "    -> {} by {}", short(&edge.to), edge.by)?;
            }
        }
        Ok(())
    }
}

impl Cycle {
    /// The same with paths that begin below this folder.
    #[must_use]
    pub fn seen_from(mut self, folder: &Path) -> Self {
        let shorten = |path: &mut PathBuf| {
            if let Ok(below) = path.strip_prefix(folder) {
                *path = below.to_owned();
            }
        };
        self.files.iter_mut().for_each(shorten);
        self.edges.iter_mut().for_each(|edge| [&mut edge.from, &mut edge.to].into_iter().for_each(shorten));
        self
    }

    fn common_folder(&self) -> PathBuf {
        let mut common = self.files[0].parent().unwrap_or(Path::new("")).to_owned();
        while !self.files.iter().all(|file| file.starts_with(&common)) && common.pop() {}
        common
    }
}
