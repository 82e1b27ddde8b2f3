//! The report in a real browser: it opens without a network, draws its charts, fits a phone, and is dark if the reader's
//! desktop is dark. Skipped with a message if there is no Chromium.

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use crate::support::{SMALL_NETWORK, folder, small_table, stdout, written};

fn browser() -> Option<PathBuf> {
    let names = ["chromium", "chromium-browser", "google-chrome"];
    let folders: Vec<PathBuf> = std::env::split_paths(&std::env::var_os("PATH")?).collect();
    let found = names.iter().flat_map(|name| folders.iter().map(move |folder| folder.join(name))).find(|p| p.exists());
    if found.is_none() {
        dovetail_skip::skipped("no Chromium on this machine");
    }
    found
}

const SMALL_BOX: &str = "name = 'box'\nduration = '30ms'\n[[resource]]\nname = 'cpu'\n[[resource]]\nname = 'link'\n\
    rate = '100Mbps'\n[[class]]\nname = 'one'\ncost = { cpu = '90us' }\n[[flow]]\nname = 'a'\nclass = 'one'\nsize = 200\n\
    arrivals = { poisson = '9000/s' }\n[[flow]]\nname = 'b'\nclass = 'one'\nsize = 900\narrivals = { poisson = '9000/s' }\n";

/// Runs the browser on a page; returns what it printed.
fn browse(browser: &Path, profile: &Path, dark: bool, args: &[&str], page: &Path) -> String {
    let output = Command::new(browser)
        .args(["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"])
        .args(["--disable-background-networking", "--disable-component-update", "--disable-sync", "--hide-scrollbars"])
        .args(["--allow-file-access-from-files", "--virtual-time-budget=5000", "--disable-dev-shm-usage"])
        // Blink's setting: 0 is dark, 1 is light.
        .arg(format!("--blink-settings=preferredColorScheme={}", u8::from(!dark)))
        .arg(format!("--user-data-dir={}", profile.display()))
        .args(args)
        .arg(format!("file://{}", page.display()))
        .stderr(Stdio::null())
        .output()
        .expect("the browser runs");
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// A policy whose name is wider than a phone.
const LONG_POLICY: &str = "tradeoff:alpha=0.123456789012345678901234567890123456789";

/// The box, with names as long as they may be.
fn with_long_names() -> String {
    ["'box'", "'a'", "'b'"].iter().fold(SMALL_BOX.to_owned(), |text, name| {
        let long = name.trim_matches('\'').repeat(64);
        text.replace(name, &format!("'{}'", &long[..64]))
    })
}

/// The report of a command; `network` is that of a comparison over a network.
fn report(folder: &Path, name: &str) -> PathBuf {
    let table = small_table(folder);
    let page = folder.join("report.html");
    let (command, input) = match name {
        "profile" => (name, ["all", "--packets=50"].map(str::to_owned)),
        "samples" => ("compare", [written(folder, "box.toml", SMALL_BOX), "--seeds=1..20".to_owned()]),
        "long" => ("compare", [written(folder, "box.toml", &with_long_names()), "--seed=1".to_owned()]),
        "network" => ("compare", [written(folder, "small.toml", SMALL_NETWORK), "--seed=1".to_owned()]),
        _ => (name, ["--workload".to_owned(), table.display().to_string()]),
    };
    let policies: &[&str] = match name {
        "explain" => &["--policy", "fifo", "--against", "drfq"],
        "long" => &["--policy", LONG_POLICY, "--policy", "fifo"],
        _ => &[],
    };
    let said =
        stdout(&[&[command, &input[0], &input[1], "--report", page.to_str().expect("plain")], policies].concat());
    assert!(said.contains("report.html"), "the report is named: {said}");
    let bytes = fs::metadata(&page).expect("written").len();
    assert!(bytes < 400_000, "the report has {bytes} bytes");
    page
}

#[test]
fn charts_are_drawn_and_a_phone_can_read_them() {
    // Lines of five policies in several charts, and their bars.
    read_on_a_phone("compare", 11, 15);
}

#[test]
fn a_tuned_knob_s_charts_are_drawn_and_a_phone_can_read_them() {
    // For each policy makespan, two utilisations, and three lines of shares, with what was promised.
    read_on_a_phone("tune", 6, 13);
}

#[test]
fn an_explanation_s_charts_are_drawn_and_a_phone_can_read_them() {
    // Bars and a grid for each of two policies.
    read_on_a_phone("explain", 4, 0);
}

#[cfg(feature = "profile")]
#[test]
fn a_profile_s_charts_are_drawn_and_a_phone_can_read_them() {
    // Two lines for each of five functions, and one line each in the distribution.
    read_on_a_phone("profile", 6, 15);
}

#[test]
fn charts_of_several_samples_are_drawn_and_a_phone_can_read_them() {
    // Utilisation of two resources, throughput, gap and two percentiles; whiskers rather than lines.
    read_on_a_phone("samples", 6, 0);
}

#[test]
fn long_names_are_broken_where_a_phone_ends() {
    read_on_a_phone("long", 5, 0);
}

#[test]
fn a_network_s_charts_are_drawn_and_a_phone_can_read_them() {
    // For each of five policies times by size, shares of short transfers, rates of two streams, and time at the link.
    read_on_a_phone("network", 5, 25);
}

fn read_on_a_phone(command: &str, least_charts: u32, least_lines: u32) {
    let Some(browser) = browser() else { return };
    let folder = folder(&format!("page-phone-{command}"));
    report(&folder, command);
    // A page that shows the report in a frame as wide as a phone and records the result.
    let probe = folder.join("probe.html");
    let script = "\
        const frame = document.querySelector('iframe');
        frame.onload = () => {
          const page = frame.contentDocument, pointer = frame.contentWindow.PointerEvent;
          const charts = [...page.querySelectorAll('.chart')], seen = document.body.dataset;
          const has = (mark) => { const box = mark.getBoundingClientRect(); return box.width + box.height > 1; };
          const marks = (chart) => [...chart.querySelectorAll('.area svg path:not(.rule)')].filter(has);
          const wide = (chart) => chart.querySelector('.area svg').getBoundingClientRect().width > 150;
          seen.charts = charts.length;
          seen.drawn = charts.filter((chart) => wide(chart) && marks(chart).length).length;
          seen.named = charts.filter((chart) => chart.querySelector('svg[role=img]').getAttribute('aria-label')).length;
          seen.lines = [...page.querySelectorAll('.area svg .line')].filter(has).length;
          const texts = [...page.querySelectorAll('.area span')].map((text) => text.getBoundingClientRect());
          seen.outside = texts.filter((box) => box.left < -1 || box.right > 391).length;
          const asking = [...page.querySelectorAll('.area[data-x]')];
          for (const area of asking) {
            const box = area.querySelector('svg').getBoundingClientRect();
            area.dispatchEvent(new pointer('pointermove', { clientX: box.left + box.width / 2 }));
          }
          const told = (area) => area.querySelector('.tip:not([hidden])')?.querySelectorAll('li').length
            === area.querySelectorAll('[data-of]').length;
          const key = frame.contentWindow.KeyboardEvent, texts_of = (area) => {
            const line = area.querySelector('[role=slider]'), said = [];
            line.focus();
            for (const name of ['Home', 'ArrowRight', 'End', 'ArrowLeft', 'ArrowLeft']) {
              line.dispatchEvent(new key('keydown', { key: name }));
              said.push(line.ariaValueText);
            }
            return page.activeElement === line && new Set(said.slice(0, 3)).size > 1 && told(area);
          };
          seen.asking = asking.length;
          seen.told = asking.filter(told).length;
          seen.keyed = asking.filter(texts_of).length;
          const scrolls = [...page.querySelectorAll('.scroll')];
          seen.scrolls = scrolls.length;
          seen.reached = scrolls.filter((scroll) => scroll.tabIndex === 0 && scroll.ariaLabel).length;
          const empty = [...page.querySelectorAll('th')].filter((head) => !head.scope || !head.textContent);
          seen.unnamed = empty.length;
          seen.width = page.scrollingElement.scrollWidth;
          seen.loaded = frame.contentWindow.performance.getEntriesByType('resource').length;
        };";
    let html = format!("<body><iframe src=report.html width=390 height=800></iframe><script>{script}</script></body>");
    fs::write(&probe, html).expect("written");
    let seen = browse(&browser, &folder.join("profile"), false, &["--dump-dom"], &probe);
    let number = |name: &str| -> u32 {
        let from = seen.find(&format!("data-{name}=\"")).unwrap_or_else(|| panic!("no {name} in {seen:.400}"));
        let digits = &seen[from + name.len() + 7..];
        digits[..digits.find('"').expect("a quote")].parse().expect("a number")
    };
    assert!(number("charts") >= least_charts, "only {} charts", number("charts"));
    assert_eq!(number("drawn"), number("charts"), "every chart is drawn");
    assert_eq!(number("named"), number("charts"), "every chart says what it is");
    assert_eq!(number("told"), number("asking"), "a pointer is told of every series");
    assert_eq!(number("keyed"), number("asking"), "arrow keys read the values of every chart that a pointer reads");
    assert_eq!(number("reached"), number("scrolls"), "every table is scrolled by keyboard");
    assert_eq!(number("unnamed"), 0, "every header cell has a text and says of what it is");
    assert_eq!(number("outside"), 0, "no label is beyond the screen");
    assert!(number("lines") >= least_lines, "only {} lines", number("lines"));
    assert!(number("width") <= 390, "the page is {} wide on a phone of 390", number("width"));
    assert_eq!(number("loaded"), 0, "the page loads nothing");
}

/// Mean lightness of a picture, 0 to 255, and how many colours it has.
fn look_at(picture: &Path) -> (f64, usize) {
    let decoder = png::Decoder::new(std::io::BufReader::new(fs::File::open(picture).expect("a screenshot")));
    let mut reader = decoder.read_info().expect("a PNG");
    let mut pixels = vec![0; reader.output_buffer_size().expect("it fits")];
    let info = reader.next_frame(&mut pixels).expect("a frame");
    let channels = info.color_type.samples();
    let mut sum = 0.0;
    let mut colours = std::collections::HashSet::new();
    for pixel in pixels.chunks(channels) {
        sum += pixel[..3].iter().map(|&part| f64::from(part)).sum::<f64>() / 3.0;
        colours.insert([pixel[0], pixel[1], pixel[2]]);
    }
    (sum / (pixels.len() / channels) as f64, colours.len())
}

#[test]
fn light_is_light_and_dark_is_dark() {
    let Some(browser) = browser() else { return };
    let folder = folder("page-dark");
    let page = report(&folder, "compare");
    for (name, width, dark) in [("light", 1100, false), ("dark", 1100, true), ("phone-dark", 390, true)] {
        let picture = folder.join(format!("{name}.png"));
        let args = [format!("--screenshot={}", picture.display()), format!("--window-size={width},1600")];
        let args: Vec<&str> = args.iter().map(String::as_str).collect();
        browse(&browser, &folder.join("profile"), dark, &args, &page);
        let (lightness, colours) = look_at(&picture);
        assert!(if dark { lightness < 90.0 } else { lightness > 180.0 }, "{name}: mean lightness {lightness}");
        assert!(colours > 100, "{name}: only {colours} colours, nothing is drawn");
    }
}
