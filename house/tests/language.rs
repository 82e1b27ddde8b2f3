//! What the public reads keeps to the field's terms: no phrase of `banned.txt` stands in the book, the packaging, the
//! scenarios' comments, or in the documentation, messages and names of the crates.

use std::path::{Path, PathBuf};

use dovetail_house::{
    language::{Passage, banned, findings, of_comments, of_page, of_rust},
    repository::{all_files, assert_none, crates, files, pages, read, root, shown},
};

/// The files that are read in one way.
struct Read {
    files: Vec<PathBuf>,
    passages: fn(&Path) -> Vec<Passage>,
}

fn public() -> [Read; 3] {
    let mut folders = crates();
    folders.extend(["bindings/c", "bindings/python"].map(|binding| root().join(binding)));
    let sources = folders.into_iter().flat_map(|folder| files(&folder.join("src"), "rs")).collect();
    let rust = |path: &Path| of_rust(&read(path)).unwrap_or_else(|error| panic!("{}: {error}", shown(path)));
    let mut as_they_are = pages();
    as_they_are.extend(all_files(&root().join("packaging")));
    as_they_are.extend(
        ["c/README.md", "c/include/dovetail.hpp", "python/README.md"].map(|name| root().join("bindings").join(name)),
    );
    [
        Read { files: as_they_are, passages: |path| of_page(&read(path)) },
        Read { files: files(&root().join("scenarios"), "toml"), passages: |path| of_comments(&read(path)) },
        Read { files: sources, passages: rust },
    ]
}

#[test]
fn no_banned_phrase_is_public() {
    let list = root().join("house/banned.txt");
    let banned = banned(&read(&list)).unwrap_or_else(|error| panic!("{}: {error}", shown(&list)));
    assert!(!banned.is_empty(), "{} bans nothing", shown(&list));
    let mut wrong = Vec::new();
    for Read { files, passages } in public() {
        assert!(!files.is_empty(), "what should be read is elsewhere");
        for file in files {
            for found in findings(&passages(&file), &banned) {
                wrong.push(format!("{}:{}: '{}': {}", shown(&file), found.line, found.phrase, found.instead));
            }
        }
    }
    assert_none(&wrong);
}
