//! Git: the subcommands that work on the local repository, and those that talk to others, which are
//! off by default.

use super::Reason::{
    ChangesSettings, EvaluatesCode, LeavesProject, RunsProgram, WaitsForInput, WritesFile,
};
use super::grammar::{CommandGrammar, Kind, PathMode, one_of};
use super::programs::Hardening;
use Kind::{GitFormat, LineRange, Name, Number, Remote, Revision, RevisionOrPath, Text};

pub(super) const FILE: Kind = Kind::Path(PathMode::Read);
pub(super) const READ: Kind = Kind::Pathspec(PathMode::Read);
const WRITE: Kind = Kind::Pathspec(PathMode::Write);
pub(super) const DELETE: Kind = Kind::Pathspec(PathMode::Delete);

pub(super) fn command(name: &'static str) -> CommandGrammar {
    CommandGrammar::new(name)
}

/// What shows differences, with none of the programs that a repository may name to show them with.
pub(super) fn diffs(grammar: CommandGrammar) -> CommandGrammar {
    grammar
        .with(diff_options)
        .forces("--no-ext-diff --no-textconv")
}

/// What shows commits, with none of the programs that a repository may name for it.
pub(super) fn logs(grammar: CommandGrammar) -> CommandGrammar {
    grammar
        .with(log_options)
        .forces("--no-ext-diff --no-textconv --no-show-signature")
}

/// Options of everything that shows differences.
fn diff_options(grammar: CommandGrammar) -> CommandGrammar {
    grammar
        .flags(
            "p u s R w b a W z patch no-patch raw numstat shortstat summary name-only \
                 name-status no-color ignore-all-space ignore-space-change \
             ignore-space-at-eol ignore-cr-at-eol ignore-blank-lines function-context minimal \
             patience histogram full-index binary check exit-code \
             quiet text no-renames pickaxe-all pickaxe-regex no-prefix no-ext-diff no-textconv \
             patch-with-stat compact-summary cc c no-indent-heuristic",
        )
        .may_take(
            "stat dirstat color word-diff color-words abbrev relative submodule \
             ignore-submodules M C B find-renames find-copies color-moved X",
            Text,
        )
        .takes("U unified inter-hunk-context l", Number)
        .takes(
            "S G diff-filter diff-algorithm word-diff-regex anchored src-prefix dst-prefix \
             line-prefix ws-error-highlight",
            Text,
        )
        .takes("diff-merges", Name)
        .refuses("ext-diff textconv", RunsProgram)
        .refuses("output", WritesFile)
        .refuses("O orderfile no-index", LeavesProject)
}

pub(super) fn log_options(grammar: CommandGrammar) -> CommandGrammar {
    grammar
        .with(diff_options)
        .flags(
            "i E F P q m oneline all graph no-graph follow merges no-merges first-parent \
                 reverse abbrev-commit no-abbrev-commit full-history \
             left-right left-only right-only cherry cherry-pick cherry-mark topo-order \
             date-order author-date-order simplify-merges \
             simplify-by-decoration ancestry-path walk-reflogs g source no-decorate no-notes \
             invert-grep all-match regexp-ignore-case boundary parents \
             children no-walk do-walk full-diff no-mailmap use-mailmap no-expand-tabs \
             relative-date show-pulls sparse dense reflog not bisect merge",
        )
        .may_take(
            "branches tags remotes decorate show-linear-break expand-tabs notes",
            Text,
        )
        .takes(
            "n max-count skip min-parents max-parents max-age min-age",
            Number,
        )
        .takes(
            "since after until before author committer grep glob exclude date encoding \
             decorate-refs decorate-refs-exclude",
            Text,
        )
        .may_take("pretty", GitFormat)
        .takes("format", GitFormat)
        .takes("L", LineRange)
        .refuses("show-signature", RunsProgram)
        .refuses("stdin", LeavesProject)
        .digits()
}

fn reading(grammar: CommandGrammar) -> CommandGrammar {
    grammar
        .subcommand(
            command("status")
                .flags(
                    "s b v z short branch long verbose show-stash ahead-behind \
                     no-ahead-behind renames no-renames column no-column",
                )
                .may_take(
                    "porcelain u untracked-files ignored find-renames ignore-submodules",
                    Name,
                )
                .rest(READ),
        )
        .subcommand(
            command("diff")
                .with(diffs)
                .flags("cached staged merge-base base ours theirs 0 1 2 3")
                .rest(RevisionOrPath),
        )
        .subcommand(command("log").with(logs).rest(RevisionOrPath))
        .subcommand(command("show").with(logs).rest(RevisionOrPath))
        .subcommand(
            command("reflog")
                .with(logs)
                .first([one_of("show")])
                .rest(Revision),
        )
        .with(resolving)
        .with(listing)
        .with(tracing)
}

fn resolving(grammar: CommandGrammar) -> CommandGrammar {
    grammar
        .subcommand(
            command("shortlog")
                .flags("n s e c numbered summary email committer all no-merges merges")
                .takes("since after until before author", Text)
                .takes("group", GitFormat)
                .may_take("w", Name)
                .first([Revision])
                .rest(RevisionOrPath)
                .at_least(1),
        )
        .subcommand(
            command("rev-parse")
                .flags(
                    "verify q quiet show-toplevel show-prefix show-cdup git-dir \
                         absolute-git-dir git-common-dir is-inside-work-tree is-inside-git-dir \
                     is-bare-repository is-shallow-repository symbolic symbolic-full-name all \
                     branches tags remotes revs-only no-revs flags no-flags",
                )
                .may_take("short abbrev-ref", Name)
                .takes("since after until before", Text)
                .rest(RevisionOrPath),
        )
        .subcommand(
            command("rev-list")
                .flags(
                    "all count oneline no-merges merges first-parent reverse left-right \
                     cherry-pick topo-order date-order parents",
                )
                .takes("n max-count skip", Number)
                .takes("since after until before author grep branches tags", Text)
                .digits()
                .rest(RevisionOrPath)
                .at_least(1),
        )
        .subcommand(
            command("merge-base")
                .flags(
                    "a all is-ancestor octopus independent \
             fork-point",
                )
                .rest(Revision)
                .at_least(1),
        )
        .subcommand(
            command("show-ref")
                .flags(
                    "head heads tags branches d dereference verify q \
             quiet",
                )
                .may_take("s hash abbrev", Number)
                .rest(Revision),
        )
}

fn listing(grammar: CommandGrammar) -> CommandGrammar {
    grammar
        .subcommand(
            command("ls-files")
                .flags(
                    "c d m o i s u k v f t z cached deleted modified others ignored stage \
                         unmerged killed directory no-empty-directory eol deduplicate \
                     error-unmatch full-name exclude-standard debug recurse-submodules",
                )
                .may_take("abbrev", Number)
                .takes("x exclude format", Text)
                .takes("X exclude-from", FILE)
                .rest(READ),
        )
        .subcommand(
            command("ls-tree")
                .flags("d r t l z long name-only name-status full-name full-tree object-only")
                .may_take("abbrev", Number)
                .takes("format", Text)
                .first([Revision])
                .rest(READ)
                .at_least(1),
        )
        .subcommand(
            command("cat-file")
                .flags("t s p e")
                .refuses(
                    "textconv filters batch batch-check batch-command batch-all-objects",
                    RunsProgram,
                )
                .rest(RevisionOrPath)
                .at_least(1),
        )
        .subcommand(
            command("grep")
                .flags(
                    "n i w v l L c E G F P h H o q W p z a I and or not all-match cached \
                         untracked line-number ignore-case word-regexp invert-match \
                     files-with-matches name-only files-without-match count extended-regexp \
                     basic-regexp fixed-strings perl-regexp only-matching quiet \
                     function-context show-function heading break column full-name null text \
                     no-textconv exclude-standard no-exclude-standard r recursive",
                )
                .may_take("color", Name)
                .takes(
                    "A B C m after-context before-context context max-count max-depth \
                     threads",
                    Number,
                )
                .takes("e", Text)
                .takes("f", FILE)
                .refuses("O open-files-in-pager textconv", RunsProgram)
                .refuses("no-index recurse-submodules", LeavesProject)
                .forces("--no-textconv")
                .digits()
                .first([Text])
                .first_unless("e f")
                .rest(RevisionOrPath)
                .at_least(1),
        )
}

fn tracing(grammar: CommandGrammar) -> CommandGrammar {
    grammar
        .subcommand(
            command("blame")
                .flags(
                    "w e s l t p c f n root reverse show-email show-name show-number \
                     porcelain line-porcelain incremental color-lines color-by-age first-parent",
                )
                .may_take("M C abbrev", Number)
                .takes("L", LineRange)
                .takes("since date", Text)
                .takes("ignore-rev", Revision)
                .takes("ignore-revs-file contents", FILE)
                .refuses("S textconv", LeavesProject)
                .forces("--no-textconv")
                .rest(RevisionOrPath)
                .at_least(1),
        )
        .subcommand(
            command("describe")
                .flags("all tags always long exact-match first-parent contains debug")
                .may_take("dirty broken", Name)
                .takes("abbrev candidates", Number)
                .takes("match exclude", Text)
                .rest(Revision),
        )
        .subcommand(
            command("remote")
                .flags("v verbose")
                .refuses_subcommands(
                    "add set-url rename rm remove set-head set-branches",
                    ChangesSettings,
                )
                .refuses_subcommands("update prune show", LeavesProject)
                .subcommand(
                    command("get-url")
                        .flags("push all")
                        .first([Remote])
                        .at_least(1),
                ),
        )
}

fn changing(grammar: CommandGrammar) -> CommandGrammar {
    grammar
        .subcommand(
            command("branch")
                .flags(
                    "a r v vv l d D m M c C f q all remotes verbose list delete move copy force \
                         quiet show-current unset-upstream create-reflog \
                     ignore-case no-track no-column no-color",
                )
                .may_take("t track merged no-merged color column abbrev", Name)
                .takes("contains no-contains points-at", Revision)
                .takes("u set-upstream-to", Revision)
                .takes("sort", Name)
                .takes("format", GitFormat)
                .refuses("edit-description", WaitsForInput)
                .rest(Revision),
        )
        .subcommand(
            command("tag")
                .flags(
                    "l a d f i list annotate delete force ignore-case create-reflog no-sign \
                     no-column",
                )
                .may_take("n merged no-merged column color", Name)
                .takes("m message", Text)
                .takes("F file", FILE)
                .takes("contains no-contains points-at", Revision)
                .takes("sort cleanup", Name)
                .takes("format", GitFormat)
                .refuses("s u v sign local-user verify", RunsProgram)
                .refuses("e edit", WaitsForInput)
                .rest(Revision),
        )
        .subcommand(
            command("add")
                .flags(
                    "A u n v f N all no-all update dry-run verbose force intent-to-add \
                     ignore-errors ignore-missing renormalize sparse refresh",
                )
                .takes("chmod", one_of("+x -x"))
                .refuses("p i e patch interactive edit", WaitsForInput)
                .refuses("pathspec-from-file", LeavesProject)
                .rest(READ),
        )
        .subcommand(
            command("commit")
                .flags(
                    "a q v n s o i all amend no-edit allow-empty allow-empty-message quiet \
                         verbose no-verify signoff no-signoff dry-run short long \
                     porcelain branch reset-author only include no-gpg-sign no-post-rewrite \
                     status no-status z null",
                )
                .takes("m message author date trailer", Text)
                .takes("F file", FILE)
                .takes("C reuse-message fixup squash", Revision)
                .takes(
                    "cleanup",
                    one_of("strip whitespace verbatim scissors default"),
                )
                .may_take("u untracked-files", Name)
                .refuses("S gpg-sign", RunsProgram)
                .refuses(
                    "p e c t patch interactive edit reedit-message template",
                    WaitsForInput,
                )
                .refuses("pathspec-from-file", LeavesProject)
                .rest(READ),
        )
        .with(moving)
        .with(shelving)
}

fn moving(grammar: CommandGrammar) -> CommandGrammar {
    grammar
        .subcommand(
            command("restore")
                .flags(
                    "S W q m staged worktree quiet ours theirs merge overlay no-overlay \
                     ignore-unmerged progress no-progress ignore-skip-worktree-bits",
                )
                .takes("s source", Revision)
                .takes("conflict", Name)
                .refuses("p patch", WaitsForInput)
                .refuses("pathspec-from-file recurse-submodules", LeavesProject)
                .rest(WRITE)
                .at_least(1),
        )
        .subcommand(
            command("checkout")
                .flags(
                    "f q d m l force quiet detach ours theirs merge guess no-guess no-track \
                         progress no-progress overlay no-overlay \
                     overwrite-ignore no-overwrite-ignore ignore-other-worktrees",
                )
                .may_take("t track", one_of("direct inherit"))
                .takes("b B orphan", Revision)
                .takes("conflict", Name)
                .refuses("p patch", WaitsForInput)
                .refuses("pathspec-from-file recurse-submodules", LeavesProject)
                .rest(RevisionOrPath),
        )
        .subcommand(
            command("switch")
                .flags(
                    "d f q m detach force discard-changes quiet merge guess no-guess \
                     no-track progress no-progress ignore-other-worktrees",
                )
                .may_take("t track", one_of("direct inherit"))
                .takes("c C create force-create orphan", Revision)
                .takes("conflict", Name)
                .refuses("recurse-submodules", LeavesProject)
                .rest(Revision),
        )
}

fn shelving(grammar: CommandGrammar) -> CommandGrammar {
    grammar
        .subcommand(
            command("stash")
                .flags("u k q S a include-untracked keep-index no-keep-index quiet staged all")
                .takes("m message", Text)
                .refuses("p patch", WaitsForInput)
                .refuses("pathspec-from-file", LeavesProject)
                .refuses_subcommands(
                    "clear create store branch save import export",
                    ChangesSettings,
                )
                .subcommand(
                    command("push")
                        .flags(
                            "u k q S a include-untracked keep-index no-keep-index quiet \
                             staged all",
                        )
                        .takes("m message", Text)
                        .refuses("p patch", WaitsForInput)
                        .refuses("pathspec-from-file", LeavesProject)
                        .rest(READ),
                )
                .subcommand(command("list").with(logs))
                .subcommand(
                    command("show")
                        .with(diffs)
                        .flags("u include-untracked only-untracked")
                        .rest(Revision),
                )
                .subcommand(command("pop").flags("q quiet index").rest(Revision))
                .subcommand(command("apply").flags("q quiet index").rest(Revision))
                .subcommand(command("drop").flags("q quiet").rest(Revision)),
        )
        .subcommand(
            command("reset")
                .flags(
                    "q N soft mixed hard merge keep quiet no-quiet intent-to-add refresh \
                     no-refresh",
                )
                .refuses("p patch", WaitsForInput)
                .refuses("pathspec-from-file recurse-submodules", LeavesProject)
                .rest(RevisionOrPath),
        )
        .subcommand(
            command("rm")
                .flags("f n r q force dry-run cached ignore-unmatch quiet sparse")
                .refuses("pathspec-from-file", LeavesProject)
                .rest(DELETE)
                .at_least(1),
        )
        .subcommand(
            command("mv")
                .flags("f k n v force dry-run verbose sparse")
                .rest(DELETE)
                .last(WRITE)
                .at_least(2),
        )
}

fn talking(grammar: CommandGrammar) -> CommandGrammar {
    grammar
        .subcommand(
            command("fetch")
                .flags(
                    "a q v p P t n f all append quiet verbose prune prune-tags tags no-tags \
                     force dry-run unshallow no-auto-maintenance",
                )
                .takes("depth deepen j jobs", Number)
                .takes("shallow-since", Text)
                .refuses("upload-pack o server-option", RunsProgram)
                .refuses("recurse-submodules stdin", LeavesProject)
                .first([Remote])
                .rest(Revision)
                .networked(),
        )
        .subcommand(
            command("pull")
                .flags(
                    "q v p r ff ff-only no-ff rebase no-rebase autostash no-autostash \
                     no-edit quiet verbose prune tags no-tags all stat no-stat squash no-verify",
                )
                .takes("depth", Number)
                .takes(
                    "s strategy",
                    one_of("ort recursive resolve octopus ours subtree"),
                )
                .takes("X strategy-option", Name)
                .refuses("upload-pack o server-option", RunsProgram)
                .refuses("e edit", WaitsForInput)
                .refuses("recurse-submodules S gpg-sign", LeavesProject)
                .first([Remote])
                .rest(Revision)
                .networked(),
        )
        .subcommand(
            command("push")
                .flags(
                    "q v n u f d quiet verbose dry-run set-upstream tags follow-tags force \
                     delete no-verify porcelain atomic all",
                )
                .may_take("force-with-lease", Text)
                .refuses("receive-pack exec o push-option signed repo", RunsProgram)
                .refuses("mirror recurse-submodules", LeavesProject)
                .first([Remote])
                .rest(Revision)
                .networked(),
        )
}

/// The grammar of `git`.
pub(super) fn git() -> CommandGrammar {
    command("git")
        .flags("no-pager P no-optional-locks literal-pathspecs no-replace-objects version v")
        .takes("C", Kind::Directory)
        .refuses("c config-env", EvaluatesCode)
        .refuses("exec-path p paginate", RunsProgram)
        .refuses(
            "git-dir work-tree namespace bare super-prefix",
            LeavesProject,
        )
        .refuses_subcommands(
            "config maintenance gc init worktree filter-branch replace notes \
             credential",
            ChangesSettings,
        )
        .refuses_subcommands(
            "clone submodule bundle archive fast-import fast-export apply am \
             format-patch update-index",
            LeavesProject,
        )
        .refuses_subcommands(
            "rebase difftool mergetool bisect instaweb daemon send-email hook \
             gui citool gitk web--browse upload-pack",
            RunsProgram,
        )
        .refuses_subcommands("clean", super::Reason::DeletesBySearch)
        .refuses_subcommands("help", RunsProgram)
        .with(reading)
        .with(changing)
        .with(talking)
        .hardened(Hardening::Git)
}
