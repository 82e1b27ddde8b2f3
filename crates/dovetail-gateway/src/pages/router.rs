//! Maps paths to pages.

use bytes::Bytes;
use dovetail_admin::Answer;
use http::{Method, Request, Response, header, uri::Authority};
use http_body_util::Full;

use super::{answer::strict, errors::Error, index, me, pac, visit::Visit};

/// The page at a path.
struct Route {
    path: &'static str,
    // Whether it is the same for all clients, even without authentication, and under any host name.
    is_for_all: bool,
    // It may depend on the host and port by which the client reached the gateway.
    page: fn(&Visit<'_>, Option<&Authority>) -> Answer,
}

/// All pages.
const ROUTES: [Route; 4] = [
    Route { path: "/", is_for_all: false, page: |visit, _| index::page(visit) },
    Route { path: "/me", is_for_all: false, page: |visit, _| me::page(visit) },
    Route { path: "/proxy.pac", is_for_all: true, page: pac::file },
    Route { path: "/wpad.dat", is_for_all: true, page: pac::file },
];

/// Whether the answer is the same for all clients, so that none has to authenticate.
pub(crate) fn is_for_all<B>(request: &Request<B>) -> bool {
    route(request.uri().path()).is_none_or(|route| route.is_for_all)
}

/// The answer to a visitor.
pub(crate) fn answer<B>(request: &Request<B>, visit: &Visit<'_>) -> Response<Full<Bytes>> {
    let page = match route(request.uri().path()) {
        _ if ![Method::GET, Method::HEAD].contains(request.method()) => Error::OnlyRead.page(visit),
        Some(route) if route.is_for_all => (route.page)(visit, visit.how.by(request).as_ref()),
        _ if request.headers().contains_key(header::VIA) => Error::OthersProxy.page(visit),
        _ if !visit.how.is_own_name(visit.config, request) => Error::OtherName.page(visit),
        Some(route) => (route.page)(visit, visit.how.by(request).as_ref()),
        None => Error::NoSuchPage.page(visit),
    };
    strict(page, request.method() == Method::HEAD)
}

fn route(path: &str) -> Option<&'static Route> {
    ROUTES.iter().find(|route| route.path == path)
}
