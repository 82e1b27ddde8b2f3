//! The crate `firq-core`: deficit round robin over tenants, for sharing a scheduler between threads.
//!
//! It supports what ours does not (cancel by handle, expire at a deadline) and pays for locks and a clock on every call.

use std::time::Instant;

use dovetail_bench_counts::subject::{Subject, packets_of, sizes};
use firq_core::{DequeueResult, EnqueueResult, Priority, Scheduler, SchedulerConfig, Task, TenantKey};

/// The scheduler with its environment.
pub struct Firq {
    scheduler: Scheduler<u64>,
    sizes: Vec<u32>,
    next: usize,
    start: Instant,
}

impl Firq {
    pub const NAME: &str = "firq-core (DRR)";

    pub fn filled(flows: u32) -> Self {
        let config = SchedulerConfig {
            max_global: 1 << 40,
            max_per_tenant: 1 << 40,
            quantum: 1514,
            ..SchedulerConfig::default()
        };
        let mut filled =
            Self { scheduler: Scheduler::new(config), sizes: sizes().to_vec(), next: 0, start: Instant::now() };
        for place in 0..3 {
            for flow in (0..flows).filter(|&flow| place < packets_of(flow)) {
                filled.put(u64::from(flow).into()).expect("without limits nothing is refused");
            }
        }
        filled
    }

    #[inline]
    fn put(&mut self, tenant: TenantKey) -> Result<(), String> {
        let bytes = self.sizes[self.next];
        self.next = if self.next + 1 == self.sizes.len() { 0 } else { self.next + 1 };
        let task =
            Task { payload: 0, enqueue_ts: self.start, deadline: None, priority: Priority::Normal, cost: bytes.into() };
        match self.scheduler.enqueue(tenant, task) {
            EnqueueResult::Enqueued => Ok(()),
            other => Err(format!("a task was not queued: {other:?}")),
        }
    }
}

impl Subject for Firq {
    #[inline]
    fn step(&mut self) -> Result<(), String> {
        // It returns "empty" after a round in which every tenant first had to accumulate credit.
        for _ in 0..3 {
            if let DequeueResult::Task { tenant, .. } = self.scheduler.try_dequeue() {
                return self.put(tenant);
            }
        }
        Err("holds tasks back".into())
    }

    fn is_as_filled(&self, flows: u32) -> bool {
        let waiting: u64 = (0..flows).map(|flow| u64::from(packets_of(flow))).sum();
        self.scheduler.stats().queue_len_estimate == waiting
    }
}
