//! Glue between Erlang terms and the pure crates: decode, call, encode.
