//! A client's connection as bytes come and go on it: in clear, or in TLS.

use tokio::net::TcpStream;
use tokio_rustls::server::TlsStream;
use tokio_util::either::Either;

/// A client's connection: on the left in clear, on the right in TLS, whose buffers and keys the others need no room for.
pub(crate) type Connection = Either<TcpStream, Box<TlsStream<TcpStream>>>;
