//! Runs every console block of the book, and compares its output with what the page shows.
//!
//! A page's blocks are run in order, in a folder of their own in which `scenarios` is the repository's. The lines that a
//! block shows must be among those that its commands print, in that order; lines may be left out. Comments in front of a
//! block control this:
//!
//! | comment | the block |
//! |---|---|
//! | `<!-- file: NAME -->` | is written as that file into the folder, be it of whatever language |
//! | `<!-- files of: PAGE -->` | needs the files of another page |
//! | `<!-- trace: NAME as FILE -->` | needs that capture, under another name, and is skipped on machines without it |
//! | `<!-- long -->` | is run only if `DOVETAIL_LONG` is set |
//! | `<!-- not run: WHY -->` | is not run |
#![allow(clippy::unwrap_used)]

use std::{
    env, fs,
    path::{Path, PathBuf},
    process::Command,
    sync::Mutex,
    thread,
};

use crate::support::{folder, trace};

/// The comments in front of a block.
#[derive(Debug, Default)]
struct Marks {
    file: Option<String>,
    pages: Vec<String>,
    traces: Vec<(String, String)>,
    is_long: bool,
    not_run: Option<String>,
}

impl Marks {
    fn add(&mut self, comment: &str) {
        match comment.split_once(':').map_or((comment, ""), |(key, value)| (key, value.trim())) {
            ("file", name) => self.file = Some(name.to_owned()),
            ("files of", page) => self.pages.push(page.to_owned()),
            ("trace", names) => {
                let (name, file) = names.split_once(" as ").unwrap();
                self.traces.push((name.to_owned(), file.to_owned()));
            }
            ("long", "") => self.is_long = true,
            ("not run", why) => {
                assert!(!why.is_empty(), "'not run' says why");
                self.not_run = Some(why.to_owned());
            }
            _ => {}
        }
    }
}

struct Block {
    /// Its first line in the page, counted from 1.
    line: usize,
    language: String,
    text: String,
    marks: Marks,
}

fn blocks(page: &str) -> Vec<Block> {
    let mut found: Vec<Block> = Vec::new();
    let (mut marks, mut is_open) = (Marks::default(), false);
    for (at, line) in page.lines().enumerate() {
        if let Some(language) = line.strip_prefix("```") {
            is_open = !is_open;
            if is_open {
                let (language, marks) = (language.to_owned(), std::mem::take(&mut marks));
                found.push(Block { line: at + 1, language, text: String::new(), marks });
            }
        } else if is_open {
            let block = found.last_mut().unwrap();
            block.text += line;
            block.text.push('\n');
        } else if let Some(comment) = line.strip_prefix("<!-- ").and_then(|rest| rest.strip_suffix(" -->")) {
            marks.add(comment);
        } else if !line.is_empty() {
            marks = Marks::default();
        }
    }
    found
}

/// Whether a shell would expect another line.
fn is_open(command: &str) -> bool {
    let parsed = Command::new("bash").args(["-n", "-c", command]).output().unwrap();
    command.ends_with('\\') || !parsed.status.success()
}

/// Commands, each with the lines shown after it.
fn commands(text: &str) -> Vec<(String, Vec<&str>)> {
    let mut found: Vec<(String, Vec<&str>)> = Vec::new();
    for line in text.lines() {
        match (line.strip_prefix("$ "), found.last_mut()) {
            (Some(command), _) => found.push((command.to_owned(), Vec::new())),
            (None, Some((command, shown))) if shown.is_empty() && is_open(command) => {
                command.push('\n');
                command.push_str(line);
            }
            (None, Some((_, shown))) => shown.push(line),
            (None, None) => panic!("a console block starts with a command: {line}"),
        }
    }
    found
}

/// The first shown line that is not printed after those before it.
fn missing<'a>(shown: &[&'a str], printed: &str) -> Option<&'a str> {
    let mut printed = printed.lines().map(str::trim_end);
    shown.iter().copied().find(|line| {
        let line = line.trim_end();
        !line.is_empty() && line != "…" && !printed.any(|other| other == line)
    })
}

/// Runs a page; returns the errors.
fn check(page: &Path, name: &str) -> Vec<String> {
    let folder = folder(&format!("book/{}", name.replace(['/', '.'], "-")));
    let scenarios = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios");
    #[cfg(unix)]
    std::os::unix::fs::symlink(fs::canonicalize(scenarios).unwrap(), folder.join("scenarios")).unwrap();
    let program = Path::new(env!("CARGO_BIN_EXE_dovetail")).parent().unwrap();
    let path = format!("{}:{}", program.display(), env::var("PATH").unwrap());
    let mut wrong = Vec::new();
    let mut run = |command: &str, at: &str, shown: &[&str]| {
        let output = Command::new("bash")
            .args(["-c", &format!("exec 2>&1; {command}")])
            .current_dir(&folder)
            .env("PATH", &path)
            .output()
            .unwrap();
        let printed = String::from_utf8_lossy(&output.stdout);
        if let Some(line) = missing(shown, &printed) {
            wrong.push(format!("{at}: not printed: {line}\n$ {command}\n{printed}"));
        }
    };
    for Block { line, language, text, marks } in blocks(&fs::read_to_string(page).unwrap()) {
        let at = format!("{name}:{line}");
        if let Some(file) = &marks.file {
            fs::write(folder.join(file), &text).unwrap();
            continue;
        }
        if language != "console" {
            continue;
        }
        if let Some(why) = &marks.not_run {
            eprintln!("{at}: not run: {why}");
            continue;
        }
        if marks.is_long && env::var_os("DOVETAIL_LONG").is_none() {
            eprintln!("{at}: not run: long (set DOVETAIL_LONG)");
            continue;
        }
        let traces: Option<Vec<PathBuf>> = marks.traces.iter().map(|(name, _)| trace(name)).collect();
        let Some(traces) = traces else { continue };
        for (capture, (_, file)) in traces.iter().zip(&marks.traces) {
            fs::copy(capture, folder.join(file)).unwrap();
        }
        for other in &marks.pages {
            let other = fs::read_to_string(page.with_file_name(other)).unwrap();
            for block in blocks(&other) {
                if let Some(file) = &block.marks.file {
                    fs::write(folder.join(file), &block.text).unwrap();
                }
            }
        }
        for (command, shown) in commands(&text) {
            run(&command, &at, &shown);
        }
    }
    wrong
}

fn pages(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            pages(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "md") {
            found.push(path);
        }
    }
}

#[test]
fn the_book_shows_what_its_commands_print() {
    let book = fs::canonicalize(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs")).unwrap();
    let mut found = Vec::new();
    pages(&book, &mut found);
    found.sort();
    // DOVETAIL_PAGE names a single page to check.
    let only = env::var("DOVETAIL_PAGE").unwrap_or_default();
    let names = found.iter().map(|page| page.strip_prefix(&book).unwrap().to_str().unwrap().to_owned());
    let work: Vec<_> = found.iter().zip(names).filter(|(_, name)| name.contains(&only)).collect();
    let (next, wrong) = (Mutex::new(work.iter()), Mutex::new(Vec::new()));
    thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                loop {
                    let Some((page, name)) = next.lock().unwrap().next() else { break };
                    let found = check(page, name);
                    wrong.lock().unwrap().extend(found);
                }
            });
        }
    });
    let wrong = wrong.into_inner().unwrap();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn blocks_and_their_marks_are_read() {
    let page = "text\n<!-- file: a.toml -->\n```toml\nx = 1\n```\n\n<!-- long -->\n<!-- trace: t.pcap as u.pcap -->\n\n```console\n\
                $ one \\\n    more\nout\n$ two\n```\n<!-- not run: no -->\ntext\n```console\n$ three\n```\n";
    let found = blocks(page);
    assert_eq!(found[0].marks.file.as_deref(), Some("a.toml"));
    assert!(
        found[1].marks.is_long
            && found[1].marks.traces == [("t.pcap".to_owned(), "u.pcap".to_owned())]
            && found[1].line == 10
    );
    assert_eq!(commands(&found[1].text), [("one \\\n    more".to_owned(), vec!["out"]), ("two".to_owned(), vec![])]);
    // A comment applies to the next block only if nothing is in between.
    assert!(found[2].marks.not_run.is_none());
    assert_eq!(missing(&["a", "…", "c"], "a  \nb\nc\n"), None);
    assert_eq!(missing(&["c", "a"], "a\nb\nc\n"), Some("a"));
}
