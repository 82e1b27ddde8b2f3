//! The transport of a client's connection: in clear, or in TLS.

use tokio::net::TcpStream;
use tokio_rustls::server::TlsStream;
use tokio_util::either::Either;

/// A client's connection: on the left in clear, on the right in TLS, boxed because its buffers and keys would make both large.
pub(crate) type Connection = Either<TcpStream, Box<TlsStream<TcpStream>>>;
