//! Checks the testbed against its specification, with a minimal forwarder as the proxy.
//!
//! Needs root, iproute2 and TUN; skipped with a reason if any is missing.

#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used)]

mod forwarder;

use std::{
    env, fs, io,
    net::{SocketAddrV4, TcpListener, TcpStream},
    os::unix::fs::MetadataExt,
    path::Path,
    process::{self, Command},
    sync::atomic::{AtomicU64, Ordering},
    thread,
    time::{Duration, Instant},
};

use dovetail_bed::{Bed, BedError, BedSpec, End, Load, LoadSpec, Measured, Place, Proxy, Sizes, Via, check, patiently};
use dovetail_skip::skipped;
use forwarder::forward;

/// Where a proxy in the testbed listens.
const LISTEN: &str = "10.0.0.1:3128";
/// The round trip to a near server.
const NEAR: Duration = Duration::from_millis(20);

/// A testbed, or `None` if testbeds cannot be created.
fn bed(spec: &BedSpec) -> Option<Bed> {
    match check() {
        Ok(()) => Some(Bed::new(spec).unwrap_or_else(|error| panic!("{error}"))),
        Err(why) => {
            skipped(why);
            None
        }
    }
}

/// One class of this many users, and one server.
fn small(users: u32) -> BedSpec {
    BedSpec { round_trips: vec![NEAR], users: vec![users], ..BedSpec::default() }
}

/// One user of each class who keeps requesting this many bytes.
fn closed(bytes: u64, seconds: u64) -> LoadSpec {
    LoadSpec {
        load: Load::Closed { outstanding: 1 },
        sizes: Sizes::Fixed(bytes),
        warm_up: Duration::from_secs(1),
        duration: Duration::from_secs(seconds),
        drain: Duration::from_secs(10),
        ..LoadSpec::default()
    }
}

/// Starts a forwarder at the testbed's gateway.
fn with_forwarder(bed: &Bed) {
    let listener = bed.within(Place::Gateway, || TcpListener::bind(LISTEN)).unwrap();
    bed.within(Place::Gateway, || Ok(thread::spawn(move || forward(&listener)))).unwrap();
}

fn measure(bed: &mut Bed, load: &LoadSpec) -> Measured {
    bed.measure(&Proxy::Listening, load, &|_| ()).unwrap_or_else(|error| panic!("{error}"))
}

/// Whether the machine was too busy for accurate round trips.
fn too_busy(measured: &Measured) -> bool {
    let busy = measured.latest > Duration::from_millis(50);
    if busy {
        skipped(format_args!("the processors are too busy to measure, packets were {:?} late", measured.latest));
    }
    busy
}

#[test]
fn servers_are_as_far_away_as_they_are_to_be() {
    patiently(servers_are_as_far_away_as_they_are_to_be_once);
}

fn servers_are_as_far_away_as_they_are_to_be_once() {
    let trips = [5, 20, 90].map(Duration::from_millis);
    let Some(bed) = bed(&BedSpec { round_trips: trips.into(), ..BedSpec::default() }) else { return };
    for (server, trip) in (1..).zip(trips) {
        let address: SocketAddrV4 = format!("10.200.0.{server}:80").parse().unwrap();
        let handshake = |place| {
            let once = |_| {
                let begun = Instant::now();
                bed.within(place, || TcpStream::connect(address)).map(|_| begun.elapsed())
            };
            // Any of them may wait for a processor.
            (0..6).map(once).collect::<io::Result<Vec<_>>>().unwrap().into_iter().min().unwrap()
        };
        for place in [Place::Clients, Place::Gateway] {
            let took = handshake(place);
            assert!(took >= trip && took < trip + Duration::from_millis(5), "{place:?} {trip:?}: {took:?}");
        }
    }
}

#[test]
fn a_large_response_takes_what_the_link_needs_for_it() {
    patiently(a_large_response_takes_what_the_link_needs_for_it_once);
}

fn a_large_response_takes_what_the_link_needs_for_it_once() {
    const BYTES: u64 = 1_000_000;
    let Some(mut bed) = bed(&small(1)) else { return };
    with_forwarder(&bed);
    let needs = BYTES as f64 * 8.0 / bed.spec().goodput_bps();
    for via in [Via::Absolute, Via::Connect, Via::Direct] {
        let measured = measure(&mut bed, &LoadSpec { via, ..closed(BYTES, 9) });
        if too_busy(&measured) {
            return;
        }
        let latency = measured.latency();
        assert_eq!((measured.failed().next(), latency.unfinished), (None, 0), "{via:?}");
        let over = latency.mean_s / needs;
        assert!((0.99..1.06).contains(&over), "{via:?}: {over} of {needs} s");
        assert!((0.93..1.01).contains(&measured.link.utilisation), "{via:?}: {:?}", measured.link);
        // Frames of wire size, not trains of them.
        let frame = measured.link.bytes as f64 / measured.link.packets as f64;
        assert!((1400.0..=1514.0).contains(&frame), "{via:?}: {frame}");
        // What users received in the window is the payload that the link carried, except for what is in flight.
        let payload = measured.received_bytes[0] as f64 / (measured.link.bytes as f64 * 1448.0 / 1514.0);
        assert!((0.95..1.02).contains(&payload), "{via:?}: {payload}");
        assert!(measured.proxy.is_none());
        println!(
            "{via:?}: {over:.4} of {needs:.3} s, utilisation {:.4}, frames {frame:.1}, payload {payload:.4}, late {:?}",
            measured.link.utilisation, measured.latest
        );
    }
}

#[test]
fn a_small_response_takes_its_round_trips() {
    patiently(a_small_response_takes_its_round_trips_once);
}

fn a_small_response_takes_its_round_trips_once() {
    let Some(mut bed) = bed(&small(1)) else { return };
    with_forwarder(&bed);
    // The forwarder connects for each request and then sends it; a user without it keeps their connection.
    for (via, trips) in [(Via::Absolute, 2), (Via::Direct, 1)] {
        let measured = measure(&mut bed, &LoadSpec { via, ..closed(500, 3) });
        if too_busy(&measured) {
            return;
        }
        let latency = measured.latency();
        let (took, least) = (latency.median_s, (trips * NEAR).as_secs_f64());
        assert!(took >= least && took < least + 0.012, "{via:?}: {took}");
        let reused = measured.counted().all(|one| one.reused);
        assert_eq!(reused, via == Via::Direct);
    }
}

#[test]
fn a_full_queue_drops_and_everything_still_comes() {
    patiently(a_full_queue_drops_and_everything_still_comes_once);
}

fn a_full_queue_drops_and_everything_still_comes_once() {
    let spec = BedSpec { users: vec![2, 2], buffer_packets: 10, ..small(1) };
    let Some(mut bed) = bed(&spec) else { return };
    with_forwarder(&bed);
    let load = LoadSpec { load: Load::Closed { outstanding: 4 }, drain: Duration::from_secs(60), ..closed(20_000, 5) };
    let measured = measure(&mut bed, &LoadSpec { classes: vec![1], ..load.clone() });
    assert!(measured.exchanges.iter().all(|one| one.class == 1 && one.took().is_some()));
    assert!(measured.link.drops > 10 && measured.link.dropped() < 0.5, "{:?}", measured.link);
    assert_eq!((measured.received_bytes[0], measured.ratio()[1]), (0, 1.0));
    let users: Vec<u32> = measured.exchanges.iter().map(|one| one.user).collect();
    assert!(users.contains(&0) && users.contains(&1));
    assert!(measured.exchanges.iter().all(|one| one.first_byte.is_some_and(|first| first > one.wanted)));
}

#[test]
fn one_seed_asks_for_the_same_of_every_proxy() {
    let spec = BedSpec { users: vec![2, 1], ..BedSpec::default() };
    let Some(mut bed) = bed(&spec) else { return };
    with_forwarder(&bed);
    let load = LoadSpec {
        load: Load::Open { load: 0.6 },
        warm_up: Duration::from_secs(1),
        duration: Duration::from_secs(4),
        drain: Duration::from_secs(30),
        ..LoadSpec::default()
    };
    let mut asked = |via| {
        let measured = measure(&mut bed, &LoadSpec { via, ..load.clone() });
        assert_eq!(measured.failed().next(), None);
        let asked = measured.exchanges.iter().map(|one| (one.wanted, one.class, one.user, one.origin, one.bytes));
        asked.collect::<Vec<_>>()
    };
    let first = asked(Via::Absolute);
    assert!(first.len() > 10);
    assert_eq!(first, asked(Via::Connect));
}

#[test]
fn silence_and_wrong_answers_are_told_apart() {
    let Some(mut bed) = bed(&small(1)) else { return };
    let load = LoadSpec { drain: Duration::from_secs(1), ..closed(500, 2) };
    let listener = bed.within(Place::Gateway, || TcpListener::bind(LISTEN)).unwrap();
    let measured = measure(&mut bed, &load);
    assert!(!measured.exchanges.is_empty());
    assert!(measured.exchanges.iter().all(|one| one.end == End::Unfinished));
    drop(listener);

    let listener = bed.within(Place::Gateway, || TcpListener::bind(LISTEN)).unwrap();
    let refuse = |mut stream: TcpStream| {
        io::Write::write_all(&mut stream, b"HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\n\r\n")
    };
    let refusing = move || Ok(thread::spawn(move || listener.incoming().flatten().for_each(|one| _ = refuse(one))));
    bed.within(Place::Gateway, refusing).unwrap();
    let measured = measure(&mut bed, &load);
    assert!(measured.exchanges.len() > 1);
    // The socket is closed with the request unread, so some see a reset rather than the answer.
    assert!(measured.exchanges.iter().all(|one| matches!(one.end, End::Failed(_))), "{:?}", measured.exchanges);
    assert!(measured.latency().mean_s.is_nan() && measured.received_bytes == [0]);
}

/// Not a test of its own: [`a_program_is_begun_watched_and_ended`] runs it as a program.
#[test]
fn forwarder_as_a_program() {
    let Ok(millis) = env::var("DOVETAIL_BED_FORWARDER") else { return };
    let listener = TcpListener::bind(LISTEN).unwrap();
    thread::spawn(move || {
        thread::sleep(Duration::from_millis(millis.parse().unwrap()));
        println!("my time has come");
        process::exit(7);
    });
    forward(&listener);
}

/// A forwarder that ends on its own after this time.
fn program(millis: u64) -> Proxy<'static> {
    Proxy::command("forwarder", move |site| {
        assert_eq!(site.listen.to_string(), LISTEN);
        assert_eq!(site.provider.to_string(), "10.99.0.1");
        fs::write(site.folder.join("settings"), "rate")?;
        let mut command = Command::new(env::current_exe()?);
        command.args(["--exact", "forwarder_as_a_program", "--nocapture"]);
        command.env("DOVETAIL_BED_FORWARDER", millis.to_string());
        Ok(command)
    })
}

#[test]
fn a_program_is_begun_watched_and_ended() {
    let Some(mut bed) = bed(&small(4)) else { return };
    let told = AtomicU64::new(0);
    let tell = |packets| _ = told.fetch_add(packets, Ordering::Relaxed);
    let measured = bed.measure(&program(60_000), &closed(50_000, 4), &tell).unwrap_or_else(|error| panic!("{error}"));
    let used = measured.proxy.clone().unwrap();
    assert!(used.exit.contains("signal: 15"), "{}", used.exit);
    assert_eq!(used.processes, 1);
    assert!(used.resident_bytes > 1_000_000 && used.cpu_s >= 0.0 && used.cpu_s < 3.0, "{used:?}");
    assert!(measured.cpu_ms_per_request().unwrap().is_finite());
    assert!(told.into_inner() > measured.link.packets / 2);
    let left = bed.within(Place::Clients, || TcpStream::connect(LISTEN)).unwrap_err();
    assert_eq!(left.kind(), io::ErrorKind::ConnectionRefused);

    let begun = Instant::now();
    let Err(BedError::Proxy { name, what, said }) = bed.measure(&program(1500), &closed(50_000, 30), &|_| ()) else {
        panic!("it had ended")
    };
    assert!(begun.elapsed() < Duration::from_secs(15));
    assert_eq!(name, "forwarder");
    assert!(what.contains("exit status: 7") && said.contains("my time has come"), "{what} {said}");
}

#[test]
fn a_program_that_does_not_start_says_why() {
    let Some(mut bed) = bed(&small(1)) else { return };
    let fails = Proxy::command("sh", |_| {
        let mut command = Command::new("sh");
        command.args(["-c", "echo no such luck >&2; exit 3"]);
        Ok(command)
    });
    let error = bed.measure(&fails, &closed(500, 2), &|_| ()).unwrap_err().to_string();
    assert!(error.contains("sh ended with exit status: 3") && error.contains("no such luck"), "{error}");
    let absent = Proxy::command("absent", |_| Ok(Command::new("no-such-proxy")));
    let error = bed.measure(&absent, &closed(500, 2), &|_| ()).unwrap_err().to_string();
    assert_eq!(error, "begin absent: there is no program no-such-proxy: install it");
}

#[test]
fn nothing_is_left() {
    // Belongs to no process: process IDs do not exceed 2^22.
    const GONE: &str = "dovetail-bed4194305-0-clients";
    let names = || {
        let entries = fs::read_dir("/run/netns").into_iter().flatten().flatten();
        entries.filter_map(|entry| entry.file_name().into_string().ok()).collect::<Vec<_>>()
    };
    let inode = |name: &str| fs::metadata(Path::new("/run/netns").join(name)).map(|data| data.ino()).ok();
    let folder = env::temp_dir().join(GONE);
    if check().is_ok() {
        // Another test's testbed may remove it before it is complete.
        let _ = Command::new("ip").args(["netns", "add", GONE]).output().unwrap();
        fs::create_dir(&folder).unwrap();
    }
    let Some(bed) = bed(&small(1)) else { return };
    assert!(!names().iter().any(|name| name == GONE) && !folder.exists());
    let places = [Place::Clients, Place::Gateway, Place::Provider, Place::Servers];
    let inodes = places.map(|place| {
        let there = bed.within(place, || fs::metadata("/proc/thread-self/ns/net")).unwrap();
        there.ino()
    });
    assert!(!inodes.contains(&fs::metadata("/proc/thread-self/ns/net").unwrap().ino()));
    let mine: Vec<String> =
        names().into_iter().filter(|name| inode(name).is_some_and(|inode| inodes.contains(&inode))).collect();
    assert_eq!(mine.len(), 4);
    drop(bed);
    assert!(!names().iter().any(|name| mine.contains(name)));
}
