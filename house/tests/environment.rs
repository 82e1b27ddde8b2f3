//! The libraries keep to what their environment gives them: whoever drives them owns time, threads and sockets.

use std::path::Path;

use dovetail_house::repository::{assert_none, files, read, root, shown};

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

/// `quinn-proto` counts from an instant, which only a clock gives.
const EPOCH: &str = "dovetail-sim/src/network/quic/clock.rs";

#[test]
fn the_one_file_that_reads_a_clock_does_so_once() {
    let code = code(&root().join("crates").join(EPOCH));
    assert_eq!((code.matches("now()").count(), code.matches("Instant::now()").count()), (1, 1));
}

#[test]
fn libraries_have_no_clock_no_thread_and_no_socket() {
    let everywhere =
        ["Instant", "SystemTime", "thread", "TcpStream", "TcpListener", "UdpSocket", "UnixStream", "UnixListener"];
    let mut wrong = Vec::new();
    for (library, forbidden) in [
        ("dovetail-sched/src", &[&everywhere[..], &["std"]].concat()[..]),
        ("dovetail-tcp/src", &[&everywhere[..], &["std"]].concat()[..]),
        ("dovetail-sim/src", &everywhere[..]),
        ("dovetail-box/src/functions", &everywhere[..]),
    ] {
        let sources = files(&root().join("crates").join(library), "rs");
        assert!(sources.len() > 5, "{library}: its sources are elsewhere");
        for source in sources.iter().filter(|source| !source.ends_with(EPOCH)) {
            let code = code(source).replace("Instant::now", "SystemTime");
            for word in forbidden.iter().filter(|word| names(&code, word)) {
                let advice = "take what it gives as an argument, or do it in the command";
                wrong.push(format!("{}: {library} may not use '{word}'; {advice}", shown(source)));
            }
        }
    }
    assert_none(&wrong);
}
