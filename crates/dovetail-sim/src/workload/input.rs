//! Bytes in, plain or gzip.

use std::io::{self, Cursor, Read};

/// A reader that may go to another thread.
pub(crate) type Bytes = Box<dyn Read + Send>;

/// The first `N` bytes, or fewer if there are fewer, and a reader of all bytes from the first on.
pub(crate) fn peek<const N: usize>(mut read: Bytes) -> io::Result<(Vec<u8>, Bytes)> {
    let mut head = vec![0; N];
    let mut got = 0;
    while got < N {
        match read.read(&mut head[got..]) {
            Ok(0) => break,
            Ok(more) => got += more,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    head.truncate(got);
    let whole = Box::new(Cursor::new(head.clone()).chain(read));
    Ok((head, whole))
}

/// The bytes themselves, or what is in them if they are gzip.
pub(crate) fn unpack(read: Bytes) -> io::Result<Bytes> {
    let (head, read) = peek::<2>(read)?;
    if head == [0x1f, 0x8b] { gunzip(read) } else { Ok(read) }
}

#[cfg(feature = "pcap")]
fn gunzip(read: Bytes) -> io::Result<Bytes> {
    Ok(Box::new(flate2::bufread::MultiGzDecoder::new(io::BufReader::with_capacity(1 << 16, read))))
}

#[cfg(not(feature = "pcap"))]
fn gunzip(_: Bytes) -> io::Result<Bytes> {
    Err(io::Error::new(
        io::ErrorKind::Unsupported,
        "this build cannot unpack gzip: unpack it first, or build it with the feature 'pcap'",
    ))
}
