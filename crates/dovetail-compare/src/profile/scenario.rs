//! Profiles as a scenario file: a CPU, a link, and a class for each function, for running captures through.
//!
//! Besides its cost line a class has whether its time goes to headers or payload, by how much packets grow, and the
//! distribution of measured over fitted cost, as points of its distribution function with straight lines between. In addition
//! to steps of 5 %, points are placed where the straight lines deviate most from the measurements: first in the interval
//! whose mean is most wrong, there at the sample that is furthest off (similar to line simplification by Douglas and Peucker,
//! 1973). The few packets that take hundreds of times as long thus keep their share and their size.

use dovetail_sched::units::Rate;

use super::summary::{MAX_RATIO, Profile, digits, word};

/// The scenario file of these profiles.
pub(crate) fn scenario(profiles: &[Profile], link: Rate, seed: u64) -> String {
    let mut text = format!(
        "# Measured by dovetail profile on one core of this machine. To play a capture through it:\n\
         #   dovetail compare THIS.toml --trace FILE.pcap\n\
         # Give classes ports, prefixes or shares; without, flows are assigned to them evenly and at random.\n\
         name = \"profile\"\n\
         description = \"Costs of network functions on the machine that was measured.\"\n\
         seed = {seed}\n\n\
         [[resource]]\nname = \"cpu\"\n\n\
         [[resource]]\nname = \"link\"\nrate = \"{}Mbps\"\n",
        link.bps() / 1e6
    );
    for profile in profiles {
        let line = profile.medians.line;
        text += &format!(
            "\n[[class]]\nname = \"{}\"\ncost = {{ cpu = \"{}ns*bytes + {}ns\" }}\nprocessing = \"{}\"\n\
             expansion = {}\n",
            profile.function,
            digits(line.per_byte_ns),
            digits(line.per_packet_ns),
            word(profile.processing),
            float(profile.expansion)
        );
        let points: Vec<_> = noise(&profile.sorted_ratios)
            .iter()
            .map(|&(ratio, share)| {
                format!("[{}, {}]", float(ratio.min(MAX_RATIO)), with_point((share * 1e9).round() / 1e9))
            })
            .collect();
        if !points.is_empty() {
            text += &format!("noise = {{ measured = [{}] }}\n", points.join(", "));
        }
    }
    text
}

/// A non-integer number with six digits, since TOML distinguishes the types.
fn float(value: f64) -> String {
    with_point(digits(value).parse().unwrap_or(value))
}

fn with_point(value: f64) -> String {
    let text = value.to_string();
    if text.contains('.') { text } else { text + ".0" }
}

/// The most points of a distribution.
const POINTS: usize = 48;

/// Initial steps of equal share.
const EVEN: usize = 20;

/// Points of the distribution function of sorted ratios: a ratio and the share that does not exceed it, from 0 to 1.
///
/// Sample number k of n (from 0) is placed at the share (k + 1/2) / n, and the ends are extended horizontally to 0 and 1, so
/// that straight lines through all samples have the samples' mean.
pub(super) fn noise(sorted: &[f64]) -> Vec<(f64, f64)> {
    let n = sorted.len();
    let (Some(&least), Some(&most)) = (sorted.first(), sorted.last()) else { return Vec::new() };
    let mut all = vec![(least, 0.0)];
    all.extend(sorted.iter().enumerate().map(|(k, &ratio)| (ratio, (k as f64 + 0.5) / n as f64)));
    all.push((most, 1.0));
    thinned(&all)
}

/// At most [`POINTS`] of the points of a rising line, including the first and the last.
fn thinned(all: &[(f64, f64)]) -> Vec<(f64, f64)> {
    let area = |from: (f64, f64), to: (f64, f64)| (from.0 + to.0) / 2.0 * (to.1 - from.1);
    let mut areas = vec![0.0];
    areas.extend(all.windows(2).scan(0.0, |sum, pair| {
        *sum += area(pair[0], pair[1]);
        Some(*sum)
    }));
    let last = all.len() - 1;
    let mut kept: Vec<usize> = (0..=EVEN).map(|step| last * step / EVEN).collect();
    kept.dedup();
    while kept.len() < POINTS {
        // By how much a straight line's mean differs from that of the points it replaces.
        let off = |at: usize| {
            let (from, to) = (kept[at], kept[at + 1]);
            (area(all[from], all[to]) - (areas[to] - areas[from])).abs()
        };
        let open = (0..kept.len() - 1).filter(|&at| kept[at] + 1 < kept[at + 1]);
        let Some(worst) = open.max_by(|&a, &b| off(a).total_cmp(&off(b))) else { break };
        let (from, to) = (kept[worst], kept[worst + 1]);
        let slope = (all[to].0 - all[from].0) / (all[to].1 - all[from].1);
        let away = |&at: &usize| (all[at].0 - all[from].0 - slope * (all[at].1 - all[from].1)).abs();
        let split = (from + 1..to).max_by(|a, b| away(a).total_cmp(&away(b))).unwrap_or(from + 1);
        kept.insert(worst + 1, split);
    }
    kept.into_iter().map(|at| all[at]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn points_rise_from_0_to_1_and_keep_the_mean() {
        // Most near 1, a few far above, as measured costs are.
        for n in [1usize, 2, 7, 100, 40_000, 1_000_000] {
            let mut ratios: Vec<f64> = (0..n).map(|i| 0.9 + 0.2 * (i as f64 / n as f64)).collect();
            for (at, ratio) in ratios.iter_mut().rev().take(n / 1000).enumerate() {
                *ratio = 4.0 + 300.0 / (at + 1) as f64;
            }
            ratios.sort_by(f64::total_cmp);
            let points = noise(&ratios);
            assert!(points.len() <= 50, "{}", points.len());
            assert_eq!(points[0], (ratios[0], 0.0));
            assert_eq!(points[points.len() - 1], (ratios[n - 1], 1.0));
            assert!(points.windows(2).all(|pair| pair[0].0 <= pair[1].0 && pair[0].1 < pair[1].1));
            // Straight lines between the points.
            let mean: f64 = points.windows(2).map(|p| (p[0].0 + p[1].0) / 2.0 * (p[1].1 - p[0].1)).sum();
            let want = ratios.iter().sum::<f64>() / n as f64;
            assert!((mean / want - 1.0).abs() < if n < 40 { 1e-12 } else { 0.005 }, "{n}: {mean}, not {want}");
        }
        assert_eq!(noise(&[]), []);
    }

    #[test]
    fn a_value_that_is_whole_is_still_a_float() {
        assert_eq!([1.0, 0.5, 0.0, 1e6].map(float), ["1.0", "0.5", "0.0", "1000000.0"]);
    }
}
