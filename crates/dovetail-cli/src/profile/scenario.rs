//! Profiles as a scenario file: a CPU, a link, and a class for each function, for captures to be played through.
//!
//! Besides its cost a class has what the line does not say: whether time goes to headers or payload, by how much packets
//! grow, and the distribution of measured over fitted as points of its distribution function. Those points are denser
//! the nearer to 1, where few packets take long: 20 steps of 5 %, and from 95 % on the remaining share halves
//! from point to point, down to the single largest sample.

use dovetail_sched::units::Rate;

use super::summary::{Profile, digits, quantile};

/// The scenario file of these profiles.
pub(crate) fn scenario(profiles: &[Profile], link: Rate, seed: u64) -> String {
    let mut text = format!(
        "# Measured by dovetail profile on one core of this machine. To play a capture through it:\n\
         #   dovetail compare THIS.toml --trace FILE.pcap\n\
         # Give classes ports, prefixes or shares; without, flows are dealt to them evenly and at random.\n\
         name = \"profile\"\n\
         description = \"Network functions as they cost on the machine that was measured.\"\n\
         seed = {seed}\n\n\
         [[resource]]\nname = \"cpu\"\n\n\
         [[resource]]\nname = \"link\"\nrate = \"{}Mbps\"\n",
        link.bps() / 1e6
    );
    for profile in profiles {
        let line = profile.fit.line;
        text += &format!(
            "\n[[class]]\nname = \"{}\"\ncost = {{ cpu = \"{}ns*bytes + {}ns\" }}\nprocessing = \"{}\"\nexpansion = {}\n",
            profile.function,
            digits(line.per_byte_ns),
            digits(line.per_packet_ns),
            profile.processing,
            float(profile.expansion)
        );
        let points: Vec<_> = noise(&profile.sorted_ratios)
            .iter()
            .map(|&(ratio, share)| format!("[{}, {}]", float(ratio), float(share)))
            .collect();
        if !points.is_empty() {
            text += &format!("noise = {{ measured = [{}] }}\n", points.join(", "));
        }
    }
    text
}

/// TOML tells whole numbers from others: these are others.
fn float(value: f64) -> String {
    let text = digits(value);
    if text.contains('.') { text } else { text + ".0" }
}

/// Points of the distribution function of sorted ratios: a ratio and the share that is not above it, from 0 to 1.
pub(super) fn noise(sorted: &[f64]) -> Vec<(f64, f64)> {
    // Shares of an empirical distribution are multiples of 1 / n.
    let single = 1.0 / sorted.len().max(1) as f64;
    let even = (0..20).map(|step| f64::from(step) * 0.05);
    let tail =
        (0..).map(|halved| 0.05 / f64::from(1 << halved)).take_while(|&left| left > single).map(|left| 1.0 - left);
    let shares = even.chain(tail).chain([1.0 - single, 1.0]);
    let mut points: Vec<(f64, f64)> = Vec::new();
    for share in shares {
        if points.last().is_none_or(|&(_, last)| share > last + 1e-9)
            && let Some(ratio) = quantile(sorted, share)
        {
            points.push((ratio, share));
        }
    }
    points
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
            if n >= 100 {
                assert!((mean / want - 1.0).abs() < 0.05, "{n}: {mean}, not {want}");
            }
        }
        assert_eq!(noise(&[]), []);
    }

    #[test]
    fn a_value_that_is_whole_is_still_a_float() {
        assert_eq!([1.0, 0.5, 0.0, 1e6].map(float), ["1.0", "0.5", "0.0", "1000000.0"]);
    }
}
