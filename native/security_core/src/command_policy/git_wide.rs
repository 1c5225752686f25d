//! Git, as the wide list has it beside the narrow one.

use super::Reason::{ChangesSettings, LeavesProject, RunsProgram, WaitsForInput, WritesFile};
use super::git::{DELETE, FILE, READ, command, diffs, log_options, logs};
use super::grammar::{CommandGrammar, Kind, PathMode, one_of};
use Kind::{GitFormat, Name, Number, Revision, RevisionOrPath, Text};

/// What the wide list has beside the narrow one.
pub(super) fn widen(grammar: CommandGrammar) -> CommandGrammar {
    grammar
        .no_longer_refuses_subcommands(
            "config worktree apply format-patch rebase bisect clean submodule notes",
        )
        .with(combining)
        .with(looking)
}

fn strategies(grammar: CommandGrammar) -> CommandGrammar {
    grammar
        .takes(
            "s strategy",
            one_of("ort recursive resolve octopus ours subtree"),
        )
        .takes("X strategy-option", Name)
        .refuses("S gpg-sign", RunsProgram)
        .refuses("e edit", WaitsForInput)
}

fn combining(grammar: CommandGrammar) -> CommandGrammar {
    grammar
        .subcommand(
            command("merge")
                .with(strategies)
                .flags(
                    "n q v abort quit continue ff no-ff ff-only squash no-squash commit \
                     no-commit no-edit stat no-stat log no-log quiet verbose no-verify signoff \
                     autostash no-autostash allow-unrelated-histories no-gpg-sign no-progress \
                     no-rerere-autoupdate",
                )
                .takes("m", Text)
                .takes("F file", FILE)
                .takes("cleanup", Name)
                .refuses("verify-signatures", RunsProgram)
                .rest(Revision),
        )
        .subcommand(
            command("rebase")
                .with(strategies)
                .flags(
                    "q v f r n continue abort quit skip no-edit stat no-stat autostash \
                     no-autostash fork-point no-fork-point ignore-date \
                     committer-date-is-author-date reset-author-date signoff no-verify quiet \
                     verbose force-rebase no-ff keep-empty no-keep-empty reapply-cherry-picks \
                     no-reapply-cherry-picks rebase-merges root autosquash no-autosquash \
                     no-gpg-sign update-refs show-current-patch apply merge",
                )
                .takes("onto", Revision)
                .takes("empty", one_of("drop keep ask"))
                .refuses("x exec", RunsProgram)
                .refuses("i interactive edit-todo", WaitsForInput)
                .rest(Revision),
        )
        .with(picking)
        .with(narrowing)
}

fn picking(grammar: CommandGrammar) -> CommandGrammar {
    grammar
        .subcommand(
            command("cherry-pick")
                .with(strategies)
                .flags(
                    "n x s r continue abort quit skip no-commit signoff ff allow-empty \
                     allow-empty-message keep-redundant-commits no-gpg-sign",
                )
                .takes("m mainline", Number)
                .takes("cleanup", Name)
                .rest(Revision),
        )
        .subcommand(
            command("revert")
                .with(strategies)
                .flags(
                    "n s continue abort quit skip no-commit no-edit signoff no-gpg-sign \
                     reference",
                )
                .takes("m mainline", Number)
                .takes("cleanup", Name)
                .rest(Revision),
        )
        .subcommand(
            command("apply")
                .flags(
                    "3 N R v q z stat numstat summary check index cached intent-to-add \
                     three-way reverse reject verbose quiet unidiff-zero no-add binary \
                     allow-overlap recount inaccurate-eof allow-empty ignore-space-change \
                     ignore-whitespace",
                )
                .takes("p C", Number)
                .takes("directory", Kind::Path(PathMode::Write))
                .takes("whitespace", one_of("nowarn warn fix error error-all"))
                .takes("exclude include", Text)
                .refuses("unsafe-paths", LeavesProject)
                .refuses("build-fake-ancestor", WritesFile)
                .rest(FILE),
        )
}

fn narrowing(grammar: CommandGrammar) -> CommandGrammar {
    grammar
        .subcommand(
            command("clean")
                .flags("n d f q x X dry-run force quiet")
                .takes("e exclude", Text)
                .refuses("i interactive", WaitsForInput)
                .rest(DELETE),
        )
        .subcommand(
            command("bisect")
                .refuses_subcommands("run", RunsProgram)
                .refuses_subcommands("visualize view", WaitsForInput)
                .refuses_subcommands("replay", LeavesProject)
                .subcommand(
                    command("start")
                        .flags("no-checkout first-parent")
                        .rest(Revision),
                )
                .subcommand(command("good").rest(Revision))
                .subcommand(command("bad").rest(Revision))
                .subcommand(command("new").rest(Revision))
                .subcommand(command("old").rest(Revision))
                .subcommand(command("skip").rest(Revision))
                .subcommand(command("reset").first([Revision]))
                .subcommand(command("log")),
        )
}

fn looking(grammar: CommandGrammar) -> CommandGrammar {
    grammar
        .subcommand(
            command("worktree")
                .refuses_subcommands("add move remove repair lock unlock prune", LeavesProject)
                .subcommand(command("list").flags("v z verbose porcelain")),
        )
        .subcommand(
            command("submodule")
                .refuses_subcommands(
                    "add init deinit update set-branch set-url sync \
                     absorbgitdirs",
                    LeavesProject,
                )
                .refuses_subcommands("foreach", RunsProgram)
                .subcommand(command("status").flags("cached recursive").rest(READ))
                .subcommand(command("summary").flags("cached files")),
        )
        .subcommand(
            command("notes")
                .refuses_subcommands("add append edit copy remove merge prune", ChangesSettings)
                .subcommand(command("list").rest(Revision))
                .subcommand(command("show").rest(Revision)),
        )
        // A name alone is read; with a value behind it it would be set.
        .subcommand(
            command("config")
                .flags(
                    "l z list name-only null show-origin show-scope local global system \
                     worktree includes no-includes get get-all get-regexp bool int path no-type",
                )
                .takes("type default", Name)
                .refuses(
                    "unset unset-all add replace-all rename-section remove-section e edit",
                    ChangesSettings,
                )
                .refuses("f file blob", LeavesProject)
                .first([Name]),
        )
        .with(comparing)
        .with(asking)
}

fn comparing(grammar: CommandGrammar) -> CommandGrammar {
    grammar
        .subcommand(
            command("format-patch")
                .with(log_options)
                .flags(
                    "stdout numbered \
             no-numbered k keep-subject cover-letter",
                )
                .forces("--stdout")
                .refuses("o output-directory", WritesFile)
                .rest(Revision),
        )
        .subcommand(command("range-diff").with(diffs).rest(Revision))
        .subcommand(command("whatchanged").with(logs).rest(RevisionOrPath))
        .subcommand(
            command("diff-tree")
                .with(diffs)
                .flags("m root no-commit-id t v pretty")
                .rest(RevisionOrPath),
        )
}

fn asking(grammar: CommandGrammar) -> CommandGrammar {
    grammar
        .subcommand(
            command("for-each-ref")
                .takes("format", GitFormat)
                .takes(
                    "sort count \
             contains merged no-merged points-at",
                    Name,
                )
                .rest(Text),
        )
        .subcommand(
            command("symbolic-ref")
                .flags("q quiet short")
                .first([Revision])
                .at_least(1),
        )
        .subcommand(
            command("name-rev")
                .flags("name-only tags always")
                .takes("refs exclude", Text)
                .rest(Revision),
        )
        .subcommand(command("count-objects").flags("v H verbose human-readable"))
        .subcommand(
            command("check-ignore")
                .flags("q v z n quiet verbose non-matching no-index")
                .rest(READ),
        )
        .subcommand(
            command("check-attr")
                .flags("a all z cached")
                .first([Name])
                .rest(READ),
        )
        .subcommand(command("fsck").flags(
            "full strict no-dangling unreachable \
             connectivity-only no-reflogs",
        ))
        .subcommand(
            command("cherry")
                .flags("v")
                .takes("abbrev", Number)
                .rest(Revision),
        )
        .subcommand(command("version").flags("build-options"))
}
