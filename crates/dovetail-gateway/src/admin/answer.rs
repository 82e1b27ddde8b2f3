//! Answers requests by path.

use std::{
    cell::{Cell, RefCell},
    sync::{Arc, LazyLock},
};

use bytes::Bytes;
use dovetail_admin::{
    Answer, Asked, Fault, Fresh, JSON, Site, TEXT, body, guard, json, metrics, page, read_only, typed,
};
use http::{HeaderMap, Method, StatusCode};

use super::{
    chosen::Chosen,
    history::History,
    past::{Past, STEP_S},
    rates::Rates,
    scrape::Scrape,
    seen::Seen,
    status::Status,
    weight,
};

static PAGE: LazyLock<String> = LazyLock::new(|| page::whole(include_str!("page.html")));
/// The program's name in error messages.
const NAME: &str = "gateway";
/// How long a weight set through this port lasts.
const RELOADED: &str = "the configuration is reloaded";
const RELOADED_OR_HOURS: &str = "the configuration is reloaded or its hours change";

/// State of the admin port besides the gateway's.
#[derive(Debug)]
pub(super) struct Admin {
    seen: Seen,
    history: RefCell<History>,
    past: RefCell<Past>,
    // Seconds since the last sample for `past`.
    since: Cell<u64>,
    rates: RefCell<Rates>,
    status: Fresh,
    // The last status of a single class or user, and whose it is.
    chosen: RefCell<(Chosen, Fresh)>,
    metrics: Fresh,
}

impl Site for Admin {
    async fn answer(&self, request: Asked) -> Answer {
        let path = request.uri().path().to_owned();
        if let Some(class) = path.strip_prefix("/classes/").and_then(|rest| rest.strip_suffix("/weight")) {
            return self.set_weight(class, request).await;
        }
        let query = request.uri().query();
        let answer: fn(&Self, Option<&str>) -> Answer = match &*path {
            "/" => |_, _| page::answer(NAME, &PAGE),
            "/status.json" => |admin, query| Ok(typed(JSON, admin.status(Chosen::of(query)?)?)),
            "/history.json" => |admin, query| admin.past(&Chosen::of(query)?),
            "/hour.json" => |admin, _| Ok(typed(JSON, json(NAME, admin.history.borrow().hour())?)),
            "/metrics" => |admin, _| Ok(typed(metrics::CONTENT_TYPE, admin.metrics()?)),
            "/healthz" => |_, _| Ok(typed(TEXT, "ok\n")),
            _ => {
                let what = "Available: /, /status.json, /history.json, /hour.json, /metrics, /healthz, and PUT \
                    /classes/NAME/weight.";
                return Err(Fault::new(StatusCode::NOT_FOUND, what));
            }
        };
        read_only(request.method(), || answer(self, query))
    }

    fn second(&self) {
        let config = self.seen.settings.config();
        let mut history = self.history.borrow_mut();
        history.note_classes(config.classes.iter().map(|class| Arc::clone(&class.name)));
        history.take(&self.seen.link.dispatcher().totals(), config.downlink.goodput_bytes_per_s());
        self.since.set(self.since.get() + 1);
        if self.since.get() >= STEP_S {
            self.since.set(0);
            let view = self.seen.link.dispatcher().view();
            self.past.borrow_mut().take(view.totals.now, &view.users);
        }
    }
}

impl Admin {
    pub(super) fn new(seen: Seen) -> Self {
        Self {
            seen,
            history: RefCell::default(),
            past: RefCell::default(),
            since: Cell::default(),
            chosen: RefCell::default(),
            rates: RefCell::default(),
            status: Fresh::default(),
            metrics: Fresh::default(),
        }
    }

    fn status(&self, chosen: Chosen) -> Result<Bytes, Fault> {
        let status = || {
            let (rates, history) = (&mut self.rates.borrow_mut(), self.history.borrow());
            json(NAME, &Status::of(&self.seen, rates, history.last(), &chosen))
        };
        if chosen == Chosen::All {
            return self.status.get(status);
        }
        let mut last = self.chosen.borrow_mut();
        if last.0 != chosen {
            *last = (chosen.clone(), Fresh::default());
        }
        last.1.get(status)
    }

    /// The last ten minutes, or the last hour of a user.
    fn past(&self, chosen: &Chosen) -> Answer {
        Ok(typed(
            JSON,
            match chosen {
                Chosen::User(name) => json(NAME, &self.past.borrow().of(name))?,
                Chosen::All | Chosen::Class(_) => json(NAME, self.history.borrow().samples())?,
            },
        ))
    }

    fn metrics(&self) -> Result<Bytes, Fault> {
        self.metrics.get(|| {
            let scrape = Scrape::of(&self.seen, self.history.borrow().last());
            super::metrics::encode(scrape).map(Bytes::from).map_err(|error| Fault::failed(NAME, &error))
        })
    }

    async fn set_weight(&self, class: &str, request: Asked) -> Answer {
        if request.method() != Method::PUT {
            return Err(Fault::method("PUT"));
        }
        self.may_change(request.headers()).await?;
        let number = weight::class(&self.seen, class)?;
        let weight = weight::set(&self.seen, number, &body(request.into_body()).await?)?;
        self.status.forget();
        self.chosen.borrow_mut().1.forget();
        let hours = &self.seen.settings.config().classes[number].weights;
        let until = if hours.is_empty() { RELOADED } else { RELOADED_OR_HOURS };
        let said = serde_json::json!({ "class": class, "weight": weight, "until": until });
        Ok(typed(JSON, said.to_string()))
    }

    async fn may_change(&self, headers: &HeaderMap) -> Result<(), Fault> {
        let config = self.seen.settings.config();
        let token = config.admin.as_ref().and_then(|admin| admin.token.as_deref());
        guard::may_change(headers, token).await
    }
}
