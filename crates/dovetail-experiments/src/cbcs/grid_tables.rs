//! The grid as tables and as a chart.

use super::{
    cell::{Arriving, Cell, Costs, Output},
    interval::{Interval, Side},
    runs::{Outcome, RunDelays},
    settings::{ARRIVING, COSTS, LOADS, MEASURES, OUTPUTS},
};
use dovetail_compare::{
    report::plot::{Along, Axis, Plot, Series},
    table::Table,
};

fn verdict(side: Side) -> &'static str {
    match side {
        Side::Above => "wins",
        Side::Below => "loses",
        Side::Undecided => "–",
    }
}

fn ratio(ratio: f64) -> String {
    format!("{ratio:.2}")
}

/// A row per setting; `estimates` are those of the outcomes in order, if they differ.
pub(super) fn every_setting(outcomes: &[Outcome], estimates: Option<&[&str]>) -> Table {
    let mut header = vec!["load", "costs", "arrivals", "output"];
    header.extend(estimates.map(|_| "estimates"));
    let words = header.len();
    header.extend(["flow 1: CBCS, s", "WFQ, s", "ratio", "from", "to", "CBCS"]);
    header.extend(["any flow: CBCS, s", "WFQ, s", "ratio", "from", "to", "CBCS"]);
    let mut table = Table::new(&header, words);
    for (at, outcome) in outcomes.iter().enumerate() {
        let Cell { load, costs, arriving, output } = outcome.setting.cell;
        let mut row = vec![format!("{load} %"), costs.to_string(), arriving.to_string(), output.to_string()];
        row.extend(estimates.map(|estimates| estimates[at % estimates.len()].to_owned()));
        for measure in MEASURES {
            let interval = outcome.ratio(measure.of);
            row.extend([0, 1].map(|policy| format!("{:.3}", outcome.mean(policy, measure.of))));
            row.extend([interval.mean, interval.low, interval.high].map(ratio));
            row.push(verdict(interval.side()).to_owned());
        }
        table.push(row);
    }
    table
}

/// A row for every load, kind of costs, arrivals and output: all settings with that value.
pub(super) fn by_one_thing(all: &[Outcome]) -> Table {
    let mut header = vec!["settings", "of them"];
    header.extend(["flow 1: ratio", "CBCS wins", "loses", "–", "any flow: ratio", "CBCS wins", "loses", "–"]);
    let mut table = Table::new(&header, 1);
    let mut line = |what: String, has: &dyn Fn(&Cell) -> bool| {
        let some: Vec<&Outcome> = all.iter().filter(|outcome| has(&outcome.setting.cell)).collect();
        if some.is_empty() {
            return;
        }
        let mut row = vec![what, some.len().to_string()];
        for measure in MEASURES {
            let ratios: Vec<Interval> = some.iter().map(|outcome| outcome.ratio(measure.of)).collect();
            let means: Vec<f64> = ratios.iter().map(|interval| interval.mean).collect();
            row.push(ratio(Interval::of_ratios(&means).mean));
            for side in [Side::Above, Side::Below, Side::Undecided] {
                row.push(ratios.iter().filter(|interval| interval.side() == side).count().to_string());
            }
        }
        table.push(row);
    };
    line("all".to_owned(), &|_| true);
    for load in LOADS {
        line(format!("load {load} %"), &|cell| cell.load == load);
    }
    for costs in COSTS {
        line(format!("costs {costs}"), &|cell| cell.costs == costs);
    }
    for arriving in ARRIVING {
        line(format!("arrivals {arriving}"), &|cell| cell.arriving == arriving);
    }
    for output in OUTPUTS {
        line(format!("output {output}"), &|cell| cell.output == output);
    }
    table
}

/// For settings with such arrivals, each one's ratio as a dot with its interval, a colour per load. The axis is logarithmic.
pub(super) fn whiskers(all: &[Outcome], arriving: Arriving, of: fn(&RunDelays) -> f64) -> Plot {
    let lines: Vec<(Costs, Output)> =
        COSTS.into_iter().rev().flat_map(|costs| OUTPUTS.map(|output| (costs, output))).collect();
    let labels = lines.iter().map(|(costs, output)| format!("costs {costs}, output {output}")).collect();
    let ticks = [0.5, 0.7, 1.0, 1.4, 2.0].map(|ratio: f64| (ratio, ratio.to_string()));
    // The same range for all, so that charts are comparable.
    let ratios = Axis::log("WFQ over CBCS").range(0.4, 2.1).ticks(ticks.into());
    let mut plot = Plot::new(ratios, Axis::names("", labels));
    for (at, load) in LOADS.into_iter().enumerate() {
        let (mut intervals, mut heights) = (Vec::new(), Vec::new());
        for (line, &(costs, output)) in lines.iter().enumerate() {
            let cell = Cell { load, costs, arriving, output };
            if let Some(outcome) = all.iter().find(|outcome| outcome.setting.cell == cell) {
                intervals.push(outcome.ratio(of));
                heights.push(line as f64 + (1.0 - at as f64) / 5.0);
            }
        }
        let ends = intervals.iter().map(|interval| [interval.low, interval.high]).collect();
        let means = intervals.iter().map(|interval| interval.mean).collect();
        plot.add(Series::dots(format!("load {load} %"), means, heights).spread(Along::X, ends));
    }
    plot.add(Series::dashed("alike", vec![1.0, 1.0], vec![-0.5, lines.len() as f64 - 0.5]));
    plot
}
