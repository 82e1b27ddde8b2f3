//! Decides whether a request may ask for its target.

use std::{net::IpAddr, sync::Arc};

use http::{Method, Request, Version, header};
use jiff::ZonedDateTime;

use crate::{
    config::{Class, Config},
    headers::was_here,
    refusal::{Opens, Refusal},
    wanted::{Asked, Wanted},
};

/// The target, or why it is refused regardless of its address.
pub(crate) fn permitted<B>(config: &Config, request: &Request<B>, asked: Asked) -> Result<Wanted, Refusal> {
    if request.method() == Method::TRACE {
        return Err(Refusal::BadRequest("TRACE would expose headers meant for proxies"));
    }
    let wanted = Wanted::of(request, asked)?;
    is_new(config, request)?;
    let access = &config.access;
    if wanted.is_tunnel && !access.connect_ports.contains(&wanted.port) {
        return Err(Refusal::ConnectPort(wanted.port));
    }
    if !wanted.is_tunnel && !access.ports.is_empty() && !access.ports.contains(&wanted.port) {
        return Err(Refusal::Port(wanted.port));
    }
    Ok(wanted)
}

/// Checks what holds for every request of a connection, whatever it asks for. Its client was admitted when it connected, but a
/// reload may have changed who is.
pub(crate) fn acceptable<B>(config: &Config, request: &Request<B>, client: IpAddr) -> Result<(), Refusal> {
    if !config.access.clients.contains(client) {
        return Err(Refusal::NotAClient(client));
    }
    let limits = &config.limits;
    let headers = request.headers();
    // Over HTTP/2 cookies may come in parts, which are forwarded as one field.
    let cookies = headers.get_all(header::COOKIE).iter().count();
    if headers.len() - cookies.saturating_sub(1) > limits.headers {
        return Err(Refusal::HeaderTooLong { bytes: limits.header_bytes, fields: limits.headers });
    }
    // RFC 9112, section 3.2. Some clients, such as lftp, send a CONNECT without one, which its target makes superfluous.
    let needs_host = request.version() == Version::HTTP_11 && request.method() != Method::CONNECT;
    if needs_host && !headers.contains_key(header::HOST) {
        return Err(Refusal::BadRequest("it has no Host, which HTTP/1.1 requires"));
    }
    Ok(())
}

/// Checks that a request has not passed through here before.
pub(crate) fn is_new<B>(config: &Config, request: &Request<B>) -> Result<(), Refusal> {
    if was_here(request.headers(), &config.proxy.name) { Err(Refusal::Loop) } else { Ok(()) }
}

/// Checks whether requests of a class are permitted at the local time. `now` is only called if the class has hours.
pub(crate) fn in_hours(class: &Class, now: impl FnOnce() -> ZonedDateTime) -> Result<(), Refusal> {
    let Some(hours) = &class.hours else { return Ok(()) };
    let now = now();
    if hours.contains(now.datetime()) {
        return Ok(());
    }
    let opens = hours.next_change(&now);
    let after_s = opens.as_ref().map_or(7 * 86_400, |opens| {
        let wait = opens.timestamp().as_millisecond() - now.timestamp().as_millisecond();
        u64::try_from(wait).unwrap_or(0).div_ceil(1000).max(1)
    });
    let opens = opens.map_or(Opens::AnotherDay, |opens| match opens.date() == now.date() {
        true => Opens::Today(opens.time()),
        false => Opens::On(opens.datetime()),
    });
    Err(Refusal::OutOfHours { class: Arc::clone(&class.name), hours: hours.clone(), opens, after_s })
}

#[cfg(test)]
mod tests {
    use jiff::civil::{date, time};

    use super::*;
    use crate::wanted::Met;

    const TEXT: &str = "[proxy]\nname = \"gw\"\n[downlink]\nrate = \"2Mbps\"\n\
                        [access]\nclients = \"10.0.0.0/8\"\nports = [80, 8080]\n";

    fn asked(method: &str, target: &str, via: &str) -> Option<Refusal> {
        let config = Config::parse(TEXT).expect("a configuration");
        let request = Request::builder().method(method).uri(target).header("via", via).body(()).expect("a request");
        permitted(&config, &request, Asked::Proxy(Met::in_clear(([127, 0, 0, 1], 3128).into()))).err()
    }

    #[test]
    fn a_request_that_was_here_goes_in_a_circle() {
        assert_eq!(asked("GET", "http://a.example/", "1.1 other, 1.1 gw"), Some(Refusal::Loop));
        assert_eq!(asked("CONNECT", "a.example:443", "2.0 gw (dovetail)"), Some(Refusal::Loop));
        for others in ["1.1 other", "1.1 gw2", "1.1 other (gw)", "gw"] {
            assert_eq!(asked("GET", "http://a.example/", others), None, "{others}");
        }
    }

    #[test]
    fn what_every_request_needs() {
        let config = Config::parse(&format!("{TEXT}[limits]\nheaders = 16\n")).expect("a configuration");
        let of = |version, names: &[&'static str], client: [u8; 4]| {
            let mut request = Request::builder().version(version);
            for name in names {
                request = request.header(*name, "x");
            }
            acceptable(&config, &request.body(()).expect("a request"), client.into()).err()
        };
        let client = [10, 0, 0, 1];
        assert_eq!(of(Version::HTTP_11, &["host"], client), None);
        assert!(matches!(of(Version::HTTP_11, &[], client), Some(Refusal::BadRequest(_))));
        assert_eq!([of(Version::HTTP_10, &[], client), of(Version::HTTP_2, &[], client)], [None, None]);
        assert!(matches!(of(Version::HTTP_11, &["host"], [11, 0, 0, 1]), Some(Refusal::NotAClient(_))));
        assert_eq!(of(Version::HTTP_2, &["a"; 16], client), None);
        assert!(matches!(of(Version::HTTP_2, &["a"; 17], client), Some(Refusal::HeaderTooLong { fields: 16, .. })));
        assert_eq!(
            of(Version::HTTP_2, &[&["cookie"; 20][..], &["a"; 15]].concat(), client),
            None,
            "parts of one field"
        );
    }

    #[test]
    fn ports_are_those_of_the_configuration() {
        assert_eq!(asked("GET", "http://a.example:8080/", ""), None);
        assert_eq!(asked("GET", "http://a.example:8081/", ""), Some(Refusal::Port(8081)));
        assert_eq!(asked("CONNECT", "a.example:443", ""), None, "443 is what CONNECT may reach unless said otherwise");
        assert_eq!(asked("CONNECT", "a.example:8080", ""), Some(Refusal::ConnectPort(8080)));
    }

    #[test]
    fn out_of_hours_it_is_said_when_they_begin() {
        let class = |hours: &str| {
            let class = format!("[[class]]\nname = \"updates\"\nhosts = \"a.example\"\nhours = \"{hours}\"\n");
            Config::parse(&format!("{TEXT}{class}")).expect("a configuration").classes[0].clone()
        };
        // A Wednesday.
        let at = |time: &str| -> ZonedDateTime { format!("2026-11-25T{time}+00:00[UTC]").parse().expect("a time") };
        let says = |hours: &str, time: &str| match in_hours(&class(hours), || at(time)) {
            Err(Refusal::OutOfHours { opens, after_s, .. }) => Some((opens, after_s)),
            Err(other) => panic!("{other:?}"),
            Ok(()) => None,
        };
        assert_eq!(says("22:00-06:00", "05:59:59"), None);
        let at_22 = Opens::Today(time(22, 0, 0, 0));
        assert_eq!(says("22:00-06:00", "06:00:00"), Some((at_22, 16 * 3600)));
        assert_eq!(says("22:00-06:00", "21:59:59.5"), Some((at_22, 1)));
        let saturday = Opens::On(date(2026, 11, 28).at(8, 0, 0, 0));
        assert_eq!(says("Sat 08:00-12:00", "12:00:00"), Some((saturday, 68 * 3600)));
    }

    #[test]
    fn headers_for_proxies_are_not_exposed() {
        assert!(matches!(asked("TRACE", "http://a.example/", ""), Some(Refusal::BadRequest(_))));
    }
}
