//! What a client's connection brings.

use std::{convert::Infallible, future::Future, net::IpAddr, rc::Rc, sync::Arc};

use dovetail_sched::request::ClassId;
use http::{Method, Request, Response, StatusCode};
use hyper::{body::Incoming, rt::Executor, service::service_fn};
use hyper_util::{
    rt::{TokioIo, TokioTimer},
    server::conn::auto,
};
use tokio::{net::TcpStream, select};

use crate::{
    client::{Activity, ClientStream, Seat},
    exchange,
    gateway::Gateway,
    record::Record,
    refusal::Refusal,
    relay::Relay,
    tunnel,
    wanted::{Asked, Wanted, was_here},
};

/// Spawns on this thread.
#[derive(Debug, Clone, Copy)]
struct Here;

impl<F: Future<Output: 'static> + 'static> Executor<F> for Here {
    fn execute(&self, future: F) {
        tokio::task::spawn_local(future);
    }
}

/// A client that is connected.
#[derive(Debug)]
struct Client {
    gateway: Rc<Gateway>,
    address: IpAddr,
    asked: Asked,
    activity: Arc<Activity>,
    // Tunnels keep it when the connection is theirs.
    seat: Rc<Seat>,
}

/// Serves a connection until it ends.
pub(crate) async fn serve(gateway: Rc<Gateway>, stream: TcpStream, address: IpAddr, asked: Asked, seat: Seat) {
    let activity = Arc::new(Activity::default());
    let (header, idle) = {
        let config = gateway.config();
        (config.timeouts.header, config.timeouts.idle)
    };
    let io = ClientStream::new(stream, Arc::clone(&activity), header, idle);
    let (most, headers) = gateway.header_limits();
    let mut builder = auto::Builder::new(Here);
    // The stream itself sees to it that headers come in time.
    builder.http1().max_buf_size(most).max_headers(headers).header_read_timeout(None).timer(TokioTimer::new());
    builder.http2().max_header_list_size(u32::try_from(most).unwrap_or(u32::MAX)).timer(TokioTimer::new());
    builder.http2().max_concurrent_streams(100);
    let mut stops = gateway.stops();
    let client = Rc::new(Client { gateway, address, asked, activity, seat: Rc::new(seat) });
    let service = service_fn(move |request| {
        let client = Rc::clone(&client);
        async move { Ok::<_, Infallible>(client.answer(request).await) }
    });
    let connection = builder.serve_connection_with_upgrades(TokioIo::new(io), service);
    let mut connection = std::pin::pin!(connection);
    // How a client's connection ends is the client's affair.
    select! {
        done = &mut connection => drop(done),
        _ = stops.wait_for(|stops| *stops) => {
            connection.as_mut().graceful_shutdown();
            drop(connection.await);
        }
    }
}

impl Client {
    async fn answer(&self, request: Request<Incoming>) -> Response<Relay> {
        let busy = self.activity.begin();
        let (who, class, denied) = match self.gateway.who(self.address, request.headers()).await {
            Ok((who, class)) => (who, class, None),
            Err(refusal) => {
                let (who, class) = self.gateway.by_address(self.address);
                (who, class, Some(refusal))
            }
        };
        let target = target(&request);
        let who = (who, self.address, class);
        let record = Record::new(Rc::clone(&self.gateway), who, request.method().clone(), target);
        if let Some(refusal) = denied {
            return self.refuse(&refusal, record, busy);
        }
        let wanted = match self.wanted(&request) {
            Ok(wanted) => wanted,
            Err(refusal) => return self.refuse(&refusal, record, busy),
        };
        if wanted.is_tunnel {
            return match tunnel::open(&self.gateway, &wanted).await {
                Ok(upstream) => {
                    record.status.set(StatusCode::OK.as_u16());
                    tunnel::begin(&self.gateway, request, upstream, &wanted, record, (busy, Rc::clone(&self.seat)))
                }
                Err(refusal) => self.refuse(&refusal, record, busy),
            };
        }
        match exchange::fetch(&self.gateway, request, &wanted, &record, &self.activity).await {
            Ok(answer) => answer.relay(&self.gateway, record, busy),
            Err(refusal) => self.refuse(&refusal, record, busy),
        }
    }

    fn wanted(&self, request: &Request<Incoming>) -> Result<Wanted, Refusal> {
        let config = self.gateway.config();
        if request.method() == Method::TRACE {
            return Err(Refusal::BadRequest("TRACE would show what is for proxies only"));
        }
        let wanted = Wanted::of(request, self.asked)?;
        if was_here(request.headers(), &config.proxy.name) {
            return Err(Refusal::Loop);
        }
        if wanted.is_tunnel && !config.access.connect_ports.contains(&wanted.port) {
            return Err(Refusal::ConnectPort(wanted.port));
        }
        if !wanted.is_tunnel && !config.access.ports.is_empty() && !config.access.ports.contains(&wanted.port) {
            return Err(Refusal::Port(wanted.port));
        }
        Ok(wanted)
    }

    fn refuse(&self, refusal: &Refusal, record: Record, busy: crate::client::Busy) -> Response<Relay> {
        let page = refusal.page(&self.gateway.config().proxy.name);
        record.status.set(page.status().as_u16());
        page.map(|page| Relay::page(page, Some(record), Some(busy)))
    }
}

/// The target as the log has it.
fn target(request: &Request<Incoming>) -> String {
    let uri = request.uri();
    match (request.method(), uri.authority()) {
        (&Method::CONNECT, Some(authority)) => authority.to_string(),
        (_, Some(_)) => uri.to_string(),
        (_, None) => {
            let host = request.headers().get(http::header::HOST).and_then(|host| host.to_str().ok()).unwrap_or("-");
            format!("http://{host}{uri}")
        }
    }
}

/// A class's number.
pub(crate) const fn class_id(class: usize) -> ClassId {
    ClassId(class as u32)
}
