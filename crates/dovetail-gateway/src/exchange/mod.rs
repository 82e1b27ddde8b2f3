//! Has a server answer a request: prepares it, waits for its release by the policy, and sends it, twice if necessary.

mod answer;
mod ask;
mod attempt;
mod connect;
mod request;

use std::{ops::ControlFlow, sync::Arc};

use http::{Method, Request, Version, header};
use hyper::body::{Body, Incoming};

pub(crate) use self::{answer::Fetched, connect::Exchanges};
use self::{attempt::Attempt, request::Exchange};
use crate::{
    backpressure::Flow,
    client::Activity,
    headers,
    interim::{self, BodyGate, Listening},
    message,
    record::Record,
    refusal::Refusal,
    trailers, upgrade,
    wanted::Wanted,
};

impl Exchanges {
    /// Has a request answered.
    ///
    /// # Errors
    /// The reason for a refusal.
    pub(crate) async fn fetch(
        &self,
        request: Request<Incoming>,
        wanted: &Wanted,
        record: &Record,
        flow: &Flow,
        client: &Arc<Activity>,
    ) -> Result<Fetched, Refusal> {
        let is_upgrade = upgrade::is_asked(&request);
        let (mut head, body) = request.into_parts();
        let (client_version, is_head) = (head.version, head.method == Method::HEAD);
        let keeps_alive = client_version == Version::HTTP_10 && headers::keeps_alive(&head.headers);
        let takes_trailers =
            client_version == Version::HTTP_2 || trailers::are_asked_for(&head.headers, client_version);
        message::to_server(&self.settings, &mut head, &body, wanted, record.client)?;
        // At this point `Host` has the name that a parent would be asked for, whatever the client's target was.
        let mut ways = self.servers.ways(wanted, Some(&head.headers))?;
        let proves_connection = headers::proves_connection(&head.headers, &header::AUTHORIZATION);
        if is_upgrade {
            upgrade::name(&mut head.headers);
        }
        let go =
            interim::expects(&mut head.headers, client_version, !body.is_end_stream()).then(Arc::<BodyGate>::default);
        let exchange = Exchange {
            exchanges: self,
            wanted,
            record,
            progress: flow.progress(),
            client,
            client_version,
            is_head,
            is_upgrade,
            keeps_alive,
            takes_trailers,
            proves_connection,
            go,
            listening: Listening::new(client, client_version),
        };
        let (ticket, kept) = exchange.released(&mut ways).await?;
        let upload = exchange.upload(body);
        let mut attempt = Attempt { ticket, head, upload, kept };
        loop {
            match exchange.attempt(&mut ways, attempt).await? {
                ControlFlow::Break(fetched) => return Ok(fetched),
                ControlFlow::Continue(next) => attempt = next,
            }
        }
    }
}
