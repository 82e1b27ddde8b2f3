//! What a request asks for, if it may ask for that.

use http::{Method, Request};

use crate::{
    config::Config,
    headers::was_here,
    refusal::Refusal,
    wanted::{Asked, Wanted},
};

/// What is wanted, or why it is refused whatever there may be at that address.
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

/// Whether a request was not here before.
pub(crate) fn is_new<B>(config: &Config, request: &Request<B>) -> Result<(), Refusal> {
    if was_here(request.headers(), &config.proxy.name) { Err(Refusal::Loop) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
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
    fn ports_are_those_of_the_configuration() {
        assert_eq!(asked("GET", "http://a.example:8080/", ""), None);
        assert_eq!(asked("GET", "http://a.example:8081/", ""), Some(Refusal::Port(8081)));
        assert_eq!(asked("CONNECT", "a.example:443", ""), None, "443 is what CONNECT may reach unless said otherwise");
        assert_eq!(asked("CONNECT", "a.example:8080", ""), Some(Refusal::ConnectPort(8080)));
    }

    #[test]
    fn headers_for_proxies_are_not_exposed() {
        assert!(matches!(asked("TRACE", "http://a.example/", ""), Some(Refusal::BadRequest(_))));
    }
}
