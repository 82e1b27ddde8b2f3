//! A crate's modules with their names and items, starting from its root file.

use std::{
    fs,
    path::{Path, PathBuf},
};

use syn::{Expr, ExprLit, Item, ItemMod, Lit, Meta};

use super::{
    error::Error,
    item::{attributes, defined, for_tests},
    names::{Glob, Kind, Meaning, Names, is_private, leaves},
};

/// A module, in a file of its own or inline in another's.
pub(super) struct Module {
    /// The file, by index.
    pub(super) file: usize,
    /// The parent module, by index; none for the root.
    pub(super) parent: Option<usize>,
    pub(super) names: Names,
    /// The items, without modules and test-only code.
    pub(super) items: Vec<Item>,
}

/// A crate.
pub(super) struct Tree {
    pub(super) files: Vec<PathBuf>,
    /// The first is the root.
    pub(super) modules: Vec<Module>,
}

/// Where a module's text is, and where the files of its child modules are.
struct Place {
    /// By index.
    file: usize,
    below: PathBuf,
}

impl Tree {
    pub(super) fn load(root: &Path) -> Result<Self, Error> {
        let mut tree = Self { files: Vec::new(), modules: Vec::new() };
        tree.add_file(root.to_owned(), None, folder(root))?;
        Ok(tree)
    }

    fn add_file(&mut self, path: PathBuf, parent: Option<usize>, below: PathBuf) -> Result<usize, Error> {
        let text = fs::read_to_string(&path).map_err(|error| Error::Unreadable(path.clone(), error))?;
        let items = syn::parse_file(&text).map_err(|error| Error::Syntax(path.clone(), error))?.items;
        self.files.push(path);
        let place = Place { file: self.files.len() - 1, below };
        self.add_module(items, parent, &place)
    }

    fn add_module(&mut self, items: Vec<Item>, parent: Option<usize>, place: &Place) -> Result<usize, Error> {
        let module = self.modules.len();
        self.modules.push(Module { file: place.file, parent, names: Names::default(), items: Vec::new() });
        for item in items {
            if for_tests(attributes(&item)) {
                continue;
            }
            match item {
                Item::Mod(below) if below.ident == "tests" => {}
                Item::Mod(below) => {
                    let (name, private) = (below.ident.to_string(), is_private(&below.vis));
                    let number = self.add_below(below, module, place)?;
                    self.modules[module].names.add(name, Meaning::Module(number), private);
                }
                item => {
                    self.name(module, &item);
                    self.modules[module].items.push(item);
                }
            }
        }
        Ok(module)
    }

    fn add_below(&mut self, below: ItemMod, parent: usize, place: &Place) -> Result<usize, Error> {
        let name = below.ident.to_string();
        let named_path = path_attribute(&below);
        if let Some((_, items)) = below.content {
            let below = place.below.join(named_path.unwrap_or(name));
            return self.add_module(items, Some(parent), &Place { file: place.file, below });
        }
        let source = &self.files[place.file];
        let in_own_file = self.modules[parent].parent.is_none_or(|above| self.modules[above].file != place.file);
        if let Some(path) = named_path {
            let path = if in_own_file { folder(source) } else { place.below.clone() }.join(path);
            let below = folder(&path);
            return self.add_file(path, Some(parent), below);
        }
        let below = place.below.join(&name);
        let candidates = [place.below.join(format!("{name}.rs")), below.join("mod.rs")];
        let no_module = || Error::NoModule(source.clone(), name);
        let path = candidates.into_iter().find(|path| path.is_file()).ok_or_else(no_module)?;
        self.add_file(path, Some(parent), below)
    }

    /// Adds the names that an item defines to its module.
    fn name(&mut self, module: usize, item: &Item) {
        if let Item::Use(imports) = item {
            // A leading `::` means another crate.
            let ours = imports.leading_colon.is_none();
            let private = is_private(&imports.vis);
            for leaf in leaves(&imports.tree) {
                let path = if ours { leaf.path } else { Vec::new() };
                let names = &mut self.modules[module].names;
                match leaf.name {
                    Some(name) => names.add(name, Meaning::Import(path), private),
                    None => names.globs.push(Glob { path, private }),
                }
            }
        }
        let Some((ident, kind, visibility)) = defined(item) else { return };
        let exported = attributes(item).iter().any(|attribute| attribute.path().is_ident("macro_export"));
        if kind == Kind::Macro && exported && module != 0 {
            self.modules[0].names.add(ident.to_string(), Meaning::Item(module, kind), false);
        }
        let names = &mut self.modules[module].names;
        names.add(ident.to_string(), Meaning::Item(module, kind), is_private(visibility));
        if let Item::Enum(item) = item {
            let variants = item.variants.iter().map(|variant| (ident.to_string(), variant.ident.to_string()));
            names.variants.extend(variants);
        }
    }
}

fn folder(path: &Path) -> PathBuf {
    path.parent().unwrap_or(Path::new("")).to_owned()
}

/// The path in `#[path = "…"]`.
fn path_attribute(module: &ItemMod) -> Option<String> {
    module.attrs.iter().find_map(|attribute| match &attribute.meta {
        Meta::NameValue(meta) if meta.path.is_ident("path") => match &meta.value {
            Expr::Lit(ExprLit { lit: Lit::Str(path), .. }) => Some(path.value()),
            _ => None,
        },
        _ => None,
    })
}
