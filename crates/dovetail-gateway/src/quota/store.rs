//! The file with the usage of quotas, on a thread of its own: a slow or full disk delays no request.
//!
//! It is an SQLite database. Two gateways have it open while one takes over from the other, so neither writes an absolute sum:
//! each adds what it has counted, and is told the sum. A batch is one transaction, which is on the disk when it is confirmed;
//! if a process is killed, only what it has counted since its last batch is lost.

use std::{
    collections::HashMap,
    fs::File,
    io::Read,
    path::{Path, PathBuf},
    sync::{
        Arc,
        mpsc::{Receiver, SyncSender, sync_channel},
    },
    thread,
    time::Duration,
};

use jiff::{Span, civil::Date};
use rusqlite::{Connection, ErrorCode, OpenFlags, Statement, TransactionBehavior, params};
use tokio::sync::oneshot;

use crate::error::GatewayError;

/// How long another process may keep the database locked.
const PATIENCE: Duration = Duration::from_secs(5);
/// Identifies databases of this kind: "dvtq".
const APPLICATION: i32 = 0x6476_7471;
const VERSION: i32 = 1;
const EPOCH: Date = Date::constant(1970, 1, 1);

/// Rows by quota: user or class, period, and bytes.
pub(crate) type Stored = HashMap<String, Vec<(Arc<str>, Date, u64)>>;

/// An open file.
#[derive(Debug)]
pub(crate) struct Store {
    path: PathBuf,
    batches: SyncSender<(Batch, oneshot::Sender<Written>)>,
}

/// Sums by row, or why writing failed.
pub(super) type Written = Result<Vec<Sum>, String>;

/// A row's period and its sum in bytes.
pub(super) type Sum = (Date, u64);

/// An addition: quota, user or class, period, and bytes.
pub(super) type Row = (String, Arc<str>, Date, u64);

/// Changes to the file.
#[derive(Debug, Default)]
pub(super) struct Batch {
    /// Removed quotas.
    pub(super) gone: Vec<String>,
    /// Quotas and their current periods: rows of earlier periods are deleted, those of later ones move to this one.
    pub(super) periods: Vec<(String, Date)>,
    /// Users or classes to be deleted.
    pub(super) forgotten: Vec<(String, Arc<str>)>,
    /// Additions.
    pub(super) rows: Vec<Row>,
}

impl Batch {
    pub(super) fn is_empty(&self) -> bool {
        self.gone.is_empty() && self.periods.is_empty() && self.forgotten.is_empty() && self.rows.is_empty()
    }
}

impl Store {
    /// Opens or creates the file. Changes no rows: this gateway may yet fail to start, and another one go on.
    ///
    /// # Errors
    /// [`GatewayError::Store`] if it cannot be opened or read, or is damaged.
    pub(crate) fn open(path: &Path) -> Result<(Self, Stored), GatewayError> {
        let failed = |error| GatewayError::Store(path.display().to_string(), why(&error));
        let (database, stored) = open(path).map_err(failed)?;
        let (batches, waiting) = sync_channel(1);
        thread::Builder::new().name("quota-store".into()).spawn(move || write_all(database, &waiting))?;
        Ok((Self { path: path.to_owned(), batches }, stored))
    }

    /// Writes a batch and returns the sums of its rows.
    pub(super) async fn write(&self, batch: Batch) -> Written {
        let (confirm, written) = oneshot::channel();
        self.batches.try_send((batch, confirm)).map_err(|_| "it is still being written".to_owned())?;
        written.await.unwrap_or_else(|_| Err("its thread ended".into()))
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }
}

/// Checks whether the gateway could start with this file, which need not exist. Changes nothing, except that an incomplete
/// write of a killed process is rolled back, as it would be at the start.
///
/// # Errors
/// [`GatewayError::Store`] if it is damaged, or not a database of this kind.
pub(crate) fn check(path: &Path) -> Result<(), GatewayError> {
    let failed = |error: Unusable| GatewayError::Store(path.display().to_string(), why(&error));
    match path.try_exists() {
        Ok(true) if is_foreign(path) => Err(failed(Unusable::Foreign)),
        Ok(true) => {
            let database = Connection::open_with_flags(path, OpenFlags::SQLITE_OPEN_READ_WRITE)
                .map_err(|error| failed(error.into()))?;
            examine(&database).map_err(failed).map(drop)
        }
        Ok(false) if path.parent().is_some_and(|folder| !folder.as_os_str().is_empty() && !folder.is_dir()) => {
            Err(GatewayError::Store(path.display().to_string(), "its folder is not there".into()))
        }
        Ok(false) => Ok(()),
        Err(error) => Err(GatewayError::Store(path.display().to_string(), error.to_string())),
    }
}

/// Why a file cannot be used.
#[derive(Debug, thiserror::Error)]
enum Unusable {
    #[error("{0}")]
    Sqlite(#[from] rusqlite::Error),
    #[error("it is damaged: {0}")]
    Damaged(String),
    #[error("it is a database of something else: name another file in store.path")]
    Foreign,
    #[error("it was written by a later version of the gateway: run that version, or name another file in store.path")]
    Later,
}

/// What is wrong, and what to do.
fn why(error: &Unusable) -> String {
    let code = match error {
        Unusable::Sqlite(error) => error.sqlite_error_code(),
        Unusable::Damaged(_) => Some(ErrorCode::DatabaseCorrupt),
        Unusable::Foreign | Unusable::Later => None,
    };
    match code {
        Some(ErrorCode::NotADatabase | ErrorCode::DatabaseCorrupt) => {
            format!("{error}: put back a copy of it, or move it away and start again: then all quotas begin unused")
        }
        Some(ErrorCode::CannotOpen) => format!("{error}: is its folder there, and may the gateway write in it?"),
        _ => error.to_string(),
    }
}

/// Checks that it is an intact database of this kind, and returns whether it has its table.
fn examine(database: &Connection) -> Result<bool, Unusable> {
    database.busy_timeout(PATIENCE)?;
    let number = |pragma: &str| database.query_row(&format!("PRAGMA {pragma}"), [], |row| row.get::<_, i32>(0));
    let (application, version) = (number("application_id")?, number("user_version")?);
    let found: String = database.query_row("PRAGMA quick_check(1)", [], |row| row.get(0))?;
    if found != "ok" {
        return Err(Unusable::Damaged(found));
    }
    let tables: i32 = database.query_row("SELECT count(*) FROM sqlite_master", [], |row| row.get(0))?;
    match (application, version) {
        (0, 0) if tables == 0 => Ok(false),
        (APPLICATION, VERSION) => match database.prepare(ALL).map(drop) {
            Err(rusqlite::Error::SqlInputError { msg, .. }) => Err(Unusable::Damaged(msg)),
            Err(error) if error.sqlite_error_code() == Some(ErrorCode::Unknown) => {
                Err(Unusable::Damaged(error.to_string()))
            }
            prepared => Ok(prepared.map(|()| true)?),
        },
        (APPLICATION, later) if later > VERSION => Err(Unusable::Later),
        _ => Err(Unusable::Foreign),
    }
}

/// Whether a file is another program's database, by its header (SQLite's file format, section 1.3). SQLite must not open it: it
/// would undo writes that are incomplete, or take over pages from its log.
fn is_foreign(path: &Path) -> bool {
    let mut header = [0; 100];
    let is_file = path.metadata().is_ok_and(|about| about.is_file());
    if !is_file || File::open(path).and_then(|mut file| file.read_exact(&mut header)).is_err() {
        return false;
    }
    let number = |at: usize| i32::from_be_bytes([header[at], header[at + 1], header[at + 2], header[at + 3]]);
    let [changes, version, application] = [40, 60, 68].map(number);
    let has_log = header[18] == 2;
    let is_used = has_log || [changes, version, application] != [0; 3];
    header.starts_with(b"SQLite format 3\0") && application != APPLICATION && is_used
}

fn open(path: &Path) -> Result<(Connection, Stored), Unusable> {
    if is_foreign(path) {
        return Err(Unusable::Foreign);
    }
    let database = Connection::open(path)?;
    if !examine(&database)? {
        database.execute_batch(&format!(
            "BEGIN IMMEDIATE; PRAGMA application_id = {APPLICATION}; PRAGMA user_version = {VERSION};
             CREATE TABLE IF NOT EXISTS used (quota TEXT, who TEXT, period INTEGER NOT NULL, bytes INTEGER NOT NULL,
             PRIMARY KEY (quota, who)) WITHOUT ROWID; COMMIT"
        ))?;
    }
    // What is confirmed must survive a power cut.
    database.pragma_update(None, "synchronous", "FULL")?;
    let mut stored = Stored::new();
    {
        let mut rows = database.prepare(ALL)?;
        let mut rows = rows.query([])?;
        while let Some(row) = rows.next()? {
            let (quota, who): (String, String) = (row.get(0)?, row.get(1)?);
            let (period, bytes): (i64, i64) = (row.get(2)?, row.get(3)?);
            let of_quota = stored.entry(quota).or_default();
            of_quota.push((who.into(), date(period), bytes.unsigned_abs()));
        }
    }
    Ok((database, stored))
}

fn write_all(mut database: Connection, waiting: &Receiver<(Batch, oneshot::Sender<Written>)>) {
    while let Ok((batch, confirm)) = waiting.recv() {
        // The gateway may have ended meanwhile.
        drop(confirm.send(write(&mut database, &batch).map_err(|error| error.to_string())));
    }
}

fn write(database: &mut Connection, batch: &Batch) -> rusqlite::Result<Vec<Sum>> {
    let transaction = database.transaction_with_behavior(TransactionBehavior::Immediate)?;
    for quota in &batch.gone {
        transaction.execute("DELETE FROM used WHERE quota = ?1", params![quota])?;
    }
    for (quota, period) in &batch.periods {
        let period = days(*period);
        transaction.execute("DELETE FROM used WHERE quota = ?1 AND period < ?2", params![quota, period])?;
        transaction.execute("UPDATE used SET period = ?2 WHERE quota = ?1 AND period > ?2", params![quota, period])?;
    }
    let sums = {
        let mut forget = transaction.prepare("DELETE FROM used WHERE quota = ?1 AND who = ?2")?;
        for (quota, who) in &batch.forgotten {
            forget.execute(params![quota, who])?;
        }
        let mut add = transaction.prepare(ADD)?;
        batch.rows.iter().map(|row| add_row(&mut add, row)).collect::<Result<_, _>>()?
    };
    transaction.commit()?;
    Ok(sums)
}

/// All rows.
const ALL: &str = "SELECT quota, who, period, bytes FROM used";

/// Adds to a row. An addition for an earlier period than the row's is too late to count.
const ADD: &str = "INSERT INTO used VALUES (?1, ?2, ?3, ?4) ON CONFLICT DO UPDATE SET
    bytes = CASE WHEN excluded.period > period THEN excluded.bytes
                 WHEN excluded.period = period THEN bytes + excluded.bytes ELSE bytes END,
    period = max(period, excluded.period) RETURNING period, bytes";

fn add_row(add: &mut Statement<'_>, (quota, who, period, bytes): &Row) -> rusqlite::Result<Sum> {
    let bytes = i64::try_from(*bytes).unwrap_or(i64::MAX);
    let (period, bytes): (i64, i64) =
        add.query_row(params![quota, who, days(*period), bytes], |row| Ok((row.get(0)?, row.get(1)?)))?;
    Ok((date(period), bytes.unsigned_abs()))
}

/// A period in the file: the day on which it begins, in days since 1970.
fn days(period: Date) -> i64 {
    i64::from(EPOCH.until(period).map_or(0, |span| span.get_days()))
}

fn date(days: i64) -> Date {
    Span::new().try_days(days).map_or(EPOCH, |days| EPOCH.saturating_add(days))
}

#[cfg(test)]
mod tests {
    use std::{env, fs, process};

    use super::*;

    const TODAY: Date = Date::constant(2026, 11, 24);
    const TOMORROW: Date = Date::constant(2026, 11, 25);

    /// A path without a file, which is removed at the end.
    struct File(PathBuf);

    impl File {
        fn new(name: &str) -> Self {
            let path = env::temp_dir().join(format!("dovetail-store-{name}-{}.db", process::id()));
            drop(fs::remove_file(&path));
            Self(path)
        }

        fn open(&self) -> Connection {
            open(&self.0).expect("a store").0
        }

        fn stored(&self) -> Vec<(String, Date, u64)> {
            let (_, mut stored) = open(&self.0).expect("a store");
            let rows = stored.remove("q").unwrap_or_default();
            let mut rows: Vec<_> =
                rows.into_iter().map(|(who, period, bytes)| (who.to_string(), period, bytes)).collect();
            rows.sort();
            rows
        }
    }

    impl Drop for File {
        fn drop(&mut self) {
            drop(fs::remove_file(&self.0));
        }
    }

    fn adds(rows: &[(&str, Date, u64)]) -> Batch {
        let row = |&(who, period, bytes): &(&str, Date, u64)| ("q".to_owned(), Arc::from(who), period, bytes);
        Batch { rows: rows.iter().map(row).collect(), ..Batch::default() }
    }

    #[test]
    fn two_that_count_at_once_are_told_the_sum() {
        let file = File::new("two");
        let (mut one, mut other) = (file.open(), file.open());
        let mut add = |bytes, of: usize| {
            let database = if of == 0 { &mut one } else { &mut other };
            write(database, &adds(&[("ann", TODAY, bytes)])).expect("it is written")
        };
        assert_eq!(add(100, 0), [(TODAY, 100)]);
        assert_eq!(add(30, 1), [(TODAY, 130)]);
        assert_eq!(add(5, 0), [(TODAY, 135)]);
        assert_eq!(file.stored(), [("ann".into(), TODAY, 135)]);
    }

    #[test]
    fn a_later_period_counts_alone_and_an_earlier_one_no_more() {
        let file = File::new("periods");
        let mut database = file.open();
        let mut add = |rows: &[(&str, Date, u64)]| write(&mut database, &adds(rows)).expect("it is written");
        add(&[("ann", TODAY, 100), ("bob", TODAY, 7)]);
        assert_eq!(add(&[("ann", TOMORROW, 3)]), [(TOMORROW, 3)]);
        assert_eq!(add(&[("ann", TODAY, 50)]), [(TOMORROW, 3)], "it came too late");
        let turn = Batch { periods: vec![("q".into(), TOMORROW)], ..Batch::default() };
        write(&mut database, &turn).expect("it is written");
        assert_eq!(file.stored(), [("ann".into(), TOMORROW, 3)]);
        // A clock that was ahead.
        let back = Batch { periods: vec![("q".into(), TODAY)], ..Batch::default() };
        write(&mut database, &back).expect("it is written");
        assert_eq!(file.stored(), [("ann".into(), TODAY, 3)]);
    }

    #[test]
    fn who_is_forgotten_and_what_is_gone_leave_nothing() {
        let file = File::new("forgotten");
        let mut database = file.open();
        write(&mut database, &adds(&[("ann", TODAY, 1), ("bob", TODAY, 2)])).expect("it is written");
        let forget = Batch { forgotten: vec![("q".into(), "ann".into())], ..adds(&[("cid", TODAY, 3)]) };
        write(&mut database, &forget).expect("it is written");
        assert_eq!(file.stored(), [("bob".into(), TODAY, 2), ("cid".into(), TODAY, 3)]);
        let gone = Batch { gone: vec!["q".into()], ..Batch::default() };
        write(&mut database, &gone).expect("it is written");
        assert!(file.stored().is_empty());
    }

    #[test]
    fn a_start_that_fails_later_takes_nothing_from_the_gateway_that_runs() {
        let file = File::new("failed");
        let mut running = file.open();
        write(&mut running, &adds(&[("ann", TODAY, 100)])).expect("it is written");
        drop(Store::open(&file.0).expect("a store"));
        assert_eq!(write(&mut running, &adds(&[("ann", TODAY, 5)])), Ok(vec![(TODAY, 105)]));
    }

    #[test]
    fn what_is_no_store_is_not_touched_and_it_is_said_what_to_do() {
        let said = |file: &File| {
            let (opened, checked) =
                (Store::open(&file.0).expect_err("no store"), check(&file.0).expect_err("no store"));
            assert_eq!(opened.to_string(), checked.to_string());
            opened.to_string()
        };
        let file = File::new("text");
        fs::write(&file.0, "no database at all, but long enough to be taken for one: ".repeat(40)).expect("a file");
        assert!(said(&file).contains("move it away and start again"), "{}", said(&file));
        assert!(fs::read_to_string(&file.0).expect("text").starts_with("no database"));

        let file = File::new("foreign");
        Connection::open(&file.0).expect("a database").execute_batch("CREATE TABLE other (a)").expect("a table");
        assert!(said(&file).ends_with("something else: name another file in store.path"), "{}", said(&file));

        let file = File::new("later");
        drop(file.open());
        Connection::open(&file.0).expect("it").execute_batch("PRAGMA user_version = 9").expect("set");
        assert!(said(&file).ends_with("run that version, or name another file in store.path"), "{}", said(&file));

        let file = File::new("damaged");
        let many: Vec<_> = (0..5_000).map(|who| format!("address 10.0.0.{who}")).collect();
        let rows: Vec<_> = many.iter().map(|who| (&**who, TODAY, 1)).collect();
        write(&mut file.open(), &adds(&rows)).expect("it is written");
        let mut bytes = fs::read(&file.0).expect("bytes");
        let middle = bytes.len() / 2;
        bytes[middle..middle + 8_192].fill(0xa5);
        fs::write(&file.0, bytes).expect("written");
        assert!(said(&file).contains("move it away and start again"), "{}", said(&file));
        let missing = Store::open(Path::new("/nowhere/at/all.db")).expect_err("no folder").to_string();
        assert!(missing.contains("is its folder there"), "{missing}");
    }

    #[test]
    fn a_store_without_its_table_is_damaged() {
        for change in ["DROP TABLE used", "ALTER TABLE used DROP COLUMN bytes"] {
            let file = File::new("table");
            file.open().execute_batch(change).expect("changed");
            let before = fs::read(&file.0).expect("bytes");
            for said in
                [Store::open(&file.0).map(drop), check(&file.0)].map(|done| done.expect_err("no store").to_string())
            {
                assert!(
                    said.contains("it is damaged: no such") && said.contains("move it away and start again"),
                    "{said}"
                );
            }
            assert!(fs::read(&file.0).expect("bytes") == before);
        }
    }

    #[test]
    fn what_another_program_left_half_written_stays_as_it_is() {
        let rows = "CREATE TABLE other (a); INSERT INTO other SELECT value FROM json_each('[1,2,3,4,5,6,7,8,9]')";
        let half = "PRAGMA cache_size = 1; BEGIN; UPDATE other SET a = zeroblob(9000)";
        for (mode, what, end) in [("wal", "", "wal"), ("delete", half, "journal")] {
            let (file, copy) = (File::new("theirs"), File::new("copy-of-theirs"));
            let database = Connection::open(&file.0).expect("a database");
            database.pragma_update(None, "journal_mode", mode).expect("a mode");
            database.execute_batch(&format!("{rows}; {what}")).expect("begun");
            let [with, copied] = [&file, &copy].map(|of| PathBuf::from(format!("{}-{end}", of.0.display())));
            fs::copy(&file.0, &copy.0).expect("copied");
            fs::copy(&with, &copied).expect("copied");
            drop(database);
            let now = || (fs::read(&copy.0).expect("bytes"), fs::read(&copied).expect("bytes"));
            let before = now();
            for said in [Store::open(&copy.0).map(drop), check(&copy.0)] {
                let said = said.expect_err("no store").to_string();
                assert!(said.ends_with("something else: name another file in store.path"), "{said}");
            }
            assert!(now() == before, "{mode}");
            fs::remove_file(copied).expect("it is there");
        }
    }

    #[test]
    fn what_a_killed_process_left_half_written_is_undone_at_the_check_and_at_the_start() {
        let (file, copy) = (File::new("half"), File::new("copy"));
        let many: Vec<_> = (0..5_000).map(|who| format!("address 10.0.0.{who}")).collect();
        let rows: Vec<_> = many.iter().map(|who| (&**who, TODAY, 1)).collect();
        let mut database = file.open();
        write(&mut database, &adds(&rows)).expect("it is written");
        // In the middle of a transaction that is partly in the file.
        database.execute_batch("PRAGMA cache_size = 5; BEGIN IMMEDIATE; UPDATE used SET bytes = 7").expect("begun");
        let journal = |file: &File| PathBuf::from(format!("{}-journal", file.0.display()));
        fs::copy(&file.0, &copy.0).expect("copied");
        fs::copy(journal(&file), journal(&copy)).expect("copied");
        drop(database);
        assert!(fs::read(&copy.0).expect("bytes") != fs::read(&file.0).expect("bytes"), "nothing was written");
        check(&copy.0).expect("it is sound");
        let stored = copy.stored();
        assert!(stored.len() == 5_000 && stored.iter().all(|&(_, _, bytes)| bytes == 1));
    }

    #[tokio::test]
    async fn a_file_that_cannot_be_written_is_said_and_tried_again() {
        let file = File::new("busy");
        let (store, _) = Store::open(&file.0).expect("a store");
        // Another process's lock has the same effect as a full disk: nothing is written.
        let other = Connection::open(&file.0).expect("it");
        other.execute_batch("BEGIN EXCLUSIVE").expect("a lock");
        let failed = store.write(adds(&[("ann", TODAY, 5)])).await;
        assert!(failed.is_err_and(|why| why.contains("locked")));
        other.execute_batch("COMMIT").expect("no lock");
        assert_eq!(store.write(adds(&[("ann", TODAY, 5)])).await, Ok(vec![(TODAY, 5)]));
    }
}
