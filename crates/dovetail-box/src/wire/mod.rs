//! Frames as an interface hands them over, and as another takes them.
//!
//! What a kernel gives to a program that stands between two interfaces is not yet what was on the wire: the outer VLAN tag
//! lies beside the frame, the checksum of a locally sent packet is not filled in, and up to 64 KiB of a stream come as one
//! frame. Everything here is about bytes and lengths only.
