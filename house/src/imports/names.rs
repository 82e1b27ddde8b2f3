//! The meanings of a module's names, before any is followed.

use std::collections::{BTreeMap, BTreeSet};

use syn::{Ident, UseTree, Visibility};

/// A path's segments, as written.
pub(super) type Segments = Vec<String>;

/// Positions in a path where an item can appear.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Kind {
    /// A type or trait: its variants and associated items are named through it.
    Type,
    /// A function, constant or static.
    Value,
    /// A macro defined by `macro_rules!`.
    Macro,
}

/// One meaning of a name; a name can have one per namespace and per compilation target.
#[derive(Clone, Debug)]
pub(super) enum Meaning {
    /// A child module, by index.
    Module(usize),
    /// An item defined by this module, by index: by the module itself, except for macros, which are at the root.
    Item(usize, Kind),
    /// Whatever this path refers to, as seen from here.
    Import(Segments),
}

/// A meaning and its visibility.
#[derive(Clone, Debug)]
pub(super) struct Named {
    pub(super) meaning: Meaning,
    /// Visible only to this module and its descendants.
    pub(super) private: bool,
}

/// A glob import from a module or an enum.
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

/// A single import within a `use`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Leaf {
    pub(super) path: Segments,
    /// `None` for a glob.
    pub(super) name: Option<String>,
}

/// The imports of a `use`, one by one.
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
