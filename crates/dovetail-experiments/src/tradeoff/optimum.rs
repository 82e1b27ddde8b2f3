//! Rates of the fluid for kinds of flows that are always backlogged: theorem 3 of the paper, computed directly.
//!
//! Packets of kind `k` take `(c_k, l_k)` of CPU and link over their dominant time, and there are `n_k` flows of it. With the
//! fair share `d = 1 / max(sum n_k c_k, sum n_k l_k)` and `alpha d` guaranteed to every flow, what remains of the resources
//! is
//!
//! ```text
//! mu_c = 1 - alpha d sum n_k c_k        mu_l = 1 - alpha d sum n_k l_k
//! ```
//!
//! which goes to the kind with the largest ratio c/l and the one with the smallest: to both, so that nothing remains, or to
//! one of them if the other's part would be negative.

use dovetail_sched::Nanos;

/// Flows of a kind.
#[derive(Debug, Clone, Copy)]
pub(super) struct Kind {
    flows: f64,
    cpu: f64,
    link: f64,
}

impl Kind {
    /// `flows` flows whose packets take these times on CPU and link.
    pub(super) fn new(flows: usize, times: &[Nanos]) -> Self {
        let (cpu, link) = (times[0].as_f64(), times[1].as_f64());
        let dominant = cpu.max(link);
        Self { flows: flows as f64, cpu: cpu / dominant, link: link / dominant }
    }
}

/// The fluid's rates.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Optimum {
    /// The fair dominant share.
    pub(crate) fair: f64,
    /// The dominant share of a flow of each kind, if flows of a kind take turns receiving the bonus.
    pub(crate) shares: Vec<f64>,
    /// Utilisation of CPU and link.
    pub(crate) utilisation: [f64; 2],
}

/// The optimum over `kinds`, which must not be empty.
pub(super) fn optimum(kinds: &[Kind], alpha: f64) -> Optimum {
    let sums =
        kinds.iter().fold([0.0, 0.0], |[cpu, link], kind| [cpu + kind.flows * kind.cpu, link + kind.flows * kind.link]);
    let fair = 1.0 / f64::max(sums[0], sums[1]);
    let mut shares = vec![alpha * fair; kinds.len()];
    let left = sums.map(|sum| 1.0 - alpha * fair * sum);
    let ratio = |kind: &usize| kinds[*kind].cpu / kinds[*kind].link;
    let by_ratio = |a: &usize, b: &usize| ratio(a).total_cmp(&ratio(b));
    let most = (0..kinds.len()).max_by(by_ratio).unwrap_or(0);
    let least = (0..kinds.len()).min_by(by_ratio).unwrap_or(0);
    let (a, b) = (kinds[most], kinds[least]);
    let determinant = a.cpu * b.link - a.link * b.cpu;
    let (for_a, for_b) = (left[0] * b.link - left[1] * b.cpu, left[1] * a.cpu - left[0] * a.link);
    if determinant <= 0.0 {
        shares[most] += f64::min(left[0] / a.cpu, left[1] / a.link) / a.flows;
    } else if for_a < 0.0 {
        shares[least] += left[0] / b.cpu / b.flows;
    } else if for_b < 0.0 {
        shares[most] += left[1] / a.link / a.flows;
    } else {
        shares[most] += for_a / determinant / a.flows;
        shares[least] += for_b / determinant / b.flows;
    }
    let busy = kinds.iter().zip(&shares).fold([0.0, 0.0], |[cpu, link], (kind, share)| {
        [cpu + kind.flows * kind.cpu * share, link + kind.flows * kind.link * share]
    });
    Optimum { fair, shares, utilisation: busy }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn near(got: f64, want: f64) {
        assert!((got - want).abs() < 1e-12, "{got} instead of {want}");
    }

    #[test]
    fn figure_2_and_its_efficient_counterpart() {
        let times = [[2, 3], [9, 1]].map(|times| times.map(Nanos));
        let kinds = times.map(|times| Kind::new(1, &times));
        let fair = optimum(&kinds, 1.0);
        near(fair.shares[0], 0.6);
        near(fair.shares[1], 0.6);
        near(fair.utilisation[0], 1.0);
        near(fair.utilisation[1], 2.0 / 3.0);
        let greedy = optimum(&kinds, 0.5);
        near(greedy.shares[0], 24.0 / 25.0);
        near(greedy.shares[1], 9.0 / 25.0);
        near(greedy.utilisation[1], 1.0);
        // In between, the bonus is flow 0's alone: case 1, what is left of the CPU.
        let between = optimum(&kinds, 0.9);
        near(between.shares[1], 0.54);
        near(between.utilisation[0], 1.0);
    }

    #[test]
    fn equal_flows_have_equal_shares_at_any_alpha() {
        for alpha in [0.0, 0.5, 1.0] {
            let optimum = optimum(&[Kind::new(4, &[Nanos(2), Nanos(1)])], alpha);
            near(optimum.shares[0], 0.25);
            near(optimum.utilisation[0], 1.0);
        }
    }
}
