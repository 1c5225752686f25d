//! Which command lines may run, and what they come to without a shell.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use rustler::{Binary, Encoder, Env, NifResult, Resource, ResourceArc, SerdeTerm, Term};
use security_core::command_policy::{
    CommandGrammar, CommandPolicy, Denial, MixCall, Network, Place, Plan,
};
use security_core::path_boundary::Boundary;
use serde::Serialize;

use crate::atoms;
use crate::policy::{Policy, list, path_error};

pub struct Commands(CommandPolicy);

#[rustler::resource_impl]
impl Resource for Commands {}

/// The built-in commands with this policy for `mix`, and further ones by name: any arguments, as
/// long as paths among them stay in the project.
#[rustler::nif(schedule = "DirtyCpu")]
fn command_policy_new(
    mix: ResourceArc<Policy>,
    names: Vec<String>,
    git_network: bool,
    git_push: bool,
) -> ResourceArc<Commands> {
    let policy = CommandPolicy::new()
        .with_mix(mix.0.clone())
        .allow_git_network(git_network)
        .allow_git_push(git_push);
    let policy = names.into_iter().fold(policy, |policy, name| {
        policy.allow_command(CommandGrammar::any_with_paths_checked(name))
    });
    ResourceArc::new(Commands(policy))
}

#[rustler::nif(schedule = "DirtyCpu")]
fn command_policy_names(policy: ResourceArc<Commands>, wide: bool) -> Vec<String> {
    policy
        .0
        .allowed_commands(list(wide))
        .map(str::to_owned)
        .collect()
}

/// A judged line, as the command runner reads it.
#[derive(Serialize)]
struct Line<'a> {
    root: &'a Path,
    plan: &'a Plan,
}

/// What a caller is told of a judged line.
#[derive(Serialize)]
struct Judged<'a> {
    /// For the command runner, as JSON.
    line: String,
    /// The folder it starts in, below the root.
    folder: &'a str,
    network: Network,
    mix: Vec<&'a MixCall>,
    /// The words of every program, as they were judged.
    commands: Vec<Vec<&'a str>>,
    /// The line as it was understood.
    shown: String,
}

/// `{:ok, judged}`, `{:denied, denial}`, or `{:error, kind, message}` for what the disk says
/// against it.
///
/// With `aliases`, a Mix task that is on no list is left for the caller to judge by the project's
/// aliases.
#[rustler::nif(schedule = "DirtyIo")]
fn command_plan<'a>(
    env: Env<'a>,
    policy: ResourceArc<Commands>,
    root: Binary<'a>,
    cwd: &'a str,
    line: &'a str,
    aliases: bool,
    wide: bool,
) -> NifResult<Term<'a>> {
    let root = Path::new(OsStr::from_bytes(root.as_slice()));
    let boundary = match Boundary::open(root) {
        Ok(boundary) => boundary,
        Err(error) => return path_error(env, error.kind(), error.to_string()),
    };
    let place = Place {
        root: root.to_str(),
        cwd,
        aliases,
        list: list(wide),
    };
    let plan = match policy.0.check(line, place) {
        Ok(plan) => plan,
        Err(denial) => return Ok(denied(env, &denial)),
    };
    if let Err(error) = plan.bind(&boundary) {
        return path_error(env, error.kind(), error.to_string());
    }
    match judged(root, &plan) {
        Ok(judged) => Ok((atoms::ok(), SerdeTerm(judged)).encode(env)),
        Err(error) => path_error(env, "invalid_root", error.to_string()),
    }
}

fn judged<'a>(root: &Path, plan: &'a Plan) -> serde_json::Result<Judged<'a>> {
    let programs = plan.programs();
    Ok(Judged {
        line: serde_json::to_string(&Line { root, plan })?,
        folder: &plan.cwd,
        network: programs
            .iter()
            .map(|command| command.network)
            .max()
            .unwrap_or(Network::None),
        mix: programs
            .iter()
            .filter_map(|command| command.mix.as_ref())
            .collect(),
        commands: programs
            .iter()
            .map(|command| command.words().collect())
            .collect(),
        shown: plan.shown(),
    })
}

fn denied<'a>(env: Env<'a>, denial: &Denial) -> Term<'a> {
    (atoms::denied(), SerdeTerm(denial)).encode(env)
}
