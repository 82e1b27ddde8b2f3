//! The no-wait pipeline: the gap between two packets, and the active time of a flow.
//!
//! There is no buffer between the resources: a packet that leaves resource `j` enters `j+1` at once. Packet `q` can
//! therefore follow `p` on the first resource only after a gap that keeps it off every later resource until `p` has
//! left that one. With `L(p, j)` the time of `p` on resource `j = 1..m` (Zhang et al., *ATFQ*, IEEE TNSM 12(4), 2015,
//! eq. 3):
//!
//! ```text
//! gap(p, q) = max(0, max over n = 2..m of  L(p,2) + … + L(p,n)  -  L(q,1) - … - L(q,n-1))
//! ```
//!
//! The *active time* of a flow is the time at which its packets would be finished if it had the box to itself and always had a
//! packet ready (their definition 1 and eqs. 2–5). Let `F(k)` be that of its packet `k`. Counted back from the end, packet `p`
//! leaves resource `n` at `F(p) - L(p,n+1) - … - L(p,m)`, and `q` enters it at `F(q) - L(q,n) - … - L(q,m)`; `q` enters as
//! early as it can, so at least one resource passes from `p` to `q` without idling, and
//!
//! ```text
//! F(q) - F(p) = max over n = 1..m of  L(q,n) + … + L(q,m)  -  L(p,n+1) - … - L(p,m)
//! ```
//!
//! which is `L(p,1) + gap(p,q) + ΣL(q) - ΣL(p)`, eqs. 2–5 combined, and never less than `L(q,m)`. For two resources it is
//! `L(q,2) + max(0, L(q,1) - L(p,2))`. The first packet takes `ΣL(q)`.
//!
//! # Worked example
//!
//! ```
//! use dovetail_sched::{Demand, Nanos, packet::nowait::{ActiveTime, gap}};
//!
//! let [u, v] = [[Nanos(4), Nanos(4)], [Nanos(2), Nanos(1)]];
//! assert_eq!((gap(&u, &v), gap(&v, &u)), (Nanos(2), Nanos(0)));
//!
//! // Alone, three packets of <4, 4> are through at 8, 12 and 16.
//! let mut alone = ActiveTime::default();
//! let through = [(); 3].map(|()| alone.add(&Demand::new(&u).expect("two resources")));
//! assert_eq!(through, [Nanos(8), Nanos(12), Nanos(16)]);
//! ```

use crate::{Demand, Nanos};

/// How long the first resource idles between packets that take `before` and `after`, one time per resource. Sums saturate.
#[inline]
#[must_use]
pub fn gap(before: &[Nanos], after: &[Nanos]) -> Nanos {
    let mut most = Nanos::ZERO;
    let (mut leaves, mut comes) = (Nanos::ZERO, Nanos::ZERO);
    for (&p, &q) in before.iter().skip(1).zip(after) {
        leaves += p;
        comes += q;
        most = most.max(leaves - comes);
    }
    most
}

/// How much later than its predecessor `before` a packet `next` finishes if their flow is alone and backlogged; for the first
/// packet (`None`), its time through the idle pipeline. One time per resource; sums saturate.
#[inline]
#[must_use]
pub fn active_increment(before: Option<&[Nanos]>, next: &[Nanos]) -> Nanos {
    // The same over one or two resources, the most common cases.
    if let &[only] = next {
        return only;
    }
    let Some(before) = before else { return next.iter().copied().sum() };
    if let (&[_, p], &[q, last]) = (before, next) {
        return last.max(q + last - p);
    }
    let mut most = Nanos::ZERO;
    let (mut own, mut others) = (Nanos::ZERO, Nanos::ZERO);
    for (&p, &q) in before.iter().zip(next).rev() {
        own += q;
        most = most.max(own - others);
        others += p;
    }
    most
}

/// A flow's active time, accumulated packet by packet.
#[derive(Debug, Clone, Copy, Default)]
pub struct ActiveTime {
    through: Nanos,
    last: Option<Demand>,
}

impl ActiveTime {
    /// Adds the flow's next packet, in order of service; returns the flow's active time including it.
    #[inline]
    pub fn add(&mut self, packet: &Demand) -> Nanos {
        self.through += active_increment(self.last.as_ref().map(Demand::times), packet.times());
        self.last = Some(*packet);
        self.through
    }

    /// The active time so far.
    #[inline]
    #[must_use]
    pub fn get(&self) -> Nanos {
        self.through
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn nanos(times: &[u64]) -> std::vec::Vec<Nanos> {
        times.iter().copied().map(Nanos).collect()
    }

    #[test]
    fn absurd_times_saturate() {
        let most = nanos(&[u64::MAX; 8]);
        let none = nanos(&[0; 8]);
        assert_eq!(gap(&most, &none), Nanos::MAX);
        assert_eq!(gap(&most, &most), Nanos::ZERO);
        assert_eq!(active_increment(Some(&most), &most), Nanos::MAX);
        assert_eq!(active_increment(Some(&none), &most), Nanos::MAX);
        assert_eq!(active_increment(None, &most), Nanos::MAX);
    }

    #[test]
    fn over_two_resources_it_is_as_over_three_of_which_one_takes_no_time() {
        for p in [0, 3, 7, u64::MAX] {
            for q in [0, 4, 9, u64::MAX] {
                for last in [0, 2, 8, u64::MAX] {
                    let two = active_increment(Some(&nanos(&[1, p])), &nanos(&[q, last]));
                    let three = active_increment(Some(&nanos(&[0, 1, p])), &nanos(&[0, q, last]));
                    assert_eq!(two, three, "{p} {q} {last}");
                }
            }
        }
    }

    #[test]
    fn one_resource_has_no_gaps() {
        assert_eq!(gap(&nanos(&[9]), &nanos(&[1])), Nanos::ZERO);
        assert_eq!(active_increment(Some(&nanos(&[9])), &nanos(&[4])), Nanos(4));
    }
}
