//! Runs the example over real sockets and in real time.

#[path = "../../examples/axum.rs"]
#[allow(dead_code)]
mod example;

use std::time::Duration;

#[tokio::test]
async fn who_pays_gets_two_of_three_tokens() {
    let answers = example::answers(Duration::from_secs(3)).await.expect("a server and its clients");
    let (free, paid) = (example::sum(&answers, "free"), example::sum(&answers, "paid"));
    let ratio = paid as f64 / free as f64;
    assert!((1.8..2.2).contains(&ratio), "free {free} : paid {paid}");
    assert!(free + paid <= 3_100, "the model makes 1,000 a second: {free} + {paid}");
    for example::Answer { key, tokens, timing } in answers {
        let waited = timing.strip_prefix("queue;dur=").and_then(|ms| ms.parse::<f64>().ok());
        assert!(waited.is_some_and(|ms| (0.0..3_000.0).contains(&ms)), "{key}: {timing}");
        assert!(tokens > 0, "{key} got nothing");
    }
}
