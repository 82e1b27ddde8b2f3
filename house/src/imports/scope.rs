//! Names local to an item: its generic parameters, what a function binds, what a block imports or defines. They hide the
//! module's, so that a variable is not taken for another file's function of the same name.

use std::collections::{BTreeMap, BTreeSet};

use syn::{
    Block, GenericParam, Generics, Ident, Item, PatIdent, Stmt,
    visit::{Visit, visit_pat_ident},
};

use super::{
    item::defined,
    names::{Segments, leaves},
};

#[derive(Default)]
pub(super) struct Scope {
    /// Names defined in this file, whatever follows them in a path.
    own: BTreeSet<String>,
    /// Variables: a path of more than one segment cannot begin with one.
    variables: BTreeSet<String>,
    /// Imports of a block.
    imports: BTreeMap<String, Segments>,
}

/// How a scope resolves a path.
pub(super) enum Hidden {
    /// The path names something in this file.
    Own,
    /// In the module, the path is this one.
    Import(Segments),
}

impl Scope {
    pub(super) fn of_generics(generics: &Generics) -> Self {
        let name = |parameter: &GenericParam| match parameter {
            GenericParam::Type(parameter) => Some(parameter.ident.to_string()),
            GenericParam::Const(parameter) => Some(parameter.ident.to_string()),
            GenericParam::Lifetime(_) => None,
        };
        Self { own: generics.params.iter().filter_map(name).collect(), ..Self::default() }
    }

    /// All variables bound anywhere within: accurate enough to tell variables from functions.
    pub(super) fn of_variables(visit: impl FnOnce(&mut Variables)) -> Self {
        let mut variables = Variables::default();
        visit(&mut variables);
        Self { variables: variables.0, ..Self::default() }
    }

    pub(super) fn of_block(block: &Block) -> Self {
        let mut scope = Self::default();
        for statement in &block.stmts {
            let Stmt::Item(item) = statement else { continue };
            if let Item::Use(imports) = item {
                let named = leaves(&imports.tree).into_iter().filter_map(|leaf| Some((leaf.name?, leaf.path)));
                scope.imports.extend(named);
            }
            scope.own.extend(defined(item).map(|(ident, ..)| ident.to_string()));
        }
        scope
    }

    pub(super) fn hidden(&self, path: &[String]) -> Option<Hidden> {
        let first = path.first()?;
        if self.own.contains(first) || path.len() == 1 && self.variables.contains(first) {
            return Some(Hidden::Own);
        }
        // `use rate::rate` in a block means the module's `rate`.
        let import = self.imports.get(first).filter(|import| import.first() != Some(first))?;
        Some(Hidden::Import([&import[..], &path[1..]].concat()))
    }
}

/// Collects the variables bound by patterns.
#[derive(Default)]
pub(super) struct Variables(BTreeSet<String>);

impl<'ast> Visit<'ast> for Variables {
    fn visit_pat_ident(&mut self, pattern: &'ast PatIdent) {
        if is_variable(&pattern.ident) {
            self.0.insert(pattern.ident.to_string());
        }
        visit_pat_ident(self, pattern);
    }
}

/// Whether a bare name in a pattern binds a variable; otherwise it is a constant or a variant, by Rust's convention.
pub(super) fn is_variable(ident: &Ident) -> bool {
    !ident.to_string().starts_with(char::is_uppercase)
}
