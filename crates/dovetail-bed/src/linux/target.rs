//! Parses and writes request targets: `/BYTES/ID`, `/stream/COUNT/SIZE/GAP_US/ID` or `/take/ID`.

use std::time::Duration;

use crate::{
    What,
    job::{MAX_GAP, MAX_PIECE_BYTES, MAX_PIECES},
    load::MAX_BYTES,
};

/// Longer ids are refused.
const MAX_ID_BYTES: usize = 64;

/// What a request asks of a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Wanted {
    /// This many bytes, with a length.
    Bytes(u64),
    /// A number of pieces, bytes of each, and the time between two, without a length.
    Stream(u64, u64, Duration),
    /// To read the request's body and answer with its length.
    Take,
}

/// The request and its id, from a path or an absolute URL; `None` if no server has such a path.
pub(super) fn wanted<'a>(method: &str, target: &'a str) -> Option<(Wanted, &'a str)> {
    let path = match target.strip_prefix("http://") {
        Some(rest) => &rest[rest.find('/')?..],
        None => target,
    };
    let (what, id) = path.strip_prefix('/')?.rsplit_once('/')?;
    let within = |text: &str, most: u64| text.parse().ok().filter(|&number: &u64| number <= most);
    let wanted = match *what.split('/').take(5).collect::<Vec<_>>() {
        ["take"] => Wanted::Take,
        ["stream", count, size, gap] => {
            let size = within(size, MAX_PIECE_BYTES).filter(|&size| size > 0)?;
            let gap = Duration::from_micros(within(gap, MAX_GAP.as_micros() as u64)?);
            Wanted::Stream(within(count, MAX_PIECES)?, size, gap)
        }
        [bytes] => Wanted::Bytes(within(bytes, MAX_BYTES)?),
        _ => return None,
    };
    let means = if wanted == Wanted::Take { "POST" } else { "GET" };
    let plain = id.len() <= MAX_ID_BYTES && id.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-');
    (method == means && plain).then_some((wanted, id))
}

/// The method and path of a request for `what`.
pub(super) fn asking(what: What, id: &str) -> (&'static str, String) {
    match what {
        What::Get { bytes } => ("GET", format!("/{bytes}/{id}")),
        What::Stream { pieces, piece_bytes, gap } => {
            ("GET", format!("/stream/{pieces}/{piece_bytes}/{}/{id}", gap.as_micros()))
        }
        What::Post { .. } => ("POST", format!("/take/{id}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_asked_for() {
        let ms = Duration::from_millis;
        assert_eq!(wanted("GET", "/12/0-1-2"), Some((Wanted::Bytes(12), "0-1-2")));
        assert_eq!(wanted("GET", "http://10.200.0.1/0/a"), Some((Wanted::Bytes(0), "a")));
        assert_eq!(wanted("GET", "/stream/3/65536/500000/7"), Some((Wanted::Stream(3, 65536, ms(500)), "7")));
        assert_eq!(wanted("GET", "/stream/0/1/0/a"), Some((Wanted::Stream(0, 1, ms(0)), "a")));
        assert_eq!(wanted("POST", "http://h/take/a-1"), Some((Wanted::Take, "a-1")));
        let long = format!("/1/{}", "a".repeat(MAX_ID_BYTES + 1));
        for target in [
            "",
            "/",
            "/12",
            "/x/a",
            "/-1/a",
            "/99999999999/a",
            "/1/a\r\nb",
            "http://host",
            "/1/a/b",
            "/1/é",
            &long,
            "/take/a",
            "/take",
            "/stream/a",
            "/stream/1/1/a",
            "/stream/1/1/1/1/a",
            "/stream/x/1/1/a",
            "/stream/1/0/1/a",
            "/stream/99999999999/1/1/a",
            "/stream/1/9999999/1/a",
            "/stream/1/1/10000001/a",
            "/stream/1/1/-1/a",
            "/stream/18446744073709551616/1/1/a",
            "/////a",
        ] {
            assert_eq!(wanted("GET", target), None, "{target}");
        }
        assert_eq!((wanted("POST", "/1/a"), wanted("PUT", "/take/a"), wanted("", "")), (None, None, None));
    }

    #[test]
    fn what_users_ask_is_what_servers_read() {
        let ms = Duration::from_millis;
        for (what, read) in [
            (What::Get { bytes: 7 }, Wanted::Bytes(7)),
            (What::Stream { pieces: 2, piece_bytes: 3, gap: ms(4) }, Wanted::Stream(2, 3, ms(4))),
            (What::Post { bytes: 9 }, Wanted::Take),
        ] {
            let (method, path) = asking(what, "5-0");
            assert_eq!(wanted(method, &path), Some((read, "5-0")));
        }
    }
}
