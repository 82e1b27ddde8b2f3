//! The admin page at a real link: Chromium opens the page of a gateway in the testbed, where users download pages, files
//! and streams. DOVETAIL_SCREENSHOTS=docs/img DOVETAIL_LONG=1 updates the book's picture. Takes a minute, as root.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used)]

mod gateways;

use std::{env, fs, path::PathBuf, process::Command};

use dovetail_bed::{Bed, BedSpec, Job, Place, PlaySpec, Repeat, Uplink, Via, What};
use gateways::{Settings, gateway, has, link, ms, possible};

const ADMIN: &str = "[admin]\nlisten = \"127.0.0.1:9180\"\n";

#[test]
fn the_page_is_seen_at_a_real_link() {
    if !possible() || !has("chromium", "--version") {
        return;
    }
    let uplink = Some(Uplink { rate_bps: 1_000_000, buffer_packets: 40 });
    let spec = BedSpec { round_trips: vec![ms(30), ms(90), ms(180)], uplink, ..link(4_000_000, ms(0), &[3, 4, 2]) };
    let mut bed = Bed::new(&spec).unwrap_or_else(|error| panic!("{error}"));
    let job = |class, user, server, at, what, via| Job {
        class,
        user,
        server,
        at: ms(at),
        what,
        via,
        repeat: Repeat::UntilDuration,
    };
    let (get, stream) = (|bytes| What::Get { bytes }, What::Stream { pieces: 4000, piece_bytes: 4000, gap: ms(40) });
    let jobs = [
        job(0, 0, 0, 0, get(20_000), Via::Absolute),
        job(0, 0, 1, 100, get(60_000), Via::Absolute),
        job(0, 1, 2, 5_000, stream, Via::Connect),
        job(0, 2, 1, 12_000, get(40_000_000), Via::Connect),
        job(1, 0, 0, 0, get(8_000_000), Via::Absolute),
        job(1, 1, 1, 0, get(30_000), Via::Connect),
        job(1, 2, 2, 20_000, get(50_000_000), Via::Absolute),
        job(1, 3, 0, 28_000, get(400_000), Via::Absolute),
        job(2, 0, 1, 0, get(50_000_000), Via::Absolute),
        job(2, 1, 2, 0, get(50_000_000), Via::Connect),
    ];
    let folder = env::var_os("DOVETAIL_SCREENSHOTS").map_or_else(env::temp_dir, PathBuf::from);
    // Tests run in the folder of their crate.
    let folder = fs::canonicalize(PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..").join(folder)).unwrap();
    let profile = env::temp_dir().join(format!("dovetail-picture-{}", std::process::id()));
    let picture = |name: &str, size: &str, query: &str| {
        format!(
            "chromium --headless --no-sandbox --disable-gpu --no-first-run --disable-background-networking \
             --disable-component-update --disable-sync --hide-scrollbars --disable-dev-shm-usage --user-data-dir={} \
             --virtual-time-budget=6000 --window-size={size} --screenshot={}/{name}.png 'http://127.0.0.1:9180/{query}'",
            profile.display(),
            folder.display()
        )
    };
    // One after the other, once there is a minute of history.
    let both = format!(
        "sleep 62; {}; {}",
        picture("gateway-page", "1180,1300", ""),
        picture("gateway-user", "390,1500", "#user=10.0.2.3")
    );
    let mut looks = bed.within(Place::Gateway, || Command::new("sh").args(["-c", &both]).spawn()).unwrap();
    let settings = Settings { weights: &[4, 2, 1], more: ADMIN, ..Settings::default() };
    let play =
        PlaySpec { warm_up: ms(5_000), duration: ms(85_000), drain: ms(1_000), rates: Vec::new(), queue_every: None };
    let played = bed.play(&gateway(settings), &jobs, &play).unwrap_or_else(|error| panic!("{error}"));
    assert!(played.jobs.len() == jobs.len() && looks.wait().unwrap().success());
    for name in ["gateway-page", "gateway-user"] {
        let bytes = fs::read(folder.join(format!("{name}.png"))).unwrap();
        let decoder = png::Decoder::new(std::io::Cursor::new(&bytes));
        let info = decoder.read_info().unwrap();
        println!("{name}: {} by {}, {} bytes", info.info().width, info.info().height, bytes.len());
        // An empty page is far smaller.
        assert!(bytes.len() > 20_000, "{name}: {}", bytes.len());
    }
    let _ = fs::remove_dir_all(profile);
}
