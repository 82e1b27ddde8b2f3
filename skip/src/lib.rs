//! Records skipped tests in one place, so that a green run does not hide what it left out.
//!
//! Tests need things that not every machine has: root, a browser, a capture, minutes of time. Rust's test harness has no
//! verdict between passed and failed, and shows the output of failed tests only. So [`skipped`] prints the reason, and
//!
//! - appends it to the file that `DOVETAIL_SKIPS` names: `bin/test` sets that and lists them at the end;
//! - panics if `DOVETAIL_ALL_MUST_RUN` is 1: on a machine that has everything, a skipped test is a failure.

use std::{
    env,
    ffi::OsString,
    fmt::Display,
    fs::OpenOptions,
    io::{self, Write},
    thread,
};

/// How skips are handled.
#[derive(Debug, Default)]
struct Handling {
    /// The file that collects them.
    list: Option<OsString>,
    is_failure: bool,
}

impl Handling {
    fn of_environment() -> Self {
        Self {
            list: env::var_os("DOVETAIL_SKIPS").filter(|file| !file.is_empty()),
            is_failure: env::var_os("DOVETAIL_ALL_MUST_RUN").is_some_and(|value| value == "1"),
        }
    }

    fn skip(&self, test: &str, why: &dyn Display) {
        assert!(!self.is_failure, "not skipped, since DOVETAIL_ALL_MUST_RUN=1: {why}");
        println!("skipped: {why}");
        if let Some(list) = &self.list {
            // A single write, so that lines of concurrent tests do not mix.
            let line = format!("{test}: {}\n", why.to_string().replace('\n', " "));
            let append = || -> io::Result<()> {
                OpenOptions::new().create(true).append(true).open(list)?.write_all(line.as_bytes())
            };
            append().unwrap_or_else(|error| panic!("DOVETAIL_SKIPS={}: {error}", list.display()));
        }
    }
}

/// The name of the running test and its package, as given by the harness and cargo.
fn this_test() -> String {
    let package = env::var("CARGO_PKG_NAME").unwrap_or_default();
    format!("{package} {}", thread::current().name().unwrap_or("?")).trim_start().to_owned()
}

/// Reports why the calling test, which then returns, cannot run.
///
/// # Panics
/// If `DOVETAIL_ALL_MUST_RUN` is 1, or if the file named by `DOVETAIL_SKIPS` cannot be written.
pub fn skipped(why: impl Display) {
    Handling::of_environment().skip(&this_test(), &why);
}

#[cfg(test)]
mod tests {
    use std::{fs, panic::catch_unwind};

    use super::*;

    #[test]
    fn skips_are_listed_a_line_each() {
        let list = env::temp_dir().join(format!("dovetail-skips-{}", std::process::id()));
        let handling = Handling { list: Some(list.clone().into()), is_failure: false };
        handling.skip("a b", &"no root");
        handling.skip("a c", &"no browser,\nnor curl");
        let listed = fs::read_to_string(&list).expect("a list");
        fs::remove_file(&list).expect("a list");
        assert_eq!(listed, "a b: no root\na c: no browser, nor curl\n");
    }

    #[test]
    fn where_all_must_run_a_skip_fails() {
        assert!(catch_unwind(|| Handling { list: None, is_failure: true }.skip("a", &"no root")).is_err());
        Handling::default().skip("a", &"no root");
    }

    #[test]
    fn a_test_knows_its_name() {
        assert!(this_test().starts_with("dovetail-skip "), "{}", this_test());
    }
}
