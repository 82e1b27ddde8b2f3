//! Sends probes and receives their answers.

use std::{
    rc::Rc,
    time::{Duration, Instant},
};

use dovetail_tower::Dispatcher;
use tokio::time::sleep;
use tracing::{info, warn};

use super::{
    health::Health,
    packet::Echo,
    probes::{IDLE, Probes},
};
use crate::who::Who;

/// This many are sent as if something were in flight: the round trip of the idle link is best measured before it is busy.
const EARLY: usize = 10;

/// Receives answers.
pub(super) async fn listen(dispatcher: Dispatcher<Who>, echo: Rc<Echo>, health: Rc<Health>) {
    loop {
        match echo.back().await {
            Ok((number, _)) => {
                if let Some(what) = health.back(Instant::now()) {
                    info!("{what}");
                }
                dispatcher.probed(number);
            }
            // Unreachable for now: the far queue is unknown, and the policy continues without it.
            Err(error) => {
                health.failed(&error);
                sleep(Duration::from_millis(100)).await;
            }
        }
    }
}

/// Sends probes periodically.
pub(super) async fn send(probes: Rc<Probes>, echo: Rc<Echo>, health: Rc<Health>) {
    let dispatcher = probes.dispatcher();
    for at in 0.. {
        let (is_idle, server) = (dispatcher.live() == 0, probes.server());
        if echo.has_target(server) {
            let number = dispatcher.probe();
            // A probe that cannot be sent is lost.
            if let Err(error) = echo.send(number, server) {
                health.failed(&error);
            }
            if let Some(what) = health.leaves(!is_idle, Instant::now()) {
                warn!("{what}");
            }
            if health.is_silent() {
                // Sending the unanswered probe has made the scheduler forget the queue.
                probes.tell_again();
            }
        } else {
            health.no_target(Instant::now());
        }
        let is_rare = is_idle || health.is_silent();
        sleep(match probes.every() {
            every if at < EARLY => every.min(IDLE),
            _ if is_rare => IDLE,
            every => every,
        })
        .await;
    }
}
