//! Attempts to have a request answered: a first one once the policy has released it, and possibly another.

use std::{ops::ControlFlow, rc::Rc, sync::Arc};

use http::{Request, request::Parts};
use hyper::body::{Body, Incoming};

use super::{
    answer::Fetched,
    ask::{Unanswered, ask, clone, reason},
    connect::{Connected, Exchanges},
    request::Exchange,
};
use crate::{
    message,
    place::Place,
    refusal::Refusal,
    servers::{Servers, Ways},
    state::Link,
    upload::Upload,
    upstream::Idle,
    watch::Phase,
    ways::Way,
};

/// One attempt to have it answered.
pub(super) struct Attempt {
    pub(super) ticket: Place,
    pub(super) head: Parts,
    pub(super) upload: Option<Upload>,
    // An idle connection to reuse.
    pub(super) kept: Option<Connected>,
}

impl Exchange<'_> {
    /// Waits until the policy releases the request, and takes an idle connection for it, if there is one.
    pub(super) async fn released(&self, ways: &mut Ways) -> Result<(Place, Option<Connected>), Refusal> {
        let Exchanges { servers, link, keeps, .. } = self.exchanges;
        let way = ways.front().map_or(Way::Direct, |(way, _)| way.clone());
        // A request that may become a tunnel gets a connection of its own.
        let idle =
            if self.is_upgrade { None } else { keeps.pool.take(&Servers::server(&way, self.wanted), self.client) };
        let idle = idle.filter(|idle| way.parent().is_some() || servers.may_reach(idle.server));
        // Names are resolved before the request is queued: one that does not resolve takes no turn.
        if idle.is_none() && way.parent().is_none() {
            let addresses = servers.addresses(self.wanted).await?;
            if let Some(first) = ways.front_mut() {
                first.1 = addresses;
            }
        }
        let record = self.record;
        let server = match &idle {
            Some(idle) => idle.server,
            None => ways.front().and_then(|(_, addresses)| addresses.first().copied()),
        };
        let distance = servers.distance(server, idle.is_some());
        let ticket = link.arrive((&record.who, &record.party), record.scheduled(), &self.wanted.host, distance)?;
        ticket.record_into(&record.spending);
        ticket.released().await;
        record.queue.set(Link::waited(&ticket));
        match record.account.refusal() {
            Some(refusal) => Err(refusal),
            None => Ok((ticket, idle.map(|connection| Connected { connection, way, left: None }))),
        }
    }

    pub(super) fn upload(&self, body: Incoming) -> Option<Upload> {
        if body.is_end_stream() {
            return None;
        }
        let lane = self.record.lane(self.exchanges.link.uplink(), None);
        let watched = (Rc::clone(self.progress), Rc::clone(&self.record.account));
        Some(Upload::of(body, lane, watched, self.go.clone()))
    }

    /// Makes an attempt, and prepares the next one if it failed and may be repeated.
    pub(super) async fn attempt(
        &self,
        ways: &mut Ways,
        attempt: Attempt,
    ) -> Result<ControlFlow<Fetched, Attempt>, Refusal> {
        let Self { exchanges, wanted, record, progress, .. } = *self;
        let Attempt { ticket, mut head, upload, kept } = attempt;
        let is_repeatable = upload.is_none() && head.method.is_idempotent();
        let kept = match kept {
            // Left to a request that may be repeated.
            Some(Connected { connection, way, .. }) if !is_repeatable && !connection.is_recent() => {
                exchanges.keeps.keep(Servers::server(&way, wanted), connection);
                None
            }
            kept => kept,
        };
        let is_reused = kept.is_some();
        let mut connected = match kept {
            Some(kept) => kept,
            None => exchanges.connect(ways, wanted, ticket.window(), self.is_upgrade).await?,
        };
        let parent = connected.way.parent();
        *record.parent.borrow_mut() = parent.map(|parent| Arc::clone(&parent.name));
        message::address(&mut head, parent.map(|parent| &**parent))?;
        exchanges.servers.goes_out(is_reused);
        let connection = &mut connected.connection;
        record.server.set(connection.server);
        // hyper keeps the message only if it has not begun to write it.
        let copy = (is_reused && is_repeatable).then(|| clone(&head));
        if let Some(distance) = exchanges.servers.distance(connection.server, true) {
            ticket.distance(distance.into());
        }
        connection.gate.begin(ticket, Rc::clone(progress), Rc::clone(&record.account));
        if upload.is_some()
            && let Some(learning) = exchanges.link.uplink().learning()
        {
            connection.gate.uploads(learning);
        }
        progress.waits_for(Phase::Answer);
        let mut request = Request::from_parts(head, upload.unwrap_or(Upload::none()));
        self.listening.to(&mut request, self.go.clone());
        match ask(connection, request, progress).await {
            Ok(response) => self.answered(response, connected).await.map(ControlFlow::Break),
            Err(Unanswered::Stopped) => {
                drop(connection.gate.finish());
                Err(self.stopped())
            }
            Err(Unanswered::Failed { error, message }) => {
                let unsent = message.map(|message| message.into_parts()).or(copy.map(|head| (head, Upload::none())));
                self.failed(&error, connection, unsent.filter(|_| is_reused)).map(ControlFlow::Continue)
            }
        }
    }

    /// Why a request was aborted before its answer.
    fn stopped(&self) -> Refusal {
        self.record.account.refusal().unwrap_or_else(|| {
            if self.progress.awaits_client() {
                Refusal::BodyTimeout
            } else {
                Refusal::ResponseTimeout(Arc::clone(&self.wanted.host))
            }
        })
    }

    /// Another attempt after one that failed. A server may close an idle connection at any time, so a request that failed on
    /// one was not processed if nothing of an answer has arrived, and can be sent again.
    fn failed(
        &self,
        error: &hyper::Error,
        connection: &Idle,
        unsent: Option<(Parts, Upload)>,
    ) -> Result<Attempt, Refusal> {
        let received = connection.gate.received();
        let Some(ticket) = connection.gate.finish() else {
            return Err(Refusal::Internal("a ticket was lost".into()));
        };
        if self.progress.is_upload_broken() {
            ticket.end();
            // The source is the error of the client's connection.
            return Err(Refusal::Body(std::error::Error::source(error).map_or_else(String::new, reason)));
        }
        let Some((head, body)) = unsent.filter(|_| received == 0) else {
            ticket.end();
            return Err(Refusal::BrokeOff { host: Arc::clone(&self.wanted.host), why: reason(error) });
        };
        self.exchanges.servers.retries();
        Ok(Attempt { ticket, head, upload: Some(body).filter(|body| !body.is_end_stream()), kept: None })
    }
}
