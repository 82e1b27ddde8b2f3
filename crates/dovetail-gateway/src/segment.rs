//! What a full packet carries.

/// TCP payload of a full Ethernet frame, in bytes.
pub(crate) const SEGMENT: u64 = 1_448;

/// The same without timestamps.
const WITHOUT_TIMESTAMPS: u64 = 1_460;

/// The buffer to request so that a connection begins with a window of this many bytes: the kernel makes it whole segments, and
/// does not know yet that each will carry a timestamp (`tcp_select_initial_window`).
pub(crate) const fn first_buffer(window_bytes: u64) -> u64 {
    window_bytes.div_ceil(SEGMENT).saturating_mul(WITHOUT_TIMESTAMPS)
}
