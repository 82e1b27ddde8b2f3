//! Clients whose credentials are examined: one request of each at a time, and the others wait for it in the order in which they
//! came.
//!
//! What waits costs a place in a queue and no time. So many may wait, and not more: a client could have a hundred requests on
//! each of hundreds of connections, and who it is, on which every other limit depends, is not known before.

use std::{cell::Cell, rc::Rc};

use tokio::sync::Mutex;

use crate::{per_user::PerUser, refusal::Refusal, who::Who};

/// Requests of one client that wait or are examined: more than the streams of two connections over HTTP/2.
pub(crate) const MOST_WAITING: usize = 256;

/// Requests that wait until nothing of their client's is examined.
#[derive(Debug, Default)]
pub(crate) struct Guesses(Rc<PerUser<Queue>>);

#[derive(Debug, Default)]
struct Queue {
    turn: Mutex<()>,
    waiting: Cell<usize>,
}

impl Guesses {
    /// Does this when nothing else of the client's is examined.
    ///
    /// # Errors
    /// When [`MOST_WAITING`] of the client's are there already.
    pub(crate) async fn in_turn<T>(&self, client: &Who, examine: impl AsyncFnOnce() -> T) -> Result<T, Refusal> {
        let queue = self.0.of(client, Queue::default);
        let _place = Place::new(&queue.waiting).ok_or(Refusal::NotExamined)?;
        let _turn = queue.turn.lock().await;
        Ok(examine().await)
    }

    #[cfg(test)]
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// One of those that wait.
struct Place<'a>(&'a Cell<usize>);

impl<'a> Place<'a> {
    fn new(waiting: &'a Cell<usize>) -> Option<Self> {
        let others = waiting.get();
        (others < MOST_WAITING).then(|| {
            waiting.set(others + 1);
            Self(waiting)
        })
    }
}

impl Drop for Place<'_> {
    fn drop(&mut self) {
        self.0.set(self.0.get() - 1);
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

    fn client(last: u8) -> Who {
        Who::Address([10, 0, 0, last].into())
    }

    #[tokio::test(start_paused = true)]
    async fn a_clients_requests_are_examined_one_after_the_other() {
        let guesses = Rc::new(Guesses::default());
        let (began, from) = (Rc::<RefCell<Vec<_>>>::default(), Instant::now());
        let mut asked = JoinSet::new();
        let examined = async {
            for number in 0..8 {
                let (guesses, began) = (Rc::clone(&guesses), Rc::clone(&began));
                asked.spawn_local(async move {
                    let client = client(1 + number % 2);
                    let look = guesses.in_turn(&client, async || {
                        began.borrow_mut().push((number, from.elapsed()));
                        sleep(LOOK).await;
                    });
                    // Two give up, and take no turn.
                    timeout(if number >= 6 { LOOK / 2 } else { Duration::MAX }, look).await
                });
            }
            asked.join_all().await
        };
        let ended = LocalSet::new().run_until(examined).await;
        assert_eq!(ended.into_iter().filter(Result::is_ok).count(), 6);
        assert_eq!(*began.borrow(), [0, 1, 2, 3, 4, 5].map(|number| (number, LOOK * u32::from(number / 2))));
        assert!(guesses.is_empty(), "nothing is being examined any more");
    }

    #[tokio::test(start_paused = true)]
    async fn no_more_than_so_many_of_a_client_wait() {
        let guesses = Rc::new(Guesses::default());
        let mut asked = JoinSet::new();
        let counted = async {
            for _ in 0..MOST_WAITING + 3 {
                let guesses = Rc::clone(&guesses);
                asked.spawn_local(async move { guesses.in_turn(&client(1), async || sleep(LOOK).await).await });
            }
            sleep(LOOK / 2).await;
            let refused: Vec<_> = (0..3).filter_map(|_| asked.try_join_next()).collect();
            assert!(refused.iter().all(|refused| matches!(refused, Ok(Err(Refusal::NotExamined)))), "{refused:?}");
            assert!(asked.try_join_next().is_none() && refused.len() == 3, "the others wait");
            assert!(guesses.in_turn(&client(2), async || ()).await.is_ok(), "another client");
            asked.join_next().await;
            assert!(guesses.in_turn(&client(1), async || ()).await.is_ok(), "one that waited has gone");
        };
        LocalSet::new().run_until(counted).await;
    }
}
