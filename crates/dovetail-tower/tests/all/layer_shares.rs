//! Under contention, classes get shares according to their weights, both in the order of requests and in the units of bodies.

use std::{convert::Infallible, time::Duration};

use crate::bodies::{Made, reads};
use crate::support::{FAIR, dispatcher, pass, tokens};
use dovetail_sched::request::{ClassId, RequestSetup};
use dovetail_tower::{Dispatcher, ScheduleLayer};
use http::{Request, Response, request::Parts};
use tokio::sync::mpsc;
use tower::{Layer, ServiceExt, service_fn};

/// A request's user and class, attached as an extension.
#[derive(Debug, Clone, Copy)]
struct From(u32, u32);

fn classify(request: &Parts) -> (u32, ClassId) {
    let From(user, class) = *request.extensions.get().expect("every request has one");
    (user, ClassId(class))
}

fn request(from: From) -> Request<()> {
    let mut request = Request::new(());
    request.extensions_mut().insert(from);
    request
}

/// Reads endless responses of this many users per class for this long. Returns each class's units relative to the first's.
async fn ratios(dispatcher: &Dispatcher<u32>, users: &[u32], seconds: u64) -> Vec<f64> {
    let service = ScheduleLayer::new(dispatcher.clone(), classify)
        .layer(service_fn(async |_: Request<()>| Ok::<_, Infallible>(Response::new(Made::singles(1_000_000)))));
    let mut readers = Vec::new();
    let mut user = 0;
    for (class, &users) in (0..).zip(users) {
        for _ in 0..users {
            user += 1;
            // Two each, so that a class still has a request while one of them is being read.
            for _ in 0..2 {
                let asked = service.clone().oneshot(request(From(user, class)));
                readers.push(tokio::spawn(async move {
                    let Ok(response) = asked.await;
                    reads(response.into_body()).await
                }));
            }
        }
    }
    pass(Duration::from_secs(seconds)).await;
    assert!(readers.iter().all(|reader| !reader.is_finished()), "all still read");
    let units: Vec<_> = dispatcher.view().totals.classes.iter().map(|class| class.units as f64).collect();
    units.iter().map(|of_class| of_class / units[0]).collect()
}

#[tokio::test(start_paused = true)]
async fn tokens_are_shared_by_weight_and_users() {
    for (weights, users) in [([1.0, 2.0, 4.0], [1, 1, 1]), ([1.0, 1.0, 2.0], [1, 3, 2]), ([5.0, 1.0, 1.0], [2, 1, 1])] {
        let dispatcher = dispatcher(FAIR, &tokens(1_000.0), &weights);
        let ours = ratios(&dispatcher, &users, 60).await;
        let parts = [0, 1, 2].map(|class: usize| weights[class] * f64::from(users[class]));
        for (class, ours) in ours.iter().enumerate() {
            let fair = parts[class] / parts[0];
            assert!((ours / fair - 1.0).abs() < 0.03, "class {class}: {ours} in place of {fair}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn an_ordinary_desk_holds_nothing_back() {
    // The same bodies and readers: this shows that the test above observes the policy.
    let began = tokio::time::Instant::now();
    let service = ScheduleLayer::new(dispatcher("none", &tokens(1_000.0), &[1.0, 4.0]), classify)
        .layer(service_fn(async |_: Request<()>| Ok::<_, Infallible>(Response::new(Made::singles(10_000)))));
    for from in [From(1, 0), From(2, 1)] {
        let Ok(response) = service.clone().oneshot(request(from)).await;
        reads(response.into_body()).await.expect("no panic").expect("no error");
    }
    assert_eq!(began.elapsed(), Duration::ZERO);
}

#[tokio::test(start_paused = true)]
async fn requests_leave_in_the_order_of_weights() {
    // msf-rs with one response at a time orders requests by what classes received relative to their weights.
    let dispatcher = dispatcher("msf-rs", &RequestSetup::for_bytes(239_000.0), &[1.0, 2.0]);
    let (tell, mut told) = mpsc::unbounded_channel();
    let service = ScheduleLayer::new(dispatcher.clone(), classify).layer(service_fn(move |request: Request<()>| {
        let From(_, class) = *request.extensions().get().expect("every request has one");
        tell.send(class).expect("the test listens");
        // The service takes 10 ms for 1,000 bytes; the window admits one request at a time.
        async {
            pass(Duration::from_millis(10)).await;
            Ok::<_, Infallible>(Response::new("x".repeat(1_000)))
        }
    }));
    for number in 0..60 {
        let asked = service.clone().oneshot(request(From(number % 2, number % 2)));
        tokio::spawn(async move {
            let Ok(response) = asked.await;
            reads(response.into_body()).await
        });
    }
    let mut order = Vec::new();
    while order.len() < 30 {
        order.push(told.recv().await.expect("requests go on"));
    }
    let heavy = order.iter().filter(|&&class| class == 1).count();
    assert!((19..=21).contains(&heavy), "two of three are of class 1: {order:?}");
}
