//! A policy, a CPU and a link, in the caller's time.
