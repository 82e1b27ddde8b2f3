//! Serialises credential checks per client: one request of each client is verified at a time; the rest queue in FIFO order and
//! are released early once the result for their credentials is cached.
//!
//! A waiting request occupies a queue slot but no CPU. The queue holds as many requests as one user may have: every other limit
//! depends on who the user is, which is not known until the check is done. A check always runs to completion, even if the
//! client has disconnected: otherwise a client could have many guesses in progress by disconnecting repeatedly.

use std::{cell::Cell, pin::pin, rc::Rc, sync::Arc};

use tokio::{
    select,
    sync::{Mutex, Notify},
    task::spawn_local,
};

use crate::{counted::Counted, per_user::PerUser, refusal::Refusal, who::Who};

/// Queues of requests whose client already has a check in progress.
#[derive(Debug, Default)]
pub(crate) struct CheckQueue(Rc<PerUser<Queue>>);

#[derive(Debug, Default)]
struct Queue {
    turn: Arc<Mutex<()>>,
    waiting: Rc<Cell<usize>>,
    // Notified when a check has finished.
    found: Notify,
}

impl CheckQueue {
    /// Runs `examine` once the client has no other check in progress, unless `known` returns a result first.
    ///
    /// # Errors
    /// If `most` requests of the client are queued or being checked.
    pub(crate) async fn in_turn<T: 'static>(
        &self,
        (client, most): (&Who, usize),
        known: impl Fn() -> Option<T>,
        examine: impl Future<Output = T> + 'static,
    ) -> Result<T, Refusal> {
        let queue = self.0.of(client, Queue::default);
        if queue.waiting.get() >= most {
            return Err(Refusal::TooManyRequests(most));
        }
        let place = Counted::new(&queue.waiting);
        let mut turn = pin!(Arc::clone(&queue.turn).lock_owned());
        let turn = loop {
            let found = queue.found.notified();
            if let Some(known) = known() {
                return Ok(known);
            }
            select! {
                turn = &mut turn => break turn,
                () = found => {}
            }
        };
        let looks = spawn_local(async move {
            let found = examine.await;
            drop((turn, place));
            queue.found.notify_waiters();
            found
        });
        looks.await.map_err(|_| Refusal::Internal("a password was not examined".into()))
    }

    #[cfg(test)]
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use std::{cell::RefCell, time::Duration};

    use tokio::{
        task::{JoinSet, LocalSet},
        time::{Instant, sleep, timeout},
    };

    use super::*;

    const LOOK: Duration = Duration::from_secs(1);
    const MAX_ROUNDS: usize = 20;

    fn client(last: u8) -> Who {
        Who::Address([10, 0, 0, last].into())
    }

    #[tokio::test(start_paused = true)]
    async fn a_clients_requests_are_examined_one_after_the_other() {
        let guesses = Rc::new(CheckQueue::default());
        let (began, from) = (Rc::<RefCell<Vec<_>>>::default(), Instant::now());
        let mut asked = JoinSet::new();
        let examined = async {
            for number in 0..10 {
                let (guesses, began) = (Rc::clone(&guesses), Rc::clone(&began));
                asked.spawn_local(async move {
                    let examine = async move {
                        began.borrow_mut().push((number, from.elapsed()));
                        sleep(LOOK).await;
                    };
                    let client = client(1 + number % 2);
                    let look = guesses.in_turn((&client, MAX_ROUNDS), || None, examine);
                    // Two are cancelled during their check, which continues, and two before it.
                    timeout(if [0, 1, 8, 9].contains(&number) { LOOK / 2 } else { Duration::MAX }, look).await
                });
            }
            asked.join_all().await
        };
        let ended = LocalSet::new().run_until(examined).await;
        assert_eq!(ended.into_iter().filter(Result::is_ok).count(), 6);
        assert_eq!(*began.borrow(), [0, 1, 2, 3, 4, 5, 6, 7].map(|number| (number, LOOK * u32::from(number / 2))));
        assert!(guesses.is_empty(), "nothing is being examined any more");
    }

    #[tokio::test(start_paused = true)]
    async fn what_has_become_known_waits_no_longer() {
        let (guesses, from) = (Rc::new(CheckQueue::default()), Instant::now());
        let known = Rc::<Cell<bool>>::default();
        let mut asked = JoinSet::new();
        let examined = async {
            // Every second one has other credentials; the rest have the first one's.
            for number in 0..9 {
                let (guesses, known) = (Rc::clone(&guesses), Rc::clone(&known));
                asked.spawn_local(async move {
                    let found = Rc::clone(&known);
                    let examine = async move {
                        sleep(LOOK).await;
                        found.set(true);
                    };
                    let is_known = || (number % 2 == 0 && known.get()).then_some(());
                    guesses.in_turn((&client(1), MAX_ROUNDS), is_known, examine).await.expect("a place");
                    (number, from.elapsed())
                });
            }
            asked.join_all().await
        };
        let mut ended = LocalSet::new().run_until(examined).await;
        ended.sort_unstable();
        assert_eq!(
            ended,
            [0, 1, 0, 2, 0, 3, 0, 4, 0]
                .iter()
                .zip(0..)
                .map(|(more, number)| (number, LOOK * (1 + more)))
                .collect::<Vec<_>>()
        );
    }

    #[tokio::test(start_paused = true)]
    async fn no_more_than_so_many_of_a_client_wait() {
        let guesses = Rc::new(CheckQueue::default());
        let mut asked = JoinSet::new();
        let look = |last| {
            let guesses = Rc::clone(&guesses);
            async move { guesses.in_turn((&client(last), MAX_ROUNDS), || None, sleep(LOOK)).await }
        };
        let counted = async {
            for _ in 0..MAX_ROUNDS + 3 {
                asked.spawn_local(look(1));
            }
            sleep(LOOK / 2).await;
            let refused: Vec<_> = (0..3).filter_map(|_| asked.try_join_next()).collect();
            assert!(
                refused.iter().all(|refused| matches!(refused, Ok(Err(Refusal::TooManyRequests(MAX_ROUNDS))))),
                "{refused:?}"
            );
            assert!(asked.try_join_next().is_none() && refused.len() == 3, "the others wait");
            assert!(look(2).await.is_ok(), "another client");
            asked.join_next().await;
            assert!(look(1).await.is_ok(), "one that waited has gone");
        };
        LocalSet::new().run_until(counted).await;
    }
}
