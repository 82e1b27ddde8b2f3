//! Finds import cycles among the files of a crate. Rust allows them, and the price comes later: none of the files in a
//! cycle can be understood, tested or moved without all the others.
//!
//! There is an edge from one file to another if the first mentions a path (in a private `use`, or in code) to an item that
//! the second defines, whichever modules re-export that item on the way. Variants and associated items belong to the file
//! of their type. Declaring a module and re-exporting from it do not count: a `mod.rs` that only names its parts is in no
//! cycle; one that uses its parts while they use its own items is. Test-only code is ignored, and so is what no path names:
//! methods, fields, and paths within the strings of attributes.

mod components;
mod cycle;
mod edges;
mod error;
mod item;
mod mentions;
mod names;
mod resolve;
mod scope;
mod tokens;
mod tree;

use std::{
    fs::read_dir,
    path::{Path, PathBuf},
};

use self::{components::components, edges::edges, tree::Tree};
pub use self::{
    cycle::{Cycle, Edge},
    error::Error,
};

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

/// The root files of a package's crates: its library, its command and those in `bin/`.
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
