//! A finished request as a line.

use std::{
    fmt::Write as _,
    net::IpAddr,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use crate::{one_word::OneWord, spent::SpentSeconds, who::Who};

/// A finished request.
#[derive(Debug)]
pub(crate) struct Line<'a> {
    pub(crate) ended: SystemTime,
    pub(crate) took: Duration,
    pub(crate) queue: Duration,
    pub(crate) spent: SpentSeconds,
    pub(crate) client: IpAddr,
    pub(crate) who: &'a Who,
    pub(crate) class: &'a str,
    pub(crate) status: u16,
    pub(crate) is_whole: bool,
    pub(crate) is_refused: bool,
    pub(crate) is_tunnel: bool,
    pub(crate) sent_bytes: u64,
    pub(crate) uploaded_bytes: u64,
    pub(crate) method: &'a str,
    pub(crate) target: &'a str,
    pub(crate) server: Option<IpAddr>,
    pub(crate) parent: Option<&'a str>,
}

impl Line<'_> {
    /// Squid's native format: `%ts.%03tu %6tr %>a %Ss/%03>Hs %<st %rm %ru %[un %Sh/%<a %mt`.
    pub(super) fn squid(&self) -> String {
        let mut text = String::with_capacity(160);
        let ended = self.ended.duration_since(UNIX_EPOCH).unwrap_or_default();
        let result = match (self.is_tunnel, self.status, self.server) {
            (_, 0, _) => "NONE_NONE_ABORTED",
            (_, 407 | 403, None) => "TCP_DENIED",
            (true, ..) => "TCP_TUNNEL",
            (_, _, None) if !self.is_whole => "NONE_NONE",
            (_, _, Some(_)) if !self.is_whole && !self.is_refused => "TCP_MISS_ABORTED",
            _ => "TCP_MISS",
        };
        let user = match self.who {
            Who::Name(name) | Who::Group(name) => OneWord(name),
            Who::Address(_) | Who::Network(_) | Who::Towards(..) => OneWord("-"),
        };
        let _ = write!(
            text,
            "{}.{:03} {:6} {} {result}/{:03} {} {} {} {user} ",
            ended.as_secs(),
            ended.subsec_millis(),
            self.took.as_millis(),
            self.client.to_canonical(),
            self.status,
            self.sent_bytes,
            self.method,
            OneWord(self.target),
        );
        let _ = match self.server {
            Some(server) if self.parent.is_some() => write!(text, "FIRSTUP_PARENT/{server} -"),
            Some(server) => write!(text, "HIER_DIRECT/{server} -"),
            None => write!(text, "HIER_NONE/- -"),
        };
        text
    }

    /// The same and more, as an object in JSON.
    pub(super) fn json(&self) -> String {
        let seconds = |duration: Duration| (duration.as_secs_f64() * 1e6).round() / 1e6;
        let ended = self.ended.duration_since(UNIX_EPOCH).unwrap_or_default();
        serde_json::json!({
            "time": seconds(ended),
            "took_s": seconds(self.took),
            "queue_s": seconds(self.queue),
            "spent": self.spent,
            "client": self.client.to_canonical(),
            "user": self.who.to_string(),
            "class": self.class,
            "status": self.status,
            "whole": self.is_whole,
            "sent_bytes": self.sent_bytes,
            "uploaded_bytes": self.uploaded_bytes,
            "method": self.method,
            "target": self.target,
            "server": self.server,
            "parent": self.parent,
        })
        .to_string()
    }
}
