//! All quotas, and the accounts of users with requests in flight.

use std::{
    cell::RefCell,
    collections::HashMap,
    rc::{Rc, Weak},
    sync::Arc,
};

use dovetail_sched::request::ClassId;
use tokio::time::{Duration, sleep, timeout};
use tracing::warn;

use super::{
    account::Account,
    book::Book,
    keeping::Keeping,
    store::{Store, Stored},
    tally::Tally,
};
use crate::{
    config::{Config, Per},
    state::{Link, Settings},
    who::Who,
};

/// How long a gateway waits for the disk when it ends.
const LAST: Duration = Duration::from_secs(8);

/// All quotas, their usage, and the accounts that use them.
#[derive(Debug)]
pub(crate) struct Quotas {
    book: Rc<Book>,
    // Of users with requests in flight, and of some who had one until a second ago.
    accounts: RefCell<HashMap<(Who, ClassId), Weak<Account>>>,
    keeping: Keeping,
}

/// A quota as presented.
#[derive(Debug)]
pub(crate) struct Shown {
    pub(crate) name: Arc<str>,
    pub(crate) bytes: u64,
    pub(crate) every: &'static str,
    pub(crate) per: Per,
    pub(crate) is_free: bool,
    pub(crate) ends_s: i64,
    pub(crate) known: usize,
    pub(crate) beyond: usize,
    /// Bytes counted since the start, by class number; a missing class had none.
    pub(crate) counted: Vec<u64>,
}

impl Quotas {
    /// Starts with the usage in the store, if there is one.
    pub(crate) fn new(settings: &Rc<Settings>, link: &Rc<Link>, store: Option<(Store, Stored)>) -> Self {
        let (store, stored) = store.unzip();
        let (now, mut stored) = (settings.now(), stored.unwrap_or_default());
        let config = settings.config();
        let tallies = config
            .quotas
            .iter()
            .map(|quota| Rc::new(Tally::new(quota.clone(), &stored.remove(&quota.key()).unwrap_or_default(), &now)));
        let (book, keeping) = (Rc::new(Book::new(settings, link, tallies.collect())), Keeping::new(store));
        stored.into_keys().for_each(|quota| keeping.is_gone(quota));
        Self { book, accounts: RefCell::default(), keeping }
    }

    /// The account of a user of this class, which lasts for as long as they have requests in flight.
    pub(crate) fn account(&self, who: &Who, class: ClassId) -> Rc<Account> {
        let mut accounts = self.accounts.borrow_mut();
        let key = (who.clone(), class);
        if let Some(account) = accounts.get(&key).and_then(Weak::upgrade) {
            return account;
        }
        let account = Rc::new(Account::new(Rc::clone(&self.book), who.clone(), class));
        accounts.insert(key, Rc::downgrade(&account));
        account
    }

    /// Whether a user with requests in flight is in the class.
    pub(crate) fn has_account_of(&self, class: ClassId) -> bool {
        self.accounts.borrow().iter().any(|((_, of), account)| *of == class && account.strong_count() > 0)
    }

    /// Applies a new configuration. Usage of a quota of the same name, period and kind is kept, except what was counted of
    /// classes that had the numbers of others.
    pub(crate) fn reloaded(&self, config: &Config, renewed: &[usize]) {
        let now = self.book.now();
        let before = self.book.tallies();
        let tallies = config.quotas.iter().map(|quota| {
            let same = before.iter().find(|tally| tally.quota.name == quota.name);
            let goes_on = same.and_then(|tally| tally.goes_on_as(quota.clone(), &now));
            goes_on.iter().for_each(|tally| tally.renew_classes(renewed));
            Rc::new(goes_on.unwrap_or_else(|| Tally::new(quota.clone(), &[], &now)))
        });
        self.book.replace(tallies.collect());
        for tally in before.iter().filter(|tally| config.quotas.iter().all(|quota| quota.key() != tally.quota.key())) {
            self.keeping.is_gone(tally.quota.key());
        }
        self.accounts().iter().for_each(|account| account.place_again());
    }

    /// To be called every second: free hours begin and end, and so do periods.
    pub(crate) fn look(&self) {
        self.accounts.borrow_mut().retain(|_, account| account.strong_count() > 0);
        let tallies = self.book.tallies();
        if tallies.is_empty() {
            return;
        }
        let now = self.book.now();
        // Not `any`: each has to be updated.
        if tallies.iter().filter(|tally| tally.look(&now)).count() > 0 {
            self.place_all();
        }
    }

    /// Moves all users to the right classes whenever a quota is used up, for as long as the gateway runs.
    pub(crate) async fn follow(self: Rc<Self>) {
        loop {
            self.book.used_up.notified().await;
            self.place_all();
        }
    }

    fn place_all(&self) {
        self.accounts().iter().for_each(|account| account.place());
    }

    fn accounts(&self) -> Vec<Rc<Account>> {
        self.accounts.borrow().values().filter_map(Weak::upgrade).collect()
    }

    /// Writes usage to the store periodically, for as long as the gateway runs.
    pub(crate) async fn keep(self: Rc<Self>) {
        loop {
            let every =
                self.book.settings().config().store.as_ref().map_or(Duration::from_secs(5), |store| store.every);
            sleep(every).await;
            self.keeping.write(|| self.book.tallies()).await;
        }
    }

    /// Writes what is not written yet when the gateway ends.
    pub(crate) async fn write_last(&self) {
        if timeout(LAST, self.keeping.write(|| self.book.tallies())).await.is_err() {
            warn!("what was counted of quotas in the last seconds is lost: the disk is too slow");
        }
    }

    /// Where the store is, if there is one, and what is wrong with it, if anything.
    pub(crate) fn store(&self) -> Option<(String, Option<String>)> {
        self.keeping.store()
    }

    /// Batches written since the start.
    pub(crate) fn written(&self) -> u64 {
        self.keeping.written()
    }

    /// All quotas as presented. O(counters).
    pub(crate) fn shown(&self) -> Vec<Shown> {
        let shown = |tally: &Rc<Tally>| {
            let (known, beyond) = tally.known();
            let quota = &tally.quota;
            Shown {
                name: Arc::clone(&quota.name),
                bytes: quota.bytes,
                every: quota.every.word(),
                per: quota.per,
                is_free: tally.is_free(),
                ends_s: tally.ends().as_second(),
                known,
                beyond,
                counted: tally.counted(),
            }
        };
        self.book.tallies().iter().map(shown).collect()
    }
}

#[cfg(test)]
mod tests {
    use std::{env, fs, process};

    use rusqlite::Connection;

    use super::*;

    const TEXT: &str = "[downlink]\nrate = \"2Mbps\"\n[access]\nclients = \"10.0.0.0/8\"\n\
                        [[quota]]\nname = \"q\"\nbytes = 1000\n";

    #[tokio::test]
    async fn rows_of_quotas_that_there_are_no_more_are_removed_after_a_start() {
        let path = env::temp_dir().join(format!("dovetail-quotas-{}.db", process::id()));
        drop(fs::remove_file(&path));
        drop(Store::open(&path).expect("a store"));
        let settings = Rc::new(Settings::new(Config::parse(TEXT).expect("a configuration")));
        let link = Rc::new(Link::new(Rc::clone(&settings)).expect("a link"));
        let database = Connection::open(&path).expect("it");
        for quota in [settings.config().quotas[0].key(), "other per user and every day".into()] {
            database.execute("INSERT INTO used VALUES (?1, 'name ann', 99999, 7)", [quota]).expect("a row");
        }
        let quotas = Quotas::new(&settings, &link, Some(Store::open(&path).expect("a store")));
        quotas.write_last().await;
        let left: String = database.query_row("SELECT quota FROM used", [], |row| row.get(0)).expect("one row");
        fs::remove_file(&path).expect("it");
        assert_eq!(left, settings.config().quotas[0].key());
    }
}
