//! What a client receives.

use std::{
    io::{BufRead, BufReader, ErrorKind, Read},
    net::TcpStream,
};

/// A response, as far as it was received.
#[derive(Debug, Default)]
pub struct Answer {
    /// 0 if there was none.
    pub status: u16,
    pub head: String,
    pub body: Vec<u8>,
    pub is_whole: bool,
}

impl Answer {
    /// The value of a header field.
    pub fn field(&self, name: &str) -> Option<&str> {
        let lines = self.head.lines().filter_map(|line| line.split_once(':'));
        lines.into_iter().find(|(found, _)| found.eq_ignore_ascii_case(name)).map(|(_, value)| value.trim())
    }

    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }
}

/// The next final response. Reads no byte beyond it.
pub fn answer(stream: &mut TcpStream) -> Answer {
    answer_to(stream, "GET")
}

/// The next response to a request with this method.
pub fn answer_to(stream: &mut TcpStream, method: &str) -> Answer {
    // One byte at a time: anything buffered here would be lost to the next reader.
    let mut reader = BufReader::with_capacity(1, stream);
    loop {
        let found = one(&mut reader, method);
        if !(100..200).contains(&found.status) || found.status == 101 {
            return found;
        }
    }
}

fn one(reader: &mut impl BufRead, method: &str) -> Answer {
    let mut found = Answer::default();
    loop {
        let mut line = Vec::new();
        if reader.read_until(b'\n', &mut line).is_err() || !line.ends_with(b"\r\n") {
            return found;
        }
        if line == b"\r\n" {
            break;
        }
        found.head.push_str(&String::from_utf8_lossy(&line));
    }
    found.status = found.head.split(' ').nth(1).and_then(|status| status.parse().ok()).unwrap_or(0);
    if method == "HEAD" || (method == "CONNECT" && found.status == 200) || matches!(found.status, 100..200 | 204 | 304)
    {
        found.is_whole = true;
        return found;
    }
    let is_chunked = found.field("transfer-encoding").is_some_and(|coding| coding == "chunked");
    if is_chunked {
        found.is_whole = chunks(reader, &mut found.body).is_some();
    } else if let Some(length) = found.field("content-length").map(|length| length.parse::<u64>().unwrap()) {
        let came = reader.take(length).read_to_end(&mut found.body);
        found.is_whole = came.is_ok_and(|came| came as u64 == length);
    } else {
        found.is_whole = reader.read_to_end(&mut found.body).is_ok();
    }
    found
}

fn chunks(reader: &mut impl BufRead, body: &mut Vec<u8>) -> Option<()> {
    let line = |reader: &mut dyn BufRead| {
        let mut line = String::new();
        reader.read_line(&mut line).ok()?;
        line.strip_suffix("\r\n").map(str::to_owned)
    };
    loop {
        let size = u64::from_str_radix(&line(reader)?, 16).ok()?;
        if size == 0 {
            while !line(reader)?.is_empty() {}
            return Some(());
        }
        let came = reader.by_ref().take(size).read_to_end(body).ok()?;
        if came as u64 != size || !line(reader)?.is_empty() {
            return None;
        }
    }
}

/// Waits until the other side closes the connection, and returns whether it did so without sending more.
pub fn is_closed(stream: &mut TcpStream) -> bool {
    match stream.read(&mut [0]) {
        Ok(0) => true,
        Ok(_) => false,
        Err(error) => matches!(error.kind(), ErrorKind::ConnectionReset | ErrorKind::BrokenPipe),
    }
}
