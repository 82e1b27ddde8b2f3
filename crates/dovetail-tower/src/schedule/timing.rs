//! Reports how long a request was queued as a metric of the `Server-Timing` header (W3C Server Timing), which browsers display.

use dovetail_sched::Nanos;
use http::{HeaderMap, HeaderName, HeaderValue, header::Entry};

const SERVER_TIMING: HeaderName = HeaderName::from_static("server-timing");

/// Adds `queue;dur=12.3`, in milliseconds, to the metrics already in the response.
pub(super) fn tell(headers: &mut HeaderMap, waited: Nanos) {
    let metric = format!("queue;dur={:.1}", waited.as_secs_f64() * 1e3);
    match headers.entry(SERVER_TIMING) {
        Entry::Occupied(mut entry) => {
            // With several header lines, the last one is extended, so that metrics keep their order.
            if let Some(last) = entry.iter_mut().next_back() {
                let joined = [last.as_bytes(), b", ", metric.as_bytes()].concat();
                if let Ok(value) = HeaderValue::from_bytes(&joined) {
                    *last = value;
                }
            }
        }
        Entry::Vacant(entry) => {
            if let Ok(value) = HeaderValue::from_str(&metric) {
                entry.insert(value);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(before: &[&'static str], waited: Nanos) -> Vec<String> {
        let mut headers = HeaderMap::new();
        for line in before {
            headers.append(SERVER_TIMING, HeaderValue::from_static(line));
        }
        tell(&mut headers, waited);
        headers.get_all(SERVER_TIMING).iter().map(|line| line.to_str().expect("text").to_owned()).collect()
    }

    #[test]
    fn it_is_the_last_metric() {
        let waited = Nanos::from_micros(12_340);
        assert_eq!(told(&[], waited), ["queue;dur=12.3"]);
        assert_eq!(told(&["db;dur=5"], waited), ["db;dur=5, queue;dur=12.3"]);
        assert_eq!(told(&["a", "b;desc=\"x, y\""], waited), ["a", "b;desc=\"x, y\", queue;dur=12.3"]);
    }

    #[test]
    fn it_is_in_milliseconds() {
        assert_eq!(told(&[], Nanos::ZERO), ["queue;dur=0.0"]);
        assert_eq!(told(&[], Nanos::from_secs(3_600)), ["queue;dur=3600000.0"]);
    }
}
