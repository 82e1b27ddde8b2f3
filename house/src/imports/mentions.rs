//! Finds the items of other files that a module's own items mention.

use std::collections::BTreeMap;

use syn::{
    Arm, Attribute, Block, Expr, ExprPath, Field, ImplItem, ImplItemFn, Item, ItemFn, ItemMacro, ItemUse, Local, Macro,
    PatIdent, Path, PathSegment, QSelf, Stmt, Token, TraitItem, TraitItemFn, TypePath,
    punctuated::Punctuated,
    visit::{self, Visit},
};

use super::{
    item::{attributes, for_tests, generics},
    names::{Kind, Segments, is_private, leaves},
    resolve::Found,
    scope::{Hidden, Scope, is_variable},
    tokens::paths,
    tree::Tree,
};

/// Walks a module's items.
pub(super) struct Mentions<'t> {
    tree: &'t Tree,
    module: usize,
    /// Outermost first.
    scopes: Vec<Scope>,
    /// For each file, by index, the first path to an item in it, as written.
    found: BTreeMap<usize, String>,
}

/// The files that a module mentions, each with one path that does so.
pub(super) fn mentions(tree: &Tree, module: usize) -> BTreeMap<usize, String> {
    let mut mentions = Mentions { tree, module, scopes: Vec::new(), found: BTreeMap::new() };
    tree.modules[module].items.iter().for_each(|item| mentions.visit_item(item));
    mentions.found
}

impl Mentions<'_> {
    fn within(&mut self, scope: Scope, visit: impl FnOnce(&mut Self)) {
        self.scopes.push(scope);
        visit(self);
        self.scopes.pop();
    }

    /// Records a path in code.
    fn mention(&mut self, path: &[String]) {
        let mut through = path.to_vec();
        for scope in self.scopes.iter().rev() {
            match scope.hidden(&through) {
                Some(Hidden::Own) => return,
                Some(Hidden::Import(path)) => through = path,
                None => {}
            }
        }
        let mut found = self.tree.resolve(self.module, &through);
        found.retain(|found| !matches!(found, Found::Item { kind: Kind::Macro, .. }));
        self.note(found, &path.join("::"));
    }

    fn note(&mut self, found: Vec<Found>, path: &str) {
        for found in found {
            // A module alone is not an item; what is named through it is.
            let Found::Item { module, .. } = found else { continue };
            let file = self.tree.modules[module].file;
            if file != self.tree.modules[self.module].file {
                self.found.entry(file).or_insert_with(|| path.to_owned());
            }
        }
    }

    /// `<T as Trait>::item` and other paths that start with a type.
    fn qualified(&mut self, of: &QSelf, path: &Path) {
        self.visit_type(&of.ty);
        let of_trait: Segments = segments(path).into_iter().take(of.position).collect();
        if path.leading_colon.is_none() {
            self.mention(&of_trait);
        }
        path.segments.iter().for_each(|segment: &PathSegment| self.visit_path_arguments(&segment.arguments));
    }
}

fn segments(path: &Path) -> Segments {
    path.segments.iter().map(|segment| segment.ident.to_string()).collect()
}

impl<'ast> Visit<'ast> for Mentions<'_> {
    fn visit_item(&mut self, item: &'ast Item) {
        if for_tests(attributes(item)) {
            return;
        }
        match generics(item) {
            Some(generics) => self.within(Scope::of_generics(generics), |on| visit::visit_item(on, item)),
            None => visit::visit_item(self, item),
        }
    }

    fn visit_item_use(&mut self, imports: &'ast ItemUse) {
        if imports.leading_colon.is_none() && is_private(&imports.vis) {
            for leaf in leaves(&imports.tree) {
                let found = self.tree.resolve(self.module, &leaf.path);
                let glob = if leaf.name.is_none() { "::*" } else { "" };
                self.note(found, &format!("{}{glob}", leaf.path.join("::")));
            }
        }
    }

    fn visit_item_fn(&mut self, function: &'ast ItemFn) {
        let variables = Scope::of_variables(|variables| variables.visit_item_fn(function));
        self.within(variables, |on| visit::visit_item_fn(on, function));
    }

    fn visit_impl_item(&mut self, item: &'ast ImplItem) {
        let attributes = match item {
            ImplItem::Const(item) => &item.attrs,
            ImplItem::Fn(item) => &item.attrs,
            ImplItem::Type(item) => &item.attrs,
            ImplItem::Macro(item) => &item.attrs,
            _ => &Vec::new(),
        };
        if !for_tests(attributes) {
            visit::visit_impl_item(self, item);
        }
    }

    fn visit_impl_item_fn(&mut self, function: &'ast ImplItemFn) {
        let variables = Scope::of_variables(|variables| variables.visit_impl_item_fn(function));
        self.within(Scope::of_generics(&function.sig.generics), |on| {
            on.within(variables, |on| visit::visit_impl_item_fn(on, function));
        });
    }

    fn visit_trait_item(&mut self, item: &'ast TraitItem) {
        let attributes = match item {
            TraitItem::Const(item) => &item.attrs,
            TraitItem::Fn(item) => &item.attrs,
            TraitItem::Type(item) => &item.attrs,
            TraitItem::Macro(item) => &item.attrs,
            _ => &Vec::new(),
        };
        if !for_tests(attributes) {
            visit::visit_trait_item(self, item);
        }
    }

    fn visit_trait_item_fn(&mut self, function: &'ast TraitItemFn) {
        let variables = Scope::of_variables(|variables| variables.visit_trait_item_fn(function));
        self.within(Scope::of_generics(&function.sig.generics), |on| {
            on.within(variables, |on| visit::visit_trait_item_fn(on, function));
        });
    }

    fn visit_field(&mut self, field: &'ast Field) {
        if !for_tests(&field.attrs) {
            visit::visit_field(self, field);
        }
    }

    fn visit_arm(&mut self, arm: &'ast Arm) {
        if !for_tests(&arm.attrs) {
            visit::visit_arm(self, arm);
        }
    }

    fn visit_local(&mut self, local: &'ast Local) {
        if !for_tests(&local.attrs) {
            visit::visit_local(self, local);
        }
    }

    fn visit_stmt(&mut self, statement: &'ast Stmt) {
        let left_out = match statement {
            Stmt::Expr(Expr::Block(block), _) => for_tests(&block.attrs),
            Stmt::Macro(invoked) => for_tests(&invoked.attrs),
            _ => false,
        };
        if !left_out {
            visit::visit_stmt(self, statement);
        }
    }

    fn visit_block(&mut self, block: &'ast Block) {
        self.within(Scope::of_block(block), |on| visit::visit_block(on, block));
    }

    /// Attributes are read by macros, which interpret paths as they like.
    fn visit_attribute(&mut self, _: &'ast Attribute) {}

    fn visit_path(&mut self, path: &'ast Path) {
        if path.leading_colon.is_none() {
            self.mention(&segments(path));
        }
        visit::visit_path(self, path);
    }

    fn visit_expr_path(&mut self, path: &'ast ExprPath) {
        match &path.qself {
            Some(of) => self.qualified(of, &path.path),
            None => self.visit_path(&path.path),
        }
    }

    fn visit_type_path(&mut self, path: &'ast TypePath) {
        match &path.qself {
            Some(of) => self.qualified(of, &path.path),
            None => self.visit_path(&path.path),
        }
    }

    fn visit_pat_ident(&mut self, pattern: &'ast PatIdent) {
        if !is_variable(&pattern.ident) {
            self.mention(&[pattern.ident.to_string()]);
        }
        visit::visit_pat_ident(self, pattern);
    }

    fn visit_macro(&mut self, invoked: &'ast Macro) {
        let path = segments(&invoked.path);
        let found = match &path[..] {
            [name] => self.tree.resolve_macro(self.module, name),
            path => self.tree.resolve(self.module, path),
        };
        self.note(found, &format!("{}!", path.join("::")));
        match invoked.parse_body_with(Punctuated::<Expr, Token![,]>::parse_terminated) {
            Ok(arguments) => arguments.iter().for_each(|argument| self.visit_expr(argument)),
            Err(_) => paths(invoked.tokens.clone()).iter().for_each(|path| self.mention(path)),
        }
    }

    /// `macro_rules!`: its expansion counts as written here.
    fn visit_item_macro(&mut self, item: &'ast ItemMacro) {
        match item.ident {
            Some(_) => paths(item.mac.tokens.clone()).iter().for_each(|path| self.mention(path)),
            None => self.visit_macro(&item.mac),
        }
    }
}
