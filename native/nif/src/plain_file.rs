//! Reading files that others may have made.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use rustler::{Binary, Encoder, Env, NewBinary, Term};
use security_core::plain_file::{self, Identity, Refused};

use crate::atoms;

fn path<'a>(bytes: &'a Binary) -> &'a Path {
    Path::new(OsStr::from_bytes(bytes.as_slice()))
}

fn bytes<'a>(env: Env<'a>, bytes: &[u8]) -> Term<'a> {
    NewBinary::from_slice(env, bytes).into()
}

/// `{device, inode, size, modified_ns, changed_ns}`.
fn identity_term<'a>(env: Env<'a>, identity: &Identity) -> Term<'a> {
    (
        identity.device,
        identity.inode,
        identity.size,
        identity.modified_ns,
        identity.changed_ns,
    )
        .encode(env)
}

fn refused<'a>(env: Env<'a>, reason: Refused) -> Term<'a> {
    (atoms::error(), reason.name()).encode(env)
}

/// `{:ok, content, identity}` or `{:error, reason}`.
#[rustler::nif(schedule = "DirtyIo")]
fn file_read<'a>(env: Env<'a>, name: Binary<'a>, limit: u64) -> Term<'a> {
    match plain_file::read(path(&name), limit) {
        Ok((content, identity)) => (
            atoms::ok(),
            bytes(env, &content),
            identity_term(env, &identity),
        )
            .encode(env),
        Err(reason) => refused(env, reason),
    }
}

/// The identity of each file, `nil` for what is not a regular file.
#[rustler::nif(schedule = "DirtyIo")]
fn file_identities<'a>(env: Env<'a>, names: Vec<Binary<'a>>) -> Vec<Term<'a>> {
    names
        .iter()
        .map(|name| match plain_file::identity(path(name)) {
            Ok(identity) => identity_term(env, &identity),
            Err(_) => atoms::nil().encode(env),
        })
        .collect()
}

/// `{:ok, path, identity}` of the first regular file of this name in the folders, or `:error`.
#[rustler::nif(schedule = "DirtyIo")]
fn file_find<'a>(env: Env<'a>, folders: Vec<Binary<'a>>, name: Binary<'a>) -> Term<'a> {
    match plain_file::find(folders.iter().map(path), path(&name)) {
        Some((found, identity)) => (
            atoms::ok(),
            bytes(env, found.as_os_str().as_bytes()),
            identity_term(env, &identity),
        )
            .encode(env),
        None => atoms::error().encode(env),
    }
}
