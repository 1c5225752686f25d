//! Which command lines may run, and what they come to without a shell.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use rustler::{Atom, Binary, Encoder, Env, NewBinary, Resource, ResourceArc, Term};
use security_core::command_policy::{
    BindError, BoundCommand, BoundRedirection, BoundStep, BoundTarget, CommandGrammar,
    CommandPolicy, Connector, Denial, Hardening, Network, Place, git_hardening,
};
use security_core::path_boundary::Boundary;

use crate::atoms;
use crate::policy::{Policy, denial_fields};

pub struct Commands(CommandPolicy);

#[rustler::resource_impl]
impl Resource for Commands {}

/// The built-in commands with this policy for `mix`, and further ones by name: any arguments, as long as paths among them stay in
/// the project.
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
fn command_policy_names(policy: ResourceArc<Commands>) -> Vec<String> {
    policy.0.allowed_commands().map(str::to_owned).collect()
}

/// The variables that git must run with.
#[rustler::nif(schedule = "DirtyCpu")]
fn command_git_environment() -> Vec<(String, String)> {
    git_hardening()
}

/// `{:ok, folder, steps}`, `{:denied, denial}`, or `{:error, kind, message}` for what the disk says against it.
///
/// With `aliases`, a Mix task that is on no list is left for the caller to judge by the project's aliases.
///
/// A step is `{connector, negated?, commands}`, a command `{argv, redirections, network?, git?, mix_call | nil}`.
#[rustler::nif(schedule = "DirtyIo")]
fn command_plan<'a>(
    env: Env<'a>,
    policy: ResourceArc<Commands>,
    root: Binary<'a>,
    cwd: &'a str,
    line: &'a str,
    aliases: bool,
) -> Term<'a> {
    let root = Path::new(OsStr::from_bytes(root.as_slice()));
    let boundary = match Boundary::open(root) {
        Ok(boundary) => boundary,
        Err(error) => return (atoms::error(), error.kind(), error.to_string()).encode(env),
    };
    let place = Place {
        root: root.to_str(),
        cwd,
        aliases,
    };
    let plan = match policy.0.check(line, place) {
        Ok(plan) => plan,
        Err(denial) => return denied(env, &denial),
    };
    match plan.bind(&boundary) {
        Ok(plan) => {
            let steps: Vec<Term> = plan.steps.iter().map(|step| step_term(env, step)).collect();
            (atoms::ok(), path(env, &plan.cwd), steps).encode(env)
        }
        Err(error) => unbound(env, &error),
    }
}

fn denied<'a>(env: Env<'a>, denial: &Denial) -> Term<'a> {
    let mix = denial.mix.as_ref().map(|mix| denial_fields(env, mix));
    let fields = (
        denial.kind.as_str(),
        denial.command.as_deref(),
        denial.argument.as_deref(),
        denial.reason.as_str(),
        denial.allowed.clone(),
        mix,
    );
    (atoms::denied(), fields).encode(env)
}

fn unbound<'a>(env: Env<'a>, error: &BindError) -> Term<'a> {
    (atoms::error(), error.kind(), error.to_string()).encode(env)
}

fn path<'a>(env: Env<'a>, path: &Path) -> Term<'a> {
    NewBinary::from_slice(env, path.as_os_str().as_bytes()).into()
}

fn step_term<'a>(env: Env<'a>, step: &BoundStep) -> Term<'a> {
    let connector = match step.connector {
        Connector::Always => atoms::then(),
        Connector::And => atoms::and_(),
        Connector::Or => atoms::or_(),
    };
    let commands: Vec<Term> = step
        .commands
        .iter()
        .map(|command| command_term(env, command))
        .collect();
    (connector, step.negated, commands).encode(env)
}

fn command_term<'a>(env: Env<'a>, command: &BoundCommand) -> Term<'a> {
    let redirections: Vec<Term> = command
        .redirections
        .iter()
        .map(|redirection| redirection_term(env, redirection))
        .collect();
    let mix = command
        .mix
        .as_ref()
        .map(|call| (call.task.clone(), call.args.clone(), call.env.clone()));
    (
        command.argv.clone(),
        redirections,
        command.network == Network::All,
        command.hardening == Hardening::Git,
        mix,
    )
        .encode(env)
}

fn redirection_term<'a>(env: Env<'a>, redirection: &BoundRedirection) -> Term<'a> {
    let fd = redirection.fd;
    let file = |mode: Atom, target: &Path| (fd, mode, path(env, target)).encode(env);
    match &redirection.target {
        BoundTarget::Read(target) => file(atoms::read(), target),
        BoundTarget::Write(target) => file(atoms::write(), target),
        BoundTarget::Append(target) => file(atoms::append(), target),
        BoundTarget::Descriptor(other) => (fd, atoms::same(), *other).encode(env),
        // The runner gives the null device as standard input; for output it is a file like another.
        BoundTarget::Null if fd == 0 => file(atoms::read(), Path::new("/dev/null")),
        BoundTarget::Null => file(atoms::write(), Path::new("/dev/null")),
    }
}
