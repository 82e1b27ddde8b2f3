//! Programs in C and C++ compile without a warning, and run with both libraries.

use std::{env, fs, process::Command};

use dovetail_skip::skipped;

use crate::tools::{Language, Link, crate_folder, is_here, library_folder, run};

/// The headers alone, in a file without anything else.
#[test]
fn headers_stand_alone() {
    let folder = tempfile::tempdir().unwrap();
    for (language, file, header) in [
        (Language::C11, "alone.c", "dovetail.h"),
        (Language::Cpp17, "alone.cpp", "dovetail.h"),
        (Language::Cpp17, "alone.cpp", "dovetail.hpp"),
    ] {
        if language.is_here() {
            let source = folder.path().join(file);
            fs::write(
                &source,
                format!("#include \"{header}\"\n#include \"{header}\"\nint main(void) {{ return 0; }}\n"),
            )
            .unwrap();
            run(language.command().arg("-fsyntax-only").arg(&source));
        }
    }
}

/// Both libraries have every function of the header, and the shared one exports nothing else.
#[test]
fn the_library_exports_the_header() {
    if !is_here("nm") {
        return;
    }
    let listed = run(Command::new("nm").args(["-D", "--defined-only"]).arg(library_folder().join("libdovetail.so")));
    let mut exported: Vec<&str> = listed.lines().filter_map(|line| line.split(' ').next_back()).collect();
    exported.sort_unstable();
    let promised = fs::read_to_string(crate_folder().join("tests/abi.txt")).unwrap();
    let functions = promised.lines().filter_map(|line| line.strip_prefix("function ")?.split('(').next());
    let mut promised: Vec<&str> = functions.filter_map(|declared| declared.split([' ', '*']).next_back()).collect();
    promised.sort_unstable();
    assert!(promised.len() > 40);
    assert_eq!(exported, promised);
}

#[test]
fn random_calls_run_with_both_libraries() {
    if !Language::C11.is_here() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let program = folder.path().join("random_calls");
    let mut printed = Vec::new();
    for link in [Link::Static, Link::Shared] {
        Language::C11.compile("tests/c/random_calls.c", link, &["-O1"], &program);
        let line = run(Command::new(&program).args(["200000", "3"]));
        printed.push(line.split(';').next().unwrap().to_owned());
    }
    assert_eq!(printed[0], printed[1]);
}

#[test]
fn the_classes_do_what_they_say() {
    if !Language::Cpp17.is_here() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let program = folder.path().join("classes");
    Language::Cpp17.compile("tests/c/classes.cpp", Link::Static, &[], &program);
    run(&mut Command::new(&program));
}

/// Ten million calls, right and wrong ones: nothing uninitialised is read, nothing is written out of bounds, nothing is lost,
/// and memory does not grow.
#[test]
fn sanitizers_find_nothing_in_ten_million_calls() {
    if !Language::C11.is_here() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let (source, probe) = (folder.path().join("probe.c"), folder.path().join("probe"));
    fs::write(&source, "int main(void) { return 0; }\n").unwrap();
    let flags = ["-g", "-O1", "-fsanitize=address,undefined", "-fno-sanitize-recover=all"];
    let compiled = Language::C11.command().args(flags).arg(&source).arg("-o").arg(&probe).output();
    if !compiled.is_ok_and(|output| output.status.success()) || !Command::new(&probe).status().unwrap().success() {
        return skipped("the compiler has no sanitizers that run here");
    }
    let program = folder.path().join("random_calls");
    Language::C11.compile("tests/c/random_calls.c", Link::Static, &flags, &program);
    // Freed memory in quarantine counts as memory: no more than 16 MB of it.
    let printed = run(Command::new(&program).args(["10000000", "4"]).env("ASAN_OPTIONS", "quarantine_size_mb=16"));
    assert!(calls_of(&printed) >= 10_000_000, "{printed}");
    // The sanitizer itself records where each allocation came from, so growth is measured without it.
    Language::C11.compile("tests/c/random_calls.c", Link::Static, &["-O1"], &program);
    let printed = run(Command::new(&program).args(["10000000", "4"]));
    let words: Vec<&str> = printed.split(' ').collect();
    let grown = words.iter().position(|&word| word == "by").map(|at| words[at + 1].parse::<i64>().unwrap());
    assert!(grown.is_some_and(|kilobytes| kilobytes < 4_000), "{printed}");
}

fn calls_of(printed: &str) -> u64 {
    printed.split(' ').next().unwrap().parse().unwrap()
}

#[test]
fn valgrind_finds_nothing() {
    if !Language::C11.is_here() || !is_here("valgrind") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let program = folder.path().join("random_calls");
    Language::C11.compile("tests/c/random_calls.c", Link::Static, &["-g", "-O1"], &program);
    let kinds = "definite,indirect,possible";
    let calls = if env::var_os("DOVETAIL_LONG").is_some() { "10000000" } else { "100000" };
    run(Command::new("valgrind")
        .args(["--quiet", "--leak-check=full", "--error-exitcode=9"])
        .arg(format!("--show-leak-kinds={kinds}"))
        .arg(format!("--errors-for-leak-kinds={kinds}"))
        .arg(&program)
        .args([calls, "5"]));
}

/// Packets that are sent to the example's network come back: six, with two ports each.
#[test]
fn the_example_gives_packets_back() {
    if !Language::C11.is_here() || !is_here("unshare") || !is_here("bash") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let program = folder.path().join("tun");
    Language::C11.compile("examples/tun.c", Link::Static, &["-O1"], &program);
    let script = r#"
        "$0" 10 drfq 6 | {
            read -r line; echo "$line"
            case $line in skipped*) exit 0 ;; esac
            for packet in 1 2 3; do echo hello > /dev/udp/10.77.0.2/9; echo hello > /dev/udp/10.77.0.3/53; done
            cat
        }"#;
    let output = Command::new("unshare").args(["--net", "bash", "-c", script]).arg(&program).output().unwrap();
    let printed = String::from_utf8_lossy(&output.stdout);
    if !output.status.success() && printed.is_empty() {
        return skipped("a network namespace cannot be made here");
    }
    if let Some(why) = printed.strip_prefix("skipped: ") {
        return skipped(why.trim());
    }
    assert!(printed.contains("10.77.0.0/24 is behind 10 Mbit/s, shared by drfq"), "{printed}");
    assert!(printed.contains("\n6 packets of ") && printed.contains("came back, 0 were lost"), "{printed}");
}

#[test]
fn the_example_says_what_it_lacks() {
    if !Language::C11.is_here() || !is_here("setpriv") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let program = folder.path().join("tun");
    Language::C11.compile("examples/tun.c", Link::Static, &["-O1"], &program);
    // Without the permission to create a device, which only root has and can drop.
    let mut without = Command::new("setpriv");
    without.args(["--bounding-set=-net_admin", "--inh-caps=-net_admin"]).arg(&program);
    match without.output() {
        Ok(output) if output.status.success() => {
            let printed = String::from_utf8_lossy(&output.stdout).into_owned();
            assert!(printed.starts_with("skipped: a TUN device cannot be made here: "), "{printed}");
        }
        _ => skipped("rights cannot be given up here"),
    }
}

#[test]
fn cmake_and_cargo_have_the_same_version() {
    let config = fs::read_to_string(crate_folder().join("cmake/dovetail-config-version.cmake")).unwrap();
    let expected = format!("set(PACKAGE_VERSION \"{}\")", env!("CARGO_PKG_VERSION"));
    assert!(config.contains(&expected), "dovetail-config-version.cmake: write {expected}");
}
