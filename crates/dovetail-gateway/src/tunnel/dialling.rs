//! Paces the handshakes of a user's tunnels: a few at once, then no faster than the link carries full packets.
//!
//! The answer to a handshake crosses the link before its tunnel has any turn there, and queues count packets: of 200
//! simultaneous answers a queue of 25 packets keeps 25. A client that loses one retries a second later, together with all the
//! others (RFC 6298, section 2), and loses it again, for as long as connecting may take. So a user's handshakes are spaced by
//! the time that a full packet takes on the link, of which their answers then use a small part, in the order of the requests. A
//! cancelled one takes no time.

use std::{rc::Rc, time::Duration};

use tokio::{
    sync::Mutex,
    time::{Instant, sleep},
};

use crate::{
    per_user::{Of, PerUser},
    who::Who,
};

/// Handshakes that start without waiting: together with other traffic their answers fit a queue of 25 packets, the shortest
/// known in routers.
const AT_ONCE: u32 = 16;

/// The users who are dialling.
#[derive(Debug, Default)]
pub(super) struct Dialling(Rc<PerUser<Through>>);

/// When the answers to all of a user's handshakes that have started will have crossed the link.
type Through = Mutex<Instant>;

/// A handshake of a user.
pub(super) type Dials = Rc<Of<Through>>;

impl Dialling {
    /// Waits until this user may dial again, on a link that carries a full packet in `packet`. Dropping the returned value
    /// marks the end of the handshake.
    pub(super) async fn turn(&self, who: &Who, packet: Duration) -> Dials {
        let dials = self.0.of(who, || Mutex::new(Instant::now()));
        // Later callers wait for the lock, which is fair.
        let mut through = dials.lock().await;
        let room = packet * (AT_ONCE - 1);
        let wait = through.saturating_duration_since(Instant::now() + room);
        // Even a timer of no time takes a millisecond.
        if !wait.is_zero() {
            sleep(wait).await;
        }
        *through = (*through).max(Instant::now()) + packet;
        drop(through);
        dials
    }
}

#[cfg(test)]
mod tests {
    use std::future::ready;

    use tokio::{
        select,
        task::{JoinSet, LocalSet},
        time::timeout,
    };

    use super::*;

    const PACKET: Duration = Duration::from_millis(6);

    fn user(name: &str) -> Who {
        Who::Name(name.into())
    }

    /// When each of this many simultaneous handshakes of one user starts. Every fifth is cancelled within half a packet's time.
    async fn begin(all: &Rc<Dialling>, count: usize) -> Vec<Duration> {
        let from = Instant::now();
        let mut asked = JoinSet::new();
        for number in 1..=count {
            let all = Rc::clone(all);
            asked.spawn_local(async move {
                let who = user("ann");
                let patience = if number.is_multiple_of(5) { PACKET / 2 } else { Duration::MAX };
                let _dials = timeout(patience, all.turn(&who, PACKET)).await.ok()?;
                let began = from.elapsed();
                sleep(Duration::from_secs(1)).await;
                Some((number, began))
            });
        }
        let mut began: Vec<_> = asked.join_all().await.into_iter().flatten().collect();
        began.sort_unstable();
        began.into_iter().map(|(_, began)| began).collect()
    }

    #[tokio::test(start_paused = true)]
    async fn a_user_dials_a_few_at_once_and_then_at_the_links_pace() {
        let all = Rc::new(Dialling::default());
        let began = LocalSet::new().run_until(begin(&all, 100)).await;
        assert_eq!(
            began.len(),
            83,
            "three of the first sixteen were asked for with less patience, and 17 later: {began:?}"
        );
        for (at, began) in (0..).zip(&began) {
            let due = PACKET * u32::saturating_sub(at, AT_ONCE - 1);
            // Timers have a resolution of a millisecond.
            assert!((due..due + Duration::from_millis(2)).contains(began), "{at}: {began:?}, due {due:?}");
        }
        assert!(all.0.is_empty(), "a user who dials no more is forgotten");
        let again = LocalSet::new().run_until(begin(&all, 10)).await;
        assert_eq!(again, [Duration::ZERO; 10], "and begins anew");
    }

    #[tokio::test]
    async fn the_first_wait_for_no_timer() {
        let (all, ann) = (Dialling::default(), user("ann"));
        let mut held = Vec::new();
        for _ in 0..AT_ONCE {
            held.push(select! {
                biased;
                dials = all.turn(&ann, PACKET) => dials,
                () = ready(()) => panic!("number {} waits", held.len()),
            });
        }
    }

    #[tokio::test(start_paused = true)]
    async fn others_wait_for_nothing() {
        let all = Dialling::default();
        let from = Instant::now();
        let mut held = Vec::new();
        for _ in 0..2 * AT_ONCE {
            held.push(all.turn(&user("ann"), PACKET).await);
        }
        assert_eq!(from.elapsed(), PACKET * AT_ONCE);
        held.push(all.turn(&user("bob"), PACKET).await);
        assert_eq!(from.elapsed(), PACKET * AT_ONCE, "another user");
        held.push(all.turn(&user("ann"), PACKET).await);
        assert_eq!(from.elapsed(), PACKET * (AT_ONCE + 1), "those that are in flight count");
    }
}
