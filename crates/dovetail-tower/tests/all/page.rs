//! The examples of docs/tower.md: the page shows the code between the marks below.

use std::{future::poll_fn, io};

use axum::{Router, body::Bytes, routing::get};
use dovetail_sched::{
    PolicyError, Weight,
    request::{ClassId, RequestSetup, RequestSpec},
};
use dovetail_tower::{Dispatcher, ScheduleLayer};
use http::{Request, request::Parts};
use http_body_util::BodyExt;
use tower::ServiceExt;

async fn generate() -> &'static str {
    "token token"
}

fn tokens(data: &Bytes) -> u64 {
    data.split(|&byte| byte == b' ').count() as u64
}

fn layer(
    free: Weight,
    paid: Weight,
    key_of: fn(&Parts) -> String,
    class_of: fn(&Parts) -> ClassId,
) -> Result<Router, PolicyError> {
    // The layer.
    let setup = RequestSetup { rate: 1_000.0, quantum: 8, window: 0, longest_window: 0, overhead: 0 };
    let policy: RequestSpec = "grants:lag=32,slack=32,delay=20ms,learn=off".parse()?;
    let dispatcher = Dispatcher::new(&policy, &setup, &[free, paid])?; // weights of classes 0 and 1
    tokio::spawn(dispatcher.drive()); // gives the turns that only time brings

    let classify = move |request: &Parts| (key_of(request), class_of(request));
    let layer = ScheduleLayer::new(dispatcher, classify).meter(tokens); // tokens: Fn(&Bytes) -> u64
    let app = Router::new().route("/generate", get(generate)).layer(layer);
    // Until here.
    Ok(app)
}

async fn without_http(
    dispatcher: &Dispatcher<String>,
    user: String,
    class: ClassId,
    total: u64,
    mut read_at_most: impl AsyncFnMut(u64) -> io::Result<u64>,
) -> io::Result<()> {
    // Without HTTP.
    let ticket = dispatcher.arrive(&user, class, None, "label".into());
    ticket.released().await;
    ticket.length(total); // if you know it
    loop {
        let (units, _window) = poll_fn(|cx| ticket.poll_allowed(cx)).await;
        let came = read_at_most(units).await?; // an error drops the ticket, which gives up
        if came == 0 {
            break;
        }
        ticket.received(came);
    }
    ticket.end();
    // Until here.
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn the_layer_answers() {
    let paid = |request: &Parts| ClassId(u32::from(request.headers.contains_key("x-paid")));
    let app = layer(Weight::ONE, Weight::ONE, |_| "a user".into(), paid).unwrap();
    let request = Request::get("/generate").header("x-paid", "yes").body(axum::body::Body::empty()).unwrap();
    let answer = app.oneshot(request).await.unwrap();
    assert!(answer.headers().contains_key("server-timing"));
    assert_eq!(answer.into_body().collect().await.unwrap().to_bytes(), "token token");
}

#[tokio::test(start_paused = true)]
async fn without_http_everything_is_read() {
    let setup = RequestSetup { rate: 1_000.0, quantum: 8, window: 0, longest_window: 0, overhead: 0 };
    let dispatcher = Dispatcher::new(&"grants".parse().unwrap(), &setup, &[Weight::ONE]).unwrap();
    tokio::spawn(dispatcher.drive());
    let mut left = 100;
    let read = async |units: u64| {
        let came = units.min(left);
        left -= came;
        Ok(came)
    };
    without_http(&dispatcher, "a user".into(), ClassId(0), 100, read).await.unwrap();
    assert_eq!((left, dispatcher.view().live.len()), (0, 0));
}

#[test]
fn the_page_shows_this_code() {
    let page = include_str!("../../../../docs/tower.md");
    for mark in ["    // The layer.\n", "    // Without HTTP.\n"] {
        let code =
            include_str!("page.rs").split(mark).nth(1).and_then(|rest| rest.split("    // Until here.\n").next());
        let code = code.expect("marks").trim().replace("\n    ", "\n");
        assert!(
            page.contains(&format!("```rust\n{code}\n```\n")),
            "docs/tower.md shows other code than crates/dovetail-tower/tests/all/page.rs: {code}"
        );
    }
}
