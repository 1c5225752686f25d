//! The allowed tasks and their options, for Elixir 1.14 to 1.20, and the tasks that are never run.
//!
//! An option of a newer release that an older one does not know is harmless: the task itself
//! reports it.

use std::borrow::Cow;

use super::Reason;
use super::Reason::{
    ChangesDependencies, ChangesSettings, EvaluatesCode, HidesFailure, LeavesProject, NeverEnds,
    RunsProgram, WaitsForInput, WritesFile,
};
use super::grammar::{Arguments, Positional, Refused, Switch, TaskGrammar, Value};

/// Tasks that are refused whatever is configured: they publish, install, change the machine or
/// destroy data, or (`do`) hide other tasks.
pub const BLOCKED: &[&str] = &[
    "release",
    "archive.install",
    "escript.build",
    "local.hex",
    "local.rebar",
    "hex.publish",
    "deps.update",
    "do",
    "ecto.drop",
    "ecto.reset",
    "phx.gen.secret",
];

/// The environments a task may run in.
pub const ENVIRONMENTS: &[&str] = &["dev", "test"];

/// Tasks that Mix runs on its own before others. An alias of such a name runs with them, so it is
/// judged with them.
pub const IMPLICIT: &[&str] = &[
    "archive.check",
    "loadconfig",
    "loadpaths",
    "deps.check",
    "deps.loadpaths",
    "deps.precompile",
    "compile",
    "compile.all",
    "compile.elixir",
    "compile.erlang",
    "compile.leex",
    "compile.yecc",
    "compile.app",
    "compile.protocols",
    "app.config",
    "app.start",
];

fn flag(name: &'static str) -> Switch {
    option(name, Value::Flag)
}

fn toggle(name: &'static str) -> Switch {
    option(name, Value::Toggle)
}

fn option(name: &'static str, value: Value) -> Switch {
    Switch {
        name: Cow::Borrowed(name),
        short: None,
        value,
    }
}

fn short(name: &'static str, short: char, value: Value) -> Switch {
    Switch {
        name: Cow::Borrowed(name),
        short: Some(short),
        value,
    }
}

fn refuse(name: &'static str, reason: Reason) -> Refused {
    Refused {
        name: Cow::Borrowed(name),
        short: None,
        reason,
    }
}

fn refuse_short(name: &'static str, short: char, reason: Reason) -> Refused {
    Refused {
        name: Cow::Borrowed(name),
        short: Some(short),
        reason,
    }
}

fn one_of(words: &'static [&'static str]) -> Value {
    Value::OneOf(words.iter().map(|&word| Cow::Borrowed(word)).collect())
}

fn task(
    name: &'static str,
    compiles: bool,
    switches: Vec<Switch>,
    refused: Vec<Refused>,
    positional: Positional,
) -> TaskGrammar {
    TaskGrammar {
        name: Cow::Borrowed(name),
        arguments: Arguments::Listed {
            switches,
            refused,
            positional,
        },
        compiles,
    }
}

const ANY_NUMBER: Value = Value::Integer(0, u64::MAX);
const POSITIVE: Value = Value::Integer(1, u64::MAX);

/// The tasks that may be run.
pub fn allowed() -> Vec<TaskGrammar> {
    let mut list = vec![task(
        "compile",
        true,
        vec![
            toggle("all-warnings"),
            toggle("debug-info"),
            toggle("docs"),
            flag("force"),
            flag("ignore-module-conflict"),
            flag("list"),
            option("long-compilation-threshold", ANY_NUMBER),
            option("long-verification-threshold", ANY_NUMBER),
            flag("no-app-loading"),
            flag("no-archives-check"),
            flag("no-compile"),
            flag("no-deps-check"),
            flag("no-elixir-version-check"),
            flag("no-listeners"),
            flag("no-optional-deps"),
            flag("no-protocol-consolidation"),
            flag("no-prune-code-paths"),
            flag("no-validate-compile-env"),
            option("profile", one_of(&["time"])),
            flag("return-errors"),
            flag("verbose"),
            toggle("warnings-as-errors"),
        ],
        vec![
            refuse("erl-config", EvaluatesCode),
            refuse("tracer", EvaluatesCode),
            refuse("purge-consolidation-path-if-stale", LeavesProject),
        ],
        Positional::None,
    )];
    list.extend(testing());
    list.extend(fetching());
    list.extend([credo(), dialyzer()]);
    list.extend(documenting());
    list
}

fn testing() -> Vec<TaskGrammar> {
    vec![
        task(
            "test",
            true,
            vec![
                toggle("all-warnings"),
                toggle("color"),
                toggle("cover"),
                flag("dry-run"),
                option("exclude", Value::Tag),
                option("exit-status", Value::Integer(1, 255)),
                option("export-coverage", Value::Name),
                flag("failed"),
                flag("force"),
                option("include", Value::Tag),
                option("max-cases", POSITIVE),
                option("max-failures", POSITIVE),
                option("max-requires", POSITIVE),
                short("name-pattern", 'n', Value::Text),
                flag("no-archives-check"),
                flag("no-compile"),
                flag("no-deps-check"),
                flag("no-elixir-version-check"),
                flag("no-start"),
                option("only", Value::Tag),
                flag("preload-modules"),
                option("profile-require", one_of(&["time"])),
                flag("raise"),
                option("repeat-until-failure", Value::Integer(0, 100_000)),
                option("seed", ANY_NUMBER),
                option("slowest", ANY_NUMBER),
                option("slowest-modules", ANY_NUMBER),
                flag("stale"),
                option("timeout", POSITIVE),
                flag("trace"),
                toggle("warnings-as-errors"),
            ],
            vec![
                refuse_short("require", 'r', EvaluatesCode),
                refuse("formatter", EvaluatesCode),
                refuse("erl-config", EvaluatesCode),
                refuse_short("breakpoints", 'b', WaitsForInput),
                refuse("listen-on-stdin", WaitsForInput),
                // It needs MIX_TEST_PARTITION in the environment, which no call can set.
                refuse("partitions", HidesFailure),
            ],
            Positional::TestPaths,
        ),
        task(
            "format",
            false,
            vec![
                flag("check-equivalent"),
                flag("check-formatted"),
                flag("dry-run"),
                flag("force"),
                flag("migrate"),
                flag("no-exit"),
            ],
            vec![
                refuse("dot-formatter", EvaluatesCode),
                refuse("stdin-filename", WaitsForInput),
                refuse("root", LeavesProject),
            ],
            Positional::Patterns,
        ),
    ]
}

fn fetching() -> Vec<TaskGrammar> {
    vec![
        task(
            "deps.get",
            false,
            vec![
                flag("check-locked"),
                flag("no-archives-check"),
                option("only", one_of(ENVIRONMENTS)),
                option("target", Value::Name),
            ],
            vec![],
            Positional::None,
        ),
        task(
            "deps.compile",
            false,
            vec![
                flag("force"),
                flag("include-children"),
                flag("no-archives-check"),
                flag("no-optional-deps"),
                flag("skip-local-deps"),
                flag("skip-umbrella-children"),
            ],
            vec![],
            Positional::Packages(usize::MAX),
        ),
        task(
            "deps.tree",
            false,
            vec![
                option("exclude", Value::Package),
                option("format", one_of(&["pretty", "plain", "dot"])),
                option("only", one_of(ENVIRONMENTS)),
                option("target", Value::Name),
                flag("umbrella-only"),
            ],
            vec![refuse("output", WritesFile)],
            Positional::Packages(1),
        ),
        task(
            "deps.unlock",
            false,
            vec![
                flag("check-unused"),
                option("filter", Value::Package),
                flag("unused"),
            ],
            vec![refuse("all", ChangesDependencies)],
            Positional::Packages(usize::MAX),
        ),
        task(
            "help",
            false,
            vec![
                flag("aliases"),
                flag("names"),
                option("search", Value::Name),
            ],
            vec![],
            Positional::HelpTopic,
        ),
    ]
}

fn credo() -> TaskGrammar {
    task(
        "credo",
        false,
        vec![
            short("all", 'a', Value::Flag),
            short("all-priorities", 'A', Value::Flag),
            short("checks", 'c', Value::Text),
            option("checks-with-tag", Value::Name),
            option("checks-without-tag", Value::Name),
            short("config-name", 'C', Value::Name),
            toggle("color"),
            option("enable-disabled-checks", Value::Text),
            option("files-excluded", Value::Path),
            option("files-included", Value::Path),
            option(
                "format",
                one_of(&["flycheck", "json", "oneline", "sarif", "short"]),
            ),
            short("help", 'h', Value::Flag),
            short("ignore", 'i', Value::Text),
            option("ignore-checks", Value::Text),
            option("min-priority", Value::Name),
            flag("mute-exit-status"),
            option("only", Value::Text),
            flag("strict"),
            flag("verbose"),
            short("version", 'v', Value::Flag),
        ],
        vec![
            refuse("config-file", EvaluatesCode),
            refuse("working-dir", LeavesProject),
            refuse("read-from-stdin", WaitsForInput),
            refuse("watch", NeverEnds),
            refuse_short("debug", 'd', RunsProgram),
        ],
        Positional::Subcommand {
            accepted: [
                "suggest",
                "list",
                "explain",
                "categories",
                "info",
                "help",
                "version",
            ]
            .map(Cow::Borrowed)
            .to_vec(),
            refused: vec![
                (Cow::Borrowed("diff"), LeavesProject),
                (Cow::Borrowed("gen.check"), WritesFile),
                (Cow::Borrowed("gen.config"), WritesFile),
            ],
        },
    )
}

fn dialyzer() -> TaskGrammar {
    task(
        "dialyzer",
        true,
        vec![
            flag("force-check"),
            option(
                "format",
                one_of(&[
                    "short",
                    "raw",
                    "dialyxir",
                    "dialyzer",
                    "github",
                    "ignore_file",
                    "ignore_file_strict",
                ]),
            ),
            flag("ignore-exit-status"),
            flag("list-unused-filters"),
            flag("no-check"),
            flag("no-compile"),
            flag("plt"),
            flag("quiet"),
            flag("quiet-with-result"),
        ],
        vec![],
        Positional::None,
    )
}

fn documenting() -> Vec<TaskGrammar> {
    vec![
        task(
            "docs",
            true,
            vec![
                short("canonical", 'n', Value::Text),
                short("formatter", 'f', one_of(&["html", "epub", "markdown"])),
                option("language", Value::Name),
                flag("no-compile"),
                short("output", 'o', Value::Path),
                option("proglang", one_of(&["elixir", "erlang"])),
                flag("warnings-as-errors"),
            ],
            vec![
                refuse_short("config", 'c', EvaluatesCode),
                refuse("open", RunsProgram),
            ],
            Positional::None,
        ),
        task(
            "hex.info",
            false,
            vec![],
            vec![],
            Positional::PackageVersion,
        ),
    ]
}

/// Tasks that are allowed only as steps of a project's own alias, as `test` of a project with a
/// database has them.
pub fn alias_only() -> Vec<TaskGrammar> {
    vec![
        task(
            "ecto.create",
            true,
            vec![
                flag("no-compile"),
                flag("no-deps-check"),
                short("quiet", 'q', Value::Flag),
                short("repo", 'r', Value::Module),
            ],
            vec![],
            Positional::None,
        ),
        task(
            "ecto.migrate",
            true,
            vec![
                flag("all"),
                flag("log-migrations-sql"),
                flag("log-migrator-sql"),
                flag("log-sql"),
                option("migrations-path", Value::Path),
                flag("no-compile"),
                flag("no-deps-check"),
                option("pool-size", POSITIVE),
                option("prefix", Value::Name),
                short("quiet", 'q', Value::Flag),
                short("repo", 'r', Value::Module),
                short("step", 'n', POSITIVE),
                flag("strict-version-order"),
                option("to", ANY_NUMBER),
                option("to-exclusive", ANY_NUMBER),
                short("to-version", 'v', ANY_NUMBER),
            ],
            vec![],
            Positional::None,
        ),
        task(
            "ecto.load",
            true,
            vec![
                short("dump-path", 'd', Value::Path),
                short("force", 'f', Value::Flag),
                flag("no-compile"),
                flag("no-deps-check"),
                short("quiet", 'q', Value::Flag),
                short("repo", 'r', Value::Module),
                flag("skip-if-loaded"),
            ],
            vec![],
            Positional::None,
        ),
    ]
}

/// Why the wide list refuses a task that is not blocked everywhere: it takes code or a command in
/// the line, installs for the whole machine, or changes what others see.
pub fn refused(task: &str) -> Option<Reason> {
    let group = task.split('.').next().unwrap_or(task);
    match (group, task) {
        ("eval" | "rpc", _) => Some(EvaluatesCode),
        ("cmd", _) => Some(RunsProgram),
        ("archive" | "escript" | "local", _) => Some(ChangesSettings),
        (
            _,
            "hex.user" | "hex.organization" | "hex.owner" | "hex.config" | "hex.repo"
            | "hex.retire" | "hex.registry" | "hex.package",
        ) => Some(ChangesSettings),
        _ => None,
    }
}

/// The grammar of a task that only the wide list has. What it does is not known, so aliases of
/// `compile` are judged with it.
pub fn open(name: &str) -> TaskGrammar {
    if name == "run" {
        return run();
    }
    TaskGrammar {
        name: Cow::Owned(name.to_owned()),
        arguments: Arguments::Open,
        compiles: true,
    }
}

fn run() -> TaskGrammar {
    task(
        "run",
        true,
        vec![
            flag("no-archives-check"),
            flag("no-compile"),
            flag("no-deps-check"),
            flag("no-elixir-version-check"),
            flag("no-halt"),
            flag("no-start"),
            flag("preload-modules"),
        ],
        vec![
            refuse_short("eval", 'e', EvaluatesCode),
            refuse_short("require", 'r', EvaluatesCode),
            refuse_short("parallel", 'p', EvaluatesCode),
            refuse("config", EvaluatesCode),
            refuse("rpc-eval", EvaluatesCode),
            refuse("no-mix-exs", LeavesProject),
        ],
        Positional::Script,
    )
}
