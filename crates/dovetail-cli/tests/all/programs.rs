//! `compare --programs`: what was learnt about programs is kept for later runs.
#![allow(clippy::unwrap_used)]

use std::fs;

use crate::support::{dovetail, folder, stdout};

const SCENARIO: &str = r#"
name = "two programs"
duration = "2s"
pipeline = "unbounded"
[[resource]]
name = "cpu"
[[resource]]
name = "link"
rate = "100Mbps"
[[class]]
name = "payload"
cost = { cpu = "100ns*bytes + 20us" }
expansion = 0.5
[[class]]
name = "header"
cost = { cpu = "50us" }
processing = "header"
[[flow]]
name = "a"
class = "payload"
size = { uniform = { min = 100, max = 1500 } }
arrivals = { poisson = "2000/s" }
[[flow]]
name = "b"
class = "header"
size = 500
arrivals = { poisson = "2000/s" }
"#;

#[test]
fn what_one_run_learns_the_next_one_starts_from() {
    let folder = folder("programs");
    let (scenario, programs) = (folder.join("two.toml"), folder.join("programs.toml"));
    fs::write(&scenario, SCENARIO).unwrap();
    let [scenario, programs] = [&scenario, &programs].map(|path| path.to_str().unwrap());
    let estimated =
        ["compare", scenario, "--policy", "fifo", "--policy", "drfq:estimator=llsr", "--programs", programs];
    stdout(&estimated);
    let text = fs::read_to_string(programs).unwrap();
    // Costs without noise: the line is recovered, up to the rounding to whole nanoseconds.
    let has = |line: &str| assert!(text.lines().any(|other| other.trim() == line), "{line}\n{text}");
    let line = text.lines().find(|line| line.contains("bytes")).unwrap();
    let numbers: Vec<f64> =
        line.split(['"', '+', '*']).filter_map(|part| part.trim().strip_suffix("ns")?.parse().ok()).collect();
    assert!((numbers[0] - 100.0).abs() < 0.01 && (numbers[1] - 20_000.0).abs() < 5.0, "{line}");
    has("cost = { cpu = \"50000ns\" }");
    has("processing = \"header\"");
    has("expansion = 0.5");
    // The file is a valid scenario, and can seed estimates: with wrong figures in it, the configured line is wrong.
    let honest = stdout(&["compare", scenario, "--policy", "drfq:estimator=line", "--programs", programs, "--json"]);
    let error = |json: &str| {
        let json: serde_json::Value = serde_json::from_str(json).unwrap();
        json["policies"][0]["counters"]["cost_error_pct"].as_f64().unwrap()
    };
    assert!(error(&honest) < 0.01, "{honest}");
    fs::write(programs, text.replace("50000ns", "150us")).unwrap();
    let lied_to = stdout(&["compare", scenario, "--policy", "drfq:estimator=line", "--programs", programs, "--json"]);
    assert!(error(&lied_to) > 50.0, "{lied_to}");
    // By the end it has learnt the right ones.
    assert!(fs::read_to_string(programs).unwrap().contains("50000ns"));
    assert_eq!(fs::read_dir(&folder).unwrap().count(), 2, "nothing is left beside");
}

#[test]
fn a_file_that_cannot_be_used_is_left_as_it_is() {
    let folder = folder("programs-wrong");
    let path = folder.join("programs.toml");
    let programs = path.to_str().unwrap();
    fs::write(&path, "[[class]]\nnam = 1\n").unwrap();
    let output = dovetail(&["compare", "--policy", "cbcs", "--programs", programs]);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{errors}");
    assert!(errors.contains("programs.toml"), "{errors}");
    assert_eq!(fs::read_to_string(&path).unwrap(), "[[class]]\nnam = 1\n");
    let output = dovetail(&["compare", "--policy", "drfq", "--programs", programs]);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{errors}");
    assert!(errors.contains("no policy here estimates costs"), "{errors}");
}
