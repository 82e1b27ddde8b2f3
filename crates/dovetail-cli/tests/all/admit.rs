//! `dovetail admit` from outside: the published example, a refusal by each rule, all figures of a document recomputed by
//! code that shares none with the command, and the errors for invalid files.

use std::{fs, path::Path, process::Command, time::Instant};

use crate::support::{dovetail, folder, near, stdout};
use serde_json::{Value, json};

/// An example that comes with the repository.
fn example(name: &str) -> String {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios/admit").join(name).display().to_string()
}

fn admit(args: &[&str]) -> Value {
    let args = [&["admit", "--json"], args].concat();
    serde_json::from_str(&stdout(&args)).expect("one JSON document and nothing else")
}

fn written(folder: &Path, text: &str) -> String {
    let path = folder.join("file.toml");
    fs::write(&path, text).expect("the file is written");
    path.display().to_string()
}

fn reservation<'a>(document: &'a Value, name: &str) -> &'a Value {
    let all = document["reservations"].as_array().expect("reservations");
    all.iter().find(|one| one["name"] == name).unwrap_or_else(|| panic!("no reservation {name}"))
}

#[test]
fn table_2_is_exact() {
    let file = example("cbcs-table2.toml");
    for bound in ["composite", "separate"] {
        let document = admit(&[&file, "--bound", bound]);
        for flow in ["flow 1", "flow 2"] {
            let flow = reservation(&document, flow);
            assert_eq!((&flow["admitted"], &flow["refusal"]), (&json!(true), &Value::Null));
            assert_eq!(flow["delay_ms"], json!({"composite": 120.0, "separate": 140.0}));
        }
    }
    let text = stdout(&["admit", &file]);
    let row = |name: &str| -> Vec<String> {
        let line = text.lines().find(|line| line.trim_start().starts_with(name)).expect("a row");
        line.split_whitespace().map(str::to_owned).collect()
    };
    assert_eq!(row("flow 1"), ["flow", "1", "admitted", "0", "120", "140", "–"]);
    assert_eq!(row("flow 2"), ["flow", "2", "admitted", "0", "120", "140", "–"]);
    assert!(
        text.contains("note: flow 2: admitted, which leaves best-effort flows nothing of cpu and link\n"),
        "{text}"
    );
}

#[test]
fn every_rule_refuses_something() {
    let file = example("refusals.toml");
    let document = admit(&[&file]);
    let refusal = |name: &str| {
        let mut refusal = reservation(&document, name)["refusal"].clone();
        refusal.as_object_mut().expect("a refusal").remove("why");
        refusal
    };
    let rate = json!({"rule": 1, "resource": "link", "unit": "B", "requested_per_s": 1e7, "left_per_s": 9.25e6, "over_per_s": 7.5e5});
    assert_eq!(refusal("backup"), rate);
    // 20 us at a thousandth of the CPU and 200 B at 1 Mbit/s; ahead of it video's 400 us and 100 B at 100 Mbit/s.
    let own = json!({"rule": 2, "flow": null, "delay_ms": 20.0 + 1.6 + 0.4 + 0.008, "most_delay_ms": 10.0, "over_ms": 12.008});
    assert_eq!(refusal("game"), own);
    // 20 us at a hundredth of the CPU and 200 B at 1 Mbit/s; ahead of it 3 ms and 1500 B at 100 Mbit/s.
    let others = json!({"flow": "voice", "delay_ms": 6.72, "most_delay_ms": 5.0, "over_ms": 1.72});
    assert_eq!(reservation(&document, "encoder, other level")["breaks"], others);
    let mut with_rule = others.clone();
    with_rule["rule"] = json!(2);
    assert_eq!(refusal("encoder"), with_rule);
    assert_eq!(reservation(&document, "cracker")["exhausts"], json!(["cpu"]));

    let best_effort = &document["best_effort"];
    assert_eq!((&best_effort["admitted"], &best_effort["refused"]), (&json!(10), &json!(2)));
    let by_how_much =
        |refusal: &Value| ["rule", "requested", "most", "over"].map(|key| refusal[key].as_u64().expect(key));
    assert_eq!(by_how_much(&best_effort["refusal"]), [3, 12, 10, 2]);
    let queues = best_effort["queues"].as_array().expect("queues");
    assert_eq!(queues.iter().map(|queue| &queue["admitted"]).collect::<Vec<_>>(), [true, true, false]);
    assert_eq!(by_how_much(&queues[2]["refusal"]), [4, 101, 100, 1]);

    let text = stdout(&["admit", &file]);
    for line in [
        "refused: backup: rule 1: it requests 10000000 B/s of link where 9250000 B/s are left: 750000 B/s too much",
        "refused: game: rule 2: its own delay would be 22.008 ms by eq. 14 where its limit is 10 ms: 12.008 ms too long",
        "refused: encoder: rule 2: the delay of voice would be 6.72 ms by eq. 14 where its limit is 5 ms: 1.72 ms too long",
        "refused: 2 best-effort flows: rule 3: there are already 10 best-effort flows, which is the limit",
        "refused: a packet of best-effort flow 3: rule 4: 100 packets wait in the queue, and the limit is 100",
    ] {
        assert!(text.lines().any(|other| other == line), "{line}\n\n{text}");
    }
}

/// The guide shows the real output, and the file that it explains is valid.
#[test]
fn the_page_is_right() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let page = fs::read_to_string(root.join("docs/admit.md")).expect("the page");
    let mut shown = 0;
    for block in page.split("```console\n$ dovetail ").skip(1) {
        let (command, rest) = block.split_once('\n').expect("output below the command");
        let want = rest.split("```").next().expect("the end of the block");
        let mut run = Command::new(env!("CARGO_BIN_EXE_dovetail"));
        let output = run.args(command.split_whitespace()).current_dir(&root).output().expect("the command runs");
        assert_eq!(String::from_utf8(output.stdout).expect("text"), want, "{command}");
        shown += 1;
    }
    assert_eq!(shown, 2);
    let file = page.split("```toml\n").nth(1).and_then(|rest| rest.split("```").next()).expect("a file");
    let document = admit(&[&written(&folder("admit-page"), file)]);
    assert_eq!(reservation(&document, "video")["admitted"], true);
    assert_eq!(document["best_effort"]["queues"][1]["refusal"]["rule"], 4);
}

#[test]
fn the_formula_decides() {
    let folder = folder("admit-formula");
    let text = fs::read_to_string(example("cbcs-table2.toml")).expect("the example");
    let file = written(&folder, &text.replace("\npackets", "\ndelay = \"130ms\"\npackets"));
    let refused = |bound: &str| -> Vec<bool> {
        let document = admit(&[&file, "--bound", bound]);
        ["flow 1", "flow 2"].map(|name| !reservation(&document, name)["refusal"].is_null()).into()
    };
    assert_eq!(refused("composite"), [false, false]);
    assert_eq!(refused("separate"), [false, true]);
}

/// A reservation in whole numbers: units a second, units, nanoseconds.
struct Asked {
    rate: Vec<u128>,
    packets: Vec<Vec<u128>>,
    most: Option<u128>,
    level: u128,
}

fn ceil_ns(units: u128, per_s: u128) -> u128 {
    if units == 0 { 0 } else { (units * 1_000_000_000).div_ceil(per_s) }
}

/// The largest term of some packets at some rates: of whole packets for eq. 14, of each resource for eq. 13.
fn term<'a>(separate: bool, packets: impl Iterator<Item = &'a Vec<u128>>, rate: &[u128]) -> u128 {
    let times: Vec<Vec<u128>> =
        packets.map(|packet| packet.iter().zip(rate).map(|(&units, &per_s)| ceil_ns(units, per_s)).collect()).collect();
    if separate {
        (0..rate.len()).map(|at| times.iter().map(|times| times[at]).max().unwrap_or(0)).sum()
    } else {
        times.iter().map(|times| times.iter().sum()).max().unwrap_or(0)
    }
}

const CAPACITY: [u128; 3] = [1000, 4000, 700];
const PERCENT: [u128; 3] = [100, 90, 75];

fn delay(separate: bool, asked: &Asked, all: &[&Asked]) -> u128 {
    let ahead = all.iter().flat_map(|other| &other.packets);
    term(separate, asked.packets.iter(), &asked.rate) + term(separate, ahead, &CAPACITY)
}

/// Many reservations that are often refused, identical in every run.
fn many(count: usize) -> Vec<Asked> {
    let mut state = 2003u64;
    let mut draw = move |most: u64| {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        u128::from((state >> 33) % most)
    };
    let mut asked = Vec::new();
    for _ in 0..count {
        let rate = CAPACITY.map(|capacity| 1 + draw(capacity as u64 / 25));
        let packets: Vec<_> =
            (0..1 + draw(3)).map(|_| CAPACITY.map(|capacity| draw(capacity as u64 / 100)).into()).collect();
        let own = term(false, packets.iter(), &rate);
        // Some flows have no delay bound, and send packets that affect the bounds of others.
        let dear = draw(20) == 0;
        let packets: Vec<Vec<u128>> = if dear {
            packets.iter().map(|packet: &Vec<u128>| packet.iter().map(|units| units * 2).collect()).collect()
        } else {
            packets
        };
        let most = (!dear && draw(4) > 0).then(|| own + 1 + draw(60) * 1_000_000);
        asked.push(Asked { rate: rate.into(), packets, most, level: draw(3) });
    }
    asked
}

const UNITS: [&str; 3] = ["cycles", "B", "tokens"];

fn as_toml(asked: &[Asked], best_effort: u128) -> String {
    let mut text = format!("best_effort.flows = {best_effort}\n");
    for at in 0..3 {
        let target = PERCENT[at] as f64 / 100.0;
        text += &format!(
            "[[resource]]\nname = \"r{at}\"\ncapacity = \"{} {}/s\"\ntarget = {target}\n",
            CAPACITY[at], UNITS[at]
        );
    }
    let table = |units: &[u128], per: &str| {
        let fields = units.iter().enumerate().map(|(at, units)| format!("r{at} = \"{units} {}{per}\"", UNITS[at]));
        format!("{{ {} }}", fields.collect::<Vec<_>>().join(", "))
    };
    for (at, asked) in asked.iter().enumerate() {
        let packets: Vec<_> = asked.packets.iter().map(|packet| table(packet, "")).collect();
        let (rate, packets) = (table(&asked.rate, "/s"), packets.join(", "));
        text += &format!(
            "[[reservation]]\nname = \"f{at}\"\npriority = {}\nrate = {rate}\npackets = [{packets}]\n",
            asked.level
        );
        if let Some(most) = asked.most {
            text += &format!("delay = \"{most}ns\"\n");
        }
    }
    text
}

#[test]
fn every_figure_follows_from_the_file() {
    let asked = many(150);
    let best_effort = 7;
    let folder = folder("admit-recomputed");
    let file = written(&folder, &as_toml(&asked, best_effort));
    let left = |admitted: &[&Asked], at: usize| {
        CAPACITY[at] * PERCENT[at] / 100 - admitted.iter().map(|other| other.rate[at]).sum::<u128>()
    };
    for separate in [false, true] {
        let document = admit(&[&file, "--bound", if separate { "separate" } else { "composite" }]);
        let mut admitted: Vec<&Asked> = Vec::new();
        let mut names = Vec::new();
        let mut seen = [0; 4];
        let answers = document["reservations"].as_array().expect("reservations");
        assert_eq!(answers.len(), asked.len());
        for (at, (asked, answer)) in asked.iter().zip(answers).enumerate() {
            let all = [&admitted[..], &[asked]].concat();
            let over = |other: &Asked| delay(separate, other, &all).checked_sub(other.most?).filter(|&over| over > 0);
            let short = (0..3).find(|&at| asked.rate[at] > left(&admitted, at));
            let level: Vec<_> = (0..admitted.len()).filter(|&other| admitted[other].level == asked.level).collect();
            let worst = level.iter().filter_map(|&other| over(admitted[other])).max();
            let refusal = &answer["refusal"];
            assert_eq!(answer["name"], format!("f{at}"));
            if let Some(short) = short {
                seen[1] += 1;
                assert_eq!((&refusal["rule"], &refusal["resource"]), (&json!(1), &json!(format!("r{short}"))), "{at}");
                near(&refusal["over_per_s"], (asked.rate[short] - left(&admitted, short)) as f64, 0.0, "over");
                near(&refusal["left_per_s"], left(&admitted, short) as f64, 0.0, "left");
            } else if let Some(over) = over(asked) {
                seen[2] += 1;
                assert_eq!((&refusal["rule"], &refusal["flow"]), (&json!(2), &Value::Null), "{at}");
                near(&refusal["over_ms"], over as f64 / 1e6, 1e-12, "over");
            } else if let Some(worst) = worst {
                seen[3] += 1;
                assert_eq!(refusal["rule"], 2, "{at}");
                near(&refusal["over_ms"], worst as f64 / 1e6, 1e-12, "over");
                let named = names.iter().position(|name| refusal["flow"] == *name).expect("an admitted flow");
                assert_eq!(over(admitted[named]), Some(worst), "{at}: {} is not the worst", names[named]);
            } else {
                seen[0] += 1;
                assert_eq!((refusal, &answer["admitted"]), (&Value::Null, &json!(true)), "{at}");
                names.push(format!("f{at}"));
                admitted.push(asked);
                continue;
            }
            assert_eq!(answer["admitted"], false);
            for (key, separate) in [("composite", false), ("separate", true)] {
                near(&answer["delay_ms"][key], delay(separate, asked, &all) as f64 / 1e6, 1e-12, key);
            }
        }
        assert!(seen.iter().all(|&times| times >= 3), "too few of some answer: {seen:?}");
        let yes = answers.iter().filter(|answer| answer["admitted"] == true);
        for (asked, answer) in admitted.iter().zip(yes) {
            for (key, separate) in [("composite", false), ("separate", true)] {
                near(&answer["delay_ms"][key], delay(separate, asked, &admitted) as f64 / 1e6, 1e-12, key);
            }
        }
        for at in 0..3 {
            let resource = &document["resources"][at];
            let left = left(&admitted, at);
            near(&resource["left_per_s"], left as f64, 0.0, "left");
            near(&resource["reserved_per_s"], (CAPACITY[at] * PERCENT[at] / 100 - left) as f64, 0.0, "reserved");
            near(&resource["best_effort_share_per_s"], left as f64 / best_effort as f64, 0.0, "share");
        }
    }
}

const NODE: &str = r#"[[resource]]
name = "cpu"
capacity = "1000 cycles/s"
[[resource]]
name = "link"
rate = "8kbps"
"#;

const FLOW: &str = r#"[[reservation]]
name = "a"
rate = { cpu = "75%", link = "2kbps" }
packets = [{ cpu = "30 cycles", link = "10B" }]
"#;

#[test]
fn wrong_files_are_told_where_and_what() {
    let folder = folder("admit-wrong");
    let good = format!("{NODE}{FLOW}");
    assert!(dovetail(&["admit", &written(&folder, &good)]).status.success());
    let mut wrong = Vec::new();
    for (from, to, line, what) in [
        ("75%", "75 B/s", 9, "cpu: \"75 B/s\": the resource counts in cycles, not in B"),
        ("30 cycles", "10ms", 10, "cpu: \"10ms\": the resource counts in cycles, not in s"),
        ("10B", "10 cycles", 10, "link: \"10 cycles\": the resource counts in B, not in cycles"),
        ("2kbps", "2 cycles/s", 9, "link: \"2 cycles/s\": the resource counts in B, not in cycles"),
        ("75%", "75", 9, "end it with \"/s\""),
        ("75%", "nan%", 9, "end it with \"/s\""),
        ("75%", "-5%", 9, "from 0 to 1e18"),
        ("30 cycles", "-30 cycles", 10, "from 0 to 1e18"),
        ("30 cycles", "1e99 cycles", 10, "from 0 to 1e18"),
        ("cpu = \"75%\"", "gpu = \"75%\"", 9, "there is no resource \"gpu\", only cpu, link"),
        ("cpu = \"75%\", ", "", 7, "its packets use cpu, of which it reserves nothing"),
        ("packets = [", "packet = [", 10, "unknown field `packet`"),
        ("{ cpu = \"30 cycles\", link = \"10B\" }", "", 7, "no kind of packet"),
        ("name = \"a\"", "name = \"a\"\ndelay = \"5 parsecs\"", 9, "a delay is such as \"130ms\""),
        ("name = \"a\"", "name = \"a\"\npriority = 256", 9, "invalid value"),
        ("name = \"a\"", "name = \"\"", 7, "a name is"),
        ("name = \"link\"", "name = \"cpu\"", 4, "another has the same name"),
        ("1000 cycles/s", "0 cycles/s", 3, "a capacity is over 0"),
        ("1000 cycles/s", "1000 cycles", 3, "a capacity is such as"),
        ("rate = \"8kbps\"", "rate = \"8 cycles/s\"", 6, "a rate is that of a link"),
        ("rate = \"8kbps\"", "", 4, "either a capacity or"),
        ("rate = \"8kbps\"", "rate = \"8kbps\"\ntarget = 1.1", 7, "over 0 and at most 1"),
        ("rate = \"8kbps\"", "rate = \"8kbps\"\ntarget = nan", 7, "over 0 and at most 1"),
        (
            "[[reservation]]",
            "[best_effort]\nflows = 1\nwaiting = [1, 2]\n[[reservation]]",
            9,
            "more queues than there are flows",
        ),
        ("[[reservation]]", "[best_effort]\nflows = 2000000\n[[reservation]]", 8, "at most 1000000"),
        ("[[reservation]]", "[reservation]", 7, "reservation: write [[reservation]], with two brackets"),
        (
            "[[reservation]]",
            "[[best_effort]]\nflows = 1\n[[reservation]]",
            7,
            "best_effort: write [best_effort], with one bracket",
        ),
        (
            "[[reservation]]",
            "[best_effort]\npackets = [{ cpu = \"3B\" }]\n[[reservation]]",
            8,
            "counts in cycles, not in B",
        ),
    ] {
        assert!(good.contains(from), "{from}");
        let file = written(&folder, &good.replacen(from, to, 1));
        let output = dovetail(&["admit", &file]);
        let said = String::from_utf8(output.stderr).expect("text");
        let place = format!("{file}, line {line}: ");
        if output.status.code() != Some(1)
            || !said.contains(&place)
            || !said.contains(what)
            || !output.stdout.is_empty()
        {
            wrong.push(format!("{from} -> {to}: {:?}: {said}", output.status.code()));
        }
    }
    let twice = format!("{good}{FLOW}");
    let output = dovetail(&["admit", &written(&folder, &twice)]);
    let said = String::from_utf8(output.stderr).expect("text");
    if !said.contains("line 11: reservation \"a\": another has the same name") {
        wrong.push(said);
    }
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}

#[test]
fn a_file_for_another_command_is_called_what_it_is() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let run = "'dovetail compare', 'dovetail explain' and 'dovetail tune'";
    for (args, file, is, wanted) in [
        (&["admit"][..], "scenarios/middlebox.toml", &*format!("a scenario, for {run}"), "a list of reservations"),
        (&["admit"], "scenarios/drr-sff.toml", &format!("a network, for {run}"), "a list of reservations"),
        (
            &["admit"],
            "packaging/middlebox.toml",
            "the configuration of a middlebox, for 'dovetail middlebox'",
            "a list of reservations",
        ),
        (
            &["compare"],
            "scenarios/admit/refusals.toml",
            "a list of reservations, for 'dovetail admit'",
            "a scenario or a network",
        ),
        (
            &["tune", "--policy", "tradeoff"],
            "packaging/middlebox.toml",
            "the configuration of a middlebox, for 'dovetail middlebox'",
            "a scenario or a network",
        ),
        (
            &["explain", "--policy", "drfq"],
            "packaging/gateway.toml",
            "the configuration of a gateway, for 'dovetail gateway'",
            "a scenario or a network",
        ),
    ] {
        let path = root.join(file).display().to_string();
        let output = dovetail(&[args, &[&path]].concat());
        let said = String::from_utf8(output.stderr).expect("text");
        assert_eq!(output.status.code(), Some(2), "{said}");
        assert!(said.starts_with(&format!("dovetail: {path} is {is}: {wanted} goes here\n")), "{said}");
    }
    // With a mistake, and with the name of one that comes with the command.
    let folder = folder("admit-other");
    let mistaken = "[network]\nstop = 3\n";
    let output = dovetail(&["admit", &written(&folder, mistaken)]);
    assert!(String::from_utf8(output.stderr).expect("text").contains("file.toml is a network, for "));
    let output = dovetail(&["admit", "websearch"]);
    let said = String::from_utf8(output.stderr).expect("text");
    assert!(output.status.code() == Some(2) && said.contains("websearch is a scenario, for "), "{said}");
}

#[test]
fn what_cannot_be_read_is_said() {
    let folder = folder("admit-unreadable");
    let code = |args: &[&str]| dovetail(args).status.code();
    assert_eq!(code(&["admit", &folder.join("nowhere.toml").display().to_string()]), Some(1));
    assert_eq!(code(&["admit", &folder.display().to_string()]), Some(1));
    assert_eq!(code(&["admit"]), Some(2));
    assert_eq!(code(&["admit", "x.toml", "--bound", "eq14"]), Some(2));
    let output = dovetail(&["admit", &written(&folder, &"\n".repeat((24 << 20) + 1))]);
    let said = String::from_utf8(output.stderr).expect("text");
    assert!(output.status.code() == Some(1) && said.contains("it is longer than 24 MiB"), "{said}");
    assert_eq!(code(&["admit", &written(&folder, "")]), Some(1));
    assert_eq!(code(&["admit", &written(&folder, &NODE.repeat(5))]), Some(1));
}

#[test]
fn a_hundred_thousand_are_answered_soon_and_one_more_is_refused() {
    let folder = folder("admit-many");
    // All are to be admitted, all have a delay bound, and the packet of each is larger than any before.
    let mut text = NODE.to_owned();
    for at in 0..100_000 {
        let cost = 1.0 + f64::from(at) * 1e-6;
        text +=
            &format!("[[reservation]]\nname = \"{at}\"\nrate = {{ cpu = \"0.001 cycles/s\", link = \"0.001 B/s\" }}\n");
        text += &format!("packets = [{{ cpu = \"{cost:.6} cycles\", link = \"1B\" }}]\ndelay = \"3000s\"\n");
    }
    let started = Instant::now();
    let document = admit(&[&written(&folder, &text)]);
    let answers = document["reservations"].as_array().expect("reservations");
    assert!(answers.iter().all(|answer| answer["admitted"] == true));
    near(&document["resources"][0]["reserved_per_s"], 100.0, 0.0, "reserved");
    // Walking a list for each would be 10^10 steps. Even on a busy machine, this limit of seconds is far below that.
    assert!(started.elapsed().as_secs() < 60, "{:?}", started.elapsed());

    text += &FLOW.replace("\"75%\"", "\"1%\"");
    let output = dovetail(&["admit", &written(&folder, &text)]);
    let said = String::from_utf8(output.stderr).expect("text");
    assert!(output.status.code() == Some(1) && said.contains("over 100000 [[reservation]]"), "{said}");
}
