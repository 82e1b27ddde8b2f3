//! Input bytes, plain or gzip.

use std::io::{self, Cursor, Read};

/// A reader that can be sent to another thread.
pub(crate) type Bytes = Box<dyn Read + Send>;

/// Returns the first `N` bytes, or fewer if there are fewer, and a reader of all bytes including these.
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

/// The bytes, decompressed if they are gzip.
pub(crate) fn unpack(read: Bytes) -> io::Result<Bytes> {
    let (head, read) = peek::<2>(read)?;
    if head == [0x1f, 0x8b] { gunzip(read) } else { Ok(read) }
}

#[cfg(feature = "pcap")]
fn gunzip(read: Bytes) -> io::Result<Bytes> {
    let packed = io::BufReader::with_capacity(1 << 16, Counted { read, bytes: 0 });
    Ok(Box::new(Unpacked { read: flate2::bufread::MultiGzDecoder::new(packed), bytes: 0 }))
}

/// This much may be decompressed at any ratio.
#[cfg(feature = "pcap")]
const UNPACKED_FREELY: u64 = 64 << 20;

/// Limit of the decompression ratio beyond that. Gzip reaches 1000, captures and tables rarely 50.
#[cfg(feature = "pcap")]
const MAX_TIMES: u64 = 250;

/// Counts bytes read.
#[cfg(feature = "pcap")]
struct Counted {
    read: Bytes,
    bytes: u64,
}

#[cfg(feature = "pcap")]
impl Read for Counted {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let got = self.read.read(buffer)?;
        self.bytes += got as u64;
        Ok(got)
    }
}

/// Decompresses gzip, unless the ratio is excessive: a small file could keep a run busy for days.
#[cfg(feature = "pcap")]
struct Unpacked {
    read: flate2::bufread::MultiGzDecoder<io::BufReader<Counted>>,
    bytes: u64,
}

#[cfg(feature = "pcap")]
impl Read for Unpacked {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let got = self.read.read(buffer)?;
        self.bytes += got as u64;
        if self.bytes > UNPACKED_FREELY.max(MAX_TIMES * self.read.get_ref().get_ref().bytes) {
            let what =
                format!("it unpacks to over {MAX_TIMES} times its size: if that is right, unpack it with gunzip");
            return Err(io::Error::other(what));
        }
        Ok(got)
    }
}

#[cfg(not(feature = "pcap"))]
fn gunzip(_: Bytes) -> io::Result<Bytes> {
    Err(io::Error::new(
        io::ErrorKind::Unsupported,
        "this build cannot unpack gzip: unpack it first, or build it with the feature 'pcap'",
    ))
}
