//! A user's own page: their share, their quotas, and what their requests are waiting for, in plain words.
//!
//! The user is identified only by the connection or the password: nothing else of the request is read except its language.

mod texts;

use std::{collections::HashSet, fmt::Write as _};

use dovetail_admin::Answer;
use dovetail_sched::Nanos;
use dovetail_tower::dispatcher::{LiveView, Stage};
use jiff::tz::TimeZone;

use self::texts::{TEXTS, Texts};
use super::{seen::capacity, visit::Visit};
use crate::{
    config::{Every, written_bytes},
    frame::{Frame, filled},
    language::escaped,
    quota::Use,
    who::Who,
};

/// Maximum number of requests in the list.
const MAX_ROWS: usize = 30;
/// How often the page is renewed.
const EVERY_S: &str = "10";
/// A response that received bytes within this time is shown as arriving.
const LATELY: Nanos = Nanos::from_secs(1);
/// Shorter times are not mentioned.
const WORTH: Nanos = Nanos::from_millis(100);

const STYLE: &str = "\
h2{font-size:1.15rem;margin:1.6rem 0 .4rem}p{margin:.4rem 0}\
meter{display:block;width:100%;height:1.2rem;margin:.3rem 0}ul{list-style:none;padding:0;margin:0}\
li{padding:.5rem 0;border-top:1px solid color-mix(in srgb,currentColor 25%,transparent)}\
small{display:block}footer{font-size:.9rem;margin-top:1.6rem}strong.bad{color:light-dark(#a40000,#ff9a9a)}";

/// Without it the page loads itself again.
const SCRIPT: &str = include_str!("script.js");

/// The page.
pub(super) fn page(visit: &Visit<'_>) -> Answer {
    let texts = TEXTS.of(visit.language);
    let mut body = String::new();
    let (who, gateway, class) = (visit.who.to_string(), &*visit.config.proxy.name, visit.class_name());
    let you = filled(texts.you, &[("gateway", gateway), ("user", &who), ("class", class)]);
    let _ = writeln!(body, "<p>{you}</p>");
    share(&mut body, texts, visit);
    quotas(&mut body, texts, visit);
    waiting(&mut body, texts, visit);
    Frame {
        style: STYLE,
        head_html: &format!("<noscript><meta http-equiv=\"refresh\" content=\"{EVERY_S}\"></noscript>"),
        end_html: &format!(
            "<footer><label><input type=\"checkbox\" id=\"renew\" data-every-s=\"{EVERY_S}\" checked hidden> {}</label></footer>\n\
             <script nonce=\"NONCE\">{SCRIPT}</script>",
            filled(texts.refreshes, &[("seconds", EVERY_S)])
        ),
        ..Frame::new(visit.language, texts.title, &body)
    }
    .page()
}

impl Texts {
    fn bytes(&self, bytes: u64) -> String {
        // Three digits are enough to read.
        let digits = bytes.checked_ilog10().unwrap_or(0);
        let scale = 10_u64.pow(digits.saturating_sub(2));
        self.language.number(&written_bytes(bytes / scale * scale))
    }

    fn rate(&self, bytes_per_s: f64) -> String {
        let bps = bytes_per_s * 8.0;
        let text = if bps < 1e6 { format!("{:.0} kbit/s", bps / 1e3) } else { format!("{:.1} Mbit/s", bps / 1e6) };
        self.language.number(&text)
    }

    fn seconds(&self, time: Nanos) -> String {
        self.language.number(&format!("{:.1} s", time.as_secs_f64()))
    }

    const fn period(&self, every: Every) -> &'static str {
        match every {
            Every::Day => self.day,
            Every::Week(_) => self.week,
            Every::Month(_) => self.month,
        }
    }
}

fn share(body: &mut String, texts: &Texts, visit: &Visit<'_>) {
    let view = visit.seen.view();
    let classes = &view.totals.classes;
    let weight = |class: u32| classes.get(class as usize).map_or(1.0, |class| class.weight.as_f64());
    let class = visit.account.class().0;
    let own = weight(class);
    let live = || view.users.iter().filter(|user| user.live > 0);
    // Requests to hosts with a class of their own have a share beside the user's others.
    let apart = live().filter(|user| matches!(user.who, Who::Towards(..)) && is_of(&user.who, visit.who));
    let part = apart.fold(own, |part, user| part + weight(user.class.0));
    let others = || live().filter(|user| !is_of(&user.who, visit.who));
    let sum = others().fold(part, |sum, user| sum + weight(user.class.0));
    let count = 1 + others().map(|user| user.who.user()).collect::<HashSet<_>>().len();
    let all = capacity(&view, visit.config.downlink.goodput_bytes_per_s());
    let (rate, percent) = (texts.rate(all * part / sum), format!("{:.0}", part / sum * 100.0));
    let users = count.to_string();
    let values = [("users", &*users), ("percent", &*percent), ("rate", &*rate)];
    let text = filled(if count == 1 { texts.alone } else { texts.together }, &values);
    let weight = filled(texts.weight, &[("weight", &texts.language.number(&own.to_string()))]);
    let _ = write!(body, "<h2>{}</h2>\n<p>{text}</p>\n<p><small>{weight}</small></p>\n", escaped(texts.share));
}

fn quotas(body: &mut String, texts: &Texts, visit: &Visit<'_>) {
    let _ = writeln!(body, "<h2>{}</h2>", escaped(texts.quota));
    let (uses, zone) = (visit.account.uses(), TimeZone::system());
    if uses.is_empty() {
        let _ = writeln!(body, "<p>{}</p>", escaped(texts.no_quota));
    }
    for Use { quota, every, bytes, used, is_of_class, is_free, refuses, is_beyond, ends, until } in uses {
        let date = |at: jiff::Timestamp| texts.language.date(zone.to_datetime(at));
        let values = [("used", &*texts.bytes(used)), ("bytes", &*texts.bytes(bytes)), ("period", texts.period(every))];
        let mut line = filled(texts.used, &values);
        if used < bytes {
            line = format!("{line}, {}", filled(texts.left, &[("left", &texts.bytes(bytes - used))]));
        }
        let colon = texts.language.colon();
        let of = if is_of_class { format!(" ({})", escaped(texts.of_class)) } else { String::new() };
        let _ = write!(
            body,
            "<p><strong>{}</strong>{of}{colon} {line}</p>\n<meter min=\"0\" max=\"{bytes}\" high=\"{}\" optimum=\"0\" value=\"{}\" \
             aria-label=\"{}\">{line}</meter>\n",
            escaped(&quota),
            bytes / 10 * 8,
            used.min(bytes),
            escaped(&quota)
        );
        let state = match (is_beyond, refuses) {
            (true, true) => filled(texts.refused, &[("date", &date(until))]),
            (true, false) => filled(texts.slower, &[("date", &date(until))]),
            (false, _) => String::new(),
        };
        if is_beyond {
            let _ = writeln!(body, "<p><strong class=\"bad\">{state}</strong></p>");
        }
        if is_free {
            let _ = writeln!(body, "<p>{}</p>", escaped(texts.free));
        }
        let _ = writeln!(body, "<p><small>{}</small></p>", filled(texts.renewed, &[("date", &date(ends))]));
    }
}

fn waiting(body: &mut String, texts: &Texts, visit: &Visit<'_>) {
    let _ = writeln!(body, "<h2>{}</h2>", escaped(texts.waiting));
    let view = visit.seen.view();
    let mut own: Vec<_> = view.live.iter().filter(|live| is_of(&live.who, visit.who)).collect();
    if own.is_empty() {
        let _ = writeln!(body, "<p>{}</p>", escaped(texts.nothing));
        return;
    }
    own.sort_by_key(|live| std::cmp::Reverse(live.age));
    body.push_str("<ul>\n");
    for live in own.iter().take(MAX_ROWS) {
        let took: Vec<_> = took(texts, live);
        let _ = writeln!(
            body,
            "<li><strong>{}</strong> {}<small>{}</small></li>",
            escaped(&live.label),
            escaped(stage(texts, live)),
            took.join(" · ")
        );
    }
    body.push_str("</ul>\n");
    if own.len() > MAX_ROWS {
        let count = (own.len() - MAX_ROWS).to_string();
        let _ = writeln!(body, "<p>{}</p>", filled(texts.more, &[("count", &count)]));
    }
}

const fn is_lately(still: Option<Nanos>) -> bool {
    matches!(still, Some(still) if still.0 < LATELY.0)
}

fn stage(texts: &Texts, live: &LiveView<Who>) -> &'static str {
    match live.stage {
        Stage::Queued => texts.queued,
        Stage::Requested => texts.requested,
        Stage::Throttled if !is_lately(live.still) => texts.throttled,
        Stage::Throttled | Stage::Receiving => texts.receiving,
    }
}

/// What took a request's time so far.
fn took(texts: &Texts, live: &LiveView<Who>) -> Vec<String> {
    let spent = &live.spent;
    let parts = [
        (texts.for_own, spent.own_user),
        (texts.for_others, spent.own_class + spent.other_classes),
        (texts.for_link, spent.pace),
        (texts.for_server, spent.server),
        (texts.for_client, spent.client),
    ];
    let parts = parts.into_iter().filter(|(_, time)| *time >= WORTH);
    let mut took: Vec<_> = parts.map(|(text, time)| filled(text, &[("time", &texts.seconds(time))])).collect();
    if live.received > 0 {
        took.push(filled(texts.received, &[("bytes", &texts.bytes(live.received))]));
    }
    took
}

/// Whether it is this user, whatever the hosts of the requests.
fn is_of(who: &Who, user: &Who) -> bool {
    who.user() == user
}
