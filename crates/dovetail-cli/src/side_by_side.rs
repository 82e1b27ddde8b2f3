//! The same work on many items, on the cores there are.

use std::{
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
};

use crate::failure::Failure;

/// The results in the order of the items, or the first failure; a failure stops what has not begun.
pub(crate) fn side_by_side<T: Sync, R: Send>(
    items: &[T],
    work: impl Fn(&T) -> Result<R, Failure> + Sync,
) -> Result<Vec<R>, Failure> {
    side_by_side_on(cores(), items, work)
}

/// How many cores there are.
pub(crate) fn cores() -> usize {
    thread::available_parallelism().map_or(1, usize::from)
}

/// The same on so many cores.
pub(crate) fn side_by_side_on<T: Sync, R: Send>(
    cores: usize,
    items: &[T],
    work: impl Fn(&T) -> Result<R, Failure> + Sync,
) -> Result<Vec<R>, Failure> {
    let slots: Vec<Mutex<Option<Result<R, Failure>>>> = items.iter().map(|_| Mutex::new(None)).collect();
    let next = AtomicUsize::new(0);
    let worker = || {
        while let Some((item, slot)) = {
            let at = next.fetch_add(1, Ordering::Relaxed);
            items.get(at).zip(slots.get(at))
        } {
            let done = work(item);
            if done.is_err() {
                next.store(items.len(), Ordering::Relaxed);
            }
            *slot.lock().unwrap_or_else(PoisonError::into_inner) = Some(done);
        }
    };
    thread::scope(|scope| {
        for _ in 0..cores.min(items.len()) {
            scope.spawn(worker);
        }
    });
    let mut done = Vec::with_capacity(items.len());
    let mut unfinished = false;
    for slot in slots {
        match slot.into_inner().unwrap_or_else(PoisonError::into_inner) {
            Some(result) => done.push(result?),
            None => unfinished = true,
        }
    }
    if unfinished { Err(Failure::new("a run was not finished")) } else { Ok(done) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_keep_their_order() {
        let items: Vec<u32> = (0..100).collect();
        let squares = side_by_side(&items, |&item| Ok(item * item)).unwrap();
        assert_eq!(squares, items.iter().map(|item| item * item).collect::<Vec<_>>());
        assert_eq!(side_by_side(&[], |_: &u32| Ok(0)).unwrap(), [] as [i32; 0]);
    }

    #[test]
    fn a_failure_is_told() {
        let failed = side_by_side(&[1, 2, 3], |&item| if item == 2 { Err(Failure::new("two")) } else { Ok(item) });
        assert!(failed.is_err());
    }
}
