//! Description of a cycle.

use std::{
    fmt,
    path::{Path, PathBuf},
};

/// Files that import each other, directly or through others of them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cycle {
    /// The files, in order of name.
    pub files: Vec<PathBuf>,
    /// The imports among them.
    pub edges: Vec<Edge>,
}

/// A mention of another file's item.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Edge {
    /// The file that contains the mention.
    pub from: PathBuf,
    /// The file that defines the item.
    pub to: PathBuf,
    /// One such path, as written.
    pub by: String,
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
    /// The same with paths relative to this folder.
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
