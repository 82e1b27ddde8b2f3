//! The allocation problems of the trade-off paper, solved by a general solver of linear programs.
#![allow(dead_code)]

use microlp::{ComparisonOp, Error, OptimizationDirection, Problem, Solution, SolveOptions, Variable};

/// The least tolerance that the solver accepts.
const TOLERANCE: f64 = 1e-10;

fn solve(problem: &Problem) -> Result<Solution, Error> {
    let mut options = SolveOptions::default();
    options.tolerances.feasibility = TOLERANCE;
    Ok(problem.solve_with(options)?.into_solution().expect("no limit was set"))
}

/// Dominant shares of at least `least`, with the value of a unit of each, within what is left.
fn allocation(
    directions: &[Vec<f64>],
    left: &[f64],
    least: f64,
    worth: impl Fn(&[f64]) -> f64,
) -> (Problem, Vec<Variable>) {
    let mut problem = Problem::new(OptimizationDirection::Maximize);
    let shares: Vec<_> = directions.iter().map(|a| problem.add_var(worth(a), (least, f64::INFINITY))).collect();
    for (r, &left) in left.iter().enumerate() {
        let row: Vec<_> = shares.iter().zip(directions).map(|(&share, a)| (share, a[r])).collect();
        problem.add_constraint(&row[..], ComparisonOp::Le, left);
    }
    (problem, shares)
}

/// The largest sum of dominant shares (eq. 21, and eq. 19 with a least share for every flow).
pub fn largest_sum(directions: &[Vec<f64>], left: &[f64], least: f64) -> Result<f64, Error> {
    solve(&allocation(directions, left, least, |_| 1.0).0).map(|solution| solution.objective())
}

/// The largest use among the allocations of at least this sum (eq. 18).
pub fn largest_use(directions: &[Vec<f64>], left: &[f64], sum: f64) -> Result<f64, Error> {
    let (mut problem, shares) = allocation(directions, left, 0.0, |a| a.iter().sum());
    let all: Vec<_> = shares.iter().map(|&share| (share, 1.0)).collect();
    problem.add_constraint(&all[..], ComparisonOp::Ge, sum);
    solve(&problem).map(|solution| solution.objective())
}

/// A sum of dominant shares that no allocation exceeds, whatever the solver's tolerances: by the dual program, it is the cost
/// of what is left, at prices at which a unit of dominant share costs every group 1 or more. The prices are raised until that
/// is so, and the best prices meet the bound.
pub fn bound(directions: &[Vec<f64>], left: &[f64]) -> Result<f64, Error> {
    // A resource of which nothing is left may cost as much as necessary: a group that needs it gets no more anyway.
    let some: Vec<usize> = (0..left.len()).filter(|&r| left[r] > 0.0).collect();
    let without = |a: &&Vec<f64>| (0..left.len()).all(|r| a[r] == 0.0 || left[r] > 0.0);
    // The unknowns are the costs of all that is left of each resource, which keeps the numbers in range.
    let parts: Vec<Vec<f64>> =
        directions.iter().filter(without).map(|a| some.iter().map(|&r| a[r] / left[r]).collect()).collect();
    // Then again for the residual, on a scale on which the solver sees it (Gleixner, Steffy and Wolter, *Iterative refinement
    // for linear programming*, INFORMS J. Comput. 28(3), 2016).
    let mut costs = vec![0.0; some.len()];
    for scale in [1.0, 1e-5] {
        let mut problem = Problem::new(OptimizationDirection::Minimize);
        let more: Vec<_> = costs.iter().map(|cost| problem.add_var(1.0, (-cost / scale, f64::INFINITY))).collect();
        for row in &parts {
            let largest = row.iter().copied().fold(0.0, f64::max);
            let terms: Vec<_> = more.iter().zip(row).map(|(&more, part)| (more, part / largest)).collect();
            problem.add_constraint(&terms[..], ComparisonOp::Ge, (1.0 - price(row, &costs)) / scale / largest);
        }
        let solution = solve(&problem)?;
        for (cost, more) in costs.iter_mut().zip(more) {
            *cost = (*cost + scale * solution.var_value(more)).max(0.0);
        }
    }
    let least = parts.iter().map(|row| price(row, &costs)).fold(1.0, f64::min);
    Ok(costs.iter().sum::<f64>() / least)
}

fn price(parts: &[f64], costs: &[f64]) -> f64 {
    parts.iter().zip(costs).map(|(part, cost)| part * cost).sum()
}
