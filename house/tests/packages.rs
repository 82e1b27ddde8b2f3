//! Every published crate is complete in itself: a README for its page in the registry, and both licences.

use dovetail_house::repository::{assert_none, crates, read, root, shown};

#[test]
fn every_published_crate_has_a_readme_and_both_licences() {
    let mut wrong = Vec::new();
    for folder in crates().into_iter().chain([root().join("bindings/c")]) {
        let manifest = read(&folder.join("Cargo.toml"));
        if manifest.contains("publish = false") {
            continue;
        }
        for file in ["README.md", "LICENSE-MIT", "LICENSE-APACHE"] {
            if !folder.join(file).exists() {
                wrong.push(format!("{}: add {file}", shown(&folder)));
            }
        }
        for key in ["description", "readme", "keywords", "license"] {
            if !manifest.lines().any(|line| line.starts_with(key)) {
                wrong.push(format!("{}/Cargo.toml: add {key}", shown(&folder)));
            }
        }
        let readme = folder.join("README.md");
        let is_tested = read(&folder.join("src/lib.rs")).contains("include_str!(\"../README.md\")");
        if readme.exists() && read(&readme).contains("```rust") && !is_tested {
            wrong.push(format!("{}/src/lib.rs: test the README's examples, as dovetail-stats does", shown(&folder)));
        }
    }
    assert_none(&wrong);
}
