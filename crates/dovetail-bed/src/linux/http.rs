//! HTTP/1.1 on a blocking connection, both sides: heads, and bodies by length, in chunks or up to the connection's end.

use std::{
    io::{self, ErrorKind, Read},
    net::TcpStream,
    time::Instant,
};

use httparse::{EMPTY_HEADER, Header, Request, Response, Status, parse_chunk_size};

/// The header that identifies a response's request.
pub(super) const ID: &str = "X-Bed-Id";
/// Longer heads are refused.
const MAX_HEAD_BYTES: usize = 64 << 10;
const MAX_HEADERS: usize = 64;

/// A connection with its read buffer.
#[derive(Debug)]
pub(super) struct Connection {
    stream: TcpStream,
    /// When reads time out; `None` means never.
    until: Option<Instant>,
    buffer: Vec<u8>,
    at: usize,
}

/// A request's head.
pub(super) struct Asked {
    pub(super) method: String,
    pub(super) target: String,
    /// Framing of the body that follows.
    pub(super) body: Body,
    /// Whether the answer may be chunked.
    pub(super) chunks: bool,
    /// Whether another request may follow.
    pub(super) keep: bool,
}

/// A response's head.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Head {
    pub(super) status: u16,
    pub(super) id: Option<String>,
    pub(super) body: Body,
    /// Whether another response may follow.
    pub(super) keep: bool,
}

/// How long a body is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Body {
    Length(u64),
    Chunked,
    /// Until the connection ends.
    ToEnd,
}

fn wrong(what: &str) -> io::Error {
    io::Error::new(ErrorKind::InvalidData, what.to_owned())
}

impl Connection {
    pub(super) fn new(stream: TcpStream) -> Self {
        Self { stream, until: None, buffer: Vec::new(), at: 0 }
    }

    pub(super) fn stream(&self) -> &TcpStream {
        &self.stream
    }

    /// Makes reads fail from then on.
    pub(super) fn read_until(&mut self, until: Instant) {
        self.until = Some(until);
    }

    /// Whether everything that was read has been consumed.
    pub(super) fn is_empty(&self) -> bool {
        self.at == self.buffer.len()
    }

    /// Reads more; returns 0 at the end.
    pub(super) fn fill(&mut self) -> io::Result<usize> {
        if let Some(until) = self.until {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Err(ErrorKind::TimedOut.into());
            }
            self.stream.set_read_timeout(Some(left))?;
        }
        self.buffer.drain(..self.at);
        self.at = 0;
        let from = self.buffer.len();
        self.buffer.resize(from + (16 << 10), 0);
        let read = loop {
            match self.stream.read(&mut self.buffer[from..]) {
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                read => break read,
            }
        };
        self.buffer.truncate(from + read.as_ref().copied().unwrap_or(0));
        read
    }

    /// The next request's head, or `None` if the connection ends before one begins.
    ///
    /// # Errors
    /// If it cannot be read or is not a request.
    pub(super) fn request(&mut self) -> io::Result<Option<Asked>> {
        self.head(|bytes| {
            let mut headers = [EMPTY_HEADER; MAX_HEADERS];
            let mut request = Request::new(&mut headers);
            let Status::Complete(length) = request.parse(bytes).map_err(|_| wrong("no HTTP request"))? else {
                return Ok(None);
            };
            let chunks = request.version == Some(1);
            let keep = chunks && !says(request.headers, "connection", "close");
            let text = |text: Option<&str>| text.unwrap_or_default().to_owned();
            let (method, target) = (text(request.method), text(request.path));
            let body = framed(request.headers)?.unwrap_or(Body::Length(0));
            Ok(Some((length, Asked { method, target, body, chunks, keep })))
        })
    }

    /// The head of the next response, to a request other than CONNECT.
    ///
    /// # Errors
    /// If it cannot be read or is not a response.
    pub(super) fn response(&mut self) -> io::Result<Head> {
        let head = self.head(|bytes| {
            let mut headers = [EMPTY_HEADER; MAX_HEADERS];
            let mut response = Response::new(&mut headers);
            let Status::Complete(length) = response.parse(bytes).map_err(|_| wrong("no HTTP response"))? else {
                return Ok(None);
            };
            Ok(Some((length, read_head(&response)?)))
        })?;
        head.ok_or_else(|| ErrorKind::UnexpectedEof.into())
    }

    fn head<T>(&mut self, parse: impl Fn(&[u8]) -> io::Result<Option<(usize, T)>>) -> io::Result<Option<T>> {
        loop {
            let bytes = &self.buffer[self.at..];
            if !bytes.is_empty()
                && let Some((length, head)) = parse(bytes)?
            {
                self.at += length;
                return Ok(Some(head));
            }
            if bytes.len() > MAX_HEAD_BYTES {
                return Err(wrong("a head that does not end"));
            }
            if self.fill()? == 0 {
                return if self.is_empty() { Ok(None) } else { Err(ErrorKind::UnexpectedEof.into()) };
            }
        }
    }

    /// Reads a body, passes each piece to `show`, and returns the body's length.
    ///
    /// # Errors
    /// If it cannot be read or ends early.
    pub(super) fn body(&mut self, body: Body, mut show: impl FnMut(&[u8])) -> io::Result<u64> {
        match body {
            Body::Length(bytes) => self.pass(bytes, &mut show).map(|()| bytes),
            Body::Chunked => self.chunks(&mut show),
            Body::ToEnd => {
                let mut all = 0;
                loop {
                    let here = &self.buffer[self.at..];
                    if !here.is_empty() {
                        show(here);
                        all += here.len() as u64;
                        self.at = self.buffer.len();
                    }
                    if self.fill()? == 0 {
                        return Ok(all);
                    }
                }
            }
        }
    }

    /// Reads this many bytes.
    fn pass(&mut self, mut bytes: u64, show: &mut impl FnMut(&[u8])) -> io::Result<()> {
        while bytes > 0 {
            if self.is_empty() && self.fill()? == 0 {
                return Err(ErrorKind::UnexpectedEof.into());
            }
            let here = bytes.min((self.buffer.len() - self.at) as u64) as usize;
            show(&self.buffer[self.at..self.at + here]);
            self.at += here;
            bytes -= here as u64;
        }
        Ok(())
    }

    fn chunks(&mut self, show: &mut impl FnMut(&[u8])) -> io::Result<u64> {
        let mut all = 0;
        loop {
            let (line, bytes) = match parse_chunk_size(&self.buffer[self.at..]).map_err(|_| wrong("no chunk"))? {
                Status::Complete(parsed) => parsed,
                Status::Partial => {
                    if self.fill()? == 0 {
                        return Err(ErrorKind::UnexpectedEof.into());
                    }
                    continue;
                }
            };
            self.at += line;
            if bytes == 0 {
                // Trailers are a head without its first line.
                let trailers = |bytes: &[u8]| {
                    let mut headers = [EMPTY_HEADER; MAX_HEADERS];
                    match httparse::parse_headers(bytes, &mut headers).map_err(|_| wrong("no trailers"))? {
                        Status::Complete((length, _)) => Ok(Some((length, ()))),
                        Status::Partial => Ok(None),
                    }
                };
                self.head(trailers)?.ok_or(ErrorKind::UnexpectedEof)?;
                return Ok(all);
            }
            self.pass(bytes, show)?;
            self.pass(2, &mut |_| ())?;
            all += bytes;
        }
    }
}

fn header<'a>(headers: &[Header<'a>], name: &str) -> Option<&'a str> {
    let found = headers.iter().find(|header| header.name.eq_ignore_ascii_case(name))?;
    str::from_utf8(found.value).ok().map(str::trim)
}

/// Whether a header lists this word.
fn says(headers: &[Header<'_>], name: &str, word: &str) -> bool {
    header(headers, name).is_some_and(|value| value.split(',').any(|one| one.trim().eq_ignore_ascii_case(word)))
}

/// How the headers frame the body.
fn framed(headers: &[Header<'_>]) -> io::Result<Option<Body>> {
    if says(headers, "transfer-encoding", "chunked") {
        return Ok(Some(Body::Chunked));
    }
    let length = header(headers, "content-length").map(str::parse).transpose();
    Ok(length.map_err(|_| wrong("a length that is no number"))?.map(Body::Length))
}

fn read_head(response: &Response<'_, '_>) -> io::Result<Head> {
    let headers = &*response.headers;
    let status = response.code.unwrap_or_default();
    let body = if let Some(body) = framed(headers)? {
        body
    } else if status == 204 || status == 304 || status / 100 == 1 {
        Body::Length(0)
    } else {
        Body::ToEnd
    };
    let close = says(headers, "connection", "close") || says(headers, "proxy-connection", "close");
    let keep = response.version == Some(1) && !close && body != Body::ToEnd;
    Ok(Head { status, id: header(headers, ID).map(str::to_owned), body, keep })
}

#[cfg(test)]
mod tests {
    use std::{io::Write, net::TcpListener, thread, time::Duration};

    use super::*;

    /// A connection on which these pieces arrive in order, followed by the end.
    fn arriving(pieces: Vec<&'static [u8]>) -> Connection {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        thread::spawn(move || {
            let mut stream = TcpStream::connect(address).unwrap();
            stream.set_nodelay(true).unwrap();
            for piece in pieces {
                stream.write_all(piece).unwrap();
                thread::sleep(Duration::from_millis(2));
            }
        });
        Connection::new(listener.accept().unwrap().0)
    }

    fn read(connection: &mut Connection) -> io::Result<(Head, u64)> {
        let head = connection.response()?;
        let mut told = 0;
        let all = connection.body(head.body, |bytes| told += bytes.len() as u64)?;
        assert_eq!(told, all);
        Ok((head, all))
    }

    #[test]
    fn by_length_and_in_chunks_and_to_the_end() {
        let mut connection = arriving(vec![
            b"HTTP/1.1 200 OK\r\nContent-Le",
            b"ngth: 5\r\nx-bed-id: 7-a\r\n\r\nab",
            b"cdeHTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n3;x=y\r",
            b"\nabc\r\n1",
            b"0\r\n0123456789abcdef\r\n0\r\nTrailer: a\r\n",
            b"\r\nHTTP/1.1 204 No Content\r\n\r\nHTTP/1.1 503 No\r\n\r\nsor",
            b"ry",
        ]);
        let (head, bytes) = read(&mut connection).unwrap();
        assert_eq!((head.status, head.id.as_deref(), head.keep, bytes), (200, Some("7-a"), true, 5));
        let (head, bytes) = read(&mut connection).unwrap();
        assert_eq!((head.body, head.keep, bytes), (Body::Chunked, true, 19));
        let (head, bytes) = read(&mut connection).unwrap();
        assert_eq!((head.status, head.keep, bytes), (204, true, 0));
        let (head, bytes) = read(&mut connection).unwrap();
        assert_eq!((head.status, head.body, head.keep, bytes), (503, Body::ToEnd, false, 5));
        assert_eq!(read(&mut connection).unwrap_err().kind(), ErrorKind::UnexpectedEof);
    }

    #[test]
    fn requests_one_after_another() {
        let mut connection = arriving(vec![
            b"GET /1/a HTTP/1.1\r\nHost: h\r\n\r\nGET /2",
            b"/b HTTP/1.1\r\nContent-Length: 3\r\n\r\na",
            b"bcPOST /3/c HTTP/1.1\r\nConnection: keep-alive, Close\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nde\r\n0\r\n\r\n",
        ]);
        let first = connection.request().unwrap().unwrap();
        assert_eq!((first.target.as_str(), first.keep), ("/1/a", true));
        assert_eq!((first.method.as_str(), first.body, first.chunks), ("GET", Body::Length(0), true));
        let mut seen = Vec::new();
        for (target, body, keep) in [("/2/b", Body::Length(3), true), ("/3/c", Body::Chunked, false)] {
            let next = connection.request().unwrap().unwrap();
            assert_eq!((next.target.as_str(), next.body, next.keep), (target, body, keep));
            connection.body(next.body, |piece| seen.extend_from_slice(piece)).unwrap();
        }
        assert_eq!(seen, b"abcde");
        assert!(connection.request().unwrap().is_none());
    }

    #[test]
    fn nonsense_and_silence_are_errors() {
        for pieces in [
            vec![&b"hello\r\n\r\n"[..]],
            vec![b"HTTP/1.1 200 OK\r\nContent-Length: x\r\n\r\n"],
            vec![b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nabc"],
            vec![b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n"],
            vec![b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nabc"],
            vec![b"HTTP/1.1 2"],
        ] {
            assert!(read(&mut arriving(pieces.clone())).is_err(), "{pieces:?}");
        }
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let mut silent = Connection::new(TcpStream::connect(listener.local_addr().unwrap()).unwrap());
        silent.read_until(Instant::now() + Duration::from_millis(20));
        let kind = silent.response().unwrap_err().kind();
        assert!(matches!(kind, ErrorKind::WouldBlock | ErrorKind::TimedOut), "{kind:?}");
    }
}
