//! A request parser that accepts only what RFC 9112 prescribes, and nothing ambiguous.

use std::io::Read;

/// Names in lower case, and values.
pub type Fields = Vec<(String, String)>;

/// A request as parsed by a server.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Message {
    pub method: String,
    pub target: String,
    pub fields: Fields,
    pub body: Vec<u8>,
    pub trailers: Fields,
}

/// The next request of a connection. `None` if the connection ended before it, an error if it is invalid.
pub fn request(stream: &mut impl Read) -> Result<Option<Message>, String> {
    let found = request_with(stream, |target| target.starts_with('/') || target == "*")?;
    match found.iter().flat_map(|message| &message.fields).find(|(name, _)| name == "proxy-authorization") {
        Some((name, _)) => Err(format!("{name} is for proxies")),
        None => Ok(found),
    }
}

/// The next request, whose target must satisfy `is_target`.
pub fn request_with(stream: &mut impl Read, is_target: impl Fn(&str) -> bool) -> Result<Option<Message>, String> {
    let Some(first) = line(stream)? else { return Ok(None) };
    let mut words = first.split(' ');
    let (Some(method), Some(target), Some("HTTP/1.1"), None) = (words.next(), words.next(), words.next(), words.next())
    else {
        return Err(format!("no request line: {first:?}"));
    };
    let is_target = target.bytes().all(|byte| byte.is_ascii_graphic()) && is_target(target);
    if method.is_empty() || !method.bytes().all(is_token) || !is_target {
        return Err(format!("no request line: {first:?}"));
    }
    let mut message = Message { method: method.into(), target: target.into(), ..Message::default() };
    message.fields = fields(stream)?;
    let all = |name: &str| -> Vec<String> {
        message.fields.iter().filter(|(found, _)| found == name).map(|(_, value)| value.clone()).collect()
    };
    if all("host").len() != 1 {
        return Err(format!("hosts: {:?}", all("host")));
    }
    let is_websocket = all("connection") == ["Upgrade"] && all("upgrade") == ["websocket"];
    let takes_trailers = all("connection") == ["TE"] && all("te") == ["trailers"];
    for hop in ["connection", "keep-alive", "proxy-connection", "te", "upgrade"] {
        // An upgrade applies to a single hop, which has to request it anew, and so do trailers.
        let is_own = (is_websocket && ["connection", "upgrade"].contains(&hop))
            || (takes_trailers && ["connection", "te"].contains(&hop));
        if !(all(hop).is_empty() || is_own) {
            return Err(format!("{hop} was for the gateway"));
        }
    }
    let (lengths, codings) = (all("content-length"), all("transfer-encoding"));
    let (body, trailers) = match (lengths.as_slice(), codings.as_slice()) {
        ([], []) => <_>::default(),
        ([length], []) if !length.is_empty() && length.bytes().all(|byte| byte.is_ascii_digit()) => {
            let length = length.parse().map_err(|_| "no length")?;
            (bytes(stream, length)?, Vec::new())
        }
        ([], [coding]) if coding == "chunked" => chunks(stream)?,
        _ => return Err(format!("two readings: {lengths:?} {codings:?}")),
    };
    (message.body, message.trailers) = (body, trailers);
    Ok(Some(message))
}

/// The fields up to the empty line.
fn fields(stream: &mut impl Read) -> Result<Fields, String> {
    let mut fields = Vec::new();
    loop {
        let field = line(stream)?.ok_or("the fields break off")?;
        if field.is_empty() {
            return Ok(fields);
        }
        let (name, value) = field.split_once(':').ok_or_else(|| format!("no field: {field:?}"))?;
        if name.is_empty() || !name.bytes().all(is_token) {
            return Err(format!("no field's name: {name:?}"));
        }
        if value.bytes().any(|byte| byte < b' ' && byte != b'\t' || byte == 127) {
            return Err(format!("no field's value: {value:?}"));
        }
        fields.push((name.to_ascii_lowercase(), value.trim_matches([' ', '\t']).to_owned()));
    }
}

/// A chunked body and its trailers.
fn chunks(stream: &mut impl Read) -> Result<(Vec<u8>, Fields), String> {
    let mut body = Vec::new();
    loop {
        let size = line(stream)?.ok_or("the chunks break off")?;
        if size.is_empty() || size.len() > 8 || !size.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            return Err(format!("no chunk's size: {size:?}"));
        }
        let size = usize::from_str_radix(&size, 16).map_err(|error| error.to_string())?;
        if size == 0 {
            return Ok((body, fields(stream)?));
        }
        body.extend(bytes(stream, size)?);
        if !line(stream)?.ok_or("a chunk breaks off")?.is_empty() {
            return Err("a chunk is longer than it says".into());
        }
    }
}

fn bytes(stream: &mut impl Read, length: usize) -> Result<Vec<u8>, String> {
    let mut body = Vec::new();
    stream.take(length as u64).read_to_end(&mut body).map_err(|error| error.to_string())?;
    if body.len() < length { Err(format!("{} bytes of {length}", body.len())) } else { Ok(body) }
}

/// A line without its CR LF. A CR or an LF alone is an error.
fn line(stream: &mut impl Read) -> Result<Option<String>, String> {
    let mut line = Vec::new();
    loop {
        let mut byte = [0];
        match stream.read(&mut byte) {
            Ok(0) | Err(_) if line.is_empty() => return Ok(None),
            Ok(0) => return Err(format!("it breaks off after {:?}", String::from_utf8_lossy(&line))),
            Err(error) => return Err(error.to_string()),
            Ok(_) => line.push(byte[0]),
        }
        if line.ends_with(b"\n") {
            let Some(whole) = line.strip_suffix(b"\r\n") else { return Err("an LF alone".into()) };
            if whole.contains(&b'\r') {
                return Err("a CR alone".into());
            }
            // Bytes beyond ASCII are allowed in field values, without a meaning (RFC 9110, section 5.5).
            return Ok(Some(whole.iter().map(|&byte| char::from(byte)).collect()));
        }
    }
}

fn is_token(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte)
}
