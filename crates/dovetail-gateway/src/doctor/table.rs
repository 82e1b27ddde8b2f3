//! Presents the findings to the operator.

use std::{
    fmt::{self, Display},
    time::Duration,
};

use super::{Direction, Findings, RoundTrips, configuration::written};

impl Findings {
    /// The findings in aligned lines, with advice.
    #[must_use]
    pub fn describe(&self) -> impl Display {
        Description(self)
    }
}

struct Description<'f>(&'f Findings);

impl Display for Description<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let found = self.0;
        writeln!(f, "The link")?;
        direction(f, found, "downlink", found.downlink, "give --to http://YOUR-SERVER/LARGE-FILE to measure it")?;
        direction(f, found, "uplink", found.uplink, "give --upload http://YOUR-SERVER/PATH to measure it")?;
        buffer(f, "far buffer", found.far_buffer(), found.rate_bps())?;
        let up = found.probe().and_then(|tried| tried.seen.uplink_buffer());
        if let Some(uplink) = found.uplink {
            buffer(f, "uplink's buffer", up, uplink.rate_bps())?;
        }
        probes(f, found)?;
        writeln!(f, "\nThis machine")?;
        for check in &found.machine {
            let mark = if check.advice.is_some() { '!' } else { ' ' };
            writeln!(f, "{mark} {:<26} {}", check.what, check.found)?;
            if let Some(advice) = &check.advice {
                writeln!(f, "  {:<26} -> {advice}", "")?;
            }
        }
        Ok(())
    }
}

fn direction(
    f: &mut fmt::Formatter<'_>,
    found: &Findings,
    what: &str,
    measured: Option<Direction>,
    how: &str,
) -> fmt::Result {
    let said = found.plan.rate.filter(|_| what == "downlink").map(|rate| written(rate.bps()));
    let Some(measured) = measured else {
        return match said {
            Some(rate) => writeln!(f, "  {what:<16} {rate}, as you said; not measured"),
            None => writeln!(f, "  {what:<16} not measured: {how}"),
        };
    };
    let moved = format!("{:.1} MB in {:.1} s", measured.bytes as f64 / 1e6, measured.took.as_secs_f64());
    let Some((rate, throughput)) = measured.rate_bps().zip(measured.throughput) else {
        return writeln!(f, "! {what:<16} not known: {moved} is too little: let it take longer (--time, --bytes)");
    };
    let varied = throughput.spread * 100.0;
    writeln!(f, "  {what:<16} {}, frames included: {moved}, varied by {varied:.0} %", written(rate))?;
    if let Some(before) = throughput.before {
        let before = written(before / throughput.bytes_per_s * rate);
        writeln!(f, "! {:<16} it was {before} before that: measure again, and for longer (--time)", "")?;
    }
    if measured.ended_early && measured.took < Duration::from_secs(4) {
        writeln!(f, "! {:<16} the volume was soon used up: a larger --bytes makes this surer", "")?;
    }
    Ok(())
}

fn buffer(f: &mut fmt::Formatter<'_>, what: &str, buffer: Option<Duration>, rate: Option<f64>) -> fmt::Result {
    let Some(buffer) = buffer else { return writeln!(f, "  {what:<16} not measured") };
    let kb = rate.map_or(0.0, |rate| rate / 8.0 * buffer.as_secs_f64() / 1e3);
    writeln!(f, "  {what:<16} {}: {kb:.0} kB that may wait at the other end", ms(buffer))
}

fn probes(f: &mut fmt::Formatter<'_>, found: &Findings) -> fmt::Result {
    if found.tried.is_empty() {
        return writeln!(f, "\nProbes\n  none tried: give --to a server beyond the link");
    }
    writeln!(f, "\nProbes             answered     at rest  downlink full  uplink full")?;
    for (index, tried) in found.tried.iter().enumerate() {
        let mark = if found.chosen == Some(index) { '>' } else { ' ' };
        let idle = tried.seen.idle;
        let full = |trips: Option<RoundTrips>| {
            trips.filter(|trips| trips.back > 0).map_or_else(|| "-".to_owned(), |trips| ms(trips.long))
        };
        let at_rest = if idle.back > 0 { ms(idle.least) } else { "-".into() };
        writeln!(
            f,
            "{mark} {:<16} {:>4} of {:<3} {at_rest:>9} {:>14} {:>12}",
            tried.probe.written(),
            idle.back,
            idle.sent,
            full(tried.seen.down),
            full(tried.seen.up),
        )?;
    }
    let what = match (found.chosen, found.downlink) {
        (Some(_), Some(_)) => "> is the nearest that sees the queue of the full link: use it",
        (Some(_), None) => "> is the nearest that is answered; whether it is beyond the link only a download shows",
        (None, Some(_)) => "None sees a queue: the link was not full, its buffer is tiny, or nothing is answered",
        (None, None) => "None is answered",
    };
    writeln!(f, "  {what}")
}

fn ms(time: Duration) -> String {
    format!("{:.1} ms", time.as_secs_f64() * 1e3)
}
