//! Answers a client's request, after all checks that may refuse it.

use std::{rc::Rc, sync::Arc};

use http::{HeaderValue, Method, Request, Response, StatusCode, Version, header};
use http_body_util::Full;
use hyper::body::{Body, Incoming};
use tracing::debug;

use super::{Client, Serving};
use crate::{
    backpressure::{Flow, Share},
    client::Busy,
    exchange::Fetched,
    headers::max_forwards,
    language::Language,
    own_request::{Addressed, addressed},
    pages::{self, Visit},
    per_user::Of,
    permitted::{acceptable, in_hours, is_new, permitted},
    record::Record,
    refusal::Refusal,
    relay::Relay,
    upgrade, userinfo,
    wanted::{Asked, Met, Wanted, is_sound},
    watch::Phase,
};

impl Client {
    pub(super) async fn answer(&self, mut request: Request<Incoming>) -> Response<Relay> {
        let busy = self.activity.begin();
        userinfo::to_header(&mut request);
        if let Err(refusal) = acceptable(&self.serving.settings.config(), &request, self.address) {
            return self.turn_away(&request, &refusal, busy);
        }
        if let Asked::Proxy(met) = self.asked
            && let Some(how) = addressed(&self.serving.settings.config(), &request, met)
        {
            return self.page(request, (how, met), busy).await;
        }
        let (who, class, denied) = match self.serving.identities.who(self.address, request.headers()).await {
            Ok((who, class)) => (who, class, None),
            Err(refusal) => {
                let (who, class) = self.serving.identities.by_address(self.address);
                (who, class, Some(refusal))
            }
        };
        let target = target(&request);
        let who = (self.serving.quotas.account(&who, class), self.address);
        let mut record = Record::new(Rc::clone(&self.serving.notes), who, request.method().clone(), target);
        let admitted = match denied {
            Some(refusal) => Err(refusal),
            None => self.admit(&request, &mut record).await,
        };
        match admitted {
            Ok((wanted, user)) if wanted.is_tunnel => self.tunnel(request, &wanted, user, record, busy).await,
            Ok(_) if max_forwards(request.method(), request.headers()) == Some(0) => {
                self.options(&request, record, busy)
            }
            Ok((wanted, user)) => self.exchange(request, wanted, user, record, busy).await,
            Err(refusal) => self.refuse_tunnel(&request, &refusal, record, busy),
        }
    }

    /// Refuses a request before its user is worked out.
    fn turn_away(&self, request: &Request<Incoming>, refusal: &Refusal, busy: Busy) -> Response<Relay> {
        if matches!(refusal, Refusal::NotAClient(_)) {
            self.leaves.notify_one();
        }
        let Serving { identities, notes, quotas, .. } = &*self.serving;
        let (who, class) = identities.by_address(self.address);
        let who = (quotas.account(&who, class), self.address);
        let record = Record::new(Rc::clone(notes), who, request.method().clone(), target(request));
        self.refuse(refusal, Language::of(request.headers()), record, self.flow(None, busy))
    }

    /// Answers OPTIONS that may go no further (RFC 9110, section 7.6.2).
    fn options(&self, request: &Request<Incoming>, record: Record, busy: Busy) -> Response<Relay> {
        if !request.body().is_end_stream() {
            // Its body will not be read.
            self.activity.linger();
        }
        record.status.set(StatusCode::OK.as_u16());
        record.is_whole.set(true);
        let flow = self.flow(None, busy);
        flow.progress().waits_for(Phase::Transfer);
        Response::new(Relay::page(Full::default(), record, flow))
    }

    /// What a request wants, and its user's share of the link: while this is held, the request counts as the user's.
    async fn admit(
        &self,
        request: &Request<Incoming>,
        record: &mut Record,
    ) -> Result<(Wanted, Rc<Of<Share>>), Refusal> {
        let Serving { settings, towards, users, .. } = &*self.serving;
        let wanted = permitted(&settings.config(), request, self.asked)?;
        if let Some(refusal) = record.account.refusal() {
            if !wanted.is_tunnel && !request.body().is_end_stream() {
                self.activity.linger();
            }
            return Err(refusal);
        }
        let said = host_said(request).filter(|_| matches!(self.asked, Asked::Intercepted(_)));
        if let Some(class) = towards.class(&wanted, said.as_deref()).await {
            record.goes_to(class);
        }
        let config = settings.config();
        if let Some(class) = config.classes.get(record.class.0 as usize) {
            in_hours(class, || settings.now())?;
        }
        let user = users.of(&record.who, Share::default);
        let most = config.limits.requests_per_user;
        // This request included.
        if Rc::strong_count(&user) > most {
            return Err(Refusal::TooManyRequests(most));
        }
        Ok((wanted, user))
    }

    async fn tunnel(
        &self,
        request: Request<Incoming>,
        wanted: &Wanted,
        user: Rc<Of<Share>>,
        record: Record,
        busy: Busy,
    ) -> Response<Relay> {
        let tunnels = &self.serving.tunnels;
        let opened = tunnels.open(wanted, &record, (request.headers(), request.version())).await;
        // An open tunnel counts as a connection, no longer as a request.
        drop(user);
        match opened {
            Ok(upstream) => {
                record.status.set(StatusCode::OK.as_u16());
                tunnels.begin(request, upstream, wanted, record, (busy, Rc::clone(&self.seat)))
            }
            Err(refusal) => self.refuse_tunnel(&request, &refusal, record, busy),
        }
    }

    async fn exchange(
        &self,
        mut request: Request<Incoming>,
        wanted: Wanted,
        user: Rc<Of<Share>>,
        record: Record,
        busy: Busy,
    ) -> Response<Relay> {
        let flow = self.flow(Some(user), busy);
        let has_body = !request.body().is_end_stream();
        let language = Language::of(request.headers());
        let upgrade = upgrade::is_asked(&request).then(|| hyper::upgrade::on(&mut request));
        match self.serving.exchanges.fetch(request, &wanted, &record, &flow, &self.activity).await {
            Ok(Fetched::Answer(answer)) => answer.relay(record, flow),
            Ok(Fetched::Switched(response, switched)) => {
                let Some(client) = upgrade else {
                    let refusal = Refusal::Internal("nothing was to be switched".into());
                    return self.refuse(&refusal, language, record, flow);
                };
                record.status.set(StatusCode::SWITCHING_PROTOCOLS.as_u16());
                record.is_tunnel.set(true);
                let guards = (self.activity.begin(), Rc::clone(&self.seat));
                self.serving.tunnels.switch((client, response), switched, (record, wanted.host), guards)
            }
            Err(refusal) => {
                if has_body {
                    self.activity.linger();
                }
                self.refuse(&refusal, language, record, flow)
            }
        }
    }

    /// Answers with a page of the gateway's own.
    async fn page(&self, request: Request<Incoming>, (how, met): (Addressed, Met), busy: Busy) -> Response<Relay> {
        let Serving { identities, notes, settings, quotas, .. } = &*self.serving;
        let by_address = || identities.by_address(self.address);
        let known = if pages::is_for_all(&request) {
            Ok(by_address())
        } else {
            identities.who_says(self.address, request.headers().get(how.credentials())).await
        };
        let (known, denied) = match known {
            Ok(known) => (known, None),
            Err(refusal) => (by_address(), Some(refusal)),
        };
        let (who, class) = known.clone();
        let language = Language::of(request.headers());
        let record = Record::new(
            Rc::clone(notes),
            (quotas.account(&who, class), self.address),
            request.method().clone(),
            target(&request),
        );
        let checked = is_sound(&request).and_then(|()| is_new(&settings.config(), &request));
        if let Some(refusal) = checked.err().or(denied) {
            return self.refuse_to(how, &refusal, language, record, self.flow(None, busy));
        }
        if !request.body().is_end_stream() {
            // Its body will not be read.
            self.activity.linger();
        }
        let visit = Visit {
            config: &settings.config(),
            who: &known.0,
            class: known.1,
            how,
            met,
            language,
            account: &record.account,
            seen: &self.serving.seen,
        };
        let page = pages::answer(&request, &visit);
        record.status.set(page.status().as_u16());
        record.is_whole.set(true);
        let flow = self.flow(None, busy);
        flow.progress().waits_for(Phase::Transfer);
        page.map(|page| Relay::page(page, record, flow))
    }

    /// Tracks a response until its last byte is written.
    fn flow(&self, user: Option<Rc<Of<Share>>>, busy: Busy) -> Rc<Flow> {
        let watched = self.serving.watch.begin(Phase::Turn, Some(Arc::clone(&self.activity)));
        Flow::new(Rc::clone(&self.share), user, watched, busy)
    }

    /// Refuses what may be a tunnel. Over HTTP/1 bytes meant for it may follow, which need not be the client's own choice: they
    /// are not requests. Only a client that has yet to prove who it is may try again, since they prove nothing.
    fn refuse_tunnel(
        &self,
        request: &Request<Incoming>,
        refusal: &Refusal,
        record: Record,
        busy: Busy,
    ) -> Response<Relay> {
        let mut response = self.refuse(refusal, Language::of(request.headers()), record, self.flow(None, busy));
        let is_tunnel = request.method() == Method::CONNECT && request.version() < Version::HTTP_2;
        if is_tunnel && response.status() != StatusCode::PROXY_AUTHENTICATION_REQUIRED {
            self.activity.linger();
            response.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("close"));
        }
        response
    }

    fn refuse(&self, refusal: &Refusal, language: Language, record: Record, flow: Rc<Flow>) -> Response<Relay> {
        self.refuse_to(Addressed::ThroughProxy, refusal, language, record, flow)
    }

    fn refuse_to(
        &self,
        how: Addressed,
        refusal: &Refusal,
        language: Language,
        record: Record,
        flow: Rc<Flow>,
    ) -> Response<Relay> {
        debug!(client = %self.address, "refused: {refusal}");
        if refusal.closes() {
            self.activity.linger();
        }
        let page = refusal.page(&self.serving.settings.config().proxy.name, language, how);
        record.status.set(page.status().as_u16());
        record.is_refused.set(true);
        flow.progress().waits_for(Phase::Transfer);
        page.map(|page| Relay::page(page, record, flow))
    }
}

/// The name in `Host`, which an intercepted client may choose freely.
fn host_said(request: &Request<Incoming>) -> Option<String> {
    let said = request.headers().get(http::header::HOST)?.to_str().ok()?;
    let host = said.parse::<http::uri::Authority>().ok()?.host().trim_end_matches('.').to_ascii_lowercase();
    Some(host)
}

/// The target as logged.
fn target(request: &Request<Incoming>) -> String {
    let uri = request.uri();
    match (request.method(), uri.authority()) {
        (&Method::CONNECT, Some(authority)) => authority.to_string(),
        (_, Some(_)) => uri.to_string(),
        (_, None) => {
            let host = request.headers().get(http::header::HOST).and_then(|host| host.to_str().ok()).unwrap_or("-");
            format!("http://{host}{uri}")
        }
    }
}
