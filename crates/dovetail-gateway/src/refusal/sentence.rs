//! Says in words why a request was refused.

use std::fmt;

use super::{Opens, Refusal, texts::TEXTS};
use crate::{
    config::{Every, written_bytes},
    language::{Language, fill},
};

impl Refusal {
    /// What happened and what the user can do about it.
    pub(super) fn sentence(&self, language: Language) -> String {
        let texts = TEXTS.of(language);
        let why = self.why().unwrap_or_default();
        match self {
            Self::NotAClient(address) => fill(texts.not_a_client, &[("address", &address.to_string())]),
            Self::WhoAreYou => texts.who_are_you.to_owned(),
            Self::NotKnown => texts.not_known.to_owned(),
            Self::NoHelper => texts.no_helper.to_owned(),
            Self::OutOfHours { class, hours, opens, .. } => {
                let opens = match *opens {
                    Opens::Today(time) => fill(texts.opens_today, &[("time", &time.strftime("%H:%M").to_string())]),
                    Opens::On(at) => fill(texts.opens_on, &[("date", &language.date(at))]),
                    Opens::AnotherDay => texts.opens_later.to_owned(),
                };
                let hours = hours.with_days(language.days());
                fill(texts.out_of_hours, &[("class", class), ("hours", &hours), ("opens", &opens)])
            }
            Self::TooManyRequests(most) => fill(texts.too_many_requests, &[("count", &most.to_string())]),
            Self::Quota { quota, bytes, every, until, .. } => {
                let every = match every {
                    Every::Day => texts.every_day,
                    Every::Week(_) => texts.every_week,
                    Every::Month(_) => texts.every_month,
                };
                let (size, until) = (language.number(&written_bytes(*bytes)), language.date(*until));
                fill(texts.quota, &[("quota", quota), ("size", &size), ("every", every), ("date", &until)])
            }
            Self::BadRequest(_) => fill(texts.bad_request, &[("why", why)]),
            Self::TargetTooLong => texts.target_too_long.to_owned(),
            Self::HeaderTooLong { bytes, fields } => {
                fill(texts.header_too_long, &[("bytes", &bytes.to_string()), ("fields", &fields.to_string())])
            }
            Self::BodyTimeout => texts.body_timeout.to_owned(),
            Self::Body(_) => fill(texts.body, &[("why", why)]),
            Self::Scheme(scheme) => fill(texts.scheme, &[("scheme", scheme)]),
            Self::ConnectPort(port) => fill(texts.connect_port, &[("port", &port.to_string())]),
            Self::Port(port) => fill(texts.port, &[("port", &port.to_string())]),
            Self::Destination { host, address, .. } => {
                fill(texts.destination, &[("host", host), ("address", &address.to_string()), ("why", why)])
            }
            Self::Loop => texts.loops.to_owned(),
            Self::NoName { host, .. } => fill(texts.no_name, &[("host", host), ("why", why)]),
            Self::NameTimeout(host) => fill(texts.name_timeout, &[("host", host)]),
            Self::Connect { host, .. } => fill(texts.connect, &[("host", host), ("why", why)]),
            Self::ConnectTimeout(host) => fill(texts.connect_timeout, &[("host", host)]),
            Self::BrokeOff { host, .. } => fill(texts.broke_off, &[("host", host), ("why", why)]),
            Self::ResponseTimeout(host) => fill(texts.response_timeout, &[("host", host)]),
            Self::Parent { parent, .. } => fill(texts.parent, &[("parent", parent), ("why", why)]),
            Self::ParentTimeout(parent) => fill(texts.parent_timeout, &[("parent", parent)]),
            Self::ParentAsks(parent) => fill(texts.parent_asks, &[("parent", parent)]),
            Self::ServerAsks(host) => fill(texts.server_asks, &[("host", host)]),
            Self::ParentStatus { parent, host, status } => {
                fill(texts.parent_status, &[("parent", parent), ("host", host), ("status", &status.to_string())])
            }
            Self::OwnName(host) => fill(texts.own_name, &[("host", host)]),
            Self::Full => texts.full.to_owned(),
            Self::Internal(_) => fill(texts.internal, &[("why", why)]),
        }
    }

    /// The reason in English that a sentence in this language does not contain.
    pub(super) fn detail(&self, language: Language) -> Option<&str> {
        // Only English sentences can end with it.
        self.why().filter(|_| language != Language::English)
    }

    /// The reason in English, from the system, the resolver or the parser, as the end of a sentence.
    fn why(&self) -> Option<&str> {
        match self {
            Self::BadRequest(why) | Self::Destination { why, .. } => Some(why),
            Self::Body(why) | Self::Internal(why) => Some(why),
            Self::NoName { why, .. } | Self::Connect { why, .. } => Some(why),
            Self::BrokeOff { why, .. } | Self::Parent { why, .. } => Some(why),
            _ => None,
        }
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.sentence(Language::English))
    }
}
