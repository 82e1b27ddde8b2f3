//! Writes usage to the store, every few seconds and at the end.

use std::{
    cell::{Cell, RefCell},
    path::PathBuf,
    rc::Rc,
};

use tokio::sync::Mutex;
use tracing::{info, warn};

use super::{
    store::{Batch, Store},
    tally::Tally,
};

/// The state of writing.
#[derive(Debug, Default)]
pub(super) struct Keeping {
    // Locked for one batch at a time.
    store: Option<Mutex<Store>>,
    path: Option<PathBuf>,
    gone: RefCell<Vec<String>>,
    fault: RefCell<Option<String>>,
    written: Cell<u64>,
}

impl Keeping {
    pub(super) fn new(store: Option<Store>) -> Self {
        let path = store.as_ref().map(|store| store.path().to_owned());
        Self { store: store.map(Mutex::new), path, ..Self::default() }
    }

    /// Records that a quota has been removed.
    pub(super) fn is_gone(&self, quota: String) {
        self.gone.borrow_mut().push(quota);
    }

    /// Where the store is, if there is one, and what is wrong with it, if anything.
    pub(super) fn store(&self) -> Option<(String, Option<String>)> {
        self.path.as_ref().map(|path| (path.display().to_string(), self.fault.borrow().clone()))
    }

    pub(super) fn written(&self) -> u64 {
        self.written.get()
    }

    /// Writes what is not written yet of these tallies, as they are once earlier batches are done.
    pub(super) async fn write(&self, tallies: impl Fn() -> Vec<Rc<Tally>>) {
        let Some(store) = &self.store else { return };
        let store = store.lock().await;
        let mut batch = Batch { gone: self.gone.take(), ..Batch::default() };
        let mut sent = Vec::new();
        for tally in tallies() {
            let (quota, period) = (tally.quota.key(), tally.period());
            if tally.take_renewed() {
                batch.periods.push((quota.clone(), period));
            }
            batch.forgotten.extend(tally.take_forgotten().into_iter().map(|who| (quota.clone(), who)));
            for (who, bytes, counter) in tally.unsent() {
                batch.rows.push((quota.clone(), who, period, bytes));
                sent.push((counter, period));
            }
        }
        if batch.is_empty() {
            return;
        }
        // If the write fails, these have to be written again.
        let (gone, periods, forgotten) = (batch.gone.clone(), batch.periods.clone(), batch.forgotten.clone());
        match store.write(batch).await {
            Ok(sums) => {
                for ((counter, of), (period, bytes)) in sent.iter().zip(sums) {
                    // The sum of a later period, from another process, does not include what was sent.
                    if period == *of {
                        counter.confirmed(bytes);
                    }
                }
                self.written.set(self.written.get() + 1);
                if self.fault.take().is_some() {
                    info!("{}: it is written again", store.path().display());
                }
            }
            Err(why) => {
                sent.iter().for_each(|(counter, _)| counter.failed());
                self.gone.borrow_mut().extend(gone);
                for tally in tallies() {
                    let quota = tally.quota.key();
                    if periods.iter().any(|(of, _)| *of == quota) {
                        tally.renew();
                    }
                    tally.forgets(forgotten.iter().filter(|(of, _)| *of == quota).map(|(_, who)| who.clone()));
                }
                if self.fault.borrow().is_none() {
                    warn!("{}: {why}: quotas are counted in memory until it can be written", store.path().display());
                }
                *self.fault.borrow_mut() = Some(why);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::{env, fs, future::Future, pin::pin, process, task::Poll};

    use jiff::ZonedDateTime;
    use rusqlite::Connection;

    use super::*;
    use crate::config::Config;

    const TEXT: &str = "[downlink]\nrate = \"2Mbps\"\n[access]\nclients = \"10.0.0.0/8\"\n\
                        [[quota]]\nname = \"q\"\nbytes = 1000\nevery = \"day\"\n";

    fn at(text: &str) -> ZonedDateTime {
        format!("{text}[Europe/Berlin]").parse().expect("a time")
    }

    #[tokio::test]
    async fn what_is_confirmed_after_a_reload_and_midnight_is_not_of_the_new_day() {
        let path = env::temp_dir().join(format!("dovetail-keeping-{}.db", process::id()));
        drop(fs::remove_file(&path));
        let keeping = Keeping::new(Some(Store::open(&path).expect("a store").0));
        let quota = Config::parse(TEXT).expect("a configuration").quotas.remove(0);
        let tally = Rc::new(Tally::new(quota.clone(), &[], &at("2026-11-24T23:59:58")));
        let ann = tally.counter("ann");
        tally.count(&ann, 0, 1_000);
        // It cannot be written before both.
        let other = Connection::open(&path).expect("it");
        other.execute_batch("BEGIN EXCLUSIVE").expect("a lock");
        let mut write = pin!(keeping.write(|| vec![Rc::clone(&tally)]));
        std::future::poll_fn(|context| {
            assert!(write.as_mut().poll(context).is_pending());
            Poll::Ready(())
        })
        .await;
        let reloaded = tally.goes_on_as(quota, &at("2026-11-24T23:59:59")).expect("the same");
        assert!(reloaded.look(&at("2026-11-25T00:00:00")));
        other.execute_batch("COMMIT").expect("no lock");
        write.await;
        fs::remove_file(&path).expect("it");
        assert_eq!((ann.used(), reloaded.is_beyond(&ann)), (0, false));
    }
}
