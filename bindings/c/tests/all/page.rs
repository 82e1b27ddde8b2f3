//! The page of the book about C: its program compiles without a warning and prints what the page shows.

use std::{fs, process::Command};

use crate::tools::{Language, Link, crate_folder, run};

/// The contents of the page's code blocks in this language.
fn blocks(page: &str, language: &str) -> Vec<String> {
    let open = format!("```{language}\n");
    page.split(&open).skip(1).map(|rest| rest.split("```").next().unwrap().to_owned()).collect()
}

#[test]
fn the_page_s_program_prints_what_the_page_shows() {
    if !Language::C11.is_here() {
        return;
    }
    let page = fs::read_to_string(crate_folder().join("../../docs/c.md")).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let (source, program) = (folder.path().join("first.c"), folder.path().join("first"));
    let (programs, outputs) = (blocks(&page, "c"), blocks(&page, "text"));
    assert_eq!((programs.len(), outputs.len()), (1, 1), "this test knows of one program and its output");
    fs::write(&source, &programs[0]).unwrap();
    Language::C11.compile(source.to_str().unwrap(), Link::Shared, &[], &program);
    assert_eq!(run(&mut Command::new(&program)), outputs[0]);
}

/// Every function is on the page: by its name, or among those with a prefix that the page names.
#[test]
fn the_page_knows_every_call() {
    let page = fs::read_to_string(crate_folder().join("../../docs/c.md")).unwrap();
    let promised = fs::read_to_string(crate_folder().join("tests/abi.txt")).unwrap();
    let functions = promised.lines().filter_map(|line| line.strip_prefix("function ")?.split('(').next());
    let names: Vec<&str> = functions.filter_map(|declared| declared.split([' ', '*']).next_back()).collect();
    let families = ["dvt_requests_", "dvt_flows_", "dvt_far_"];
    let is_told = |name: &str| families.iter().any(|family| name.starts_with(family)) || page.contains(name);
    let missing: Vec<&&str> = names.iter().filter(|name| !is_told(name)).collect();
    assert!(missing.is_empty(), "docs/c.md does not name {missing:?}");
}
