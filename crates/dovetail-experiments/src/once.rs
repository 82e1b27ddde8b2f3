//! Runs shared by several figures, each made once.

use std::{
    collections::HashMap,
    hash::Hash,
    sync::{Arc, LazyLock, Mutex, PoisonError},
};

use crate::error::Error;
use dovetail_compare::side_by_side::side_by_side;

/// The results of each job so far.
pub(super) struct Once<J, R>(LazyLock<Mutex<HashMap<J, Arc<R>>>>);

impl<J: Clone + Eq + Hash + Sync, R: Send + Sync> Once<J, R> {
    pub(super) const fn new() -> Self {
        Self(LazyLock::new(Mutex::default))
    }

    /// The results of `jobs`, in their order, computed on all cores.
    pub(super) fn make(&self, jobs: &[J], make: impl Fn(&J) -> Result<R, Error> + Sync) -> Result<Vec<Arc<R>>, Error> {
        let done = || self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let missing: Vec<&J> = {
            let done = done();
            jobs.iter().filter(|job| !done.contains_key(*job)).collect()
        };
        let made = side_by_side(&missing, |job| make(job).map(Arc::new))?;
        let mut done = done();
        done.extend(missing.into_iter().cloned().zip(made));
        jobs.iter()
            .map(|job| done.get(job).cloned().ok_or_else(|| Error::broken("a finished run is missing")))
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU32, Ordering};

    use super::*;

    #[test]
    fn nothing_is_made_twice() {
        static ONCE: Once<u32, u32> = Once::new();
        let made = AtomicU32::new(0);
        let square = |&job: &u32| {
            made.fetch_add(1, Ordering::Relaxed);
            if job == 9 { Err(Error::broken("nine")) } else { Ok(job * job) }
        };
        assert_eq!(ONCE.make(&[1, 2, 3], square).unwrap(), [1, 4, 9].map(Arc::new));
        assert_eq!(ONCE.make(&[3, 4], square).unwrap(), [9, 16].map(Arc::new));
        assert_eq!(made.load(Ordering::Relaxed), 4);
        assert!(ONCE.make(&[9], square).is_err());
    }
}
