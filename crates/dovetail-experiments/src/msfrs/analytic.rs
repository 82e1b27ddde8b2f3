//! Equations 4 to 6: a batch of `m` requests with responses of equal length, `W+` of which fill the link.
//!
//! ```text
//! ordinary   T = m·L/C                                                                              (4)
//! MSF-RS     Tq = (W+·(0 + 1 + … + (⌊m/W+⌋ - 1)) + (m mod W+)·⌊m/W+⌋) · W+·L/C / m                  (5)
//!            Ts = ((m - m mod W+)·W+·L/C + (m mod W+)²·L/C) / m                                     (6)
//! ```
//!
//! The policy itself runs on an ideal link: all outstanding responses share it equally.

use crate::{
    error::Error,
    experiment::{Finding, Given, chart},
    row::Row,
};
use dovetail_compare::report::plot::{Axis, Plot, Series};
use dovetail_sched::{
    Nanos, Weight,
    request::{ClassId, Request, RequestId, RequestSetup, RequestSpec, UserId},
};

const WINDOWS: [u32; 4] = [4, 8, 12, 20];
const MAX_K: u32 = 60;

pub(super) fn fig5(_: &Given<'_>) -> Result<Finding, Error> {
    // Four parallel responses take a second, as in the paper's example.
    let [msf_rs, ordinary] = [Some(4), None].map(|window| mean_in_ideal_link(12, window));
    let mut rows = vec![
        Row::new("12 requests, W+ = 4: MSF-RS", "s", Some(2.0), 2.0, msf_rs?, 1e-6),
        Row::new("12 requests: ordinary", "s", Some(3.0), 3.0, ordinary?, 1e-6),
    ];
    let y = Axis::linear("mean time, MSF-RS over ordinary").range(0.0, 1.05);
    let mut plot = Plot::new(Axis::linear("requests at once"), y);
    for window in WINDOWS {
        let mut worst = 0.0f64;
        let mut most = 0.0f64;
        let (mut sizes, mut ratios) = (Vec::new(), Vec::new());
        for requests in 1..=MAX_K {
            let measured = mean_in_ideal_link(requests, Some(window))? / mean_in_ideal_link(requests, None)?;
            worst = worst.max((measured - ratio(requests, window)).abs());
            most = most.max(measured);
            sizes.push(f64::from(requests));
            ratios.push(measured);
        }
        rows.push(Row::at_most(format!("W+ = {window}: furthest from equations 4 to 6"), "", None, 1e-6, worst));
        rows.push(Row::at_most(format!("W+ = {window}: largest ratio to ordinary"), "", Some(1.0), 1.0, most));
        let twice = mean_in_ideal_link(2 * window, Some(window))? / mean_in_ideal_link(2 * window, None)?;
        rows.push(Row::new(
            format!("W+ = {window}: ratio for twice as many requests"),
            "",
            Some(0.75),
            0.75,
            twice,
            1e-6,
        ));
        plot.add(Series::line(format!("W+ = {window}"), sizes, ratios));
    }
    Ok(Finding {
        rows,
        charts: vec![chart("Fig. 5", "Mean time in the gateway, of equal responses.", plot)],
        remarks: vec!["Responses are of equal length here. That is what the result rests on: see msfrs-fig9.".into()],
        ..Finding::default()
    })
}

/// (Tq + Ts) by equations 5 and 6 over T by equation 4.
fn ratio(requests: u32, window: u32) -> f64 {
    let (m, w) = (f64::from(requests), f64::from(window));
    let (rounds, rest) = (f64::from(requests / window), f64::from(requests % window));
    let before = (rounds - 1.0).max(0.0) * rounds / 2.0;
    let queued = (w * before + rest * rounds) * w / m;
    let served = ((m - rest) * w + rest * rest) / m;
    (queued + served) / m
}

/// Units of a response, and of the link per second: four responses take a second together.
const UNITS: u64 = 1_000_000;
const RATE: f64 = 4_000_000.0;

/// The mean time, in seconds, of a batch at a gateway in front of an ideal link; with `window` `None`, at the ordinary one.
fn mean_in_ideal_link(requests: u32, window: Option<u32>) -> Result<f64, Error> {
    let policy = window.map_or_else(|| "none".to_owned(), |window| format!("msf-rs:window={window},period=1000s"));
    let setup = RequestSetup { rate: RATE, ..RequestSetup::for_bytes(RATE) };
    let mut gateway = policy.parse::<RequestSpec>()?.build(&setup)?;
    gateway.set_class(ClassId(0), Weight::ONE, Nanos::ZERO);
    gateway.set_user(UserId(0), ClassId(0), Nanos::ZERO);
    for id in 0..requests {
        gateway.enqueue(&Request { id: RequestId(id), user: UserId(0), length: None }, Nanos::ZERO);
    }
    let (mut now_s, mut sum_s) = (0.0, 0.0);
    loop {
        let now = Nanos::from_f64(now_s * 1e9);
        let outstanding: Vec<RequestId> =
            std::iter::from_fn(|| gateway.dequeue(now)).map(|turn| turn.request).collect();
        if outstanding.is_empty() {
            return Ok(sum_s / f64::from(requests));
        }
        // All outstanding responses began together and have the same length, so they end together.
        now_s += outstanding.len() as f64 * UNITS as f64 / RATE;
        let now = Nanos::from_f64(now_s * 1e9);
        for request in outstanding {
            sum_s += now_s;
            gateway.received(request, UNITS, now);
            gateway.ended(request, now);
        }
    }
}
