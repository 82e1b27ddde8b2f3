//! What no compiler checks: every policy has its page, every link leads somewhere, the book's contents are complete, and
//! the libraries keep to what their environment gives them. Textual checks, cheap enough to run with every other test.

use std::{
    fs,
    path::{Path, PathBuf},
};

use dovetail_sched::{
    registry::{Knob, REGISTRY},
    request,
};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// The path as it is written in the repository.
fn shown(path: &Path) -> String {
    path.strip_prefix(root()).unwrap_or(path).display().to_string()
}

/// All files with this extension in a folder and below, in order of name.
fn files(folder: &Path, extension: &str) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let mut found = Vec::new();
    for path in entries.map(|entry| entry.expect("a readable folder").path()) {
        if path.is_dir() {
            found.extend(files(&path, extension));
        } else if path.extension().is_some_and(|other| other == extension) {
            found.push(path);
        }
    }
    found.sort();
    found
}

fn pages() -> Vec<PathBuf> {
    let mut pages = files(&root().join("docs"), "md");
    pages.push(root().join("README.md"));
    pages
}

/// What stands between `open` and `close` in a page, code blocks left out.
fn between(page: &str, open: &str, close: char) -> Vec<String> {
    let mut in_code = false;
    let mut found = Vec::new();
    for line in page.lines() {
        if line.trim_start().starts_with("```") {
            in_code = !in_code;
        } else if !in_code {
            let rest = line.split(open).skip(1);
            found.extend(rest.filter_map(|rest| rest.split_once(close)).map(|(inside, _)| inside.to_owned()));
        }
    }
    found
}

fn links(page: &str) -> Vec<String> {
    between(page, "](", ')')
}

fn assert_none(wrong: &[String]) {
    assert!(wrong.is_empty(), "\n{}\n", wrong.join("\n"));
}

/// All policies, of packets and of requests, with their own knobs.
fn policies() -> impl Iterator<Item = (&'static str, &'static [Knob])> {
    let of_packets = REGISTRY.iter().map(|entry| (entry.name, entry.knobs));
    of_packets.chain(request::REGISTRY.iter().map(|entry| (entry.name, entry.knobs)))
}

#[test]
fn every_policy_has_a_page_that_names_its_knobs() {
    let folder = root().join("docs/policies");
    let listed = links(&read(&folder.join("README.md")));
    let mut wrong = Vec::new();
    for (policy, knobs) in policies() {
        let name = format!("{}.md", policy.replace('+', "-plus"));
        if !listed.contains(&name) {
            wrong.push(format!("docs/policies/README.md: add a line for {policy} that links to {name}"));
        }
        let Ok(page) = fs::read_to_string(folder.join(&name)) else {
            wrong.push(format!("docs/policies/{name}: write the page of {policy}"));
            continue;
        };
        for knob in knobs {
            let key = format!("`{}`", knob.key);
            if !page.lines().any(|line| line.contains(&key) && line.contains(knob.default)) {
                wrong.push(format!("docs/policies/{name}: add a line with {key} and its default, {}", knob.default));
            }
        }
    }
    for page in files(&folder, "md") {
        let stem = page.file_stem().expect("a file").to_string_lossy().replace("-plus", "+");
        if stem != "README" && policies().all(|(policy, _)| policy != stem) {
            wrong.push(format!("{}: there is no policy {stem}; remove the page or register it", shown(&page)));
        }
    }
    assert_none(&wrong);
}

#[test]
fn every_link_leads_somewhere() {
    let mut wrong = Vec::new();
    for page in pages() {
        let text = read(&page);
        let folder = page.parent().expect("a page is in a folder");
        for link in links(&text) {
            let target = link.split('#').next().unwrap_or_default();
            let outside = ["http://", "https://", "mailto:"].iter().any(|scheme| link.starts_with(scheme));
            if !outside && !target.is_empty() && !folder.join(target).exists() {
                wrong.push(format!("{}: the link to {link} is dead; mend it or write the page", shown(&page)));
            }
        }
        for code in text.split('`') {
            let names_a_path = ["crates/", "scenarios/"].iter().any(|top| code.starts_with(top));
            if names_a_path && !code.contains(['*', '<', ' ', '\n']) && !root().join(code).exists() {
                wrong.push(format!("{}: there is no {code}; name the file as it is now", shown(&page)));
            }
        }
    }
    assert_none(&wrong);
}

#[test]
fn the_contents_list_every_page() {
    let docs = root().join("docs");
    let summary = links(&read(&docs.join("SUMMARY.md")));
    let mut wrong = Vec::new();
    for page in files(&docs, "md") {
        let name = page.strip_prefix(&docs).expect("a page of the book").display().to_string();
        // A folder is listed as a whole; its README lists its pages.
        let by_its_folder = name.contains('/') && !name.ends_with("/README.md");
        if name != "SUMMARY.md" && !by_its_folder && !summary.contains(&name) {
            wrong.push(format!("docs/SUMMARY.md: add a line that links to {name}"));
        }
    }
    assert_none(&wrong);
}

/// A file's code: comments, the test module at its end and whatever else is for tests alone left out.
fn code(path: &Path) -> String {
    let text = read(path).replace("#[cfg(test)]\nextern crate std;", "");
    let text = text.split("#[cfg(test)]\nmod ").next().unwrap_or_default();
    let without_comment = |line: &str| line.split("//").next().unwrap_or_default().to_owned();
    text.lines().map(without_comment).collect::<Vec<_>>().join("\n")
}

fn names(code: &str, word: &str) -> bool {
    code.split(|letter: char| !letter.is_alphanumeric() && letter != '_').any(|other| other == word)
}

#[test]
fn libraries_have_no_clock_no_thread_and_no_socket() {
    let everywhere =
        ["Instant", "SystemTime", "thread", "TcpStream", "TcpListener", "UdpSocket", "UnixStream", "UnixListener"];
    let mut wrong = Vec::new();
    for (library, forbidden) in [
        ("dovetail-sched/src", &[&everywhere[..], &["std"]].concat()[..]),
        ("dovetail-sim/src", &everywhere[..]),
        ("dovetail-box/src/functions", &everywhere[..]),
    ] {
        let sources = files(&root().join("crates").join(library), "rs");
        assert!(sources.len() > 5, "{library}: its sources are elsewhere");
        for source in sources {
            // smoltcp's instants are numbers that its caller makes, unless they are asked for the time.
            let code = code(&source).replace("Instant::now", "SystemTime");
            let code = if code.contains("use smoltcp::") { code.replace("Instant", "") } else { code };
            for word in forbidden.iter().filter(|word| names(&code, word)) {
                let advice = "take what it gives as an argument, or do it in the command";
                wrong.push(format!("{}: {library} may not use '{word}'; {advice}", shown(&source)));
            }
        }
    }
    assert_none(&wrong);
}
