//! Which user requests what, determined by the seed.
//!
//! Each user has a random number stream of their own, so their requests do not depend on what other users do, which classes are
//! active or how long anything takes.

use std::time::Duration;

use rand_distr::{Distribution, Exp1, LogNormal, Uniform};
use rand_xoshiro::{Xoshiro256PlusPlus, rand_core::SeedableRng};

use crate::{BedError, BedSpec, LoadSpec, Sizes, spec::wire_bytes};

/// A user of the testbed, counted from 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct User {
    pub(crate) class: usize,
    pub(crate) number: u32,
}

/// A request.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Asked {
    pub(crate) bytes: u64,
    /// The server's number, from 0.
    pub(crate) origin: usize,
    /// Time until the next request, in units of the mean.
    pub(crate) gap: f64,
}

/// One user's requests in order.
#[derive(Debug, Clone)]
pub(crate) struct Stream {
    random: Xoshiro256PlusPlus,
    sizes: Drawn,
    origins: Uniform<usize>,
}

#[derive(Debug, Clone, Copy)]
enum Drawn {
    Lognormal(LogNormal<f64>, u64),
    Fixed(u64),
}

impl Stream {
    /// # Errors
    /// If the sizes have no distribution or there is no server.
    pub(crate) fn new(seed: u64, user: User, sizes: Sizes, origins: usize) -> Result<Self, BedError> {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
        (0..=user.class).for_each(|_| random.long_jump());
        (0..user.number).for_each(|_| random.jump());
        let wrong = |what: &str| BedError::Wrong(what.to_owned());
        let sizes = match sizes {
            Sizes::Lognormal { location, scale, most_bytes } => Drawn::Lognormal(
                LogNormal::new(location, scale).map_err(|_| wrong("sizes have no such distribution"))?,
                most_bytes,
            ),
            Sizes::Fixed(bytes) => Drawn::Fixed(bytes),
        };
        Ok(Self { random, sizes, origins: Uniform::new(0, origins).map_err(|_| wrong("there is no server"))? })
    }

    pub(crate) fn next(&mut self) -> Asked {
        let bytes = match self.sizes {
            Drawn::Lognormal(distribution, most_bytes) => loop {
                let bytes = distribution.sample(&mut self.random) as u64;
                if bytes <= most_bytes {
                    break bytes.max(1);
                }
            },
            Drawn::Fixed(bytes) => bytes,
        };
        Asked { bytes, origin: self.origins.sample(&mut self.random), gap: Exp1.sample(&mut self.random) }
    }
}

/// The active users.
pub(crate) fn users(bed: &BedSpec, load: &LoadSpec) -> Vec<User> {
    let asking = load.asking(bed.users.len());
    asking.into_iter().flat_map(|class| (0..bed.users[class]).map(move |number| User { class, number })).collect()
}

/// All requests in open loop at `fraction` of the downlink, in order of time.
///
/// # Errors
/// Those of [`Stream::new`].
pub(crate) fn arrivals(
    bed: &BedSpec,
    load: &LoadSpec,
    fraction: f64,
) -> Result<Vec<(Duration, User, Asked)>, BedError> {
    let users = users(bed, load);
    let per_second = fraction * bed.rate_bps as f64 / 8.0 / wire_bytes(load.sizes.mean_bytes());
    let mean_gap_s = users.len() as f64 / per_second;
    let mut all = Vec::new();
    for user in users {
        let mut stream = Stream::new(load.seed, user, load.sizes, bed.round_trips.len())?;
        let mut at_s = 0.0;
        loop {
            let asked = stream.next();
            at_s += asked.gap * mean_gap_s;
            if at_s >= load.duration.as_secs_f64() {
                break;
            }
            all.push((Duration::from_secs_f64(at_s), user, asked));
        }
    }
    all.sort_by_key(|&(at, ..)| at);
    Ok(all)
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    fn of(arrivals: &[(Duration, User, Asked)], user: User) -> Vec<Asked> {
        arrivals.iter().filter(|(_, other, _)| *other == user).map(|&(.., asked)| asked).collect()
    }

    #[test]
    fn the_link_is_asked_for_its_load() {
        let bed = BedSpec::default();
        let load = LoadSpec { duration: Duration::from_secs(3600), ..LoadSpec::default() };
        for fraction in [0.5, 0.9] {
            let all = arrivals(&bed, &load, fraction).unwrap();
            let bytes: f64 = all.iter().map(|(.., asked)| wire_bytes(asked.bytes as f64)).sum();
            let offered = bytes * 8.0 / (bed.rate_bps as f64 * 3600.0);
            assert!((offered / fraction - 1.0).abs() < 0.05, "{offered}");
            assert!(all.is_sorted_by_key(|&(at, ..)| at));
            let servers: HashSet<_> = all.iter().map(|(.., asked)| asked.origin).collect();
            assert_eq!(servers.len(), bed.round_trips.len());
            assert!(all.iter().all(|(.., asked)| (1..=2_000_000).contains(&asked.bytes)));
        }
    }

    #[test]
    fn users_do_not_depend_on_others() {
        let bed = BedSpec::default();
        let all = LoadSpec { duration: Duration::from_secs(600), ..LoadSpec::default() };
        let last = LoadSpec { classes: vec![2], ..all.clone() };
        let more = BedSpec { users: vec![9, 9, 9], ..bed.clone() };
        let of_all = arrivals(&bed, &all, 0.9).unwrap();
        let user = User { class: 2, number: 1 };
        let first = of(&of_all, user);
        assert!(first.len() > 20);
        // Compared up to the end of the shorter one: with fewer users each sends requests more often.
        for other in [arrivals(&bed, &last, 0.9).unwrap(), arrivals(&more, &all, 0.9).unwrap()] {
            let other = of(&other, user);
            let both = first.len().min(other.len());
            assert!(both > 5);
            assert_eq!(first[..both], other[..both]);
        }
        for (class, number) in [(2, 0), (1, 1), (0, 1)] {
            assert_ne!(of(&of_all, User { class, number })[..5], first[..5]);
        }
        let reseeded = arrivals(&bed, &LoadSpec { seed: 2, ..all.clone() }, 0.9).unwrap();
        assert_ne!(of(&reseeded, user)[..5], first[..5]);
        assert_eq!(arrivals(&bed, &all, 0.9).unwrap(), of_all);
    }
}
