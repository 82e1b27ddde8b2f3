//! The checks of a handle with `DVT_CHECKED`, for mistakes of the caller that would otherwise go undetected.

use std::collections::HashSet;

use dovetail_sched::Nanos;

use crate::{
    failure::Failure,
    structs::{DVT_CHECKED, dvt_status},
};

/// The time, and which packets are queued before each resource. Empty if the handle is not checked.
#[derive(Debug, Default)]
pub(crate) struct Checks(Option<Box<Seen>>);

#[derive(Debug, Default)]
struct Seen {
    last: Nanos,
    queued: Vec<HashSet<u64>>,
}

impl Checks {
    /// Set up according to the setup's `flags`, for this many `resources`.
    pub(crate) fn new(flags: u32, resources: usize) -> Result<Self, Failure> {
        match flags {
            0 => Ok(Self(None)),
            DVT_CHECKED => {
                Ok(Self(Some(Box::new(Seen { last: Nanos::ZERO, queued: vec![HashSet::new(); resources] }))))
            }
            _ => Err(Failure::range(format!("flags are 0 or DVT_CHECKED, not {flags}"))),
        }
    }

    #[inline(always)]
    pub(crate) fn is_on(&self) -> bool {
        self.0.is_some()
    }

    /// Checks and records the time of a call.
    #[inline(always)]
    pub(crate) fn time(&mut self, now_ns: u64) -> Result<Nanos, Failure> {
        match &mut self.0 {
            None => Ok(Nanos(now_ns)),
            Some(seen) => seen.time(Nanos(now_ns)),
        }
    }

    /// Same as [`time`](Self::time), for a call that may fail: the time is recorded if it does not.
    pub(crate) fn time_of<T>(
        &mut self,
        now_ns: u64,
        call: impl FnOnce(Nanos) -> Result<T, Failure>,
    ) -> Result<T, Failure> {
        let before = self.0.as_ref().map(|seen| seen.last);
        let result = call(self.time(now_ns)?);
        if let (Err(_), Some(seen), Some(before)) = (&result, &mut self.0, before) {
            seen.last = before;
        }
        result
    }

    /// Checks that a packet offered before `resource` is not queued there.
    #[inline(always)]
    pub(crate) fn is_new(&self, resource: usize, handle: u64) -> Result<(), Failure> {
        match &self.0 {
            None => Ok(()),
            Some(seen) => seen.is_new(resource, handle),
        }
    }

    #[inline(always)]
    pub(crate) fn queued(&mut self, resource: usize, handle: u64) {
        if let Some(seen) = &mut self.0 {
            seen.queued(resource, handle);
        }
    }

    #[inline(always)]
    pub(crate) fn left(&mut self, resource: usize, handle: u64) {
        if let Some(seen) = &mut self.0 {
            seen.left(resource, handle);
        }
    }
}

/// Kept apart from the fast path of handles that are not checked.
impl Seen {
    #[cold]
    #[inline(never)]
    fn time(&mut self, now: Nanos) -> Result<Nanos, Failure> {
        if now < self.last {
            let text = format!("time goes backwards, from {} to {now}", self.last);
            return Err(Failure::new(dvt_status::DVT_ERROR_TIME, text));
        }
        self.last = now;
        Ok(now)
    }

    #[cold]
    #[inline(never)]
    fn is_new(&self, resource: usize, handle: u64) -> Result<(), Failure> {
        if self.queued[resource].contains(&handle) {
            let text = format!("the packet {handle} is already queued");
            return Err(Failure::new(dvt_status::DVT_ERROR_DUPLICATE, text));
        }
        Ok(())
    }

    #[cold]
    #[inline(never)]
    fn queued(&mut self, resource: usize, handle: u64) {
        self.queued[resource].insert(handle);
    }

    #[cold]
    #[inline(never)]
    fn left(&mut self, resource: usize, handle: u64) {
        self.queued[resource].remove(&handle);
    }
}
