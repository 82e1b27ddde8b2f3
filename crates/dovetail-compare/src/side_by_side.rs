//! The same work on many items, in parallel on the available cores.

use std::{
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
};

/// The results in the order of the items, or the first failure; no more items are started after a failure.
///
/// # Errors
/// The first failure.
pub fn side_by_side<T: Sync, R: Send, E: Send>(
    items: &[T],
    work: impl Fn(&T) -> Result<R, E> + Sync,
) -> Result<Vec<R>, E> {
    side_by_side_on(cores(), items, work)
}

/// The number of cores.
pub fn cores() -> usize {
    thread::available_parallelism().map_or(1, usize::from)
}

/// The same on this many cores, at least one.
///
/// # Errors
/// The first failure.
pub fn side_by_side_on<T: Sync, R: Send, E: Send>(
    cores: usize,
    items: &[T],
    work: impl Fn(&T) -> Result<R, E> + Sync,
) -> Result<Vec<R>, E> {
    let slots: Vec<Mutex<Option<Result<R, E>>>> = items.iter().map(|_| Mutex::new(None)).collect();
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
        for _ in 0..cores.clamp(1, items.len().max(1)) {
            scope.spawn(worker);
        }
    });
    // Items are started in order, so items that were not started come after the failure that stopped them.
    slots.into_iter().filter_map(|slot| slot.into_inner().unwrap_or_else(PoisonError::into_inner)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_keep_their_order() {
        let items: Vec<u32> = (0..100).collect();
        let squares = side_by_side(&items, |&item| Ok::<_, ()>(item * item)).unwrap();
        assert_eq!(squares, items.iter().map(|item| item * item).collect::<Vec<_>>());
        assert_eq!(side_by_side(&[], |_: &u32| Ok::<_, ()>(0)).unwrap(), [] as [i32; 0]);
    }

    #[test]
    fn a_failure_is_told() {
        let items: Vec<u32> = (0..1000).collect();
        let failed = side_by_side(&items, |&item| if item % 10 == 2 { Err(item) } else { Ok(item) });
        assert_eq!(failed, Err(2));
    }
}
