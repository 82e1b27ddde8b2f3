//! Dispatchers for tests, and control of time.
#![allow(dead_code)]

use std::{
    sync::Arc,
    task::{Context, Poll, Waker},
    time::Duration,
};

use dovetail_sched::{
    Weight,
    request::{ClassId, RequestSetup, RequestSpec},
};
use dovetail_tower::{Dispatcher, Ticket};

/// Tokens of an inference server: turns of 16, with none in flight beyond them.
pub fn tokens(rate: f64) -> RequestSetup {
    RequestSetup { rate, quantum: 16, window: 0, longest_window: 0, overhead: 0 }
}

/// `grants` with the tolerances of a few turns.
pub const FAIR: &str = "grants:lag=64,slack=64,learn=off";

/// A dispatcher with classes of these weights, without a driver.
pub fn still_dispatcher(policy: &str, setup: &RequestSetup, weights: &[f64]) -> Dispatcher<u32> {
    let weights: Vec<_> = weights.iter().map(|&weight| Weight::new(weight).expect("in range")).collect();
    Dispatcher::new(&policy.parse::<RequestSpec>().expect("a policy"), setup, &weights).expect("a dispatcher")
}

/// A dispatcher with classes of these weights and a driver.
pub fn dispatcher(policy: &str, setup: &RequestSetup, weights: &[f64]) -> Dispatcher<u32> {
    let dispatcher = still_dispatcher(policy, setup, weights);
    tokio::spawn(dispatcher.drive());
    dispatcher
}

pub fn arrive(dispatcher: &Dispatcher<u32>, who: u32, class: u32) -> Ticket<u32> {
    dispatcher.arrive(&who, ClassId(class), None, Arc::from(""))
}

/// What may be taken in now; if that is nothing, the scheduler is told.
pub fn poll_allowed(ticket: &Ticket<u32>) -> Option<u64> {
    match ticket.poll_allowed(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready((units, _)) => Some(units),
        Poll::Pending => None,
    }
}

/// Takes in whatever is allowed for this long, one unit at a time, as soon as more is allowed.
pub fn takes(ticket: Ticket<u32>) -> tokio::task::JoinHandle<()> {
    tokio::spawn(async move {
        ticket.released().await;
        loop {
            std::future::poll_fn(|cx| ticket.poll_allowed(cx)).await;
            ticket.received(1);
        }
    })
}

/// Advances time and lets all tasks run.
pub async fn pass(time: Duration) {
    tokio::time::sleep(time).await;
}
