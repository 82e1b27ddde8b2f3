//! The dual simplex method: back to a feasible allocation, at prices at which no column gains.
//!
//! A column that may not stay leaves the basis. Prices move by its row of the inverse until another column would begin to gain,
//! and that one enters, so no column gains at the new prices either.

use super::{
    FEASIBLE, Simplex,
    basis::{Column, Member, Shares},
    columns::nearness,
};

/// Exchanges per resource before the repair is abandoned. A restart takes a few.
const MAX_EXCHANGES: usize = 6;

impl Simplex {
    /// Dual simplex: repeats until no amount is negative and no removed group gets anything. Returns whether it succeeded.
    pub(super) fn mend(&mut self, left: &Shares) -> bool {
        for exchanges in 0..=MAX_EXCHANGES * self.resources {
            self.amounts = self.basis.amounts(left);
            let Some(leaving) = self.amiss() else {
                if exchanges > 0 {
                    self.columns.reprice();
                }
                return true;
            };
            let sign = if self.amounts[leaving] < 0.0 { 1.0 } else { -1.0 };
            let Some(entering) = self.replacement(leaving, sign).or_else(|| self.replacement(leaving, -sign)) else {
                return false;
            };
            if !self.exchange(leaving, entering) {
                return false;
            }
        }
        false
    }

    /// A member that must leave.
    pub(super) fn amiss(&self) -> Option<usize> {
        let members = self.basis.members();
        members.iter().position(|member| member.column == Column::Gone).or_else(|| {
            let least = (0..members.len()).min_by(|&a, &b| self.amounts[a].total_cmp(&self.amounts[b]))?;
            (self.amounts[least] < -FEASIBLE).then_some(least)
        })
    }

    /// The column that is first to gain as prices move by the leaving member's row.
    fn replacement(&self, leaving: usize, sign: f64) -> Option<Member> {
        let row = self.basis.row(leaving).map(|entry| sign * entry);
        let prices = &self.basis.prices()[0];
        let first = self.columns.first_to_gain(prices, &row).map(|(at, near)| (near, self.columns.member(at)));
        let idle_ones = self.idle_ones().map(|idle| (nearness(-prices[idle], -row[idle]), Member::idle(idle)));
        let nearest = idle_ones.chain(first).max_by(|(a, _), (b, _)| a.total_cmp(b))?;
        (nearest.0 > 0.0).then_some(nearest.1)
    }
}
