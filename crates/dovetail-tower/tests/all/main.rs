//! All integration tests of the crate, in one program.

#[path = "support/bodies.rs"]
mod bodies;
mod support;

mod axum_example;
mod dispatcher;
mod dispatcher_random;
mod dispatcher_wakers;
mod layer;
mod layer_shares;
mod page;
mod spent;
