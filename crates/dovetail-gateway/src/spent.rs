//! How a request's time was spent, as written to the access log and on the admin port.

use dovetail_sched::Nanos;
use dovetail_tower::dispatcher::Spent;
use serde::Serialize;

/// Parts of a request's time, in seconds.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub(crate) struct SpentSeconds {
    own_user_s: f64,
    own_class_s: f64,
    other_classes_s: f64,
    pace_s: f64,
    server_s: f64,
    client_s: f64,
    receiving_s: f64,
}

impl SpentSeconds {
    pub(crate) fn of(spent: &Spent) -> Self {
        let [own_user_s, own_class_s, other_classes_s, pace_s, server_s, client_s, receiving_s] =
            named(spent).map(|(_, time)| (time.as_secs_f64() * 1e6).round() / 1e6);
        Self { own_user_s, own_class_s, other_classes_s, pace_s, server_s, client_s, receiving_s }
    }
}

/// The parts by name.
pub(crate) fn named(spent: &Spent) -> [(&'static str, Nanos); 7] {
    let Spent { own_user, own_class, other_classes, pace, server, client, receiving } = *spent;
    [
        ("own_user", own_user),
        ("own_class", own_class),
        ("other_classes", other_classes),
        ("pace", pace),
        ("server", server),
        ("client", client),
        ("receiving", receiving),
    ]
}
