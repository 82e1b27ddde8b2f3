//! The groups as columns of the linear program, and what they would gain at given prices.
//!
//! Pricing is the only part that takes longer with more groups. Columns are stored eight abreast, resource by resource, so that
//! the gains of eight are computed at once, with hardly a branch. Empty columns have NaN shares, so their gains never compare
//! as larger than anything.

use alloc::vec::Vec;
use core::{array, ops::Range};

use super::basis::{Column, Member, Prices, Shares, Worth};
use crate::{MAX_RESOURCES, fluid::GroupId};

/// A gain below this is rounding.
///
/// The result misses the first objective by about this times the number of resources.
pub(super) const NO_GAIN: f64 = 1e-12;
/// A column's gain rises by more than this as prices move, or never reaches 0.
const NO_PULL: f64 = 1.0 / (1_u64 << 44) as f64;

const ABSENT: u32 = u32::MAX;
const LANES: usize = 8;
/// The number of blocks that share one search for the largest.
const STRIDE: usize = 16;

type Lanes = [f64; LANES];

/// Whether a unit of a column with these gains improves an objective without loss in those before it.
pub(super) fn worthwhile(objective: usize, gains: Worth) -> bool {
    gains[objective] > NO_GAIN && gains[..objective].iter().all(|&gain| gain >= -NO_GAIN)
}

/// How close a column is to gaining, if its gain rises by `pull` as prices move: the larger, the closer. Of two that begin to
/// gain together the one with the larger pull makes the better pivot, hence the small addition.
#[inline]
pub(super) fn nearness(gain: f64, pull: f64) -> f64 {
    let distance = if gain < 0.0 { NO_GAIN - gain } else { NO_GAIN };
    if pull > NO_PULL { pull / distance } else { 0.0 }
}

/// The columns, in no particular order.
#[derive(Debug)]
pub(super) struct Columns {
    resources: usize,
    // Column `i` is lane `i % LANES` of block `i / LANES`, which has a row for each resource and one for the lots.
    blocks: Vec<Lanes>,
    groups: Vec<GroupId>,
    // By group.
    place: Vec<u32>,
    // This many, from the first, gain nothing at the prices of the basis.
    priced: usize,
}

impl Columns {
    pub(super) fn new(resources: usize) -> Self {
        Self { resources, blocks: Vec::new(), groups: Vec::new(), place: Vec::new(), priced: 0 }
    }

    /// The index of a group that is present.
    pub(super) fn place(&self, group: GroupId) -> usize {
        self.place[group.0 as usize] as usize
    }

    pub(super) fn len(&self) -> usize {
        self.groups.len()
    }

    /// The column at an index.
    pub(super) fn member(&self, at: usize) -> Member {
        let (shares, lots) = self.rows(at / LANES);
        let lane = at % LANES;
        Member {
            column: Column::Group(self.groups[at]),
            shares: array::from_fn(|r| shares.get(r).map_or(0.0, |row| row[lane])),
            lot: lots[lane],
        }
    }

    pub(super) fn insert(&mut self, group: GroupId, shares: &Shares, lot: f64) {
        let (index, at) = (group.0 as usize, self.groups.len());
        if index >= self.place.len() {
            self.place.resize(index + 1, ABSENT);
        }
        self.place[index] = at as u32;
        self.groups.push(group);
        if at / LANES * (self.resources + 1) == self.blocks.len() {
            self.blocks.resize(self.blocks.len() + self.resources + 1, [f64::NAN; LANES]);
        }
        self.write(at, shares, lot);
    }

    /// Removes the group; returns whether it was present.
    pub(super) fn remove(&mut self, group: GroupId) -> bool {
        let Some(place) = self.place.get_mut(group.0 as usize).filter(|place| **place != ABSENT) else { return false };
        let mut hole = core::mem::replace(place, ABSENT) as usize;
        // The last priced column fills the hole, and the last of all fills the hole that this leaves.
        if hole < self.priced {
            self.priced -= 1;
            self.relocate(self.priced, hole);
            hole = self.priced;
        }
        let last = self.groups.len() - 1;
        self.relocate(last, hole);
        self.groups.truncate(last);
        self.write(last, &[f64::NAN; MAX_RESOURCES], f64::NAN);
        true
    }

    fn relocate(&mut self, from: usize, to: usize) {
        if from != to {
            let Member { shares, lot, .. } = self.member(from);
            let group = self.groups[from];
            self.groups[to] = group;
            self.place[group.0 as usize] = to as u32;
            self.write(to, &shares, lot);
        }
    }

    fn write(&mut self, at: usize, shares: &Shares, lot: f64) {
        let first = at / LANES * (self.resources + 1);
        let row = &mut self.blocks[first..=first + self.resources];
        for (row, &share) in row[..self.resources].iter_mut().zip(shares) {
            row[at % LANES] = share;
        }
        row[self.resources][at % LANES] = lot;
    }

    /// The prices have changed.
    pub(super) fn reprice(&mut self) {
        self.priced = 0;
    }

    /// Records that no group gains anything.
    pub(super) fn all_priced(&mut self) {
        self.priced = self.groups.len();
    }

    /// Of the columns that have not been priced, the one that gains most in an objective but less than `below`, and its gain;
    /// at no loss in the objectives before it.
    pub(super) fn best(&self, objective: usize, prices: &Prices, below: f64) -> Option<(usize, f64)> {
        self.largest(self.priced / LANES..self.end(), NO_GAIN, |block| {
            let mut without_loss = [true; LANES];
            for (before, prices) in prices[..objective].iter().enumerate() {
                let gains = self.less(self.base(before, block), block, prices);
                without_loss = array::from_fn(|i| without_loss[i] & (gains[i] >= -NO_GAIN));
                if !without_loss.contains(&true) {
                    return [f64::NEG_INFINITY; LANES];
                }
            }
            let gains = self.less(self.base(objective, block), block, &prices[objective]);
            array::from_fn(|i| if without_loss[i] & (gains[i] < below) { gains[i] } else { f64::NEG_INFINITY })
        })
    }

    /// The gains of the column at an index.
    pub(super) fn gains(&self, at: usize, prices: &Prices) -> Worth {
        let block = at / LANES;
        array::from_fn(|objective| self.less(self.base(objective, block), block, &prices[objective])[at % LANES])
    }

    /// The column that is first to gain as prices move along `row`, and how [near](nearness) it is.
    pub(super) fn first_to_gain(&self, prices: &Shares, row: &Shares) -> Option<(usize, f64)> {
        self.largest(0..self.end(), 0.0, |block| {
            let gains = self.less(self.base(0, block), block, prices);
            let pulls = self.less([0.0; LANES], block, row);
            array::from_fn(|i| nearness(gains[i], pulls[i]))
        })
    }

    /// The number of blocks in use.
    fn end(&self) -> usize {
        self.groups.len().div_ceil(LANES)
    }

    #[inline]
    fn rows(&self, block: usize) -> (&[Lanes], &Lanes) {
        let first = block * (self.resources + 1);
        (&self.blocks[first..first + self.resources], &self.blocks[first + self.resources])
    }

    /// The contribution of a unit of each column to an objective.
    #[inline(always)]
    fn base(&self, objective: usize, block: usize) -> Lanes {
        match objective {
            0 => [1.0; LANES],
            1 => [0.0; LANES],
            _ => *self.rows(block).1,
        }
    }

    /// By how much that exceeds the price of the columns' shares.
    #[inline(always)]
    fn less(&self, base: Lanes, block: usize, prices: &Shares) -> Lanes {
        let mut gains = base;
        for (row, &price) in self.rows(block).0.iter().zip(prices) {
            for (gain, share) in gains.iter_mut().zip(row) {
                *gain -= share * price;
            }
        }
        gains
    }

    /// The column with the highest score, if above `least`, and the score. Lanes are independent of each other.
    #[inline(always)]
    fn largest(&self, blocks: Range<usize>, least: f64, score: impl Fn(usize) -> Lanes) -> Option<(usize, f64)> {
        let larger = |a: f64, b: f64| if a > b { a } else { b };
        let mut best = (0..0, least);
        for start in blocks.clone().step_by(STRIDE) {
            let here = start..blocks.end.min(start + STRIDE);
            let mut lanes = [least; LANES];
            for block in here.clone() {
                let scores = score(block);
                lanes = array::from_fn(|i| larger(scores[i], lanes[i]));
            }
            let most = lanes.into_iter().fold(least, larger);
            if most > best.1 {
                best = (here, most);
            }
        }
        let (blocks, most) = best;
        blocks.into_iter().find_map(|block| {
            let lane = score(block).iter().position(|&score| score == most)?;
            Some((block * LANES + lane, most))
        })
    }
}
