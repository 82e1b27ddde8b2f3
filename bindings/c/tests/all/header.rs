//! The header is what cbindgen generates from the sources. `DOVETAIL_BLESS=1` rewrites it.

use std::{env, fs};

use crate::tools::crate_folder;

/// The header generated from the current sources.
pub(crate) fn made() -> String {
    let config = cbindgen::Config::from_file(crate_folder().join("cbindgen.toml")).unwrap();
    let bindings = cbindgen::Builder::new().with_crate(crate_folder()).with_config(config).generate().unwrap();
    let mut made = Vec::new();
    bindings.write(&mut made);
    String::from_utf8(made).unwrap()
}

#[test]
fn the_header_is_what_cbindgen_makes() {
    let made = made();
    let header = crate_folder().join("include/dovetail.h");
    if env::var_os("DOVETAIL_BLESS").is_some_and(|value| value == "1") {
        fs::write(&header, &made).unwrap();
    }
    let committed = fs::read_to_string(&header).unwrap_or_default();
    let differs = made.lines().zip(committed.lines()).find(|(made, committed)| made != committed);
    assert!(made == committed, "dovetail.h is old: run this test with DOVETAIL_BLESS=1; first difference {differs:?}");
}
