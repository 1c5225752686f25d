//! Mix, language runtimes and build tools. All but version prints run the project's own code.

use serde::{Deserialize, Serialize};

use super::Reason::{
    ChangesDependencies, ChangesSettings, EvaluatesCode, LeavesProject, NeverEnds, RunsProgram,
    WaitsForInput,
};
use super::grammar::{CommandGrammar, Kind, PathMode, one_of};
use super::scan::{Matched, More};
use super::word::Word;
use super::{Command, Denial, DenialKind, List, MixCall, Network, Place, Result};
use crate::mix_policy::MixPolicy;
use crate::path_boundary::lexical;
use Kind::{AnyWithPathsChecked, Name, Number, PlainWithPathsChecked};

const READ: Kind = Kind::Path(PathMode::Read);

/// What a program's environment must hold so that configuration files can't make it run other
/// programs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Hardening {
    /// Nothing beyond a clean environment.
    None,
    /// The variables of [`git_hardening`].
    Git,
}

/// The environment that git runs with, whatever its configuration says: no hooks, no pager, no
/// editor, no monitor program, no signing, no prompts, no address that names a program, no
/// repository that poses as a plain folder. Given as variables, so it also holds for git run by
/// git.
pub fn git_hardening() -> Vec<(String, String)> {
    const CONFIG: &[(&str, &str)] = &[
        ("core.hooksPath", "/dev/null"),
        ("core.fsmonitor", "false"),
        ("core.pager", "cat"),
        ("core.editor", "true"),
        ("sequence.editor", "true"),
        ("core.askPass", "true"),
        ("core.sshCommand", "ssh -oBatchMode=yes"),
        ("commit.gpgSign", "false"),
        ("tag.gpgSign", "false"),
        ("push.gpgSign", "false"),
        ("log.showSignature", "false"),
        ("merge.verifySignatures", "false"),
        ("gpg.program", "false"),
        ("protocol.ext.allow", "never"),
        ("protocol.file.allow", "never"),
        ("safe.bareRepository", "explicit"),
        ("submodule.recurse", "false"),
        ("fetch.recurseSubmodules", "false"),
        ("diff.ignoreSubmodules", "dirty"),
        ("gc.auto", "0"),
        ("maintenance.auto", "false"),
        ("credential.interactive", "false"),
        ("advice.detachedHead", "false"),
    ];
    let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
    let mut env = vec![
        pair("GIT_CONFIG_NOSYSTEM", "1"),
        pair("GIT_PAGER", "cat"),
        pair("PAGER", "cat"),
        pair("GIT_EDITOR", "true"),
        pair("GIT_SEQUENCE_EDITOR", "true"),
        pair("GIT_ASKPASS", "true"),
        pair("SSH_ASKPASS", "true"),
        pair("GIT_TERMINAL_PROMPT", "0"),
        pair("GIT_OPTIONAL_LOCKS", "0"),
        pair("GIT_PROTOCOL_FROM_USER", "0"),
        pair("GIT_CONFIG_COUNT", &CONFIG.len().to_string()),
    ];
    for (at, (key, value)) in CONFIG.iter().enumerate() {
        env.push((format!("GIT_CONFIG_KEY_{at}"), (*key).to_owned()));
        env.push((format!("GIT_CONFIG_VALUE_{at}"), (*value).to_owned()));
    }
    env
}

fn command(name: &'static str) -> CommandGrammar {
    CommandGrammar::new(name)
}

/// A runtime that runs a file of the project, with the file's own arguments behind it.
fn runs_file(name: &'static str, version: &'static str, code: &'static str) -> CommandGrammar {
    command(name)
        .flags(version)
        .refuses(code, EvaluatesCode)
        .script()
        .networked()
}

pub(super) fn programs() -> Vec<CommandGrammar> {
    vec![
        // Judged by the Mix policy; it is listed for its name.
        command("mix").networked(),
        runs_file(
            "elixir",
            "v version short-version",
            "e eval r pr pa pz S rpc-eval app erl eval-file logger-otp-reports name sname \
                 cookie hidden remsh",
        ),
        runs_file(
            "node",
            "v version",
            "e eval p print i interactive c check r require import experimental-loader loader \
                 env-file inspect inspect-brk",
        ),
        runs_file("python3", "V version", "c m i x X W"),
        command("erl")
            .words()
            .flags("version")
            .refuses(
                "eval s run config args_file pa pz boot sname name setcookie remsh",
                EvaluatesCode,
            )
            .needs_words(),
        rebar3(),
        cargo(),
        npm(),
        make(),
    ]
}

fn rebar3() -> CommandGrammar {
    let tests = |grammar: CommandGrammar| {
        grammar
            .flags("v c verbose cover")
            .takes(
                "suite module test app application case group generator",
                Name,
            )
            .takes("dir file", READ)
            .takes("profile sys_config_name", Name)
            .refuses("sys_config spec sname name setcookie", EvaluatesCode)
    };
    let subcommands = [
        command("compile").flags("d deps_only"),
        command("eunit").with(tests),
        command("ct").with(tests),
        command("xref"),
        command("dialyzer").takes("u update-plt s succ-typings", one_of("true false")),
        command("tree").flags("v verbose"),
        command("deps"),
        command("get-deps"),
        command("clean").flags("a all"),
        command("edoc"),
        command("version"),
        command("help").first([Name]),
    ];
    let grammar = command("rebar3").flags("v version").refuses_subcommands(
        "shell escriptize do plugins local new release tar run path upgrade unlock lock",
        RunsProgram,
    );
    subcommands
        .into_iter()
        .map(CommandGrammar::networked)
        .fold(grammar, CommandGrammar::subcommand)
}

/// Options of everything that builds.
fn building(grammar: CommandGrammar) -> CommandGrammar {
    grammar
        .flags(
            "q v vv r release all-targets workspace all all-features no-default-features \
                 lib bins tests examples benches offline locked frozen \
             keep-going no-deps future-incompat-report ignore-rust-version",
        )
        .takes(
            "p package F features exclude bin test example bench profile target",
            Name,
        )
        .takes("j jobs", Number)
        .takes("message-format", one_of("human short json"))
        .takes("color", one_of("auto always never"))
        .takes("manifest-path", READ)
        .refuses("config Z", EvaluatesCode)
        .refuses("target-dir artifact-dir out-dir", LeavesProject)
        .networked()
}

fn cargo() -> CommandGrammar {
    let lints = Kind::OneOf(
        [
            "-D",
            "-W",
            "-A",
            "-F",
            "warnings",
            "clippy::all",
            "clippy::pedantic",
            "clippy::nursery",
            "clippy::cargo",
        ]
        .map(Into::into)
        .to_vec(),
    );
    command("cargo")
        .flags("V version list")
        .refuses("config Z C", EvaluatesCode)
        .refuses_subcommands(
            "install uninstall publish login logout owner yank",
            ChangesSettings,
        )
        .refuses_subcommands("add remove update new init vendor fix", ChangesDependencies)
        .refuses_subcommands("rustc rustdoc", EvaluatesCode)
        .subcommand(command("build").with(building))
        .subcommand(command("check").with(building))
        .subcommand(
            command("test")
                .with(building)
                .flags("no-run no-fail-fast doc")
                .first([Name])
                .passes_on(AnyWithPathsChecked),
        )
        .subcommand(command("run").with(building).passes_on(AnyWithPathsChecked))
        .subcommand(
            command("clippy")
                .with(building)
                .refuses("fix", ChangesDependencies)
                .passes_on(lints),
        )
        .subcommand(command("doc").with(building).refuses("open", RunsProgram))
        .with(cargo_files)
}

fn cargo_files(grammar: CommandGrammar) -> CommandGrammar {
    grammar
        .subcommand(
            command("fmt")
                .flags("all check q v quiet verbose")
                .takes("p package", Name)
                .takes("manifest-path", READ)
                .passes_on(one_of("--check")),
        )
        .subcommand(
            command("tree")
                .with(building)
                .flags("d duplicates")
                .takes("e edges i invert depth prefix charset prune", Name),
        )
        .subcommand(
            command("metadata")
                .with(building)
                .takes("format-version", Number),
        )
        .subcommand(command("version"))
}

fn npm() -> CommandGrammar {
    let common = |grammar: CommandGrammar| {
        grammar
            .flags(
                "s silent if-present json all long parseable omit-dev no-audit no-fund \
                 ignore-scripts prefer-offline offline workspaces",
            )
            .takes("w workspace", Name)
            .takes("omit include", one_of("dev optional peer"))
            .takes("depth", Number)
            .takes("loglevel", Name)
            .refuses(
                "prefix g global globalconfig userconfig cache C location",
                LeavesProject,
            )
            .refuses("script-shell node-options call c", RunsProgram)
            .networked()
    };
    command("npm")
        .flags("v version")
        .refuses_subcommands(
            "exec x init create publish login adduser link ln explore edit config set token owner",
            RunsProgram,
        )
        .refuses_subcommands("uninstall update add remove", ChangesDependencies)
        .refuses_subcommands("start restart stop", NeverEnds)
        .subcommand(
            command("test")
                .with(common)
                .passes_on(PlainWithPathsChecked),
        )
        .subcommand(command("t").with(common).passes_on(PlainWithPathsChecked))
        .subcommand(
            command("run")
                .with(common)
                .first([Name])
                .passes_on(PlainWithPathsChecked),
        )
        .subcommand(
            command("run-script")
                .with(common)
                .first([Name])
                .passes_on(PlainWithPathsChecked),
        )
        .subcommand(command("ci").with(common))
        .subcommand(command("install").with(common))
        .subcommand(command("ls").with(common).rest(Name))
        .subcommand(command("list").with(common).rest(Name))
        .subcommand(command("outdated").with(common).rest(Name))
        .subcommand(command("audit").with(common))
}

fn make() -> CommandGrammar {
    command("make")
        .flags(
            "B k n q s S w always-make keep-going dry-run just-print question silent quiet \
             print-directory no-print-directory version",
        )
        .may_take("j jobs l load-average", Number)
        .may_take("O output-sync", one_of("target line recurse none"))
        .takes("C directory", Kind::Directory)
        .takes("f file makefile", Kind::NamedFile)
        .refuses("eval e E environment-overrides", EvaluatesCode)
        .refuses("I include-dir o old-file W what-if t touch", LeavesProject)
        .refuses("p print-data-base i d debug", WaitsForInput)
        .rest(Kind::MakeTarget)
        .networked()
}

/// A path in the project as it is told from the working directory: the Mix policy knows no root.
fn from_here<'a>(text: &'a str, place: Place<'_>) -> &'a str {
    let inside = place
        .root
        .filter(|_| text.starts_with('/'))
        .and_then(|root| lexical::strip_root(text, root));
    match inside {
        None => text,
        Some("") if place.cwd.is_empty() => ".",
        Some(inside) if place.cwd.is_empty() => inside,
        Some(inside) => lexical::strip_root(inside, place.cwd)
            .filter(|below| !below.is_empty())
            .unwrap_or(text),
    }
}

/// `mix` has its own policy. A pattern is handed over as typed: Mix reads patterns itself.
pub(super) fn mix(
    policy: &MixPolicy,
    words: &[Word],
    env: Option<&str>,
    place: Place<'_>,
) -> Result<Matched> {
    let status = words
        .iter()
        .find(|word| matches!(word, Word::Status { .. }));
    if let Some(word) = status {
        return Err(Denial::new(DenialKind::Expansion)
            .with_argument(word.text())
            .of_command("mix"));
    }
    let texts: Vec<String> = words
        .iter()
        .map(|word| from_here(word.text(), place).to_owned())
        .collect();
    let mut command = Command::new(place);
    command.argv = texts.iter().cloned().map(Word::Literal).collect();
    command.network = Network::All;
    let matched = |command, subcommand| Matched {
        subcommand,
        command,
        // The task's own name must stand in the line.
        more: if texts.len() > 2 {
            More::BehindDashes
        } else {
            More::No
        },
    };
    let Some((task, args)) = texts.get(1..).and_then(<[String]>::split_first) else {
        if place.list == List::Wide {
            // Mix's own default task.
            return mix(
                policy,
                &[&words[..1], &[Word::Literal("run".into())]].concat(),
                env,
                place,
            );
        }
        return Err(Denial::new(DenialKind::MissingArgument)
            .of_command("mix")
            .allowing(policy.allowed_tasks()));
    };
    if args.is_empty() && ["--version", "-v"].contains(&task.as_str()) {
        command.network = Network::None;
        return Ok(matched(command, None));
    }
    let unlisted = match policy.check_in(place.list, task, args, env) {
        Ok(()) => place.list == List::Wide && !policy.allowed_tasks().any(|known| known == task),
        Err(denial) if place.aliases && denial.kind == DenialKind::TaskNotAllowed => true,
        Err(mut denial) => {
            denial.command = Some(format!("mix {task}").trim_end().to_owned());
            // The Mix policy counts from the first argument; the line has `mix` and the task before
            // it.
            denial.index = denial.index.map(|index| index + 2);
            return Err(denial);
        }
    };
    // Fetching dependencies runs git, and a step of an alias may fetch them.
    if unlisted || task.starts_with("deps") {
        command.hardening = Hardening::Git;
    }
    command.env = vec![("MIX_ENV".to_owned(), Some(env.unwrap_or("dev").to_owned()))];
    command.mix = Some(MixCall {
        task: task.clone(),
        args: args.to_vec(),
        env: env.map(str::to_owned),
        cwd: place.cwd.to_owned(),
    });
    Ok(matched(command, Some(task.clone())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn git_variables_count_themselves() {
        let env = git_hardening();
        let count = env
            .iter()
            .find(|(name, _)| name == "GIT_CONFIG_COUNT")
            .map(|(_, value)| value.clone());
        let keys = env
            .iter()
            .filter(|(name, _)| name.starts_with("GIT_CONFIG_KEY_"))
            .count();
        assert_eq!(count, Some(keys.to_string()));
    }
}
