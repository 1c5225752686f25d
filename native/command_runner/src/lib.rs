//! Runs one command, pipeline or list of pipelines for the BEAM, and always ends all of it.
//!
//! The program is started as a port with the path of the command's private temporary folder as its
//! only argument. The spec comes as the first frame on standard input ([`wire`], [`spec`]), further
//! frames ask for output kept so far or for the end; answers go to standard output. End of input
//! ends the command. See [`guard`] for who survives whom.
//!
//! What it promises is the protocol. The library is for the program, its tests, and the MCP
//! launcher, which owns a tree of processes in the same way ([`tree`]).
#![cfg(target_os = "linux")]

pub mod capture;
pub mod confine;
pub mod fence;
pub mod guard;
pub mod limits;
pub mod meter;
pub mod paths;
pub mod privileges;
pub mod probe;
pub mod repository;
pub mod scratch;
pub mod seccomp;
pub mod shell;
pub mod signals;
pub mod spawn;
pub mod spec;
pub mod toolchain;
pub mod tree;
pub mod wire;
pub mod worker;
