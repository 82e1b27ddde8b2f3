//! What is noted of a request when it is over: counters, and a line in the log.

use std::{
    cell::Cell,
    net::IpAddr,
    rc::Rc,
    time::{Duration, Instant, SystemTime},
};

use dovetail_sched::request::ClassId;
use http::Method;

use crate::{counters::add, gateway::Gateway, log::Line, who::Who};

/// Notes of a request. Counted and logged when dropped.
#[derive(Debug)]
pub(crate) struct Record {
    gateway: Rc<Gateway>,
    began: Instant,
    arrived: SystemTime,
    pub(crate) who: Who,
    pub(crate) client: IpAddr,
    pub(crate) class: ClassId,
    pub(crate) method: Method,
    pub(crate) target: String,
    /// The status that the client was told, or 0.
    pub(crate) status: Cell<u16>,
    /// Bytes that went to the client.
    pub(crate) sent: Cell<u64>,
    /// Bytes of the request's body, or up the tunnel.
    pub(crate) uploaded: Rc<Cell<u64>>,
    pub(crate) server: Cell<Option<IpAddr>>,
    /// How long it waited for its release.
    pub(crate) queue: Cell<Duration>,
    /// Whether it ended as it should.
    pub(crate) is_whole: Cell<bool>,
}

impl Record {
    pub(crate) fn new(
        gateway: Rc<Gateway>,
        (who, client, class): (Who, IpAddr, ClassId),
        method: Method,
        target: String,
    ) -> Self {
        Self {
            gateway,
            began: Instant::now(),
            arrived: SystemTime::now(),
            who,
            client,
            class,
            method,
            target,
            status: Cell::new(0),
            sent: Cell::new(0),
            uploaded: Rc::default(),
            server: Cell::new(None),
            queue: Cell::default(),
            is_whole: Cell::new(false),
        }
    }
}

impl Record {
    pub(crate) const fn gateway(&self) -> &Rc<Gateway> {
        &self.gateway
    }
}

impl Drop for Record {
    fn drop(&mut self) {
        let took = self.began.elapsed();
        self.gateway.of_class(self.class, |counters| {
            let place = usize::from(self.status.get() / 100).min(5);
            add(&counters.by_status[place], 1);
            add(&counters.sent_bytes, self.sent.get());
            counters.queue.note(self.queue.get());
            if self.method == Method::CONNECT {
                add(&counters.tunnels, 1);
            } else if self.is_whole.get() {
                counters.latency.note(took);
            }
        });
        if let Some(log) = self.gateway.log() {
            let config = self.gateway.config();
            let line = Line {
                ended: self.arrived + took,
                took,
                queue: self.queue.get(),
                client: self.client,
                who: &self.who,
                class: config.classes.get(self.class.0 as usize).map_or("", |class| &class.name),
                status: self.status.get(),
                is_whole: self.is_whole.get(),
                sent_bytes: self.sent.get(),
                uploaded_bytes: self.uploaded.get(),
                method: self.method.as_str(),
                target: &self.target,
                server: self.server.get(),
            };
            log.write(&line);
        }
    }
}
