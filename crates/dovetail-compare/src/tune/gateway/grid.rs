//! Runs all combinations of order, ageing and delay.

use dovetail_sim::network::{Asks, Contender, Kind, Network};

use super::{
    super::seeds::{play, setting, values},
    choose::{Choice, choose},
    point::{Got, Point},
};
use crate::{
    error::Error,
    network::{Asked, NetworkRun, Under, provenance, users::Figures},
    progress::Progress,
    provenance::Provenance,
};

/// Orders within a class; those in which requests age have a row for each ageing.
const ORDERS: [(&str, bool); 4] = [("srpt", true), ("las", true), ("first", false), ("fair", false)];

/// Units per second: none, and around the default of 1,000.
const AGEINGS: [f64; 5] = [0.0, 300.0, 1_000.0, 3_000.0, 10_000.0];

/// Lengths of the far queue around the default of 60 ms.
const DELAYS_MS: [f64; 7] = [20.0, 30.0, 40.0, 50.0, 60.0, 80.0, 100.0];

/// Gateways shown for comparison.
const BESIDE: [&str; 3] = [ORDINARY, "msf-rs", "grants"];

/// The gateway that does nothing.
pub(super) const ORDINARY: &str = "none";

/// The whole grid and its outcome.
pub(super) struct Tuning<'a> {
    pub(super) network: &'a Network,
    pub(super) provenance: Provenance,
    pub(super) delays_ms: Vec<u64>,
    /// Ordered by order and ageing, then by delay.
    pub(super) points: Vec<Point>,
    pub(super) beside: Vec<(&'static str, Got)>,
    pub(super) choice: Choice,
    /// Results of the ordinary gateway.
    pub(super) ordinary: Got,
}

/// The settings with the same order and ageing.
pub(super) struct Row<'a> {
    pub(super) settings: &'a [Point],
    /// The best of them.
    pub(super) best: &'a Point,
}

impl Tuning<'_> {
    /// The setting that the choice refers to.
    pub(super) fn chosen(&self) -> &Point {
        &self.points[self.choice.at()]
    }

    /// The best of these: the chosen one if it is among them.
    fn best<'a>(&self, points: impl Iterator<Item = &'a Point> + Clone) -> Option<usize> {
        let chosen = points.clone().position(|point| point.policy == self.chosen().policy);
        chosen.or_else(|| choose(points, self.ordinary).map(Choice::at))
    }

    pub(super) fn rows(&self) -> Vec<Row<'_>> {
        let rows = self.points.chunks(self.delays_ms.len().max(1)).filter_map(|settings| {
            let best = settings.get(self.best(settings.iter())?)?;
            Some(Row { settings, best })
        });
        rows.collect()
    }

    /// For each order, the settings with its best ageing.
    pub(super) fn best_rows(&self) -> Vec<&[Point]> {
        let rows = self.rows();
        let of_orders = rows.chunk_by(|a, b| a.best.order == b.best.order);
        let best = of_orders.filter_map(|of_order| {
            let at = self.best(of_order.iter().map(|row| row.best))?;
            of_order.get(at).map(|row| row.settings)
        });
        best.collect()
    }

    /// Whether any users send the next request only after a response.
    pub(super) fn is_closed(&self) -> bool {
        let closed =
            |kind: &Kind| matches!(kind, Kind::Requests(requests) if matches!(requests.asks, Asks::Kept { .. }));
        self.network.traffic.iter().any(|traffic| closed(&traffic.kind))
    }
}

/// Zero first, then up to the longest.
fn ageings(points: Option<usize>) -> Vec<u64> {
    let [none, some @ ..] = AGEINGS;
    let rest =
        values(points.map(|points| points.saturating_sub(1).max(1)), &some, |value| (value / 10.0).round() * 10.0);
    [none].into_iter().chain(rest).map(|units| units as u64).collect()
}

fn delays_ms(points: Option<usize>) -> Vec<u64> {
    values(points, &DELAYS_MS, f64::round).into_iter().map(|millis| millis as u64).collect()
}

/// All combinations of order and ageing.
fn rows(points: Option<usize>) -> Vec<(&'static str, Option<u64>)> {
    let row = |(order, ages): (&'static str, bool)| {
        let ageings = if ages { ageings(points).into_iter().map(Some).collect() } else { vec![None] };
        ageings.into_iter().map(move |ageing| (order, ageing))
    };
    ORDERS.into_iter().flat_map(row).collect()
}

/// Runs the grid with `points` values of each knob, or the default ones.
pub(super) fn sweep<'a>(
    asked: &'a Asked,
    policy: &str,
    points: Option<usize>,
    jobs: usize,
    progress: &dyn Progress,
) -> Result<Tuning<'a>, Error> {
    let network = &asked.network;
    let delays_ms = delays_ms(points);
    let mut settings = Vec::new();
    for (order, ageing) in rows(points) {
        for &delay_ms in &delays_ms {
            let ageing_knob = ageing.map(|units| format!(",ageing={units}")).unwrap_or_default();
            let knobs = format_args!("order={order}{ageing_knob},delay={delay_ms}ms");
            let gateway: Contender = setting(policy, knobs, "'order', 'ageing' and 'delay'")?;
            settings.push((gateway, order, ageing, delay_ms));
        }
    }
    let others = BESIDE.map(str::parse::<Contender>).into_iter().collect::<Result<Vec<_>, _>>()?;
    let under: Vec<Under<'_>> =
        settings.iter().map(|(gateway, ..)| gateway).chain(&others).map(Under::Gateway).collect();
    let figures = |run: &NetworkRun| Figures::of(network, &run.outcome, &run.load);
    let provenance = provenance(asked, &under);
    let mut got = play(network, &under, jobs, progress, figures, |runs| Ok(Got::of(runs)))?.into_iter();
    let points = settings.iter().zip(&mut got).map(|((gateway, order, ageing, delay_ms), got)| Point {
        policy: gateway.to_string(),
        order,
        ageing: *ageing,
        delay_ms: *delay_ms,
        got,
    });
    let points: Vec<Point> = points.collect();
    let beside: Vec<(&str, Got)> = BESIDE.into_iter().zip(got).collect();
    let ordinary = beside.iter().find(|(policy, _)| *policy == ORDINARY).map(|(_, got)| *got);
    let (ordinary, choice) =
        ordinary.and_then(|ordinary| Some((ordinary, choose(points.iter(), ordinary)?))).ok_or(Error::Missing)?;
    if ordinary.mean_s.is_infinite() {
        let why =
            "there is nothing to compare: with the ordinary gateway no request made after the warm-up was answered";
        return Err(Error::NothingToWeigh(format!("{}: {why}", network.name)));
    }
    Ok(Tuning { network, provenance, delays_ms, points, beside, choice, ordinary })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_grid_has_every_order_and_only_those_that_age_an_ageing() {
        assert_eq!((rows(None).len(), delays_ms(None).len()), (12, 7), "as --help says");
        assert_eq!(rows(None)[10..], [("first", None), ("fair", None)]);
        assert_eq!(ageings(Some(2)), [0, 10_000]);
        assert_eq!(ageings(Some(3)), [0, 300, 10_000]);
        assert_eq!((delays_ms(Some(2)), delays_ms(Some(3))), (vec![20, 100], vec![20, 45, 100]));
        for points in (2..=100).map(Some) {
            for values in [ageings(points), delays_ms(points)] {
                assert!(values.windows(2).all(|pair| pair[0] < pair[1]));
            }
        }
    }
}
