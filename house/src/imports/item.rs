//! Properties of an item: its attributes, visibility, and the name it defines.

use syn::{Attribute, Generics, Ident, Item, Meta, Token, Visibility, punctuated::Punctuated};

use super::names::Kind;

pub(super) fn attributes(item: &Item) -> &[Attribute] {
    match item {
        Item::Const(item) => &item.attrs,
        Item::Enum(item) => &item.attrs,
        Item::ExternCrate(item) => &item.attrs,
        Item::Fn(item) => &item.attrs,
        Item::ForeignMod(item) => &item.attrs,
        Item::Impl(item) => &item.attrs,
        Item::Macro(item) => &item.attrs,
        Item::Mod(item) => &item.attrs,
        Item::Static(item) => &item.attrs,
        Item::Struct(item) => &item.attrs,
        Item::Trait(item) => &item.attrs,
        Item::TraitAlias(item) => &item.attrs,
        Item::Type(item) => &item.attrs,
        Item::Union(item) => &item.attrs,
        Item::Use(item) => &item.attrs,
        _ => &[],
    }
}

/// The name that an item defines, its kind and its visibility; modules and imports are not items here.
pub(super) fn defined(item: &Item) -> Option<(&Ident, Kind, &Visibility)> {
    Some(match item {
        Item::Const(item) => (&item.ident, Kind::Value, &item.vis),
        Item::Enum(item) => (&item.ident, Kind::Type, &item.vis),
        Item::Fn(item) => (&item.sig.ident, Kind::Value, &item.vis),
        Item::Macro(item) => (item.ident.as_ref()?, Kind::Macro, &Visibility::Inherited),
        Item::Static(item) => (&item.ident, Kind::Value, &item.vis),
        Item::Struct(item) => (&item.ident, Kind::Type, &item.vis),
        Item::Trait(item) => (&item.ident, Kind::Type, &item.vis),
        Item::TraitAlias(item) => (&item.ident, Kind::Type, &item.vis),
        Item::Type(item) => (&item.ident, Kind::Type, &item.vis),
        Item::Union(item) => (&item.ident, Kind::Type, &item.vis),
        _ => return None,
    })
}

pub(super) fn generics(item: &Item) -> Option<&Generics> {
    Some(match item {
        Item::Enum(item) => &item.generics,
        Item::Fn(item) => &item.sig.generics,
        Item::Impl(item) => &item.generics,
        Item::Struct(item) => &item.generics,
        Item::Trait(item) => &item.generics,
        Item::Type(item) => &item.generics,
        Item::Union(item) => &item.generics,
        _ => return None,
    })
}

/// Whether code with these attributes is built for tests only.
pub(super) fn for_tests(attributes: &[Attribute]) -> bool {
    attributes.iter().any(|attribute| {
        let path = attribute.path();
        path.is_ident("test") || path.is_ident("cfg") && attribute.parse_args().is_ok_and(|meta| needs_test(&meta))
    })
}

/// Whether a `cfg` predicate can hold only in test builds.
fn needs_test(predicate: &Meta) -> bool {
    let parts = |list: &syn::MetaList| {
        list.parse_args_with(Punctuated::<Meta, Token![,]>::parse_terminated).unwrap_or_default()
    };
    match predicate {
        Meta::Path(path) => path.is_ident("test"),
        Meta::List(list) if list.path.is_ident("all") => parts(list).iter().any(needs_test),
        Meta::List(list) if list.path.is_ident("any") => parts(list).iter().all(needs_test),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_built_without_tests_too_is_not_for_tests() {
        for (item, expected) in [
            ("#[cfg(test)] fn f() {}", true),
            ("#[test] fn f() {}", true),
            ("#[cfg(all(unix, test))] fn f() {}", true),
            ("#[cfg(any(unix, test))] fn f() {}", false),
            ("#[cfg(not(test))] fn f() {}", false),
            ("#[inline] fn f() {}", false),
        ] {
            let parsed: Item = syn::parse_str(item).expect("an item");
            assert_eq!(for_tests(attributes(&parsed)), expected, "{item}");
        }
    }
}
