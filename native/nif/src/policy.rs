//! Which Mix calls may run, and which paths lie inside a project.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use rustler::{
    Atom, Binary, Encoder, Env, ListIterator, NewBinary, NifMap, NifResult, Resource, ResourceArc,
    SerdeTerm, Term,
};
use security_core::mix_policy::{
    Alias, AliasStep, Arguments, Denial, List, MixPolicy, Positional, Switch, TaskGrammar, Value,
};
use security_core::path_boundary::Boundary;

use crate::atoms;

/// Arguments of more bytes than this are judged on a dirty scheduler.
const NORMAL_BYTES: usize = 16 * 1024;

/// So are more arguments than this, of however few bytes: the list itself takes time to read.
const NORMAL_ARGUMENTS: usize = 1_000;

pub struct Policy(pub MixPolicy);

#[rustler::resource_impl]
impl Resource for Policy {}

/// Tasks with their options, `nil` for "any option, paths checked"; options with the kind of their
/// value.
type Tasks = Vec<(String, Option<Vec<(String, Atom)>>)>;

#[derive(NifMap)]
struct PolicySettings {
    tasks: Tasks,
    alias_tasks: Tasks,
    trusted_aliases: Vec<String>,
    test_paths: Option<Vec<String>>,
}

fn value_kind(kind: Atom) -> NifResult<Value> {
    match kind {
        kind if kind == atoms::flag() => Ok(Value::Flag),
        kind if kind == atoms::integer() => Ok(Value::Integer(0, u64::MAX)),
        kind if kind == atoms::name() => Ok(Value::Name),
        kind if kind == atoms::text() => Ok(Value::Text),
        kind if kind == atoms::path() => Ok(Value::Path),
        _ => Err(rustler::Error::BadArg),
    }
}

fn grammar(name: String, options: Option<Vec<(String, Atom)>>) -> NifResult<TaskGrammar> {
    let arguments = match options {
        None => Arguments::AnyWithPathsChecked,
        Some(options) => Arguments::Listed {
            switches: options
                .into_iter()
                .map(|(name, kind)| {
                    Ok(Switch {
                        name: name.into(),
                        short: None,
                        value: value_kind(kind)?,
                    })
                })
                .collect::<NifResult<_>>()?,
            refused: Vec::new(),
            positional: Positional::None,
        },
    };
    // What a user's task does is not known: it is taken to compile, so that aliases of `compile`
    // are judged with it.
    Ok(TaskGrammar {
        name: name.into(),
        arguments,
        compiles: true,
    })
}

#[rustler::nif(schedule = "DirtyCpu")]
fn mix_policy_new(settings: PolicySettings) -> NifResult<ResourceArc<Policy>> {
    let mut policy = MixPolicy::new();
    for (name, options) in settings.tasks {
        policy = policy.allow_task(grammar(name, options)?);
    }
    for (name, options) in settings.alias_tasks {
        policy = policy.allow_alias_task(grammar(name, options)?);
    }
    for alias in settings.trusted_aliases {
        policy = policy.trust_alias(alias);
    }
    if let Some(paths) = settings.test_paths {
        policy = policy.test_paths(paths);
    }
    Ok(ResourceArc::new(Policy(policy)))
}

/// The list of commands and tasks that is in force.
pub fn list(wide: bool) -> List {
    if wide { List::Wide } else { List::Narrow }
}

fn denial_term<'a>(env: Env<'a>, denial: &Denial) -> Term<'a> {
    (atoms::error(), SerdeTerm(denial)).encode(env)
}

fn check<'a>(
    env: Env<'a>,
    policy: &Policy,
    task: &'a str,
    args: &[&str],
    mix_env: Option<&str>,
) -> Term<'a> {
    match policy.0.check(task, args, mix_env) {
        Ok(()) => atoms::ok().encode(env),
        Err(denial) => denial_term(env, &denial),
    }
}

/// `:ok`, `{:error, denial}`, or `:dirty` when the arguments are many or long.
#[rustler::nif]
fn mix_policy_check<'a>(
    env: Env<'a>,
    policy: ResourceArc<Policy>,
    task: &'a str,
    arguments: ListIterator<'a>,
    mix_env: Option<&'a str>,
) -> NifResult<Term<'a>> {
    let mut bytes = task.len();
    let mut read: Vec<&str> = Vec::new();
    for argument in arguments {
        let argument: &str = argument.decode()?;
        bytes += argument.len();
        if bytes > NORMAL_BYTES || read.len() == NORMAL_ARGUMENTS {
            return Ok(atoms::dirty().encode(env));
        }
        read.push(argument);
    }
    Ok(check(env, &policy, task, &read, mix_env))
}

#[rustler::nif(schedule = "DirtyCpu")]
fn mix_policy_check_dirty<'a>(
    env: Env<'a>,
    policy: ResourceArc<Policy>,
    task: &'a str,
    arguments: Vec<&'a str>,
    mix_env: Option<&'a str>,
) -> Term<'a> {
    check(env, &policy, task, &arguments, mix_env)
}

/// What a call runs in a project with these aliases: `{:ok, [{task, args, alias}]}`. A step that is
/// `nil` is a function.
#[rustler::nif(schedule = "DirtyCpu")]
fn mix_policy_expand<'a>(
    env: Env<'a>,
    policy: ResourceArc<Policy>,
    task: &'a str,
    arguments: Vec<&'a str>,
    mix_env: Option<&'a str>,
    aliases: Vec<(String, Vec<Option<String>>)>,
    wide: bool,
) -> Term<'a> {
    let aliases: Vec<Alias> = aliases
        .into_iter()
        .map(|(name, steps)| Alias {
            name,
            steps: steps
                .into_iter()
                .map(|step| step.map_or(AliasStep::Function, AliasStep::Task))
                .collect(),
        })
        .collect();
    match policy
        .0
        .check_expanded(list(wide), task, &arguments, mix_env, &aliases)
    {
        Ok(steps) => {
            let steps: Vec<_> = steps
                .into_iter()
                .map(|step| (step.task, step.args, step.alias))
                .collect();
            (atoms::ok(), steps).encode(env)
        }
        Err(denial) => denial_term(env, &denial),
    }
}

fn bytes<'a>(env: Env<'a>, bytes: &[u8]) -> Term<'a> {
    NewBinary::from_slice(env, bytes).into()
}

/// `{:error, kind, message}`. The kind is one of the core's own words, so it may become an atom.
pub fn path_error<'a>(env: Env<'a>, kind: &'static str, message: String) -> NifResult<Term<'a>> {
    let kind = Atom::from_str(env, kind)?;
    Ok((atoms::error(), kind, message).encode(env))
}

/// `{:ok, absolute, relative, exists?, directory?}` or `{:error, kind, message}`.
#[rustler::nif(schedule = "DirtyIo")]
fn path_resolve<'a>(env: Env<'a>, root: Binary<'a>, path: Binary<'a>) -> NifResult<Term<'a>> {
    let path = Path::new(OsStr::from_bytes(path.as_slice()));
    let root = Path::new(OsStr::from_bytes(root.as_slice()));
    match Boundary::open(root).and_then(|boundary| boundary.resolve_by_any_name(path)) {
        Ok(resolved) => Ok((
            atoms::ok(),
            bytes(env, resolved.absolute.as_os_str().as_bytes()),
            bytes(env, resolved.relative.as_os_str().as_bytes()),
            resolved.exists,
            resolved.is_dir,
        )
            .encode(env)),
        Err(error) => path_error(env, error.kind(), error.to_string()),
    }
}
