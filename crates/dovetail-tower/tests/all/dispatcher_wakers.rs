//! A waker may hold the last reference to a task, and the task a ticket: the dispatcher is unlocked whenever it drops one.

use std::{
    future::Future,
    pin::pin,
    sync::{Arc, Mutex, mpsc},
    task::{Context, Wake, Waker},
    thread,
    time::Duration,
};

use crate::support::{arrive, still_dispatcher};
use dovetail_sched::request::RequestSetup;
use dovetail_tower::{Dispatcher, Ticket};

/// A task that owns a ticket, and ends when it is woken.
struct Task(Mutex<Option<Ticket<u32>>>);

impl Wake for Task {
    fn wake(self: Arc<Self>) {
        drop(self.0.lock().expect("no panic").take());
    }
}

fn task(ticket: Ticket<u32>) -> Waker {
    Arc::new(Task(Mutex::new(Some(ticket)))).into()
}

/// Runs it on a thread of its own, with a dispatcher of one released ticket and two queued ones. Returns the number of tickets
/// left.
#[track_caller]
fn left_after(what: fn([Ticket<u32>; 3])) -> usize {
    let (tell, told) = mpsc::channel();
    thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().expect("a runtime");
        let _entered = runtime.enter();
        let dispatcher: Dispatcher<u32> = still_dispatcher("msf-rs", &RequestSetup::for_bytes(239_000.0), &[1.0]);
        what([0, 1, 2].map(|who| arrive(&dispatcher, who, 0)));
        tell.send(dispatcher.live()).expect("somebody waits");
    });
    told.recv_timeout(Duration::from_secs(20)).expect("no deadlock")
}

fn poll(ticket: &Ticket<u32>, waker: &Waker) {
    assert!(ticket.poll_released(&mut Context::from_waker(waker)).is_pending());
}

#[test]
fn another_waker_takes_its_place() {
    let left = left_after(|[first, second, third]| {
        poll(&second, &task(third));
        poll(&second, Waker::noop());
        std::mem::forget((first, second));
    });
    assert_eq!(left, 2);
}

#[test]
fn another_waker_takes_its_place_where_units_are_asked_for() {
    let left = left_after(|[first, second, third]| {
        assert!(second.poll_allowed(&mut Context::from_waker(&task(third))).is_pending());
        assert!(second.poll_allowed(&mut Context::from_waker(Waker::noop())).is_pending());
        std::mem::forget((first, second));
    });
    assert_eq!(left, 2);
}

#[test]
fn a_task_that_awaits_the_release_is_dropped_with_its_wait() {
    let left = left_after(|[first, second, third]| {
        let mut released = Box::pin(second.released());
        assert!(released.as_mut().poll(&mut Context::from_waker(&task(third))).is_pending());
        drop(released);
        std::mem::forget((first, second));
    });
    assert_eq!(left, 2);
}

#[test]
fn a_wait_keeps_its_last_waker() {
    let left = left_after(|[first, second, third]| {
        let mut released = pin!(second.released());
        assert!(released.as_mut().poll(&mut Context::from_waker(&task(third))).is_pending());
        assert!(released.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending());
        first.end();
        assert!(released.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_ready());
    });
    assert_eq!(left, 0);
}

#[test]
fn the_ticket_goes_that_it_was_for() {
    let left = left_after(|[first, second, third]| {
        poll(&second, &task(third));
        drop(second);
        std::mem::forget(first);
    });
    assert_eq!(left, 1);
}

#[test]
fn it_is_woken_and_ends() {
    let left = left_after(|[first, second, third]| {
        let waker = task(third);
        poll(&second, &waker);
        first.end();
        assert!(second.is_released());
        std::mem::forget(second);
    });
    assert_eq!(left, 1);
}
