//! All integration tests of the command that need no real link, as one program.

#[path = "../support/mod.rs"]
mod support;

mod access;
mod admit;
#[cfg(all(unix, feature = "gateway", feature = "profile"))]
mod book;
mod compare;
mod describe;
mod drops;
mod embedding;
mod embedding_packets;
mod explain;
mod explain_access;
mod files;
mod hostile;
#[cfg(all(target_os = "linux", feature = "middlebox"))]
mod middlebox;
mod network;
mod page;
#[cfg(unix)]
mod parsing;
#[cfg(unix)]
mod pipes;
#[cfg(feature = "profile")]
mod profile;
mod programs;
mod provenance;
mod reproduce;
mod samples;
mod scenarios;
mod summary;
mod tune;
mod tune_access;
