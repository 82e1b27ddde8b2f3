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
    Language::C11.compile(source.to_str().unwrap(), Link::Shared, &["-Wconversion"], &program);
    assert_eq!(run(&mut Command::new(&program)), outputs[0]);
}

/// The page's lines in C++ compile, as part of a function; without a look at the admission they do not.
#[test]
fn the_page_s_lines_in_cpp_compile() {
    if !Language::Cpp17.is_here() {
        return;
    }
    let page = fs::read_to_string(crate_folder().join("../../docs/c.md")).unwrap();
    let blocks = blocks(&page, "cpp");
    let (include, lines) = blocks[0].split_once('\n').unwrap();
    let folder = tempfile::tempdir().unwrap();
    let source = folder.path().join("lines.cpp");
    let compile = |lines: &str| {
        let around = format!(
            "{include}\nvoid drop(std::uint64_t);\nvoid send(std::uint64_t);\nvoid page(std::uint32_t, std::uint32_t, \
             std::uint64_t, std::uint64_t, std::uint64_t, std::uint64_t);\nvoid page(std::uint32_t flow, std::uint32_t \
             bytes, std::uint64_t now, std::uint64_t handle, std::uint64_t cpu_ns, std::uint64_t link_ns) {{\n{lines}}}\n"
        );
        fs::write(&source, around).unwrap();
        Language::Cpp17.command().arg("-Wconversion").arg("-fsyntax-only").arg(&source).output().unwrap()
    };
    let output = compile(lines);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let careless = "dovetail::Scheduler scheduler(\"drr\", dovetail::setup(1));\n\
                    scheduler.enqueue(dovetail::packet(flow, bytes, now, handle, {cpu_ns + link_ns}), now);\n";
    let output = compile(careless);
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success() && stderr.contains("nodiscard"), "{stderr}");
}

/// Every function is on the page: by its name, or among those with a prefix that the page names.
#[test]
fn the_page_knows_every_call() {
    let page = fs::read_to_string(crate_folder().join("../../docs/c.md")).unwrap();
    let promised = fs::read_to_string(crate_folder().join("tests/abi.txt")).unwrap();
    let functions = promised.lines().filter_map(|line| line.strip_prefix("function ")?.split('(').next());
    let names: Vec<&str> = functions.filter_map(|declared| declared.split([' ', '*']).next_back()).collect();
    let families = ["dvt_requests_", "dvt_flows_", "dvt_far_", "dvt_offer_"];
    let is_told = |name: &str| families.iter().any(|family| name.starts_with(family)) || page.contains(name);
    let missing: Vec<&&str> = names.iter().filter(|name| !is_told(name)).collect();
    assert!(missing.is_empty(), "docs/c.md does not name {missing:?}");
}
