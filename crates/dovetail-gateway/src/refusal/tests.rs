//! All refusals in all languages.

use http::header;
use jiff::civil::{Weekday, date, time};

use super::*;
use crate::{
    language::{
        Language, escaped,
        table::{assert_same, places},
    },
    own_request::Addressed,
};

const PROXY: Addressed = Addressed::ThroughProxy;

/// Each with its status, its type in `Proxy-Status`, and a phrase that its page in English must contain.
fn all() -> Vec<(Refusal, u16, &'static str, &'static str)> {
    let (host, address): (Arc<str>, IpAddr) = ("<host>".into(), [10, 0, 0, 1].into());
    let why = || "<why>".to_owned();
    vec![
        (Refusal::NotAClient(address), 403, "http_request_denied", "10.0.0.1"),
        (Refusal::WhoAreYou, 407, "http_request_denied", "authentication"),
        (Refusal::NotKnown, 407, "http_request_denied", "wrong"),
        (
            Refusal::OutOfHours {
                class: host.clone(),
                hours: Hours::parse(&["Mon-Fri 22:00-06:00"]).expect("hours"),
                opens: Opens::Today(time(22, 0, 0, 0)),
                after_s: 90,
            },
            503,
            "http_request_denied",
            "Try again from 22:00 today on",
        ),
        (Refusal::NoHelper, 503, "proxy_internal_error", "Passwords cannot be examined"),
        (Refusal::TooManyRequests(7), 429, "http_request_denied", "7 requests"),
        (
            Refusal::Quota {
                quota: "monthly".into(),
                bytes: 2_500_000_000,
                every: Every::Month(1),
                until: date(2026, 12, 1).at(0, 0, 0, 0),
                wait_s: 60,
            },
            429,
            "http_request_denied",
            "2.5 GB a month, is used up. Requests are served again from 1 Dec 2026, 00:00 on",
        ),
        (Refusal::BadRequest("<why>"), 400, "http_request_error", "&lt;why&gt;"),
        (Refusal::TargetTooLong, 414, "http_request_error", "target is longer"),
        (Refusal::HeaderTooLong { bytes: 16, fields: 9 }, 431, "http_request_error", "16 bytes and 9 fields"),
        (Refusal::BodyTimeout, 408, "http_request_error", "in time"),
        (Refusal::Body(why()), 400, "http_request_error", "&lt;why&gt;"),
        (Refusal::Scheme("<ftp>".into()), 400, "http_request_error", "&lt;ftp&gt;"),
        (Refusal::ConnectPort(25), 403, "http_request_denied", "CONNECT to port 25"),
        (Refusal::Port(25), 403, "http_request_denied", "port 25"),
        (
            Refusal::Destination { host: host.clone(), address, why: "it is <private>" },
            403,
            "destination_ip_prohibited",
            "it is &lt;private&gt;",
        ),
        (Refusal::Loop, 508, "proxy_loop_detected", "loop"),
        (Refusal::NoName { host: host.clone(), why: why() }, 502, "dns_error", "&lt;why&gt;"),
        (Refusal::NameTimeout(host.clone()), 504, "dns_timeout", "&lt;host&gt;"),
        (Refusal::ServerAsks(host.clone()), 502, "http_protocol_error", "&lt;host&gt;' demands"),
        (Refusal::Connect { host: host.clone(), why: why() }, 502, "connection_refused", "&lt;why&gt;"),
        (Refusal::ConnectTimeout(host.clone()), 504, "connection_timeout", "&lt;host&gt;"),
        (Refusal::BrokeOff { host: host.clone(), why: why() }, 502, "connection_terminated", "&lt;why&gt;"),
        (Refusal::ResponseTimeout(host.clone()), 504, "connection_read_timeout", "&lt;host&gt;"),
        (Refusal::Parent { parent: host.clone(), why: why() }, 502, "destination_unavailable", "&lt;why&gt;"),
        (Refusal::ParentTimeout(host.clone()), 504, "connection_timeout", "&lt;host&gt;"),
        (Refusal::ParentAsks(host.clone()), 502, "destination_unavailable", "password"),
        (
            Refusal::ParentStatus { parent: host.clone(), host: host.clone(), status: 404 },
            404,
            "destination_unavailable",
            "status 404",
        ),
        (
            Refusal::ParentStatus { parent: host.clone(), host: host.clone(), status: 302 },
            502,
            "destination_unavailable",
            "status 302",
        ),
        (Refusal::OwnName(host.clone()), 403, "destination_ip_prohibited", "&lt;host&gt;"),
        (Refusal::Full, 503, "connection_limit_reached", "limit of connections"),
        (Refusal::Internal("<&\">".into()), 500, "proxy_internal_error", "&lt;&amp;&quot;&gt;"),
    ]
}

/// What no page may contain: these values are no markup.
const MARKUP: [&str; 5] = ["<host>", "<why>", "<ftp>", "<private>", "<&"];

#[test]
fn a_page_says_what_happened_and_has_no_markup_but_its_own() {
    for (refusal, status, error, says) in all() {
        let body = refusal.body("gw", Language::English, PROXY);
        assert!(body.contains(says) && body.contains("the gateway gw"), "{refusal:?}: {body}");
        assert!(body.contains(&escaped(&refusal.to_string())), "{refusal:?}: {body}");
        for language in Language::ALL {
            let page = refusal.page("gw", language, PROXY);
            assert_eq!(page.status(), status, "{refusal:?}");
            assert_eq!(page.headers()["proxy-status"], format!("gw; error={error}"), "{refusal:?}");
            assert_eq!(page.headers()["cache-control"], "no-store", "{refusal:?}");
            assert!(
                page.headers()["content-security-policy"].as_bytes().starts_with(b"default-src 'none'"),
                "{refusal:?}"
            );
            assert_eq!(page.headers()["content-language"], language.tag(), "{refusal:?}");
            assert_eq!(page.headers()[header::VARY], "accept-language", "{refusal:?}");
            assert_eq!(page.headers().contains_key("proxy-authenticate"), status == 407, "{refusal:?}");
            assert_eq!(page.headers().contains_key("retry-after"), matches!(status, 429 | 503), "{refusal:?}");
            let body = refusal.body("gw", language, PROXY);
            assert!(body.contains(&format!("<html lang=\"{}\">", language.tag())), "{body}");
            assert!(body.contains(&format!("<small>{status} ")) && body.contains(" gw, "), "{body}");
            // A nonce is for pages with a content security policy.
            assert!(!body.contains("NONCE") && body.contains("<style>"), "{body}");
            assert!(!MARKUP.iter().any(|markup| body.contains(markup)), "{refusal:?}: {body}");
        }
        let raw = refusal.raw_page("gw");
        let (head, text) = raw.split_once("\r\n\r\n").expect("a header");
        assert!(head.starts_with(&format!("HTTP/1.1 {status} ")), "{head}");
        assert!(head.contains(&format!("Content-Length: {}\r\n", text.len())) && text == body, "{head}");
    }
}

#[test]
fn a_server_demands_a_password_in_a_server_s_way() {
    for (refusal, status, ..) in all() {
        let page = refusal.page("gw", Language::English, Addressed::Directly);
        let status = if status == 407 { 401 } else { status };
        assert_eq!(page.status(), status, "{refusal:?}");
        assert_eq!(page.headers().contains_key("www-authenticate"), status == 401, "{refusal:?}");
        assert!(!page.headers().contains_key("proxy-authenticate"), "{refusal:?}");
        let body = refusal.body("gw", Language::English, Addressed::Directly);
        assert!(body.contains(&format!("<small>{status} ")), "{body}");
    }
}

#[test]
fn a_translated_page_has_english_only_where_it_says_so() {
    for (refusal, ..) in all() {
        let english = Language::English;
        assert!(!refusal.body("gw", english, PROXY).contains("<span"), "an English sentence has its reason: {refusal}");
        for language in Language::ALL.into_iter().skip(1) {
            let body = refusal.body("gw", language, PROXY);
            assert_eq!(body.matches(refusal.heading(language)).count(), 2, "{body}");
            let (own, reason) = body.split_once("<span lang=\"en\">").unwrap_or((&body, ""));
            let why = refusal.to_string().contains("<why>") || refusal.to_string().contains("<&");
            assert_eq!(reason.contains("&lt;"), why || refusal.to_string().contains("<private>"), "{body}");
            assert!(!own.contains(refusal.heading(english)), "{body}");
            let words: Vec<_> = own.split(|letter: char| !letter.is_alphabetic()).collect();
            // German has the noun, with a capital.
            for word in ["the", "this", "not", "for", "did", "from", "at", "gateway", "requests", "Mon", "month"] {
                assert!(!words.contains(&word), "'{word}' is in {language:?}: {own}");
            }
            let sentence = refusal.sentence(language);
            assert!(places(&sentence).is_empty() && !sentence.contains("why"), "{sentence}");
        }
    }
}

#[test]
fn quotas_and_hours_are_written_as_the_language_does() {
    let quota = Refusal::Quota {
        quota: "monthly".into(),
        bytes: 2_500_000_000,
        every: Every::Week(Weekday::Monday),
        until: date(2026, 12, 1).at(0, 0, 0, 0),
        wait_s: 60,
    };
    let closed = |opens| Refusal::OutOfHours {
        class: "updates".into(),
        hours: Hours::parse(&["Wed-Fri 22:00-06:00", "Sat"]).expect("hours"),
        opens,
        after_s: 90,
    };
    let today = closed(Opens::Today(time(22, 0, 0, 0)));
    let later = closed(Opens::On(date(2026, 11, 28).at(8, 5, 0, 0)));
    let never = closed(Opens::AnotherDay);
    for (refusal, language, says) in [
        (
            &quota,
            Language::English,
            "monthly, 2.5 GB a week, is used up. Requests are served again from 1 Dec 2026, 00:00 on;",
        ),
        (
            &quota,
            Language::German,
            "monthly, 2,5 GB pro Woche, ist aufgebraucht. Anfragen werden ab dem 01.12.2026 um 00:00 Uhr wieder",
        ),
        (
            &quota,
            Language::French,
            "monthly, 2,5 GB par semaine, est épuisé. Les requêtes seront de nouveau acceptées à partir du 01/12/2026 à 00:00\u{a0};",
        ),
        (
            &quota,
            Language::Spanish,
            "monthly, 2,5 GB a la semana, está agotada. Las peticiones se volverán a atender a partir del 01/12/2026 a las 00:00;",
        ),
        (&today, Language::English, "through only at Wed-Fri 22:00-06:00, Sat. Try again from 22:00 today on. This"),
        (
            &today,
            Language::German,
            "durchgelassen: Mi-Fr 22:00-06:00, Sa. Versuchen Sie es heute ab 22:00 Uhr wieder. Der",
        ),
        (
            &today,
            Language::French,
            "heures\u{a0}: mer-ven 22:00-06:00, sam. Réessayez aujourd’hui à partir de 22:00. L’",
        ),
        (
            &today,
            Language::Spanish,
            "horario: mié-vie 22:00-06:00, sáb. Vuelva a intentarlo hoy a partir de las 22:00. El",
        ),
        (&later, Language::English, "Try again from 28 Nov 2026, 08:05 on."),
        (&later, Language::German, "Versuchen Sie es ab dem 28.11.2026 um 08:05 Uhr wieder."),
        (&later, Language::French, "Réessayez à partir du 28/11/2026 à 08:05."),
        (&later, Language::Spanish, "Vuelva a intentarlo a partir del 28/11/2026 a las 08:05."),
        (&never, Language::German, "Versuchen Sie es an einem anderen Tag wieder."),
    ] {
        let said = refusal.sentence(language);
        assert!(said.contains(says), "{said}");
    }
}

#[test]
fn every_language_says_all_that_english_does_in_its_own_words() {
    assert_eq!(assert_same(&texts::TEXTS, &["why"]), 38);
    assert_eq!(assert_same(&headings::HEADINGS, &[]), 14);
}

#[test]
fn a_name_in_proxy_status_is_a_token_or_a_string() {
    for (name, said) in [("gw-1.example", "gw-1.example"), ("1gw", "\"1gw\""), ("-", "\"-\""), ("a b", "a_b")] {
        assert_eq!(
            Refusal::Loop.page(name, Language::English, PROXY).headers()["proxy-status"],
            format!("{said}; error=proxy_loop_detected")
        );
    }
}
