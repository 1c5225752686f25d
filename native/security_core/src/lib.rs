//! The security decisions of the tools, as plain Rust: no Erlang terms, no global state, no I/O
//! except where a module says so.
//!
//! Each module is one concept with its own state type; the NIF crate owns the instances and turns
//! terms into values and back.

pub mod audit_log;
pub mod clock;
pub mod command_policy;
pub mod decision;
pub mod mix_policy;
pub mod path_boundary;
pub mod permissions;
pub mod plain_file;
pub mod rate_limiter;
pub mod refusal;
pub mod sanitizer;
pub mod text_match;
pub mod word_list;
