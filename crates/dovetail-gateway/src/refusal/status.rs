//! What a refusal is to a program: its status, its type in `Proxy-Status`, and what becomes of the connection.

use http::StatusCode;

use super::Refusal;

impl Refusal {
    /// The status that a proxy answers with.
    pub(crate) fn status(&self) -> StatusCode {
        match self {
            // Its own status, for what a client can do about it; but not its demand for a password, which is not the client's.
            Self::ParentStatus { status, .. } => StatusCode::from_u16(*status)
                .ok()
                .filter(|_| (400..600).contains(status))
                .unwrap_or(StatusCode::BAD_GATEWAY),
            Self::Parent { .. } | Self::ParentAsks(_) | Self::ServerAsks(_) => StatusCode::BAD_GATEWAY,
            Self::ParentTimeout(_) => StatusCode::GATEWAY_TIMEOUT,
            Self::OwnName(_) => StatusCode::FORBIDDEN,
            Self::NotAClient(_) | Self::ConnectPort(_) | Self::Port(_) | Self::Destination { .. } => {
                StatusCode::FORBIDDEN
            }
            Self::WhoAreYou | Self::NotKnown => StatusCode::PROXY_AUTHENTICATION_REQUIRED,
            Self::TooManyRequests(_) | Self::Quota { .. } => StatusCode::TOO_MANY_REQUESTS,
            Self::BadRequest(_) | Self::Scheme(_) | Self::Body(_) => StatusCode::BAD_REQUEST,
            Self::BodyTimeout => StatusCode::REQUEST_TIMEOUT,
            Self::TargetTooLong => StatusCode::URI_TOO_LONG,
            Self::HeaderTooLong { .. } => StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE,
            Self::Loop => StatusCode::LOOP_DETECTED,
            Self::NoName { .. } | Self::Connect { .. } | Self::BrokeOff { .. } => StatusCode::BAD_GATEWAY,
            Self::NameTimeout(_) | Self::ConnectTimeout(_) | Self::ResponseTimeout(_) => StatusCode::GATEWAY_TIMEOUT,
            Self::Full | Self::NoHelper | Self::OutOfHours { .. } => StatusCode::SERVICE_UNAVAILABLE,
            Self::Internal(_) => StatusCode::INTERNAL_SERVER_ERROR,
        }
    }

    /// The error's type in `Proxy-Status` (RFC 9209, section 2.3).
    pub(crate) const fn proxy_error(&self) -> &'static str {
        match self {
            Self::NotAClient(_) | Self::WhoAreYou | Self::NotKnown | Self::TooManyRequests(_) => "http_request_denied",
            Self::ConnectPort(_) | Self::Port(_) | Self::Quota { .. } => "http_request_denied",
            Self::BadRequest(_) | Self::Scheme(_) | Self::TargetTooLong => "http_request_error",
            Self::HeaderTooLong { .. } | Self::Body(_) | Self::BodyTimeout => "http_request_error",
            Self::Destination { .. } => "destination_ip_prohibited",
            Self::Parent { .. } | Self::ParentAsks(_) | Self::ParentStatus { .. } => "destination_unavailable",
            Self::ServerAsks(_) => "http_protocol_error",
            Self::ParentTimeout(_) => "connection_timeout",
            Self::OwnName(_) => "destination_ip_prohibited",
            Self::Loop => "proxy_loop_detected",
            Self::NoName { .. } => "dns_error",
            Self::NameTimeout(_) => "dns_timeout",
            Self::Connect { .. } => "connection_refused",
            Self::ConnectTimeout(_) => "connection_timeout",
            Self::BrokeOff { .. } => "connection_terminated",
            Self::ResponseTimeout(_) => "connection_read_timeout",
            Self::OutOfHours { .. } => "http_request_denied",
            Self::Full => "connection_limit_reached",
            Self::NoHelper => "proxy_internal_error",
            Self::Internal(_) => "proxy_internal_error",
        }
    }

    /// Whether the client's connection cannot be used any more.
    pub(crate) const fn closes(&self) -> bool {
        // What follows an invalid request may be part of it.
        matches!(
            self,
            Self::BadRequest(_)
                | Self::TargetTooLong
                | Self::HeaderTooLong { .. }
                | Self::Body(_)
                | Self::BodyTimeout
                | Self::Full
                | Self::NotAClient(_)
        )
    }
}
