//! Request handlers of the admin port, by path.

use std::{cell::RefCell, sync::LazyLock};

use bytes::Bytes;
use dovetail_admin::{
    Answer, Asked, Fault, Fresh, JSON, Site, TEXT, body, guard, json, metrics, page, read_only, typed,
};
use dovetail_sched::Nanos;
use dovetail_toml::Token;
use http::{Method, StatusCode};

use super::{
    changes::{Changes, NAME, Reload},
    looks::Looks,
    metrics::Scrape,
    status::{Permitted, Shown},
};
use crate::live::{Control, clock};

static PAGE: LazyLock<String> = LazyLock::new(|| page::whole(include_str!("page.html")));
/// A box that has not published its status for this long is not running: it does so every 200 ms.
const SILENT: Nanos = Nanos::from_secs(3);

/// State of the admin port.
pub(super) struct BoxSite {
    control: Control,
    token: Option<Token>,
    changes: Changes,
    looks: RefCell<Looks>,
    status: Fresh,
    metrics: Fresh,
}

impl Site for BoxSite {
    async fn answer(&self, request: Asked) -> Answer {
        let path = request.uri().path().to_owned();
        let answer: fn(&Self) -> Answer = match &*path {
            "/" => |_| page::answer(NAME, &PAGE),
            "/status.json" => |site| Ok(typed(JSON, site.status()?)),
            "/history.json" => |site| Ok(typed(JSON, json(NAME, site.looks.borrow().samples())?)),
            "/metrics" => |site| Ok(typed(metrics::CONTENT_TYPE, site.metrics()?)),
            "/healthz" => Self::health,
            "/retune" | "/reload" => return self.change(&path, request).await,
            _ => {
                let what =
                    "Available: /, /status.json, /history.json, /metrics, /healthz, POST /retune and POST /reload.";
                return Err(Fault::new(StatusCode::NOT_FOUND, what));
            }
        };
        read_only(request.method(), || answer(self))
    }

    fn second(&self) {
        self.looks.borrow_mut().take(self.control.status());
    }
}

impl BoxSite {
    pub(super) fn new(control: Control, token: Option<Token>, reload: Option<Reload>) -> Self {
        Self {
            changes: Changes::new(control.clone(), reload),
            control,
            token,
            looks: RefCell::default(),
            status: Fresh::default(),
            metrics: Fresh::default(),
        }
    }

    fn status(&self) -> Result<Bytes, Fault> {
        self.status.get(|| {
            let permitted = Permitted { changes: self.token.is_some(), reload: self.changes.can_reload() };
            json(NAME, &Shown::of(&self.control.status(), clock::now(), &self.looks.borrow(), permitted))
        })
    }

    fn metrics(&self) -> Result<Bytes, Fault> {
        self.metrics.get(|| {
            let scrape = Scrape::new(self.control.status(), clock::now(), self.looks.borrow().samples().back());
            super::metrics::encode(scrape).map(Bytes::from).map_err(|error| Fault::failed(NAME, &error))
        })
    }

    fn health(&self) -> Answer {
        let at = self.control.told_at();
        let silent = clock::now() - at;
        if at == Nanos::ZERO || silent > SILENT {
            let what = format!("The box is not running: it was last heard of {} s ago.", silent.as_secs_f64().round());
            let never = "The box is not running yet.".to_owned();
            return Err(Fault::new(StatusCode::SERVICE_UNAVAILABLE, if at == Nanos::ZERO { never } else { what }));
        }
        Ok(typed(TEXT, "ok\n"))
    }

    async fn change(&self, path: &str, request: Asked) -> Answer {
        if request.method() != Method::POST {
            return Err(Fault::method("POST"));
        }
        guard::may_change(request.headers(), self.token.as_deref()).await?;
        let body = body(request.into_body()).await?;
        let said = if path == "/reload" {
            self.changes.reload().await?;
            serde_json::json!({ "reloaded": true })
        } else {
            serde_json::json!({ "policy": self.changes.retune(&body).await?, "until": "the configuration is reloaded" })
        };
        self.status.forget();
        Ok(typed(JSON, said.to_string()))
    }
}
