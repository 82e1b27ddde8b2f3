//! Records a request when it ends: counters, and a line in the log.

use std::{
    cell::{Cell, RefCell},
    net::IpAddr,
    rc::Rc,
    sync::Arc,
    time::{Duration, Instant, SystemTime},
};

use dovetail_sched::request::ClassId;
use dovetail_tower::dispatcher::Spending;
use http::Method;

use crate::{
    counters::{ClassCounters, add},
    log::Line,
    quota::Account,
    spent::SpentSeconds,
    state::Notes,
    uplink::{Lane, Uplink},
    who::Who,
};

/// A request's record. Counted and logged when dropped.
#[derive(Debug)]
pub(crate) struct Record {
    notes: Rc<Notes>,
    began: Instant,
    arrived: SystemTime,
    pub(crate) who: Who,
    /// The user as known to schedulers: distinct if the class was chosen by the request's destination.
    pub(crate) party: Who,
    pub(crate) client: IpAddr,
    pub(crate) class: ClassId,
    counters: Rc<ClassCounters>,
    pub(crate) account: Rc<Account>,
    pub(crate) method: Method,
    pub(crate) target: String,
    /// The status sent to the client, or 0.
    pub(crate) status: Cell<u16>,
    /// Bytes sent to the client.
    pub(crate) sent: Cell<u64>,
    /// Bytes of the request's body, or sent up the tunnel.
    pub(crate) uploaded: Rc<Cell<u64>>,
    pub(crate) server: Cell<Option<IpAddr>>,
    /// The parent proxy that forwarded it.
    pub(crate) parent: RefCell<Option<Arc<str>>>,
    /// How long it was queued for release.
    pub(crate) queue: Cell<Duration>,
    /// What its time was spent on since it was queued, available once its ticket has ended.
    pub(crate) spending: Arc<Spending>,
    /// Whether it was completed.
    pub(crate) is_whole: Cell<bool>,
    /// Whether the client was sent a refusal.
    pub(crate) is_refused: Cell<bool>,
    /// Whether it became a tunnel, whatever its method.
    pub(crate) is_tunnel: Cell<bool>,
}

impl Record {
    pub(crate) fn new(
        notes: Rc<Notes>,
        (account, client): (Rc<Account>, IpAddr),
        method: Method,
        target: String,
    ) -> Self {
        let is_tunnel = Cell::new(method == Method::CONNECT);
        Self {
            counters: notes.of_class(account.own_class()),
            notes,
            began: Instant::now(),
            arrived: SystemTime::now(),
            party: account.who().clone(),
            who: account.who().clone(),
            client,
            class: account.own_class(),
            account,
            method,
            target,
            status: Cell::new(0),
            sent: Cell::new(0),
            uploaded: Rc::default(),
            server: Cell::new(None),
            parent: RefCell::default(),
            queue: Cell::default(),
            spending: Arc::default(),
            is_whole: Cell::new(false),
            is_refused: Cell::new(false),
            is_tunnel,
        }
    }

    /// Sets its class, because its destination has one.
    pub(crate) fn goes_to(&mut self, class: ClassId) {
        self.party = self.who.towards(class);
        self.class = class;
        self.counters = self.notes.of_class(class);
    }

    /// Its current class: that of its destination, or the user's, who may be beyond a quota.
    pub(crate) fn scheduled(&self) -> ClassId {
        match self.party {
            Who::Towards(_, class) => class,
            _ => self.account.class(),
        }
    }

    /// An uplink lane for this many bytes, or for a body of unknown length.
    pub(crate) fn lane(&self, uplink: &Rc<Uplink>, bytes: Option<usize>) -> Lane {
        uplink.lane((&self.party, self.scheduled()), &self.uploaded, bytes)
    }
}

impl Drop for Record {
    fn drop(&mut self) {
        let took = self.began.elapsed();
        let counters = &self.counters;
        let place = usize::from(self.status.get() / 100).min(5);
        add(&counters.by_status[place], 1);
        add(&counters.sent_bytes, self.sent.get());
        counters.queue.note(self.queue.get());
        if self.is_tunnel.get() {
            add(&counters.tunnels, 1);
        } else if self.is_whole.get() {
            counters.latency.note(took);
        }
        if let Some(log) = self.notes.log() {
            let config = self.notes.config();
            let parent = self.parent.borrow();
            let line = Line {
                ended: self.arrived + took,
                took,
                queue: self.queue.get(),
                spent: SpentSeconds::of(&self.spending.sum()),
                client: self.client,
                who: &self.who,
                class: config.classes.get(self.class.0 as usize).map_or("", |class| &class.name),
                status: self.status.get(),
                is_whole: self.is_whole.get(),
                is_refused: self.is_refused.get(),
                is_tunnel: self.is_tunnel.get(),
                sent_bytes: self.sent.get(),
                uploaded_bytes: self.uploaded.get(),
                method: self.method.as_str(),
                target: &self.target,
                server: self.server.get(),
                parent: parent.as_deref(),
            };
            log.write(&line);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        config::Config,
        quota::Quotas,
        state::{Link, Settings},
    };

    const TEXT: &str = "[downlink]\nrate = \"2Mbps\"\n[access]\nclients = \"10.0.0.0/8\"\n\
                        [[class]]\nname = \"office\"\nclients = \"10.1.0.0/16\"\n";

    #[test]
    fn what_is_over_is_counted_in_its_class_by_what_its_client_was_told() {
        let settings = Rc::new(Settings::new(Config::parse(TEXT).expect("a configuration")));
        let link = Rc::new(Link::new(Rc::clone(&settings)).expect("a link"));
        let quotas = Rc::new(Quotas::new(&settings, &link, None));
        let notes = Rc::new(Notes::new(settings, None));
        let client = IpAddr::from([10, 1, 0, 1]);
        let record = |class, method| {
            let account = quotas.account(&Who::Address(client), ClassId(class));
            Record::new(Rc::clone(&notes), (account, client), method, "http://a.example/".into())
        };
        let (answered, tunnel, cancelled) =
            (record(0, Method::GET), record(0, Method::CONNECT), record(1, Method::GET));
        answered.status.set(404);
        answered.sent.set(700);
        answered.is_whole.set(true);
        tunnel.status.set(200);
        tunnel.sent.set(3_000);
        tunnel.is_whole.set(true);
        drop((answered, tunnel, cancelled, record(9, Method::GET)));
        let classes = notes.classes();
        let counts = |class: usize| {
            let counters = &classes[class];
            let by_status = counters.by_status.each_ref().map(Cell::get);
            (by_status, counters.tunnels.get(), counters.sent_bytes.get(), counters.latency.count())
        };
        assert_eq!(counts(0), ([0, 0, 1, 0, 1, 0], 1, 3_700, 1), "a tunnel's length is no latency");
        assert_eq!(counts(1), ([1, 0, 0, 0, 0, 0], 0, 0, 0));
    }
}
