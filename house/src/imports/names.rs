//! What a module's names stand for, before any is followed.

use std::collections::{BTreeMap, BTreeSet};

use syn::{Ident, UseTree, Visibility};

/// A path's segments, as they are written.
pub(super) type Segments = Vec<String>;

/// What may stand in which place of a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Kind {
    /// A type or trait: its variants and associated items are named through it.
    Type,
    /// A function, constant or static.
    Value,
    /// What `macro_rules!` defines.
    Macro,
}

/// One meaning of a name; a name can have one in each namespace, and one for each target it is compiled for.
#[derive(Clone, Debug)]
pub(super) enum Meaning {
    /// A module below, by its number.
    Module(usize),
    /// An item that this module, by its number, defines: this one itself, but for macros that stand at the root.
    Item(usize, Kind),
    /// Whatever this path stands for, seen from here.
    Import(Segments),
}

/// A meaning, and who can see it.
#[derive(Clone, Debug)]
pub(super) struct Named {
    pub(super) meaning: Meaning,
    /// Only this module and those below it see the name.
    pub(super) private: bool,
}

/// A `use` of all that a module or an enum has.
#[derive(Clone, Debug)]
pub(super) struct Glob {
    pub(super) path: Segments,
    pub(super) private: bool,
}

/// The names in a module.
#[derive(Clone, Debug, Default)]
pub(super) struct Names {
    pub(super) named: BTreeMap<String, Vec<Named>>,
    pub(super) globs: Vec<Glob>,
    /// Enums of this module with each of their variants.
    pub(super) variants: BTreeSet<(String, String)>,
}

impl Names {
    pub(super) fn add(&mut self, name: String, meaning: Meaning, private: bool) {
        self.named.entry(name).or_default().push(Named { meaning, private });
    }
}

pub(super) fn is_private(visibility: &Visibility) -> bool {
    match visibility {
        Visibility::Inherited => true,
        Visibility::Restricted(restricted) => restricted.path.is_ident("self"),
        Visibility::Public(_) => false,
    }
}

/// A single import of a `use`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Leaf {
    pub(super) path: Segments,
    /// None for a glob.
    pub(super) name: Option<String>,
}

/// What a `use` imports, one by one.
pub(super) fn leaves(tree: &UseTree) -> Vec<Leaf> {
    let mut found = Vec::new();
    flatten(tree, &[], &mut found);
    found
}

fn flatten(tree: &UseTree, prefix: &[String], found: &mut Vec<Leaf>) {
    let with = |ident: &Ident| [prefix, &[ident.to_string()]].concat();
    // `a::{self}` imports a.
    let named = |ident: &Ident| if ident == "self" && !prefix.is_empty() { prefix.to_vec() } else { with(ident) };
    match tree {
        UseTree::Path(path) => flatten(&path.tree, &with(&path.ident), found),
        UseTree::Name(name) => {
            let path = named(&name.ident);
            found.push(Leaf { name: path.last().cloned(), path });
        }
        UseTree::Rename(rename) => {
            found.push(Leaf { path: named(&rename.ident), name: Some(rename.rename.to_string()) });
        }
        UseTree::Glob(_) => found.push(Leaf { path: prefix.to_vec(), name: None }),
        UseTree::Group(group) => group.items.iter().for_each(|tree| flatten(tree, prefix, found)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_use_is_flattened() {
        let tree = syn::parse_str("a::{self, b::*, c as d, self as e}").expect("a tree");
        let leaf = |path: &str, name: Option<&str>| Leaf {
            path: path.split("::").map(str::to_owned).collect(),
            name: name.map(str::to_owned),
        };
        let expected = [leaf("a", Some("a")), leaf("a::b", None), leaf("a::c", Some("d")), leaf("a", Some("e"))];
        assert_eq!(leaves(&tree), expected);
    }
}
