//! Resolves paths through modules, imports, re-exports and globs.

use super::{
    names::{Kind, Meaning},
    tree::Tree,
};

/// The target of a path. A path to another crate has none.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Found {
    /// A module, by index.
    Module(usize),
    /// An item, or something named through it.
    Item {
        /// The module that defines it, by index.
        module: usize,
        name: String,
        kind: Kind,
    },
}

/// The names being followed, each with the module in which it is looked up and whether all of that is visible: a name that
/// leads to itself, as in `use rate::rate`, or as two modules' globs of each other do, has no further meaning there.
type Trail = Vec<(usize, String, bool)>;

impl Tree {
    /// All targets of a path in this module, in any namespace.
    pub(super) fn resolve(&self, module: usize, path: &[String]) -> Vec<Found> {
        let mut found = self.follow(module, path, &mut Vec::new());
        found.sort();
        found.dedup();
        found
    }

    /// The targets of a macro's bare name, including one defined earlier in the text, above the module.
    pub(super) fn resolve_macro(&self, module: usize, name: &str) -> Vec<Found> {
        let is_macro = |found: &Found| matches!(found, Found::Item { kind: Kind::Macro, .. });
        let mut at = Some(module);
        while let Some(module) = at {
            let mut found = self.resolve(module, &[name.to_owned()]);
            found.retain(is_macro);
            if !found.is_empty() {
                return found;
            }
            at = self.modules[module].parent;
        }
        Vec::new()
    }

    fn follow(&self, module: usize, path: &[String], trail: &mut Trail) -> Vec<Found> {
        let mut rest = path;
        let mut at = module;
        while let Some(first) = rest.first() {
            at = match (first.as_str(), self.modules[at].parent) {
                ("crate", _) => 0,
                ("self", _) => at,
                ("super", Some(above)) => above,
                _ => break,
            };
            rest = &rest[1..];
        }
        if path.is_empty() {
            return Vec::new();
        }
        let mut found = vec![Found::Module(at)];
        for name in rest {
            let within: Vec<usize> = found.iter().filter_map(Found::module).collect();
            if within.is_empty() {
                // A variant or an associated item belongs to the file of its type.
                found.retain(|found| matches!(found, Found::Item { kind: Kind::Type, .. }));
                break;
            }
            found = within.into_iter().flat_map(|within| self.look_up(within, name, module, trail)).collect();
        }
        found
    }

    /// The targets of a module's name, as visible to `viewer`.
    fn look_up(&self, module: usize, name: &str, viewer: usize, trail: &mut Trail) -> Vec<Found> {
        let sees_private = self.is_within(viewer, module);
        let step = (module, name.to_owned(), sees_private);
        if trail.contains(&step) {
            return Vec::new();
        }
        trail.push(step);
        let names = &self.modules[module].names;
        let found = match names.named.get(name) {
            Some(meanings) => {
                let seen = meanings.iter().filter(|named| sees_private || !named.private);
                seen.flat_map(|named| self.meant(module, name, &named.meaning, trail)).collect()
            }
            None => self.look_in_globs(module, name, sees_private, trail),
        };
        trail.pop();
        found
    }

    fn meant(&self, module: usize, name: &str, meaning: &Meaning, trail: &mut Trail) -> Vec<Found> {
        match meaning {
            Meaning::Module(below) => vec![Found::Module(*below)],
            Meaning::Item(module, kind) => vec![Found::Item { module: *module, name: name.to_owned(), kind: *kind }],
            Meaning::Import(path) => self.follow(module, path, trail),
        }
    }

    fn look_in_globs(&self, module: usize, name: &str, sees_private: bool, trail: &mut Trail) -> Vec<Found> {
        let globs = self.modules[module].names.globs.iter().filter(|glob| sees_private || !glob.private);
        let mut found = Vec::new();
        for glob in globs {
            for source in self.follow(module, &glob.path, trail) {
                match source {
                    Found::Module(source) if source == module => {}
                    Found::Module(source) => found.extend(self.look_up(source, name, module, trail)),
                    Found::Item { module: source, name: of, kind } => {
                        let variant = (of.clone(), name.to_owned());
                        if self.modules[source].names.variants.contains(&variant) {
                            found.push(Found::Item { module: source, name: of, kind });
                        }
                    }
                }
            }
        }
        found
    }

    fn is_within(&self, module: usize, outer: usize) -> bool {
        let mut at = Some(module);
        while let Some(module) = at {
            if module == outer {
                return true;
            }
            at = self.modules[module].parent;
        }
        false
    }
}

impl Found {
    fn module(&self) -> Option<usize> {
        match self {
            Self::Module(module) => Some(*module),
            Self::Item { .. } => None,
        }
    }
}
