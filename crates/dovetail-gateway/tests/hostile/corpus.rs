//! A corpus of ambiguous requests, each followed by a hidden one: what parsers are known to read differently.
//!
//! Whatever a request's fields, lines or chunks look like, either it is refused and its connection closed, or it is read as RFC
//! 9112 prescribes, and so is what follows it.

use std::{io::Write, net::TcpStream};

use crate::{
    answer::{answer, is_closed},
    server::{Server, strict_server},
    strict::Message,
    support::{Running, Setup},
};

/// A gateway and a server for all requests of a test.
struct Lab {
    gateway: Running,
    server: Server<Result<Message, String>>,
}

impl Lab {
    fn new() -> Self {
        Self { gateway: Setup::default().start(), server: strict_server() }
    }

    /// Sends bytes in which `{at}` is the server, and then a request for `/hidden`.
    fn send(&self, bytes: &[u8]) -> TcpStream {
        let at = self.server.address.to_string();
        let hidden = format!("GET http://{at}/hidden HTTP/1.1\r\nHost: {at}\r\n\r\n");
        let mut whole = Vec::new();
        let mut rest = bytes;
        while let Some(found) = rest.windows(4).position(|window| window == b"{at}") {
            whole.extend([&rest[..found], at.as_bytes()].concat());
            rest = &rest[found + 4..];
        }
        whole.extend([rest, hidden.as_bytes()].concat());
        let mut client = self.gateway.connect();
        client.write_all(&whole).unwrap();
        client
    }

    /// The gateway answers this with 400 and closes the connection. Returns what the server learnt of it.
    fn refused(&self, bytes: &[u8]) -> Vec<Result<Message, String>> {
        let mut client = self.send(bytes);
        let text = String::from_utf8_lossy(bytes);
        let refusal = answer(&mut client);
        assert_eq!((refusal.status, refusal.is_whole), (400, true), "{text:?}: {refusal:?}");
        assert!(is_closed(&mut client), "{text:?}");
        drop(client);
        self.gateway.quiet();
        self.server.rest()
    }

    /// The gateway refuses this and closes the connection, and the server learns nothing of it.
    fn refuses(&self, bytes: &[u8]) {
        assert_eq!(self.refused(bytes), [], "{:?}", String::from_utf8_lossy(bytes));
    }

    /// The server gets this as one request with this body, and then the hidden one.
    fn reads(&self, bytes: &[u8], body: &str) {
        let mut client = self.send(bytes);
        let text = String::from_utf8_lossy(bytes);
        for (target, body) in [("/", body), ("/hidden", "")] {
            assert_eq!(answer(&mut client).text(), target, "{text:?}");
            let message = self.server.told().unwrap();
            assert_eq!((&*message.target, &*message.body), (target, body.as_bytes()), "{text:?}");
        }
        drop(client);
        self.gateway.quiet();
    }

    /// The server gets the beginning of this, which then breaks off.
    fn breaks_off(&self, bytes: &[u8]) {
        assert!(self.refused(bytes).iter().all(Result::is_err), "{:?}", String::from_utf8_lossy(bytes));
    }
}

fn post(fields: &[u8], body: &[u8]) -> Vec<u8> {
    [b"POST http://{at}/ HTTP/1.1\r\nHost: {at}\r\n", fields, b"\r\n", body].concat()
}

#[test]
fn lengths_that_are_none() {
    let lab = Lab::new();
    for value in [
        &b"3_0"[..],
        b"3,",
        b",3",
        b"3;",
        b"3e0",
        b"03x",
        b"0.3",
        b"3, 4",
        b"3 ,3",
        b"3\t\t3",
        b"\"3\"",
        b"\xb23",
        b"3\xa0",
        b"3\x0b",
        b"\x0c3",
        b"3\0",
        b"18446744073709551619",
    ] {
        lab.refuses(&post(&[b"Content-Length: ", value, b"\r\n"].concat(), b"abc"));
    }
    for fields in [
        &b"Content-Length: \r\nContent-Length: 3\r\n"[..],
        b"Content-Length: 3\r\nContent-Length: \r\n",
        b"Content-Length: 3\r\nContent-Length: 0x3\r\n",
        b"Content-Length: 3\r\n Content-Length: 4\r\n",
        b"Content-Length: 3\r\n\t\r\n",
        b"Content-Length:\r\n 3\r\n",
        b"Content-Length : 3\r\n",
        b"Content-Length\t: 3\r\n",
        b" Content-Length: 3\r\n",
        b"\rContent-Length: 3\r\n",
        b"\0Content-Length: 3\r\n",
        b"Content-Length\0: 3\r\n",
        b"Content-Length\r: 3\r\n",
        b"Content-Length\x85: 3\r\n",
        b"Content-Length\xa0: 3\r\n",
        b"A: b\rContent-Length: 3\r\n",
        b":\r\nContent-Length: 3\r\n",
        b"A\r\nContent-Length: 3\r\n",
    ] {
        lab.refuses(&post(fields, b"abc"));
    }
    for fields in [&b"Content-Length:3\r\n"[..], b"Content-Length:\t3\t \r\n", b"content-LENGTH: 0003\r\n"] {
        lab.reads(&post(fields, b"abc"), "abc");
    }
    lab.reads(&post(b"Content_Length: 3\r\nX-Content-Length: 3\r\n", b""), "");
}

#[test]
fn codings_that_are_not_chunked() {
    let lab = Lab::new();
    for value in [
        &b",chunked"[..],
        b"chunked,",
        b"chunked, gzip",
        b"chunked;q=1",
        b"chunkedx",
        b"'chunked'",
        b"ch\xc5\xabnked",
        b"",
        b"\x0bchunked",
        b"chunked\x0c",
        b"\xa0chunked",
        b"chunked\x85",
        b"\0chunked",
        b"chunked\0",
        b"chunked\r",
        b"\r\n chunked",
        b"chunk\r\n ed",
        b"x\r\nTransfer-Encoding: chunked",
        b"chunked\r\nTransfer-Encoding: x",
        b"trailers",
    ] {
        for length in [&b""[..], b"Content-Length: 5\r\n"] {
            lab.refuses(&post(&[length, b"Transfer-Encoding: ", value, b"\r\n"].concat(), b"0\r\n\r\n"));
        }
    }
    for value in [&b"CHUNKED"[..], b"\tchunked \t"] {
        lab.reads(&post(&[b"Transfer-Encoding:", value, b"\r\n"].concat(), b"3\r\nabc\r\n0\r\n\r\n"), "abc");
    }
    lab.reads(&post(b"Transfer_Encoding: chunked\r\nX-Transfer-Encoding: chunked\r\n", b""), "");
}

#[test]
fn chunks_that_are_none() {
    let lab = Lab::new();
    for body in [
        &b"0_3\r\nabc\r\n0\r\n\r\n"[..],
        b" 3\r\nabc\r\n0\r\n\r\n",
        b"\t3\r\nabc\r\n0\r\n\r\n",
        b"3 4\r\nabc\r\n0\r\n\r\n",
        b"3,a\r\nabc\r\n0\r\n\r\n",
        b"3\x0b\r\nabc\r\n0\r\n\r\n",
        b"3\0\r\nabc\r\n0\r\n\r\n",
        b"\xef\xbc\x93\r\nabc\r\n0\r\n\r\n",
        b"3\rabc\r\n0\r\n\r\n",
        b"3\r\r;a\r\nabc\r\n0\r\n\r\n",
        b"3;a\rb\r\nabc\r\n0\r\n\r\n",
        b"3;\n\r\nabc\r\n0\r\n\r\n",
        b"10000000000000003\r\nabc\r\n0\r\n\r\n",
        b"3\r\nabc0\r\n\r\n",
        b"3\r\nabc\n0\r\n\r\n",
        b"3\r\nabc\r0\r\n\r\n",
        b"3\r\nabc\r\n\r\n0\r\n\r\n",
        b"3\r\nabc\r\n0\n\n",
        b"3\r\nabc\r\n0\r\n\r",
        b"3\r\nabc\r\n0\r\nA\r\n\r\n",
        b"3\r\nabc\r\n0\r\n A: b\r\n\r\n",
        b"3\r\nabc\r\n0\r\nA: b\r\n c\r\n\r\n",
        b"3\r\nabc\r\n0\r\nA : b\r\n\r\n",
        b"3\r\nabc\r\n0\r\nA: b\0\r\n\r\n",
        b"3\r\nabc\r\n0\r\nA: b\nC: d\r\n\r\n",
        b"3\r\nabc\r\n0\r\nA: b\rC: d\r\n\r\n",
        b"3\r\nabc\r\n0\r\n: b\r\n\r\n",
    ] {
        lab.breaks_off(&post(b"Transfer-Encoding: chunked\r\n", body));
    }
    // The last server may yet say that something broke off.
    let lab = Lab::new();
    for body in [
        &b"3;a=\"b;c\"\r\nabc\r\n0;d\r\n\r\n"[..],
        b"3 ;a\r\nabc\r\n0\r\n\r\n",
        b"00000000000000003\r\nabc\r\n00000\r\n\r\n",
        b"1\r\na\r\n2\r\nbc\r\n0\r\nContent-Length: 5\r\nTransfer-Encoding: x\r\nHost: x\r\n\r\n",
    ] {
        lab.reads(&post(b"Transfer-Encoding: chunked\r\n", body), "abc");
    }
}

#[test]
fn lines_that_are_none() {
    let lab = Lab::new();
    for line in [
        &b" GET http://{at}/ HTTP/1.1"[..],
        b"\rGET http://{at}/ HTTP/1.1",
        b"\0GET http://{at}/ HTTP/1.1",
        b"GET\thttp://{at}/\tHTTP/1.1",
        b"GET http://{at}/\rHTTP/1.1",
        b"GET http://{at}/\x0bHTTP/1.1",
        b"GET http://{at}/ HTTP/1.1 ",
        b"GET http://{at}/ HTTP/1.2",
        b"GET http://{at}/ HTTP/1.10",
        b"GET http://{at}/ HTTP/01.1",
        b"GET http://{at}/ HTTP/1,1",
        b"GET http://{at}/ http/1.1",
        b"GET http://{at}/ HTTP/0.9",
        b"GET http://{at}/ HTTP/3.0",
        b"GET http://{at}/ XTTP/1.1",
        b"G(T http://{at}/ HTTP/1.1",
        b"G\"T http://{at}/ HTTP/1.1",
        b"G\x80T http://{at}/ HTTP/1.1",
        b"GET http://@{at}/ HTTP/1.1",
        b"GET http://x\\@{at}/ HTTP/1.1",
        b"GET http://{at}\\@x/ HTTP/1.1",
        b"GET http://{at}:80/ HTTP/1.1",
        b"GET http://{at},x/ HTTP/1.1",
        b"GET http://{at}%00/ HTTP/1.1",
        b"GET http:/{at}/ HTTP/1.1",
        b"GET http:{at}/ HTTP/1.1",
        b"GET http://[{at}]/ HTTP/1.1",
        b"CONNECT http://{at}/ HTTP/1.1",
    ] {
        lab.refuses(&[line, b"\r\nHost: {at}\r\n\r\n"].concat());
    }
    for start in [&b"\r\n\r\n"[..], b"\n"] {
        lab.reads(&[start, &post(b"", b"")].concat(), "");
    }
    lab.reads(b"POST HTTP://{at}/#x HTTP/1.1\r\nHost: x\r\n\r\n", "");
}
