//! A request on its way to an answer.

use std::{rc::Rc, sync::Arc};

use http::Version;

use super::connect::Exchanges;
use crate::{
    client::Activity,
    interim::{BodyGate, Listening},
    record::Record,
    wanted::Wanted,
    watch::Progress,
};

/// The parts of a request that are the same in each attempt.
pub(super) struct Exchange<'a> {
    pub(super) exchanges: &'a Exchanges,
    pub(super) wanted: &'a Wanted,
    pub(super) record: &'a Record,
    pub(super) progress: &'a Rc<Progress>,
    pub(super) client: &'a Arc<Activity>,
    pub(super) client_version: Version,
    pub(super) is_head: bool,
    pub(super) is_upgrade: bool,
    // An HTTP/1.0 client asked for its connection to stay open.
    pub(super) keeps_alive: bool,
    // Trailers of the response may be passed on.
    pub(super) takes_trailers: bool,
    pub(super) proves_connection: bool,
    pub(super) go: Option<Arc<BodyGate>>,
    pub(super) listening: Listening,
}
