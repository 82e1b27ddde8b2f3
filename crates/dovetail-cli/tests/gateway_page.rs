//! A page of sixty images in Chromium, through `dovetail gateway` and through Squid, alone and beside other users'
//! downloads: with `DOVETAIL_LONG=1`, some twenty-five minutes, with `--nocapture` for the figures. Otherwise skipped.
//! `DOVETAIL_CELLS="H2, 600 ms"` runs only those whose line contains that.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used)]

mod gateways;
mod pages;

use std::{fmt, thread, time::Instant};

use dovetail_bed::{Bed, Proxy, Via};
use gateways::{Settings, chosen, gateway, has, has_squid, link, median, ms, possible, side_by_side};
use pages::{
    bulk::Bulk,
    page::{Over, PageServer, browser, load},
    running::Running,
};

const PAIRS: usize = 3;
const PAIRS_ON_A_NARROW_LINK: usize = 9;

#[derive(Debug, Clone, Copy)]
struct Cell {
    mbps: u64,
    over: Over,
    trip: u64,
    beside: Beside,
}

/// Other traffic on the link.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Beside {
    Nobody,
    Download(Via),
    /// Two of them in tunnels.
    FourOfOneUser,
    FourUsers,
}

impl Beside {
    /// Users, each of whom has these downloads.
    fn downloads(self) -> Vec<(u8, Via)> {
        let via = |at: u8| if at < 2 { Via::Absolute } else { Via::Connect };
        let four = |users: u8| (0..4).map(move |at| (at % users + 1, via(at)));
        match self {
            Self::Nobody => Vec::new(),
            Self::Download(via) => vec![(1, via)],
            Self::FourOfOneUser => four(1).collect(),
            Self::FourUsers => four(4).collect(),
        }
    }
}

impl fmt::Display for Cell {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { mbps, over, trip, beside } = self;
        write!(f, "{mbps} Mbit/s, {over:?}, {trip} ms, ")?;
        match beside {
            Beside::Nobody => write!(f, "alone"),
            Beside::Download(via) => write!(f, "beside a download, {via:?}"),
            Beside::FourOfOneUser => write!(f, "beside four downloads of one user"),
            Beside::FourUsers => write!(f, "beside four users' downloads"),
        }
    }
}

/// Seconds until the page is complete, and Mbit/s of the downloads meanwhile.
fn loaded(cell: Cell, proxy: &Proxy<'_>) -> (f64, f64) {
    let bed = Bed::new(&link(cell.mbps * 1_000_000, ms(cell.trip), &[4])).unwrap_or_else(|error| panic!("{error}"));
    let running = Running::new(&bed, proxy);
    let folder = running.folder.path();
    let _server = PageServer::new(&bed, cell.over, folder);
    let bulk = |(user, via): (u8, Via)| Bulk::of(&bed, [10, 0, 1, user].into(), via);
    let bulks: Vec<_> = cell.beside.downloads().into_iter().map(bulk).collect();
    if !bulks.is_empty() {
        // Their windows have grown, and so has the link's queue if nothing keeps it short.
        thread::sleep(ms(8000));
    }
    let bytes = || bulks.iter().map(Bulk::bytes).sum::<u64>();
    let (begun, before) = (Instant::now(), bytes());
    let took = load(&bed, &browser().unwrap(), cell.over, &folder.join("profile"));
    // Includes start and end of the browser.
    let (meanwhile, after) = (begun.elapsed(), bytes());
    bulks.into_iter().for_each(Bulk::end);
    (took, (after - before) as f64 * 8e-6 / meanwhile.as_secs_f64())
}

/// The gateway's time over Squid's, as the median of this many pairs, one after the other.
fn pairs(cell: Cell, count: usize) -> (Cell, f64) {
    let pairs: Vec<_> =
        (0..count).map(|_| [gateway(Settings::default()), Proxy::squid()].map(|proxy| loaded(cell, &proxy))).collect();
    let of = |which: usize| pairs.iter().map(|pair| pair[which].0).collect::<Vec<_>>();
    let download = |which: usize| median(pairs.iter().map(|pair| pair[which].1).collect());
    let part = median(pairs.iter().map(|[ours, theirs]| ours.0 / theirs.0).collect());
    let (ours, theirs) = (of(0), of(1));
    eprintln!(
        "{cell}: {ours:.2?} s, Squid {theirs:.2?} s, medians {:.2} and {:.2}, {part:.3} of Squid's",
        median(ours.clone()),
        median(theirs.clone())
    );
    if cell.beside != Beside::Nobody {
        eprintln!("  downloads: {:.2} Mbit/s, with Squid {:.2}", download(0), download(1));
    }
    (cell, part)
}

/// Whether the requirements are met.
fn can_load() -> bool {
    let is_possible = possible() && has_squid() && has("openssl", "version");
    if is_possible && browser().is_none() {
        dovetail_skip::skipped("there is no Chromium");
        return false;
    }
    is_possible
}

#[test]
fn a_page_does_not_wait_behind_a_download() {
    if !can_load() {
        return;
    }
    let cells: Vec<_> = [Over::Http, Over::Https, Over::H2]
        .into_iter()
        .flat_map(|over| [160, 600].map(|trip| (over, trip)))
        .flat_map(|(over, trip)| {
            [Beside::Nobody, Beside::Download(Via::Absolute), Beside::Download(Via::Connect)].map(|beside| Cell {
                mbps: 5,
                over,
                trip,
                beside,
            })
        })
        .collect();
    let parts = side_by_side(3, &chosen(cells, Cell::to_string), |cell| pairs(cell, PAIRS));
    // The goals are 0.8 and 1.1; three pairs on a busy machine can show no more than this. From 600 ms away a page waits
    // for windows and round trips, and it only has to arrive.
    let is_worse =
        |&&(cell, part): &&(Cell, f64)| cell.trip < 600 && part > if cell.beside == Beside::Nobody { 1.2 } else { 1.0 };
    let worse: Vec<_> = parts.iter().filter(is_worse).collect();
    assert!(worse.is_empty(), "{worse:.3?}");
}

#[test]
fn a_page_on_a_narrow_link_does_not_wait_behind_four_downloads() {
    if !can_load() {
        return;
    }
    let cells: Vec<_> = [Beside::FourOfOneUser, Beside::FourUsers]
        .into_iter()
        .flat_map(|beside| [Over::Http, Over::Https, Over::H2].map(|over| Cell { mbps: 2, over, trip: 40, beside }))
        .collect();
    let cells = chosen(cells, Cell::to_string);
    let parts = side_by_side(4, &cells, |cell| pairs(cell, PAIRS_ON_A_NARROW_LINK));
    let worse: Vec<_> = parts.iter().filter(|(_, part)| *part > 1.0).collect();
    assert!(worse.is_empty(), "{worse:.3?}");
}
