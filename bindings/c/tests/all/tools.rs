//! The system's compilers and other tools, if installed.

use std::{
    env,
    ffi::OsStr,
    path::{Path, PathBuf},
    process::{Command, Output},
};

use dovetail_skip::skipped;

/// This crate's folder.
pub(crate) fn crate_folder() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// The folder of the libraries that cargo has built and these tests are linked to as well.
pub(crate) fn library_folder() -> PathBuf {
    env::current_exe().unwrap().parent().unwrap().to_owned()
}

/// Whether a program is installed; if not, the test that asks is listed as skipped.
pub(crate) fn is_here(program: &str) -> bool {
    let found = Command::new(program).arg("--version").output().is_ok_and(|output| output.status.success());
    if !found {
        skipped(format!("there is no {program} here"));
    }
    found
}

/// A compiler, with its arguments for a language.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Language {
    C11,
    Cpp17,
}

/// How the program is linked.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Link {
    Shared,
    Static,
}

impl Language {
    fn compiler(self) -> String {
        let (variable, usual) = match self {
            Self::C11 => ("CC", "cc"),
            Self::Cpp17 => ("CXX", "c++"),
        };
        env::var(variable).ok().filter(|named| !named.is_empty()).unwrap_or_else(|| usual.into())
    }

    pub(crate) fn is_here(self) -> bool {
        is_here(&self.compiler())
    }

    /// The compiler, with every warning an error.
    pub(crate) fn command(self) -> Command {
        let mut command = Command::new(self.compiler());
        command.arg(match self {
            Self::C11 => "-std=c11",
            Self::Cpp17 => "-std=c++17",
        });
        command.args(["-Wall", "-Wextra", "-Werror", "-pedantic", "-I"]).arg(crate_folder().join("include"));
        command
    }

    /// Compiles a source below this crate's folder to a program.
    pub(crate) fn compile(self, source: &str, link: Link, flags: &[&str], program: &Path) {
        let libraries = library_folder();
        let mut command = self.command();
        command.args(flags).arg(crate_folder().join(source)).arg("-o").arg(program);
        match link {
            Link::Static => command.arg(libraries.join("libdovetail.a")).args(["-lpthread", "-ldl", "-lm"]),
            Link::Shared => {
                let mut from = std::ffi::OsString::from("-Wl,-rpath,");
                from.push(&libraries);
                command.arg("-L").arg(&libraries).arg("-ldovetail").arg(from)
            }
        };
        run(&mut command);
    }
}

/// Runs a command that must succeed; returns its output.
#[track_caller]
pub(crate) fn run(command: &mut Command) -> String {
    let Output { status, stdout, stderr } = command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    let (stdout, stderr) = (String::from_utf8_lossy(&stdout), String::from_utf8_lossy(&stderr));
    assert!(status.success(), "{command:?}: {status}\n{stdout}\n{stderr}");
    stdout.into_owned()
}

/// A command of a program in this folder.
pub(crate) fn command(folder: &Path, program: impl AsRef<OsStr>) -> Command {
    let mut command = Command::new(program);
    command.current_dir(folder);
    command
}
