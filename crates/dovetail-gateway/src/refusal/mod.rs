//! Responses of the gateway's own: why a request was not forwarded or not answered.

mod headings;
mod page;
mod sentence;
mod status;
#[cfg(test)]
mod tests;
mod texts;

use std::{net::IpAddr, sync::Arc};

use jiff::{
    ZonedDateTime,
    civil::{DateTime, Time},
};

use crate::config::{Every, Hours, Quota};

/// Why a request was not answered by a server. Displayed, it is the sentence in English.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Refusal {
    /// The address is in none of the networks that are served.
    NotAClient(IpAddr),
    /// No user name and password came.
    WhoAreYou,
    /// They are wrong.
    NotKnown,
    /// Passwords cannot be examined.
    NoHelper,
    /// The class has hours, and these are others.
    OutOfHours {
        class: Arc<str>,
        hours: Hours,
        opens: Opens,
        after_s: u64,
    },
    /// The user has this many requests in progress, which is the limit.
    TooManyRequests(usize),
    /// The quota is used up until then, local time.
    Quota {
        quota: Arc<str>,
        bytes: u64,
        every: Every,
        until: DateTime,
        wait_s: u64,
    },
    /// It is no request that a proxy can serve, for a reason that ends a sentence.
    BadRequest(&'static str),
    TargetTooLong,
    /// The header exceeds these limits.
    HeaderTooLong {
        bytes: usize,
        fields: usize,
    },
    /// The rest of the request's body did not arrive in time.
    BodyTimeout,
    /// The request's body cannot be read.
    Body(String),
    /// The URL's scheme is not supported.
    Scheme(String),
    /// `CONNECT` to this port is not allowed.
    ConnectPort(u16),
    /// Requests to this port are not allowed.
    Port(u16),
    /// The server's address may not be reached.
    Destination {
        host: Arc<str>,
        address: IpAddr,
        why: &'static str,
    },
    /// The request has been here before.
    Loop,
    /// The host has no address.
    NoName {
        host: Arc<str>,
        why: String,
    },
    /// The name servers did not answer in time.
    NameTimeout(Arc<str>),
    /// The server cannot be connected to.
    Connect {
        host: Arc<str>,
        why: String,
    },
    /// The server did not accept a connection in time.
    ConnectTimeout(Arc<str>),
    /// The server closed the connection before it responded, or its response cannot be read.
    BrokeOff {
        host: Arc<str>,
        why: String,
    },
    /// The server did not begin to respond in time.
    ResponseTimeout(Arc<str>),
    /// The parent proxy cannot be connected to.
    Parent {
        parent: Arc<str>,
        why: String,
    },
    /// The parent proxy did not accept a connection in time.
    ParentTimeout(Arc<str>),
    /// The parent proxy demands credentials.
    ParentAsks(Arc<str>),
    /// A server demands a proxy's credentials.
    ServerAsks(Arc<str>),
    /// The parent proxy refused a tunnel with this status.
    ParentStatus {
        parent: Arc<str>,
        host: Arc<str>,
        status: u16,
    },
    /// The name means, to the proxy that resolves it, the gateway's own network.
    OwnName(Arc<str>),
    /// The gateway is at its limit of connections.
    Full,
    /// The gateway failed.
    Internal(String),
}

/// When hours begin again, local time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Opens {
    Today(Time),
    On(DateTime),
    /// Not as far as the calendar reaches.
    AnotherDay,
}

impl Refusal {
    /// The refusal for a quota that is used up until then.
    pub(crate) fn quota(quota: &Quota, now: &ZonedDateTime, until: &ZonedDateTime) -> Self {
        let wait_s = until.timestamp().duration_since(now.timestamp()).as_secs().max(1).unsigned_abs();
        let Quota { name, every, bytes, .. } = quota;
        Self::Quota { quota: Arc::clone(name), bytes: *bytes, every: *every, until: until.datetime(), wait_s }
    }
}
