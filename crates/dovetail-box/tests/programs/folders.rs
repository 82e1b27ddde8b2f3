//! A folder that may hold anything.

use std::{fs, path::Path};

use dovetail_box::{
    functions::{NetworkFunction, Verdict},
    programs::{FolderError, Library, Load, MAX_PROGRAMS, MODULE_BYTES, ProgramLimits},
};

use crate::writing::{handling, wasm};

fn load(folder: &Path) -> Load {
    Library::load(folder, ProgramLimits::default()).unwrap_or_else(|error| panic!("{error}"))
}

fn good() -> Vec<u8> {
    wasm(&handling("(i64.const 0)"))
}

#[test]
fn what_can_be_run_is_loaded_and_the_rest_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, bytes: &[u8]| fs::write(folder.path().join(name), bytes).unwrap();
    write("alpha.wasm", &good());
    write("Beta-2_x.wasm", &good());
    write("broken.wasm", b"no module");
    write("empty.wasm", b"");
    write("import.wasm", &wasm("(module (import \"env\" \"log\" (func)))"));
    write("two words.wasm", &good());
    write("ünlaut.wasm", &good());
    write(&format!("{}.wasm", "n".repeat(65)), &good());
    fs::create_dir(folder.path().join("folder.wasm")).unwrap();
    // A sparse file, which takes no space.
    fs::File::create(folder.path().join("huge.wasm")).unwrap().set_len(MODULE_BYTES * 1000).unwrap();
    // Not programs, and so not errors.
    write("README.md", b"notes");
    write("alpha.c", b"int main;");
    write(".upload.wasm", b"half a module");
    write("wasm", b"");
    fs::create_dir(folder.path().join("sources")).unwrap();

    let Load { library, errors } = load(folder.path());
    assert_eq!(library.names().collect::<Vec<_>>(), ["Beta-2_x", "alpha"]);
    assert_eq!(library.instantiate("alpha").unwrap().process(&mut vec![0; 60]), Verdict::Untouched);
    let said: Vec<String> = errors.iter().map(ToString::to_string).collect();
    let expected = [
        ("broken.wasm", "not a WebAssembly file"),
        ("empty.wasm", "not a WebAssembly file"),
        ("folder.wasm", "not a regular file"),
        ("huge.wasm", "longer than 4 MiB"),
        ("import.wasm", "imports env.log"),
        (&format!("{}.wasm", "n".repeat(65)), "rename the file"),
        ("two words.wasm", "rename the file"),
        ("ünlaut.wasm", "rename the file"),
    ];
    assert_eq!(said.len(), expected.len(), "{said:#?}");
    for (said, (file, because)) in said.iter().zip(expected) {
        let begins = format!("{}: ", folder.path().join(file).display());
        assert!(said.starts_with(&begins) && said.contains(because), "'{said}' is not of {file}: {because}");
        assert!(!said.contains("stays in use"), "{said}");
    }
    assert!(library.instantiate("broken").unwrap_err().to_string().contains("no such program"));
}

#[cfg(unix)]
#[test]
fn pipes_devices_and_files_that_may_not_be_read_do_not_hold_the_others_up() {
    use std::{os::unix::fs::symlink, process::Command};

    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    fs::write(at("good.wasm"), good()).unwrap();
    symlink("good.wasm", at("linked.wasm")).unwrap();
    symlink("/dev/zero", at("endless.wasm")).unwrap();
    symlink("nowhere", at("dangling.wasm")).unwrap();
    let made = Command::new("mkfifo").arg(at("pipe.wasm")).status();
    let has_pipe = made.is_ok_and(|status| status.success());
    let Load { library, errors } = load(folder.path());
    assert_eq!(library.names().collect::<Vec<_>>(), ["good", "linked"]);
    let named: Vec<_> = errors.iter().map(|error| error.path.file_name().unwrap().to_str().unwrap()).collect();
    let expected = ["dangling.wasm", "endless.wasm", "pipe.wasm"];
    assert_eq!(named, expected[..if has_pipe { 3 } else { 2 }]);
    assert!(errors[1].to_string().contains("not a regular file"));
}

#[test]
fn a_folder_that_is_none_or_too_full_is_an_error_as_a_whole() {
    let folder = tempfile::tempdir().unwrap();
    let nowhere = folder.path().join("nowhere");
    let load = |folder: &Path| Library::load(folder, ProgramLimits::default());
    let error = load(&nowhere).unwrap_err();
    assert!(matches!(error, FolderError::Unreadable { .. }) && error.to_string().contains("nowhere"), "{error}");
    for number in 0..=MAX_PROGRAMS {
        fs::write(folder.path().join(format!("p{number}.wasm")), b"").unwrap();
    }
    let error = load(folder.path()).unwrap_err().to_string();
    assert!(error.ends_with("holds more than 256 programs"), "{error}");
    fs::remove_file(folder.path().join("p0.wasm")).unwrap();
    assert_eq!(load(folder.path()).unwrap().errors.len(), MAX_PROGRAMS);
}
