//! CPU time per request through `dovetail gateway` and through Squid, at narrow links: pairs at the same time, each in a
//! testbed of its own, with `DOVETAIL_LONG=1`, on an otherwise idle machine, with `--nocapture` for the figures. Some
//! fifteen minutes. `DOVETAIL_CELLS="20 Mbit/s"` runs only those whose line contains that.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used)]

mod gateways;

use std::{fmt, time::Duration};

use dovetail_bed::{Bed, BedSpec, Load, LoadSpec, Proxy, Via};
use gateways::{Settings, chosen, gateway, has_squid, median, possible, side_by_side};

const PAIRS: usize = 3;

#[derive(Debug, Clone, Copy)]
struct Cell {
    mbps: u64,
    via: Via,
    load: Load,
}

impl fmt::Display for Cell {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} Mbit/s, {:?}, {:?}", self.mbps, self.via, self.load)
    }
}

/// Milliseconds of CPU per request; the kernel accounts it to 10 ms.
fn cost((cell, seed, is_squid): (Cell, u64, bool)) -> f64 {
    let proxy = if is_squid { Proxy::squid() } else { gateway(Settings::default()) };
    let rate_bps = cell.mbps * 1_000_000;
    let spec = BedSpec {
        rate_bps,
        buffer_packets: (rate_bps / 80_000) as u32,
        lan_bps: Some(10 * rate_bps),
        ..BedSpec::default()
    };
    let mut bed = Bed::new(&spec).unwrap_or_else(|error| panic!("{error}"));
    let load = LoadSpec {
        load: cell.load,
        via: cell.via,
        seed,
        warm_up: Duration::from_secs(5),
        duration: Duration::from_secs(35),
        drain: Duration::from_secs(1),
        ..LoadSpec::default()
    };
    bed.measure(&proxy, &load, &|_| ()).unwrap_or_else(|error| panic!("{error}")).cpu_ms_per_request().unwrap()
}

#[test]
fn a_request_costs_less_than_through_squid() {
    if !possible() || !has_squid() {
        return;
    }
    let loads = [Load::Open { load: 0.9 }, Load::Closed { outstanding: 4 }];
    let cells = [2, 20].into_iter().flat_map(|mbps| {
        loads.into_iter().flat_map(move |load| [Via::Absolute, Via::Connect].map(|via| Cell { mbps, via, load }))
    });
    let mut missed = Vec::new();
    for cell in chosen(cells.collect(), Cell::to_string) {
        let pairs: Vec<_> = (1..=PAIRS as u64)
            .map(|seed| side_by_side(2, &[false, true].map(|is_squid| (cell, seed, is_squid)), cost))
            .collect();
        let of = |which: usize| pairs.iter().map(|pair| pair[which]).collect::<Vec<_>>();
        let part = median(pairs.iter().map(|pair| pair[0] / pair[1]).collect());
        eprintln!("{cell}: {:.2?} ms of CPU a request, Squid {:.2?}, {part:.2} of Squid's", of(0), of(1));
        if part >= 1.0 {
            missed.push(cell.to_string());
        }
    }
    assert!(missed.is_empty(), "more than through Squid: {missed:?}");
}
