//! An inference server that generates 1,000 tokens per second in total, and shares them 2:1 between paying and free users.
//!
//! ```console
//! $ cargo run --release -p dovetail-tower --example axum
//! ```

use std::{io, net::SocketAddr, sync::Arc, time::Duration};

use axum::{Router, body::Body, body::Bytes, routing::get};
use dovetail_sched::{
    PolicyError, Weight,
    request::{ClassId, RequestSetup, RequestSpec},
};
use dovetail_tower::{Dispatcher, ScheduleLayer};
use futures_util::stream;
use http::request::Parts;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
    sync::Mutex,
    time::{interval, timeout},
};

const TOKENS_PER_S: f64 = 1_000.0;
const FREE: ClassId = ClassId(0);
const PAID: ClassId = ClassId(1);

/// Identifies a user by their API key. A real server looks the key up.
fn classify(request: &Parts) -> (String, ClassId) {
    let key = request.headers.get("x-api-key").and_then(|key| key.to_str().ok()).unwrap_or("nobody");
    (key.to_owned(), if key.starts_with("paid-") { PAID } else { FREE })
}

/// Units are tokens: one per event.
fn tokens(data: &Bytes) -> u64 {
    data.windows(2).filter(|two| two == b"\n\n").count() as u64
}

fn app() -> Result<Router, PolicyError> {
    // A turn is 8 tokens, with none in flight beyond it: the model works when it is polled for the next token.
    let setup = RequestSetup { rate: TOKENS_PER_S, quantum: 8, window: 0, longest_window: 0, overhead: 0 };
    // Tolerances, which default to bytes, as a few turns of tokens; and no more than the model generates in 20 ms saved up.
    let policy: RequestSpec = "grants:lag=32,slack=32,delay=20ms,learn=off".parse()?;
    let dispatcher = Dispatcher::new(&policy, &setup, &[Weight::ONE; 2])?;
    dispatcher.set_weight(PAID, Weight::new(2.0).ok_or_else(|| PolicyError::unfit("no such weight"))?);
    tokio::spawn(dispatcher.drive());

    // The model: all streams take their tokens from it, first come, first served.
    let model = Arc::new(Mutex::new(interval(Duration::from_secs_f64(1.0 / TOKENS_PER_S))));
    let generate = async move || {
        let tokens = stream::unfold(model, async |model| {
            model.lock().await.tick().await;
            Some((Ok::<_, io::Error>("data: token\n\n"), model))
        });
        ([("content-type", "text/event-stream")], Body::from_stream(tokens))
    };
    let schedule = ScheduleLayer::new(dispatcher, classify).meter(tokens);
    Ok(Router::new().route("/generate", get(generate)).layer(schedule))
}

/// What a client received from the server.
pub struct Answer {
    /// The client's API key.
    pub key: String,
    /// Tokens received.
    pub tokens: usize,
    /// The value of `Server-Timing`.
    pub timing: String,
}

/// Reads a stream for a fixed time.
async fn client(server: SocketAddr, key: String, time: Duration) -> io::Result<Answer> {
    let mut stream = TcpStream::connect(server).await?;
    let request = format!("GET /generate HTTP/1.1\r\nhost: example\r\nx-api-key: {key}\r\n\r\n");
    stream.write_all(request.as_bytes()).await?;
    let mut answer = Vec::new();
    // The stream never ends, so the timeout does.
    if let Ok(ended) = timeout(time, stream.read_to_end(&mut answer)).await {
        ended?;
    }
    let answer = String::from_utf8_lossy(&answer);
    let timing = answer.lines().find_map(|line| line.strip_prefix("server-timing: ")).unwrap_or_default().to_owned();
    Ok(Answer { key, tokens: answer.matches("data: token").count(), timing })
}

/// What four free and four paying clients receive from a server in this time.
pub async fn answers(time: Duration) -> Result<Vec<Answer>, Box<dyn std::error::Error>> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let server = listener.local_addr()?;
    let app = app()?;
    tokio::spawn(async move { axum::serve(listener, app).await });

    let keys = ["free", "paid"].into_iter().flat_map(|class| (0..4).map(move |number| format!("{class}-{number}")));
    let clients: Vec<_> = keys.map(|key| tokio::spawn(client(server, key, time))).collect();
    let mut answers = Vec::new();
    for client in clients {
        answers.push(client.await??);
    }
    Ok(answers)
}

/// Tokens of clients whose keys have this prefix.
pub fn sum(answers: &[Answer], class: &str) -> usize {
    answers.iter().filter(|answer| answer.key.starts_with(class)).map(|answer| answer.tokens).sum()
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let answers = answers(Duration::from_secs(4)).await?;
    for Answer { key, tokens, timing } in &answers {
        println!("{key}: {tokens} tokens, Server-Timing: {timing}");
    }
    println!("free {} : paid {}", sum(&answers, "free"), sum(&answers, "paid"));
    Ok(())
}
