//! All integration tests of the crate that do not need a kernel, as one program.

mod described;
mod dumbbell;
mod recorded;
mod support;
mod watch;

mod access;
mod access_accounts;
mod access_grants;
mod access_hazards;
mod access_scenario;
mod access_users;
mod blame;
mod blame_requests;
mod blame_transfers;
mod measure;
mod network;
mod network_books;
mod network_capture;
mod network_changes;
mod network_errors;
mod network_jitter;
mod network_marks;
#[cfg(feature = "quic")]
mod network_quic;
mod network_scenario;
mod network_sessions;
mod network_shares;
mod pipeline;
mod share;
mod unknown_costs;
mod workload_capture;
mod workload_csv;
mod workload_hostile;
mod workload_scenario;
mod workload_traces;
