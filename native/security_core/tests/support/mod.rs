//! The corpus by which redaction is judged, and the judge. Shared by the recall test, the report
//! and the benches, each of which uses a part of it.
#![allow(dead_code, clippy::unwrap_used, clippy::expect_used)]

pub mod beam;
pub mod contexts;
pub mod corpus;
pub mod families;
pub mod hostile;
pub mod innocent;
pub mod json;
pub mod judge;
pub mod outputs;
pub mod pem;
pub mod rng;
pub mod sample;
pub mod speed;
pub mod tree;
pub mod values;
