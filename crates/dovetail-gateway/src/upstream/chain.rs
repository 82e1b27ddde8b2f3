//! Opens a tunnel through a parent proxy. Its response to our `CONNECT` is read up to the last byte of its header and no
//! further, since what follows belongs to the tunnel.

use std::io;

use tokio::io::AsyncWriteExt;

use super::line::Line;

/// Maximum number of bytes that a parent may send before the tunnel begins, including interim responses.
const MAX_BYTES: usize = 16 * 1024;

/// Why there is no tunnel.
#[derive(Debug)]
pub(crate) enum TunnelRefused {
    Error(io::Error),
    /// Its response was not HTTP.
    Garbage,
    /// It responded with this status.
    Status(u16),
}

/// Requests a tunnel from a parent; `request` is the complete header.
pub(crate) async fn chain(line: &mut Line, request: &[u8]) -> Result<(), TunnelRefused> {
    line.write_all(request).await.map_err(TunnelRefused::Error)?;
    line.flush().await.map_err(TunnelRefused::Error)?;
    let mut left = MAX_BYTES;
    loop {
        let status = status(&head(line, &mut left).await?).ok_or(TunnelRefused::Garbage)?;
        match status {
            // No switch of protocols was requested.
            101 => return Err(TunnelRefused::Garbage),
            100..200 => {}
            200..300 => return Ok(()),
            _ => return Err(TunnelRefused::Status(status)),
        }
    }
}

/// The header of a response.
async fn head(line: &mut Line, left: &mut usize) -> Result<Vec<u8>, TunnelRefused> {
    let mut head = Vec::new();
    loop {
        let mut seen = [0; 1024];
        let length = line.peek(&mut seen).await.map_err(TunnelRefused::Error)?;
        if length == 0 {
            return Err(TunnelRefused::Error(io::ErrorKind::UnexpectedEof.into()));
        }
        let before = head.len();
        head.extend_from_slice(&seen[..length]);
        let end = end(&head);
        let takes = end.map_or(length, |end| end - before);
        head.truncate(before + takes);
        *left = left.checked_sub(takes).ok_or(TunnelRefused::Garbage)?;
        line.skip(takes).await.map_err(TunnelRefused::Error)?;
        if end.is_some() {
            return Ok(head);
        }
        if !b"HTTP/1.".starts_with(&head[..head.len().min(7)]) {
            return Err(TunnelRefused::Garbage);
        }
    }
}

/// Where a header ends: after an empty line, whose CR may be missing (RFC 9112, section 2.2).
fn end(bytes: &[u8]) -> Option<usize> {
    let after = |what: &[u8]| bytes.windows(what.len()).position(|window| window == what).map(|at| at + what.len());
    [after(b"\r\n\r\n"), after(b"\n\n"), after(b"\n\r\n")].into_iter().flatten().min()
}

fn status(head: &[u8]) -> Option<u16> {
    let line = head.split(|&byte| byte == b'\n').next()?;
    let rest = line.strip_prefix(b"HTTP/1.1 ").or_else(|| line.strip_prefix(b"HTTP/1.0 "))?;
    let (digits, after) = rest.split_at_checked(3)?;
    let is_end = after.first().is_none_or(|byte| b" \r".contains(byte));
    let is_status = is_end && digits.iter().all(u8::is_ascii_digit);
    std::str::from_utf8(digits).ok().filter(|_| is_status)?.parse().ok().filter(|status| *status >= 100)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_status_is_read_and_nothing_else() {
        for (head, found) in [
            ("HTTP/1.1 200 Connection established\r\n\r\n", Some(200)),
            ("HTTP/1.0 407\r\n\r\n", Some(407)),
            ("HTTP/1.1 200OK\r\n\r\n", None),
            ("HTTP/2 200\r\n\r\n", None),
            ("HTTP/1.1 +20\r\n\r\n", None),
            ("HTTP/1.1 099\r\n\r\n", None),
            ("\r\n\r\n", None),
        ] {
            assert_eq!(status(head.as_bytes()), found, "{head}");
        }
        assert_eq!(end(b"a\r\n\r\nb"), Some(5));
        assert_eq!(end(b"a\n\nb\r\n\r\n"), Some(3));
        assert_eq!(end(b"a\r\n\r"), None);
    }
}
