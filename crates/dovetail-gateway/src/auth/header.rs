//! Decodes `Proxy-Authorization` (RFC 7617).

use base64::{
    Engine, alphabet,
    engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig},
};

/// Longer headers are not decoded, in bytes.
const MAX_HEADER_BYTES: usize = 1024;

/// With or without padding: clients differ.
pub(super) const BASE64: GeneralPurpose = GeneralPurpose::new(
    &alphabet::STANDARD,
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent),
);

/// The credentials after the scheme `Basic`.
pub(super) fn basic(header: &[u8]) -> Option<&[u8]> {
    let (scheme, rest) = header.split_at_checked(b"Basic ".len())?;
    scheme.eq_ignore_ascii_case(b"Basic ").then(|| rest.trim_ascii())
}

/// `name:password`. The challenge asks for UTF-8; what is not is ISO 8859-1, which clients that ignore that send.
pub(super) fn decoded(encoded: &[u8]) -> Option<String> {
    if encoded.len() > MAX_HEADER_BYTES {
        return None;
    }
    let bytes = BASE64.decode(encoded).ok()?;
    Some(String::from_utf8(bytes).unwrap_or_else(|error| error.as_bytes().iter().copied().map(char::from).collect()))
}
