//! Overrides a class's weight until the configuration is reloaded.

use dovetail_admin::Fault;
use dovetail_sched::Weight;
use http::StatusCode;
use serde::Deserialize;

use super::seen::Seen;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Body {
    weight: f64,
}

/// The class's number, if there is such a class.
pub(super) fn class(seen: &Seen, name: &str) -> Result<usize, Fault> {
    let config = seen.settings.config();
    config.classes.iter().position(|class| *class.name == *name).ok_or_else(|| {
        let names: Vec<_> = config.classes.iter().map(|class| &*class.name).collect();
        Fault::new(StatusCode::NOT_FOUND, format!("There is no such class. The classes are: {}.", names.join(", ")))
    })
}

/// Sets the weight given in a body and returns it.
pub(super) fn set(seen: &Seen, class: usize, body: &[u8]) -> Result<f64, Fault> {
    let wrong = || {
        let what = "Send a weight from 0.000001 to 1000000 as JSON, such as {\"weight\": 3}.";
        Fault::new(StatusCode::BAD_REQUEST, what)
    };
    let body: Body = serde_json::from_slice(body).map_err(|_| wrong())?;
    let weight = Weight::new(body.weight).ok_or_else(wrong)?;
    seen.link.set_weight(class, weight);
    Ok(weight.as_f64())
}
