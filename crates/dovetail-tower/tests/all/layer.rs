//! What the layer does to a request and its response, in time that a test advances.

use std::{
    convert::Infallible,
    pin::Pin,
    sync::{Arc, Mutex, atomic::Ordering},
    task::{Context, Poll, Waker},
    time::Duration,
};

use crate::bodies::{Made, Piped, reads};
use crate::support::{FAIR, arrive, dispatcher, pass, tokens};
use bytes::Bytes;
use dovetail_sched::request::{ClassId, RequestSetup};
use dovetail_tower::{
    Dispatcher, ScheduleLayer, Units,
    dispatcher::{ClassView, Stage, WaitLimits},
    schedule::{ByteMeter, ScheduledBody},
};
use http::{HeaderMap, Request, Response, StatusCode, request::Parts};
use http_body::{Body, Frame};
use http_body_util::BodyExt;
use tokio::sync::mpsc;
use tower::{Layer, Service, ServiceExt, limit::ConcurrencyLimitLayer, service_fn};

const MS: Duration = Duration::from_millis(1);

/// User and class are in the path: `/user/class`.
fn by_path(request: &Parts) -> (u32, ClassId) {
    let mut numbers = request.uri.path().split('/').filter_map(|part| part.parse().ok());
    (numbers.next().unwrap_or(0), ClassId(numbers.next().unwrap_or(0)))
}

fn ask(path: &str) -> Request<()> {
    Request::get(path).body(()).expect("a request")
}

/// A service that returns this response, once.
fn gives<R>(
    response: Response<R>,
) -> impl Service<Request<()>, Response = Response<R>, Error = Infallible, Future: Send> + Clone
where
    R: Send + 'static,
{
    let response = Arc::new(Mutex::new(Some(response)));
    service_fn(move |_| {
        let response = response.lock().expect("no panic").take().expect("asked once");
        async { Ok(response) }
    })
}

/// The body after passing through the layer with this dispatcher.
async fn through<R>(dispatcher: &Dispatcher<u32>, body: R) -> ScheduledBody<R, u32, ByteMeter>
where
    R: Body<Data = Bytes> + Send + 'static,
{
    let service = ScheduleLayer::new(dispatcher.clone(), by_path).layer(gives(Response::new(body)));
    let Ok(response) = service.oneshot(ask("/1")).await;
    response.into_body()
}

type PolledFrame<B> = Poll<Option<Result<Frame<<B as Body>::Data>, <B as Body>::Error>>>;

fn poll<B: Body + Unpin>(body: &mut B) -> PolledFrame<B> {
    Pin::new(body).poll_frame(&mut Context::from_waker(Waker::noop()))
}

fn narrow_dispatcher() -> Dispatcher<u32> {
    dispatcher("msf-rs", &RequestSetup::for_bytes(239_000.0), &[1.0, 1.0])
}

fn class(dispatcher: &Dispatcher<u32>) -> ClassView {
    dispatcher.view().totals.classes[0]
}

fn stages(dispatcher: &Dispatcher<u32>) -> Vec<Stage> {
    dispatcher.view().live.iter().map(|live| live.stage).collect()
}

#[tokio::test(start_paused = true)]
async fn the_service_is_asked_when_the_request_is_released() {
    let dispatcher = narrow_dispatcher();
    let (tell, mut told) = mpsc::unbounded_channel();
    let service = ScheduleLayer::new(dispatcher.clone(), by_path).layer(service_fn(move |request: Request<()>| {
        tell.send(request.uri().path().to_owned()).expect("the test listens");
        async { Ok::<_, Infallible>(Response::new(String::new())) }
    }));
    let first = arrive(&dispatcher, 9, 0);
    let waits = tokio::spawn(service.oneshot(ask("/1")));
    pass(MS * 40).await;
    assert!(told.try_recv().is_err());
    assert_eq!(dispatcher.view().live.iter().map(|live| &*live.label).collect::<Vec<_>>(), ["", "/1"]);
    first.end();
    let response = waits.await.expect("no panic").expect("no error");
    assert_eq!(told.try_recv().as_deref(), Ok("/1"));
    assert_eq!(response.headers()["server-timing"], "queue;dur=40.0");
    assert_eq!(dispatcher.live(), 0, "an empty body is over at once");
}

#[tokio::test(start_paused = true)]
async fn timing_joins_what_the_service_says_or_is_left_out() {
    let layer = ScheduleLayer::new(narrow_dispatcher(), by_path);
    let inner = service_fn(async |_: Request<()>| {
        Ok::<_, Infallible>(Response::builder().header("server-timing", "db;dur=5").body(String::new()).expect("one"))
    });
    let response = layer.layer(inner).oneshot(ask("/1")).await.expect("no error");
    assert_eq!(response.headers()["server-timing"], "db;dur=5, queue;dur=0.0");
    let response = layer.server_timing(false).layer(inner).oneshot(ask("/1")).await.expect("no error");
    assert_eq!(response.headers()["server-timing"], "db;dur=5");
}

#[tokio::test(start_paused = true)]
async fn frames_are_passed_as_they_come() {
    let dispatcher = narrow_dispatcher();
    let (send, pipe) = mpsc::unbounded_channel();
    let mut body = through(&dispatcher, Piped(pipe)).await;
    assert!(poll(&mut body).is_pending());
    send.send(Ok(Frame::data(Bytes::from("one")))).expect("it is there");
    let Poll::Ready(Some(Ok(first))) = poll(&mut body) else { panic!("no need to wait for more") };
    assert_eq!(first.into_data().expect("data"), "one");
    assert_eq!((class(&dispatcher).units, dispatcher.live()), (3, 1));
    assert!(poll(&mut body).is_pending());
    let trailers = HeaderMap::from_iter([(http::header::ETAG, http::HeaderValue::from_static("x"))]);
    send.send(Ok(Frame::trailers(trailers.clone()))).expect("it is there");
    let Poll::Ready(Some(Ok(last))) = poll(&mut body) else { panic!("trailers are passed") };
    assert_eq!(last.into_trailers().expect("trailers"), trailers);
    drop(send);
    assert!(matches!(poll(&mut body), Poll::Ready(None)));
    assert_eq!((class(&dispatcher).units, class(&dispatcher).cancelled, dispatcher.live()), (3, 0, 0));
}

#[tokio::test(start_paused = true)]
async fn a_body_that_fails_midway_is_over() {
    let dispatcher = narrow_dispatcher();
    let (send, pipe) = mpsc::unbounded_channel();
    let mut body = through(&dispatcher, Piped(pipe)).await;
    send.send(Ok(Frame::data(Bytes::from("one")))).expect("it is there");
    send.send(Err("the line is cut")).expect("it is there");
    assert!(matches!(poll(&mut body), Poll::Ready(Some(Ok(_)))));
    assert_eq!(dispatcher.live(), 1);
    assert!(matches!(poll(&mut body), Poll::Ready(Some(Err("the line is cut")))));
    // It was aborted by the service, not cancelled.
    assert_eq!((class(&dispatcher).outstanding, class(&dispatcher).cancelled, dispatcher.live()), (0, 0, 0));
    drop(body);
    assert_eq!(class(&dispatcher).cancelled, 0);
}

#[tokio::test(start_paused = true)]
async fn a_body_is_polled_as_far_as_is_allowed() {
    let dispatcher = dispatcher(FAIR, &tokens(1_000.0), &[1.0]);
    let (made, polled) = Made::new([1; 200]);
    let body = through(&dispatcher, made).await;
    assert_eq!(polled.load(Ordering::Relaxed), 0, "nobody read");
    let reader = reads(body);
    // Four turns at once: three paid for by savings, and the last on credit.
    tokio::task::yield_now().await;
    pass(MS).await;
    assert_eq!(polled.load(Ordering::Relaxed), 64);
    assert_eq!(stages(&dispatcher), [Stage::Throttled]);
    // From then on at 0.95 of the rate.
    pass(MS * 100).await;
    let after = polled.load(Ordering::Relaxed);
    assert!((64 + 80..=64 + 112).contains(&after) && after.is_multiple_of(16), "{after}");
    reader.await.expect("no panic").expect("no error");
    assert_eq!((polled.load(Ordering::Relaxed), class(&dispatcher).units, dispatcher.live()), (200, 200, 0));
}

#[tokio::test(start_paused = true)]
async fn a_long_frame_is_passed_whole_and_paid_for_afterwards() {
    let dispatcher = dispatcher(FAIR, &tokens(1_000.0), &[1.0]);
    let (made, polled) = Made::new([950, 1]);
    let reader = reads(through(&dispatcher, made).await);
    pass(MS).await;
    assert_eq!((polled.load(Ordering::Relaxed), class(&dispatcher).units), (1, 950));
    // Saving up 950 tokens less the savings takes 940 ms.
    pass(MS * 900).await;
    assert_eq!(polled.load(Ordering::Relaxed), 1);
    pass(MS * 60).await;
    assert_eq!(polled.load(Ordering::Relaxed), 2);
    reader.await.expect("no panic").expect("no error");
}

#[tokio::test(start_paused = true)]
async fn the_end_of_a_known_length_costs_no_turn() {
    let dispatcher = dispatcher(FAIR, &tokens(1_000.0), &[1.0]);
    let response = |units| {
        let mut response = Response::new(Made::singles(64));
        response.extensions_mut().extend(units);
        response
    };
    let extensions = |units: u64| {
        let mut extensions = http::Extensions::new();
        extensions.insert(Units(units));
        extensions
    };
    let layer = ScheduleLayer::new(dispatcher.clone(), by_path);
    // 64 may be taken in at once, and then the end follows.
    let Ok(known) = layer.layer(gives(response(extensions(64)))).oneshot(ask("/1")).await;
    let reader = reads(known.into_body());
    tokio::task::yield_now().await;
    pass(MS).await;
    assert!(reader.is_finished());
    assert_eq!(class(&dispatcher).cancelled, 0);
    pass(MS * 1_000).await;
    let Ok(unknown) = layer.layer(gives(response(http::Extensions::new()))).oneshot(ask("/1")).await;
    let reader = reads(unknown.into_body());
    tokio::task::yield_now().await;
    pass(MS).await;
    assert!(!reader.is_finished());
    pass(MS * 40).await;
    assert!(reader.is_finished());
}

#[tokio::test(start_paused = true)]
async fn a_length_that_is_no_length_lets_nothing_pass() {
    let dispatcher = dispatcher(FAIR, &tokens(1_000.0), &[1.0]);
    let mut request = ask("/1");
    request.extensions_mut().insert(Units(10));
    let (made, polled) = Made::new([1; 5_000]);
    let service = ScheduleLayer::new(dispatcher.clone(), by_path).layer(gives(Response::new(made)));
    let Ok(response) = service.oneshot(request).await;
    assert_eq!(dispatcher.view().live[0].length, Some(10));
    let _reader = reads(response.into_body());
    pass(MS * 1_000).await;
    assert!((1_000..1_040).contains(&polled.load(Ordering::Relaxed)), "{polled:?}");
}

#[tokio::test(start_paused = true)]
async fn a_body_whose_length_is_known_in_bytes_says_it() {
    let dispatcher = narrow_dispatcher();
    let mut body = through(&dispatcher, "hello".to_owned()).await;
    assert_eq!((dispatcher.view().live[0].length, body.size_hint().exact()), (Some(5), Some(5)));
    assert!(!body.is_end_stream());
    assert!(matches!(poll(&mut body), Poll::Ready(Some(Ok(_)))));
    assert_eq!((class(&dispatcher).units, dispatcher.live()), (5, 0), "its last frame was its end");
    assert!(body.is_end_stream());
}

#[tokio::test(start_paused = true)]
async fn a_body_that_is_dropped_is_cancelled_unless_all_has_come() {
    let dispatcher = narrow_dispatcher();
    let mut extensions = http::Extensions::new();
    extensions.insert(Units(2));
    for (frames, cancelled) in [(1, 1), (2, 1)] {
        let mut response = Response::new(Made::singles(2));
        response.extensions_mut().extend(extensions.clone());
        let Ok(response) =
            ScheduleLayer::new(dispatcher.clone(), by_path).layer(gives(response)).oneshot(ask("/1")).await;
        let mut body = response.into_body();
        for _ in 0..frames {
            assert!(matches!(poll(&mut body), Poll::Ready(Some(Ok(_)))));
        }
        drop(body);
        assert_eq!((class(&dispatcher).cancelled, dispatcher.live()), (cancelled, 0));
    }
}

#[tokio::test(start_paused = true)]
async fn a_request_that_is_dropped_gives_up() {
    let dispatcher = narrow_dispatcher();
    let first = arrive(&dispatcher, 9, 0);
    let service = ScheduleLayer::new(dispatcher.clone(), by_path)
        .layer(service_fn(async |_: Request<()>| std::future::pending::<Result<Response<String>, Infallible>>().await));
    let (waits, outstanding) = (service.clone().oneshot(ask("/1")), service.oneshot(ask("/2")));
    let (waits, outstanding) = (tokio::spawn(waits), tokio::spawn(outstanding));
    pass(MS).await;
    waits.abort();
    pass(MS).await;
    assert_eq!((class(&dispatcher).waiting, class(&dispatcher).cancelled), (1, 1));
    first.end();
    pass(MS).await;
    assert_eq!((class(&dispatcher).waiting, class(&dispatcher).outstanding), (0, 1));
    outstanding.abort();
    pass(MS).await;
    assert_eq!((class(&dispatcher).outstanding, class(&dispatcher).cancelled, dispatcher.live()), (0, 2, 0));
}

#[tokio::test(start_paused = true)]
async fn an_error_of_the_service_is_passed_and_is_the_end() {
    let dispatcher = narrow_dispatcher();
    let fails = service_fn(async |_: Request<()>| Err::<Response<String>, _>("no server"));
    let error = ScheduleLayer::new(dispatcher.clone(), by_path).layer(fails).oneshot(ask("/1")).await.err();
    assert_eq!(error, Some("no server"));
    assert_eq!((class(&dispatcher).requests, class(&dispatcher).cancelled, dispatcher.live()), (1, 0, 0));
}

/// A service that never stays ready for long.
#[derive(Clone)]
struct Unwilling;

impl Service<Request<()>> for Unwilling {
    type Response = Response<String>;
    type Error = &'static str;
    type Future = std::future::Pending<Result<Response<String>, &'static str>>;

    fn poll_ready(&mut self, _cx: &mut Context<'_>) -> Poll<Result<(), &'static str>> {
        Poll::Ready(Err("broken"))
    }

    fn call(&mut self, _request: Request<()>) -> Self::Future {
        panic!("it was not ready")
    }
}

#[tokio::test(start_paused = true)]
async fn a_service_that_is_not_ready_is_not_called() {
    let dispatcher = narrow_dispatcher();
    let error = ScheduleLayer::new(dispatcher.clone(), by_path).layer(Unwilling).oneshot(ask("/1")).await.err();
    assert_eq!((error, dispatcher.live(), class(&dispatcher).cancelled), (Some("broken"), 0, 0));
}

#[tokio::test(start_paused = true)]
async fn requests_wait_at_the_desk_and_not_before_it() {
    // `none` releases all at once; the service behind it handles one at a time, for 10 ms.
    let dispatcher = dispatcher("none", &tokens(1_000.0), &[1.0]);
    let slow = ConcurrencyLimitLayer::new(1).layer(service_fn(async |_: Request<()>| {
        pass(MS * 10).await;
        Ok::<_, Infallible>(Response::new(String::new()))
    }));
    let mut service = ScheduleLayer::new(dispatcher.clone(), by_path).layer(slow);
    let asked: Vec<_> = (0..3)
        .map(|_| {
            assert!(service.poll_ready(&mut Context::from_waker(Waker::noop())).is_ready());
            tokio::spawn(service.call(ask("/1")))
        })
        .collect();
    assert_eq!(class(&dispatcher).requests, 3);
    let began = tokio::time::Instant::now();
    for response in asked {
        response.await.expect("no panic").expect("no error");
    }
    assert_eq!(began.elapsed(), MS * 30);
}

#[tokio::test(start_paused = true)]
async fn who_is_too_many_is_told_to_come_again() {
    let dispatcher = narrow_dispatcher();
    let released = arrive(&dispatcher, 9, 0);
    let service = ScheduleLayer::new(dispatcher.clone(), by_path)
        .limits(WaitLimits { user: 1, all: 2 }, 7)
        .layer(service_fn(async |_: Request<()>| Ok::<_, Infallible>(Response::new("done".to_owned()))));
    let waits = ["/1", "/2"].map(|path| tokio::spawn(service.clone().oneshot(ask(path))));
    pass(MS).await;
    for path in ["/1", "/3"] {
        let Ok(refused) = service.clone().oneshot(ask(path)).await;
        assert_eq!(
            (refused.status(), &refused.headers()["retry-after"]),
            (StatusCode::SERVICE_UNAVAILABLE, &"7".parse().expect("a value"))
        );
        assert!(!refused.headers().contains_key("server-timing"));
        assert!(refused.body().is_end_stream());
        assert_eq!(refused.into_body().collect().await.expect("no error").to_bytes(), "");
    }
    assert_eq!(class(&dispatcher).requests, 3);
    released.end();
    for waits in waits {
        let Ok(response) = waits.await.expect("no panic");
        assert_eq!(response.into_body().collect().await.expect("no error").to_bytes(), "done");
    }
    assert_eq!((dispatcher.live(), class(&dispatcher).cancelled), (0, 0));
}

#[tokio::test(start_paused = true)]
async fn units_are_what_the_meter_counts() {
    let dispatcher = narrow_dispatcher();
    let lines = |data: &Bytes| data.iter().filter(|&&letter| letter == b'\n').count() as u64;
    let service =
        ScheduleLayer::new(dispatcher.clone(), by_path).meter(lines).layer(gives(Response::new("a\nb\nc".to_owned())));
    let Ok(response) = service.oneshot(ask("/1")).await;
    assert_eq!(dispatcher.view().live[0].length, None, "the length in bytes says nothing");
    assert_eq!(response.into_body().collect().await.expect("no error").to_bytes(), "a\nb\nc");
    assert_eq!((class(&dispatcher).units, dispatcher.live()), (2, 0));
}
