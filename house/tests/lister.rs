//! The lister of import cycles itself, on small crates that are made up for it.

use std::{
    fs,
    path::{Path, PathBuf},
};

use dovetail_house::imports::{Cycle, cycles};

/// The cycles of a crate with these files.
fn listed(name: &str, files: &[(&str, &str)]) -> Vec<Cycle> {
    let src = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("lister-{name}"));
    if src.exists() {
        fs::remove_dir_all(&src).expect("the last run's crate");
    }
    for (path, text) in files {
        let path = src.join(path);
        fs::create_dir_all(path.parent().expect("a file is in a folder")).expect("a folder");
        fs::write(path, text).expect("a file");
    }
    let cycles = cycles(&src).expect("a crate");
    cycles.into_iter().map(|cycle| cycle.seen_from(&src)).collect()
}

/// What imports what by which name, of the only cycle.
fn edges(cycles: &[Cycle]) -> Vec<String> {
    let [cycle] = cycles else { panic!("one cycle was expected of {cycles:?}") };
    let shown = |path: &Path| path.display().to_string();
    cycle.edges.iter().map(|edge| format!("{} {} {}", shown(&edge.from), shown(&edge.to), edge.by)).collect()
}

#[track_caller]
fn assert_no_cycle(name: &str, files: &[(&str, &str)]) {
    let cycles = listed(name, files);
    assert!(cycles.is_empty(), "{}", cycles.iter().map(Cycle::to_string).collect::<String>());
}

#[test]
fn through_super() {
    let cycles = listed(
        "super",
        &[
            ("lib.rs", "mod a;"),
            ("a/mod.rs", "mod b; use b::B; pub struct A(B);"),
            ("a/b.rs", "use super::A; pub struct B; fn f(_: &A) {}"),
        ],
    );
    assert_eq!(edges(&cycles), ["a/b.rs a/mod.rs super::A", "a/mod.rs a/b.rs b::B"]);
    let text = cycles[0].to_string();
    assert!(text.contains("b.rs\n    -> mod.rs by super::A\n"), "{text}");
}

#[test]
fn through_a_re_export_that_renames() {
    let cycles = listed(
        "re-export",
        &[
            ("lib.rs", "mod a; mod b; pub use a::A as Renamed;"),
            ("a.rs", "use crate::b::B; pub struct A(B);"),
            ("b.rs", "pub struct B; fn f(_: &crate::Renamed) {}"),
        ],
    );
    assert_eq!(edges(&cycles), ["a.rs b.rs crate::b::B", "b.rs a.rs crate::Renamed"]);
}

#[test]
fn through_an_inline_path_in_an_expression() {
    let cycles = listed(
        "expression",
        &[
            ("main.rs", "mod a; mod b; fn main() {}"),
            ("a.rs", "pub fn f() -> u8 { crate::b::g() }"),
            ("b.rs", "use crate::a; pub fn g() -> u8 { a::f() }"),
        ],
    );
    assert_eq!(edges(&cycles), ["a.rs b.rs crate::b::g", "b.rs a.rs a::f"]);
}

#[test]
fn through_globs() {
    let cycles = listed(
        "globs",
        &[
            ("lib.rs", "mod a; mod b; pub use a::*; pub(crate) use b::*;"),
            ("a.rs", "use super::*; pub enum A { One } pub fn f(_: B) {}"),
            ("b.rs", "use super::*; pub struct B; fn g() -> bool { matches!(h(), A::One) }"),
        ],
    );
    assert_eq!(edges(&cycles), ["a.rs b.rs B", "b.rs a.rs A::One"]);
}

#[test]
fn through_variants_patterns_and_traits() {
    let cycles = listed(
        "variants",
        &[
            ("lib.rs", "mod a; mod b; mod c; pub use a::E::*;"),
            ("a.rs", "pub enum E { One, Two } fn f<T: crate::b::Trait>() { <T as crate::b::Trait>::g(); }"),
            ("b.rs", "pub trait Trait { fn g(); } fn h(e: crate::c::C) -> u8 { e.0 }"),
            ("c.rs", "pub struct C(pub u8); fn f() -> bool { if let crate::One = e() { true } else { false } }"),
        ],
    );
    let expected = ["a.rs b.rs crate::b::Trait", "b.rs c.rs crate::c::C", "c.rs a.rs crate::One"];
    assert_eq!(edges(&cycles), expected);
}

#[test]
fn through_macros_and_what_they_are_given() {
    let cycles = listed(
        "macros",
        &[
            ("lib.rs", "mod a; mod b; mod c;"),
            ("a.rs", "macro_rules! made { ($x:ident) => { $crate::b::B } } pub(crate) use made;"),
            ("b.rs", "pub struct B; fn f() { println!(\"{}\", crate::c::C); }"),
            ("c.rs", "pub const C: u8 = 0; fn f() { crate::a::made!(x); }"),
        ],
    );
    let expected = ["a.rs b.rs crate::b::B", "b.rs c.rs crate::c::C", "c.rs a.rs crate::a::made!"];
    assert_eq!(edges(&cycles), expected);
}

#[test]
fn through_a_macro_in_the_text_above() {
    let cycles = listed(
        "text-above",
        &[
            ("lib.rs", "mod a;"),
            ("a/mod.rs", "macro_rules! made { () => {} } mod b; fn f() { b::g(); }"),
            ("a/b.rs", "made!(); pub fn g() {}"),
        ],
    );
    assert_eq!(edges(&cycles), ["a/b.rs a/mod.rs made!", "a/mod.rs a/b.rs b::g"]);
}

#[test]
fn through_a_module_of_the_same_name_and_one_in_the_file() {
    let cycles = listed(
        "same-name",
        &[
            ("lib.rs", "mod rate; mod user; use rate::rate; pub fn f() -> u8 { rate() }"),
            (
                "rate.rs",
                "mod inner { pub fn g() -> u8 { super::super::user::user() } } pub fn rate() -> u8 { inner::g() }",
            ),
            ("user.rs", "pub fn user() -> u8 { use crate::rate as r; r::rate() }"),
        ],
    );
    assert_eq!(edges(&cycles), ["rate.rs user.rs super::super::user::user", "user.rs rate.rs r::rate"]);
}

#[test]
fn a_module_that_works_with_what_it_re_exports_is_in_one() {
    let cycles = listed(
        "worked-with",
        &[
            ("lib.rs", "mod a; pub use a::A; pub struct L; pub fn f() -> A { A(L) }"),
            ("a.rs", "pub struct A(pub crate::L);"),
        ],
    );
    assert_eq!(edges(&cycles), ["a.rs lib.rs crate::L", "lib.rs a.rs A"]);
}

#[test]
fn a_module_that_only_re_exports_is_in_none() {
    assert_no_cycle(
        "pure",
        &[
            ("lib.rs", "pub mod a;"),
            ("a/mod.rs", "mod b; mod c; pub use self::b::B; pub(crate) use c::*; pub(super) const D: u8 = 1;"),
            ("a/b.rs", "pub struct B(super::C);"),
            ("a/c.rs", "pub struct C; pub(crate) const E: u8 = super::D;"),
        ],
    );
}

#[test]
fn what_is_for_tests_is_left_out() {
    assert_no_cycle(
        "tests",
        &[
            ("lib.rs", "mod a; mod b;"),
            (
                "a.rs",
                "pub struct A;
                #[cfg(test)] use crate::b::B;
                #[cfg(all(test, unix))] mod checks { use crate::b::B; }
                impl A { #[cfg(test)] fn f(_: crate::b::B) {} }
                mod tests;",
            ),
            ("a/tests.rs", "use crate::b::B;"),
            ("b.rs", "use crate::a::A; pub struct B(A);"),
        ],
    );
}

#[test]
fn variables_parameters_and_other_crates_are_not_taken_for_items() {
    assert_no_cycle(
        "variables",
        &[
            ("lib.rs", "mod a; mod b; pub use b::{rate, T}; pub use std::fmt;"),
            (
                "a.rs",
                "use super::*;
                pub fn f(rate: u8) -> u8 { let g = |x: u8| x + rate; g(rate) }
                pub struct S<T>(T);
                impl<T> S<T> { fn new(_: ::b::T, x: T) -> fmt::Result { x.rate; assert!(x.rate()); Ok(()) } }",
            ),
            ("b.rs", "pub fn rate() -> u8 { crate::a::f(1) } pub struct T;"),
        ],
    );
}

#[test]
fn commands_in_bin_are_crates_of_their_own() {
    let cycles = listed(
        "bin",
        &[
            ("lib.rs", "pub struct L;"),
            ("bin/one/main.rs", "mod part; pub struct One; fn main() { part::f(One) }"),
            ("bin/one/part.rs", "pub fn f(_: crate::One) {}"),
            ("bin/two.rs", "fn main() {}"),
        ],
    );
    assert_eq!(
        edges(&cycles),
        ["bin/one/main.rs bin/one/part.rs part::f", "bin/one/part.rs bin/one/main.rs crate::One"]
    );
}
