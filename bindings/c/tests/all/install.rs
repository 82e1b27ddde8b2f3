//! What `install.sh` installs can be found, linked and moved.
#![cfg(target_os = "linux")]

use std::{
    env,
    ffi::OsString,
    fs,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    process::Command,
};

use crate::tools::{Language, command, crate_folder, is_here, library_folder, run};

/// Stands for cargo, whose release build takes minutes: makes the shared library of the static one of these tests, with the
/// arguments that the linker is to get, and says where both are, as cargo does.
const CARGO: &str = r#"#!/usr/bin/env bash
set -euo pipefail
mkdir -p "$BUILT"
cp "$STATIC" "$BUILT/libdovetail.a"
for argument; do
    case $argument in link-arg=*) given=${argument#link-arg=} ;; esac
done
cc -shared -o "$BUILT/libdovetail.so" -Wl,--whole-archive "$STATIC" -Wl,--no-whole-archive -lpthread -ldl -lm "$given"
echo '{"reason":"compiler-artifact","target":{"name":"dovetail_sched"},"filenames":["/none.rlib"],"fresh":true}'
echo '{"reason":"compiler-artifact","target":{"name":"dovetail"},"filenames":["'"$BUILT"'/libdovetail.so","'"$BUILT"'/libdovetail.a"]}'
echo '{"reason":"build-finished","success":true}'
"#;

/// Installs with `install.sh` below this folder, in a prefix with a space in its name, and returns the prefix.
fn installed(folder: &Path) -> PathBuf {
    let (tools, prefix) = (folder.join("tools"), folder.join("the prefix"));
    fs::create_dir(&tools).unwrap();
    fs::write(tools.join("cargo"), CARGO).unwrap();
    fs::set_permissions(tools.join("cargo"), fs::Permissions::from_mode(0o755)).unwrap();
    let mut path = tools.into_os_string();
    path.push(":");
    path.push(env::var_os("PATH").unwrap());
    let mut install = command(folder, "bash");
    install.arg(crate_folder().join("install.sh")).arg(&prefix).env("PATH", path);
    run(install.env("BUILT", folder.join("another target")).env("STATIC", library_folder().join("libdovetail.a")));
    prefix
}

/// The libraries that a program or a library names for the loader, and a library's own name.
fn named(file: &Path) -> Vec<String> {
    let listed = run(Command::new("readelf").arg("-d").arg(file));
    let of = |line: &str| Some(line.split_once('[')?.1.trim_end_matches(']').to_owned());
    listed.lines().filter(|line| line.contains("(NEEDED)") || line.contains("(SONAME)")).filter_map(of).collect()
}

/// What CMake builds with an installed library runs, also when the library has moved.
#[test]
fn cmake_finds_what_is_installed() {
    if !Language::C11.is_here() || !Language::Cpp17.is_here() || !is_here("cmake") || !is_here("readelf") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let prefix = installed(folder.path());
    let build = folder.path().join("build");
    let mut defined = OsString::from("-DCMAKE_PREFIX_PATH=");
    defined.push(&prefix);
    let example = crate_folder().join("examples/cmake");
    run(command(folder.path(), "cmake").arg("-S").arg(&example).arg("-B").arg(&build).arg(defined));
    run(command(folder.path(), "cmake").arg("--build").arg(&build));
    let line = "large packets had 288 us of the link, small ones 288 us of the CPU\n";
    for program in ["two_flows", "two_flows_static"] {
        assert_eq!(run(&mut command(&build, build.join(program))), line);
    }
    let needed = named(&build.join("two_flows"));
    assert!(needed.contains(&"libdovetail.so.0.1".to_owned()), "{needed:?}");
    assert!(!named(&build.join("two_flows_static")).iter().any(|name| name.contains("dovetail")));
    let moved = folder.path().join("moved");
    fs::rename(&prefix, &moved).unwrap();
    assert!(!command(&build, build.join("two_flows")).output().unwrap().status.success());
    let mut elsewhere = command(&build, build.join("two_flows"));
    assert_eq!(run(elsewhere.env("LD_LIBRARY_PATH", moved.join("lib"))), line);
}

/// Whatever cargo's target directory is, and with a space in the prefix.
#[test]
fn the_script_installs_a_library_with_a_name_of_its_own() {
    if !Language::C11.is_here() || !is_here("readelf") || !is_here("pkg-config") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let prefix = installed(folder.path());
    let at = |name: &str| prefix.join("lib").join(name);
    let real = concat!("libdovetail.so.", env!("CARGO_PKG_VERSION"));
    for link in ["libdovetail.so", "libdovetail.so.0.1"] {
        assert_eq!(fs::read_link(at(link)).unwrap(), Path::new(real));
    }
    assert!(named(&at(real)).contains(&"libdovetail.so.0.1".to_owned()));
    let sections = run(Command::new("readelf").arg("-SW").arg(at(real)));
    assert!(!sections.contains(".debug_"), "{sections}");
    // pkg-config's answers are for a shell, in which the space is quoted.
    let (source, program) = (folder.path().join("version.c"), folder.path().join("version"));
    fs::write(
        &source,
        "#include <dovetail.h>\n#include <stdio.h>\nint main(void) { return puts(dvt_version()) < 0; }\n",
    )
    .unwrap();
    let script = r#"eval "cc \"\$0\" -o \"\$1\" $(pkg-config --cflags --libs dovetail)" && LD_LIBRARY_PATH=$2 "$1""#;
    let mut shell = command(folder.path(), "bash");
    shell.args(["-c", script]).args([&source, &program, &prefix.join("lib")]);
    let printed = run(shell.env("PKG_CONFIG_PATH", at("pkgconfig")));
    assert_eq!(printed.trim(), env!("CARGO_PKG_VERSION"));
}
