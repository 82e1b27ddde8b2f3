//! What is answered at each path.

use std::{
    cell::RefCell,
    time::{Duration, Instant},
};

use base64::{Engine, prelude::BASE64_STANDARD};
use bytes::Bytes;
use http::{
    HeaderMap, HeaderName, HeaderValue, Method, Request, Response, StatusCode,
    header::{CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, REFERRER_POLICY, X_CONTENT_TYPE_OPTIONS},
};
use http_body_util::Full;
use hyper::body::Incoming;
use serde::Serialize;
use tokio::time::sleep;

use super::{
    body::body, fault::Fault, guard, history::History, metrics, rates::Rates, scrape::Scrape, seen::Seen,
    status::Status, weight,
};
use crate::auth;

const PAGE: &str = include_str!("page.html");
/// What stands in the page for a number that only this answer knows.
const NONCE: &str = "NONCE";
/// For this long an answer is reused for later requests.
const FRESH: Duration = Duration::from_millis(500);
const JSON: &str = "application/json";

/// What the admin's port knows besides the gateway.
#[derive(Debug)]
pub(super) struct Admin {
    seen: Seen,
    history: RefCell<History>,
    rates: RefCell<Rates>,
    status: RefCell<Option<(Instant, Bytes)>>,
    metrics: RefCell<Option<(Instant, Bytes)>>,
}

impl Admin {
    pub(super) fn new(seen: Seen) -> Self {
        Self {
            seen,
            history: RefCell::default(),
            rates: RefCell::default(),
            status: RefCell::default(),
            metrics: RefCell::default(),
        }
    }

    /// A second is over.
    pub(super) fn sample(&self) {
        let goodput = self.seen.settings.config().downlink.goodput_bytes_per_s();
        self.history.borrow_mut().take(&self.seen.link.dispatcher().totals(), goodput);
    }

    /// What a request is answered.
    pub(super) async fn answer(&self, request: Request<Incoming>) -> Response<Full<Bytes>> {
        let mut response = self.route(request).await.unwrap_or_else(Fault::response);
        let headers = response.headers_mut();
        let always = [
            (CACHE_CONTROL, "no-store"),
            (X_CONTENT_TYPE_OPTIONS, "nosniff"),
            (REFERRER_POLICY, "no-referrer"),
            (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
        ];
        headers.extend(always.map(|(name, value)| (name, HeaderValue::from_static(value))));
        // The page says more of what it may do.
        headers
            .entry(CONTENT_SECURITY_POLICY)
            .or_insert(HeaderValue::from_static("default-src 'none'; frame-ancestors 'none'"));
        response
    }

    async fn route(&self, request: Request<Incoming>) -> Result<Response<Full<Bytes>>, Fault> {
        guard::host(request.uri(), request.headers())?;
        let path = request.uri().path().to_owned();
        if let Some(class) = path.strip_prefix("/classes/").and_then(|rest| rest.strip_suffix("/weight")) {
            return self.set_weight(class, request).await;
        }
        let answer: fn(&Self) -> Result<Response<Full<Bytes>>, Fault> = match &*path {
            "/" => |_| page(),
            "/status.json" => |admin| Ok(typed(JSON, admin.status()?)),
            "/history.json" => |admin| Ok(typed(JSON, json(admin.history.borrow().samples())?)),
            "/metrics" => |admin| Ok(typed(metrics::CONTENT_TYPE, admin.metrics()?)),
            "/healthz" => |_| Ok(typed("text/plain; charset=utf-8", "ok\n")),
            _ => {
                let what =
                    "Available: /, /status.json, /history.json, /metrics, /healthz, and PUT /classes/NAME/weight.";
                return Err(Fault::new(StatusCode::NOT_FOUND, what));
            }
        };
        if [Method::GET, Method::HEAD].contains(request.method()) {
            answer(self)
        } else {
            Err(Fault::method("GET, HEAD"))
        }
    }

    fn status(&self) -> Result<Bytes, Fault> {
        fresh(&self.status, || {
            json(&Status::of(&self.seen, &mut self.rates.borrow_mut(), self.history.borrow().last()))
        })
    }

    fn metrics(&self) -> Result<Bytes, Fault> {
        fresh(&self.metrics, || {
            let scrape = Scrape::of(&self.seen, self.history.borrow().last());
            metrics::encode(scrape).map(Bytes::from).map_err(|error| failed(&error))
        })
    }

    async fn set_weight(&self, class: &str, request: Request<Incoming>) -> Result<Response<Full<Bytes>>, Fault> {
        if request.method() != Method::PUT {
            return Err(Fault::method("PUT"));
        }
        self.may_change(request.headers()).await?;
        let number = weight::class(&self.seen, class)?;
        let weight = weight::set(&self.seen, number, &body(request.into_body()).await?)?;
        self.status.take();
        let said = serde_json::json!({ "class": class, "weight": weight, "until": "the configuration is reloaded" });
        Ok(typed(JSON, said.to_string()))
    }

    async fn may_change(&self, headers: &HeaderMap) -> Result<(), Fault> {
        let config = self.seen.settings.config();
        let token = config.admin.as_ref().and_then(|admin| admin.token.as_deref());
        let checked = guard::may_change(headers, token);
        if checked.is_err() {
            // Guessing takes time.
            sleep(auth::DELAY).await;
        }
        checked
    }
}

/// The page, with scripts and styles of its own and nothing else.
fn page() -> Result<Response<Full<Bytes>>, Fault> {
    let mut number = [0; 18];
    getrandom::fill(&mut number).map_err(|error| failed(&error))?;
    let nonce = BASE64_STANDARD.encode(number);
    let policy = format!(
        "default-src 'none'; script-src 'nonce-{nonce}'; style-src 'nonce-{nonce}'; connect-src 'self'; img-src data:; \
         base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    );
    let mut response = typed("text/html; charset=utf-8", PAGE.replace(NONCE, &nonce));
    let policy = HeaderValue::try_from(policy).map_err(|error| failed(&error))?;
    response.headers_mut().insert(CONTENT_SECURITY_POLICY, policy);
    Ok(response)
}

fn typed(content_type: &'static str, body: impl Into<Bytes>) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::new(body.into()));
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(content_type));
    response
}

fn json(value: &impl Serialize) -> Result<Bytes, Fault> {
    serde_json::to_vec(value).map(Bytes::from).map_err(|error| failed(&error))
}

fn failed(error: &dyn std::error::Error) -> Fault {
    Fault::new(StatusCode::INTERNAL_SERVER_ERROR, format!("The gateway failed: {error}."))
}

/// What was made a moment ago, or what is made now.
fn fresh(
    kept: &RefCell<Option<(Instant, Bytes)>>,
    make: impl FnOnce() -> Result<Bytes, Fault>,
) -> Result<Bytes, Fault> {
    let now = Instant::now();
    if let Some((made, bytes)) = &*kept.borrow()
        && now - *made < FRESH
    {
        return Ok(bytes.clone());
    }
    let bytes = make()?;
    *kept.borrow_mut() = Some((now, bytes.clone()));
    Ok(bytes)
}
