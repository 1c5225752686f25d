//! The command policy against its vectors, generated lines, and real folders.
#![allow(missing_docs, clippy::unwrap_used, clippy::expect_used)]

#[path = "support/boundary.rs"]
mod boundary;

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::sync::LazyLock;
use std::time::Duration;

use proptest::prelude::*;
use security_core::command_policy::{
    BoundCommand, CommandGrammar, CommandPolicy, Connector, Denial, DenialKind, Hardening, Kind,
    LAUNCHERS, List, Network, PathMode, Place, Plan, Reason, SHELLS, Target, Word, git_hardening,
};
use security_core::path_boundary::Boundary;
use serde::Deserialize;

use boundary::leaves;

#[derive(Deserialize)]
struct Vector {
    #[serde(default)]
    line: String,
    /// A long line: the prefix, then the unit so many times.
    #[serde(default)]
    prefix: String,
    #[serde(default)]
    unit: String,
    #[serde(default)]
    times: usize,
    cwd: String,
    allow: bool,
    kind: Option<String>,
    argv: Option<Vec<Vec<String>>>,
}

impl Vector {
    fn line(&self) -> String {
        format!(
            "{}{}{}",
            self.line,
            self.prefix,
            self.unit.repeat(self.times)
        )
    }
}

fn vectors() -> Vec<Vector> {
    let path = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../test/fixtures/policy/command_policy.json"
    );
    serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()
}

/// The name of a kind in other languages.
fn name(kind: DenialKind) -> String {
    serde_json::to_value(kind)
        .unwrap()
        .as_str()
        .unwrap()
        .to_owned()
}

#[test]
fn every_vector_is_decided_as_written() {
    let policy = CommandPolicy::new();
    let mut wrong = Vec::new();
    for vector in vectors() {
        let line = vector.line();
        let place = Place {
            root: Some("/proj"),
            cwd: &vector.cwd,
            ..Place::default()
        };
        let got = policy.check(&line, place);
        let shown: String = line.chars().take(80).collect();
        match got {
            Ok(plan) => {
                let argv: Vec<Vec<String>> = plan
                    .programs()
                    .iter()
                    .map(|command| {
                        command
                            .argv
                            .iter()
                            .map(|word| Word::text(word).to_owned())
                            .collect()
                    })
                    .collect();
                if !vector.allow || vector.argv.is_some_and(|want| want != argv) {
                    wrong.push(format!(
                        "{shown:?}: expected {:?}, got {argv:?}",
                        vector.kind
                    ));
                }
            }
            Err(denial) => {
                let kind = name(denial.kind);
                if vector.allow || vector.kind.as_deref() != Some(&kind) {
                    wrong.push(format!(
                        "{shown:?}: expected {:?}, got {kind} at {:?}",
                        vector.kind,
                        denial
                            .argument
                            .map(|a| a.chars().take(40).collect::<String>())
                    ));
                }
            }
        }
    }
    assert!(
        wrong.is_empty(),
        "{} wrong:\n{}",
        wrong.len(),
        wrong.join("\n")
    );
}

static POLICY: LazyLock<CommandPolicy> = LazyLock::new(CommandPolicy::new);

fn check(line: &str) -> Result<Plan, Box<Denial>> {
    POLICY.check(
        line,
        Place {
            root: Some("/proj"),
            cwd: "",
            ..Place::default()
        },
    )
}

#[test]
fn a_plan_says_how_its_pipelines_are_joined() {
    let plan = check("ls lib | wc -l && pwd || true; date").unwrap();
    let joined: Vec<_> = plan
        .steps
        .iter()
        .map(|step| (step.connector, step.stages.len()))
        .collect();
    assert_eq!(
        joined,
        [
            (Connector::Always, 2),
            (Connector::And, 1),
            (Connector::Or, 1),
            (Connector::Always, 1)
        ]
    );
    let plan = check("cd apps && cd one && ls ../two").unwrap();
    assert_eq!(
        (plan.cwd.as_str(), plan.steps[0].connector),
        ("apps/one", Connector::Always)
    );
    assert_eq!(plan.programs()[0].paths[0].path, "apps/one/../two");
}

#[test]
fn redirections_keep_their_order() {
    let plan = check("< in sort 2>&1 > out 2>> log").unwrap();
    let redirections: Vec<_> = plan.programs()[0]
        .redirections
        .iter()
        .map(|r| (r.fd, r.target.clone()))
        .collect();
    assert_eq!(
        redirections,
        [
            (0, Target::Read("in".into())),
            (2, Target::Descriptor(1)),
            (1, Target::Write("out".into())),
            (2, Target::Append("log".into()))
        ]
    );
    let both = |line| {
        check(line).unwrap().programs()[0]
            .redirections
            .iter()
            .map(|r| (r.fd, r.target.clone()))
            .collect::<Vec<_>>()
    };
    assert_eq!(
        both("ls &> all"),
        [(1, Target::Write("all".into())), (2, Target::Descriptor(1))]
    );
    assert_eq!(
        both("ls &>> /dev/null"),
        [(1, Target::Null), (2, Target::Descriptor(1))]
    );
    assert_eq!(both("ls |& wc"), [(2, Target::Descriptor(1))]);
}

#[test]
fn every_path_is_named_with_what_happens_to_it() {
    let paths = |line: &str| -> Vec<(usize, String, PathMode)> {
        let plan = check(line).unwrap();
        plan.programs()[0]
            .paths
            .iter()
            .map(|p| (p.index, p.path.clone(), p.mode))
            .collect()
    };
    use PathMode::{Delete, Read, Write};
    let path = |index, path: &str, mode| (index, path.to_owned(), mode);
    assert_eq!(
        paths("cp a b c -v"),
        [path(1, "a", Read), path(2, "b", Read), path(3, "c", Write)]
    );
    assert_eq!(
        paths("cp -t dir a"),
        [path(2, "dir", Write), path(3, "a", Read)]
    );
    assert_eq!(paths("mv a b"), [path(1, "a", Delete), path(2, "b", Write)]);
    assert_eq!(
        paths("rm -rf a b"),
        [path(2, "a", Delete), path(3, "b", Delete)]
    );
    assert_eq!(
        paths("sort a -ob --parallel=2"),
        [path(1, "a", Read), path(2, "b", Write)]
    );
    assert_eq!(
        paths("sort --output=b a"),
        [path(1, "b", Write), path(2, "a", Read)]
    );
    assert_eq!(
        paths("grep -e x -f pats a"),
        [path(4, "pats", Read), path(5, "a", Read)]
    );
    assert_eq!(
        paths("git -C lib diff a"),
        [path(2, "lib", Read), path(6, "lib/a", Read)]
    );
    assert_eq!(
        paths("git log -L 1,5:lib/a.ex"),
        [path(6, "lib/a.ex", Read)]
    );
    assert_eq!(
        paths("[ -f a -a -d b ]"),
        [path(2, "a", Read), path(5, "b", Read)]
    );
    assert_eq!(paths("cat /dev/null - a"), [path(3, "a", Read)]);
    assert_eq!(
        paths("make -C sub -f x.mk"),
        [path(2, "sub", Read), path(4, "sub/x.mk", Read)]
    );
}

#[test]
fn options_that_protect_are_put_in() {
    let argv = |line: &str| -> Vec<String> {
        let plan = check(line).unwrap();
        plan.programs()[0]
            .argv
            .iter()
            .map(|word| word.text().to_owned())
            .collect()
    };
    assert_eq!(
        argv("git --no-pager diff -p"),
        [
            "git",
            "--no-pager",
            "diff",
            "--no-ext-diff",
            "--no-textconv",
            "-p"
        ]
    );
    assert_eq!(argv("rg x"), ["rg", "--no-config", "x"]);
    assert_eq!(
        argv("diff -r a b"),
        ["diff", "--no-dereference", "-r", "a", "b"]
    );
}

#[test]
fn network_and_hardening_go_with_the_command() {
    let of = |policy: &CommandPolicy, line: &str| {
        let plan = policy.check(line, Place::default()).unwrap();
        (plan.programs()[0].network, plan.programs()[0].hardening)
    };
    let policy = CommandPolicy::new().allow_git_network(true);
    for (line, network, hardening) in [
        ("cat a", Network::None, Hardening::None),
        ("git status", Network::None, Hardening::Git),
        ("git fetch origin main", Network::All, Hardening::Git),
        ("mix test", Network::All, Hardening::None),
        ("mix deps.get", Network::All, Hardening::Git),
        ("mix --version", Network::None, Hardening::None),
        ("npm ci", Network::All, Hardening::None),
        ("cargo fmt", Network::None, Hardening::None),
        ("python3 a.py", Network::All, Hardening::None),
    ] {
        assert_eq!(of(&policy, line), (network, hardening), "{line}");
    }
    for line in [
        "git fetch ext::sh",
        "git fetch 'ext::sh -c id'",
        "git fetch https://x/y",
        "git fetch ../x",
        "git pull user@host:x",
        "git fetch file:x",
    ] {
        assert_eq!(
            policy.check(line, Place::default()).unwrap_err().kind,
            DenialKind::InvalidValue,
            "{line}"
        );
    }
    for line in [
        "git fetch --upload-pack=x origin",
        "git fetch origin --upload-pack x",
    ] {
        assert_eq!(
            policy.check(line, Place::default()).unwrap_err().kind,
            DenialKind::OptionRefused,
            "{line}"
        );
    }
    let denial = policy
        .check("git push origin main", Place::default())
        .unwrap_err();
    assert_eq!(
        (denial.kind, denial.allowed),
        (DenialKind::NetworkBlocked, vec!["git_push".to_owned()])
    );
    assert!(
        policy
            .allow_git_push(true)
            .check("git push -u origin main", Place::default())
            .is_ok()
    );
}

#[test]
fn a_denial_says_where_and_what_instead() {
    let denial = check("ls; git diff --outptu=x").unwrap_err();
    assert_eq!(
        (
            denial.command.as_deref(),
            denial.argument.as_deref(),
            denial.index
        ),
        (Some("git diff"), Some("--outptu=x"), Some(2))
    );
    assert!(denial.allowed.contains(&"--stat".to_owned()));
    let denial = check("git frob").unwrap_err();
    assert!(denial.allowed.contains(&"status".to_owned()));
    let denial = check("frob").unwrap_err();
    assert!(denial.allowed.contains(&"grep".to_owned()));
    let denial = check("echo a; echo `id`").unwrap_err();
    assert_eq!(
        (denial.kind, denial.offset),
        (DenialKind::Substitution, Some(13))
    );
    let denial = check("find . -name x -exec id").unwrap_err();
    assert_eq!(
        (denial.reason, denial.index),
        (Reason::RunsProgram, Some(4))
    );
    let denial = check("head -n x a").unwrap_err();
    assert_eq!(denial.allowed, ["NUMBER"]);
    let denial = check("mix test --formatter X").unwrap_err();
    assert_eq!(
        (denial.command.as_deref(), denial.index),
        (Some("mix test"), Some(2))
    );
}

#[test]
fn a_task_on_no_list_is_left_to_who_knows_the_aliases_and_to_nobody_else() {
    let policy = CommandPolicy::new();
    let place = Place {
        aliases: true,
        ..Place::default()
    };
    let plan = policy
        .check("MIX_ENV=test mix check --all | head", place)
        .unwrap();
    let command = plan.programs()[0];
    let call = command.mix.as_ref().unwrap();
    assert_eq!(
        (call.task.as_str(), call.env.as_deref()),
        ("check", Some("test"))
    );
    assert_eq!(call.args, ["--all"]);
    // Its steps may fetch dependencies.
    assert_eq!(command.hardening, Hardening::Git);

    let kind = |line, place| {
        let denial = policy.check(line, place).unwrap_err();
        denial.kind
    };
    assert_eq!(
        kind("mix check", Place::default()),
        DenialKind::TaskNotAllowed
    );
    for (line, why) in [
        ("mix release", DenialKind::TaskBlocked),
        ("mix -e x", DenialKind::InvalidTaskName),
        ("mix test -r x.exs", DenialKind::OptionRefused),
        ("MIX_ENV=prod mix test", DenialKind::EnvBlocked),
    ] {
        assert_eq!(kind(line, place), why, "{line}");
    }
}

#[test]
fn users_add_commands_but_no_shells() {
    let policy = CommandPolicy::new()
        .allow_command(CommandGrammar::any_with_paths_checked("jq"))
        .allow_command(CommandGrammar::any_with_paths_checked("bash"))
        .allow_command(CommandGrammar::any_with_paths_checked("xargs"))
        .allow_command(CommandGrammar::any_with_paths_checked("eval"))
        .allow_command(CommandGrammar::any_with_paths_checked("find"))
        .allow_command(
            CommandGrammar::new("protoc")
                .flags("v verbose")
                .takes("I proto_path", Kind::Path(PathMode::Read))
                .rest(Kind::Path(PathMode::Read)),
        );
    let place = Place {
        root: Some("/proj"),
        cwd: "",
        ..Place::default()
    };
    for line in [
        "jq .a x.json",
        "jq -r '.a | .b' x.json",
        "jq --arg=a x",
        "protoc -Ilib a.proto",
        "jq . /proj/x",
    ] {
        assert!(policy.check(line, place).is_ok(), "{line}");
    }
    for line in [
        "jq . /etc/passwd",
        "jq --file=/etc/x .",
        "jq -f/etc/x .",
        "jq . ../x",
        "jq @/etc/x",
        "jq a:/etc/x",
        "jq --x=~/y",
        "jq . .git/config",
        "protoc -I/etc a",
        "protoc --frob",
        "bash x",
        "xargs ls",
        "eval ls",
        "find . -delete",
        "jq *",
    ] {
        assert!(policy.check(line, place).is_err(), "{line}");
    }
}

/// A project on disk, with a link that leads out, one that stays, one into git's folder, and names
/// that look like options.
struct Project {
    dir: tempfile::TempDir,
}

impl Project {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap();
        for folder in ["proj/lib/deep", "proj/.git/hooks", "outside"] {
            fs::create_dir_all(root.join(folder)).unwrap();
        }
        for file in [
            "proj/a.ex",
            "proj/b.ex",
            "proj/-rf",
            "proj/.hidden",
            "proj/lib/c.ex",
            "proj/lib/deep/d.ex",
            "proj/.git/config",
            "outside/secret.ex",
        ] {
            fs::write(root.join(file), "x").unwrap();
        }
        for (target, link) in [
            ("../outside", "proj/out"),
            ("lib", "proj/inner"),
            (".git", "proj/g"),
            ("../../outside/new", "proj/lib/dangling"),
        ] {
            symlink(target, root.join(link)).unwrap();
        }
        Project { dir }
    }

    fn bind(&self, line: &str) -> Result<Vec<BoundCommand>, String> {
        let boundary = Boundary::open(self.dir.path().join("proj")).unwrap();
        let root = boundary.root().to_str().unwrap().to_owned();
        let line = line.replace("ROOT", &root);
        let plan = CommandPolicy::new()
            .check(
                &line,
                Place {
                    root: Some(&root),
                    cwd: "",
                    ..Place::default()
                },
            )
            .map_err(|d| name(d.kind))?;
        plan.bind(&boundary).map_err(|e| e.kind().to_owned())
    }

    fn argv(&self, line: &str) -> Vec<String> {
        self.bind(line).unwrap()[0].argv.clone()
    }
}

#[test]
fn links_are_followed_before_anything_runs() {
    let project = Project::new();
    for line in [
        "cat a.ex",
        "cat inner/c.ex",
        "cat g/config",
        "ls inner",
        "cat missing",
        "touch lib/new",
        "cd inner && cat c.ex",
        "cat ROOT/a.ex",
        "ls > inner/log",
    ] {
        assert!(
            project.bind(line).is_ok(),
            "{line}: {:?}",
            project.bind(line)
        );
    }
    for (line, kind) in [
        ("cat out/secret.ex", "outside"),
        ("ls out", "outside"),
        ("grep x out/secret.ex", "outside"),
        ("git diff out/secret.ex", "outside"),
        ("ls > out/log", "outside"),
        ("ls 2>> lib/dangling", "outside"),
        ("sort < out/secret.ex", "outside"),
        ("touch lib/dangling", "outside"),
        ("sort a.ex -o out/x", "outside"),
        ("cat inner/../out/secret.ex", "outside"),
        ("cd out && ls", "outside"),
        ("git -C out status", "outside"),
        ("cat a.ex/x", "not_a_directory"),
        ("cd a.ex && ls", "not_a_directory"),
        ("cd missing && ls", "not_a_directory"),
        ("cp a.ex g/config", "protected_path"),
        ("cp a.ex g/hooks/pre-commit", "protected_path"),
        ("ls > g/config", "protected_path"),
        ("rm -rf g", "protected_path"),
        ("rm -rf inner/..", "protected_path"),
    ] {
        assert_eq!(project.bind(line).unwrap_err(), kind, "{line}");
    }
}

#[test]
fn patterns_become_names_inside_the_project() {
    let project = Project::new();
    assert_eq!(project.argv("ls *.ex"), ["ls", "a.ex", "b.ex"]);
    assert_eq!(
        project.argv("ls lib/**/*.ex"),
        ["ls", "lib/c.ex", "lib/deep/d.ex"]
    );
    assert_eq!(project.argv("ls [!a].ex"), ["ls", "b.ex"]);
    assert_eq!(
        project.argv("ls ?.ex '*.ex'"),
        ["ls", "a.ex", "b.ex", "*.ex"]
    );
    assert_eq!(project.argv("cd lib && ls *.ex"), ["ls", "c.ex"]);
    assert_eq!(
        project.argv("ls *.none"),
        ["ls", "*.none"],
        "no match stays as typed"
    );
    assert_eq!(project.argv("ls inner/*.ex"), ["ls", "inner/c.ex"]);
    assert_eq!(project.argv("git add *.ex"), ["git", "add", "a.ex", "b.ex"]);
    let root = project.dir.path().canonicalize().unwrap().join("proj");
    assert_eq!(
        project.argv("ls ROOT/?.ex"),
        [
            "ls".to_owned(),
            format!("{}/a.ex", root.display()),
            format!("{}/b.ex", root.display())
        ]
    );
    assert_eq!(
        project.bind("ls *").unwrap_err(),
        "outside",
        "it would name the link that leads out"
    );
    assert_eq!(
        project.bind("cat out/*").map(|bound| bound[0].argv.clone()),
        Ok(vec!["cat".into(), "out/*".into()])
    );
    fs::remove_file(root.join("out")).unwrap();
    assert!(
        project.argv("rm -f *r*").contains(&"./-rf".to_owned()),
        "a name is never an option"
    );
    assert!(!project.argv("ls *").contains(&".hidden".to_owned()));
    assert_eq!(project.bind("rm -rf .g*").unwrap_err(), "protected_path");
}

#[test]
fn a_pattern_that_names_too_much_is_refused() {
    let project = Project::new();
    let crowd = project.dir.path().join("proj/crowd");
    fs::create_dir(&crowd).unwrap();
    for n in 0..4200 {
        fs::write(crowd.join(format!("f{n}")), "").unwrap();
    }
    assert_eq!(project.bind("ls crowd/*").unwrap_err(), "too_many_matches");
}

/// What this thread has used of the processor, so that a busy machine does not fail the test.
fn processor_time() -> Duration {
    let text = fs::read_to_string("/proc/thread-self/schedstat").unwrap();
    Duration::from_nanos(text.split(' ').next().unwrap().parse().unwrap())
}

#[test]
fn hostile_sizes_take_no_time() {
    let units = [
        "a ", "'a' ", "\"a\" ", "\\a", "*", "[", "ls|", "ls;", "ls&&", ">a ", "a=b ", "{", "}",
        "$ ", "\\\n", "!", "! ", "-", "--", "é", "\n", "2>&1 ", "\"\"", "''", "[a", "{a", "~", "`",
        "$(", "<(", "((", "&",
    ];
    for unit in units {
        for prefix in ["", "ls ", "echo '", "git log "] {
            let line = format!("{prefix}{}", unit.repeat(32_000 / unit.len() - 20));
            let before = processor_time();
            let _ = check(&line);
            let used = processor_time() - before;
            assert!(
                used < Duration::from_secs(2),
                "{prefix:?} {unit:?}: {used:?}"
            );
        }
    }
}

/// A repository whose own configuration names a program wherever git would run one. None of them
/// runs.
#[test]
fn a_repository_can_not_make_git_run_programs() {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path().canonicalize().unwrap().join("proj");
    fs::create_dir(&root).unwrap();
    let marker = dir.path().join("marker");
    let trap = root.join("trap.sh");
    fs::write(
        &trap,
        format!("#!/bin/sh\necho ran >> '{}'\nexit 0\n", marker.display()),
    )
    .unwrap();
    fs::set_permissions(&trap, fs::Permissions::from_mode(0o755)).unwrap();

    let git = |args: &[&str]| {
        let status = std::process::Command::new("git")
            .args(args)
            .current_dir(&root)
            .env("HOME", dir.path())
            .status()
            .unwrap();
        assert!(status.success(), "{args:?}");
    };
    git(&["init", "-q", "-b", "main"]);
    for (key, value) in [("user.name", "a"), ("user.email", "a@example.org")] {
        git(&["config", key, value]);
    }
    fs::write(root.join("a.txt"), "one\n").unwrap();
    fs::write(root.join(".gitattributes"), "*.txt diff=trap\n").unwrap();
    git(&["add", "."]);
    git(&["commit", "-q", "-m", "first"]);
    fs::write(root.join("a.txt"), "two\n").unwrap();
    let trap = trap.to_str().unwrap();
    for key in [
        "core.fsmonitor",
        "core.pager",
        "core.editor",
        "sequence.editor",
        "core.askPass",
        "core.sshCommand",
        "diff.external",
        "diff.trap.command",
        "diff.trap.textconv",
        "gpg.program",
        "pager.log",
        "pager.diff",
        "interactive.diffFilter",
    ] {
        git(&["config", key, trap]);
    }
    for (key, value) in [
        ("commit.gpgSign", "true"),
        ("tag.gpgSign", "true"),
        ("log.showSignature", "true"),
    ] {
        git(&["config", key, value]);
    }
    for hook in [
        "pre-commit",
        "commit-msg",
        "prepare-commit-msg",
        "post-commit",
        "post-checkout",
        "post-rewrite",
        "reference-transaction",
        "post-index-change",
        "fsmonitor-watchman",
    ] {
        symlink(trap, root.join(".git/hooks").join(hook)).unwrap();
    }

    let boundary = Boundary::open(&root).unwrap();
    let run = |line: &str, hardened: bool| {
        let plan = POLICY
            .check(line, Place::default())
            .unwrap_or_else(|e| panic!("{line}: {e}"));
        for command in plan.bind(&boundary).unwrap() {
            let mut process = std::process::Command::new(&command.argv[0]);
            process
                .args(&command.argv[1..])
                .current_dir(&root)
                .env("HOME", dir.path())
                .stdin(std::process::Stdio::null());
            if hardened {
                process.envs(git_hardening());
            }
            let output = process.output().unwrap();
            assert!(
                !hardened || output.status.success() || line.contains("-C bare"),
                "{line}: {}",
                String::from_utf8_lossy(&output.stderr)
            );
        }
    };
    // A folder laid out like a repository, with settings of its own. Git would take it for one.
    for (file, text) in [
        ("bare/HEAD", "ref: refs/heads/main\n".to_owned()),
        (
            "bare/config",
            format!(
                "[core]\n\trepositoryformatversion = 0\n\tbare = true\n\tfsmonitor = {trap}\n[alias]\n\tx = !{trap}\n"
            ),
        ),
        ("bare/objects/.keep", String::new()),
        ("bare/refs/.keep", String::new()),
    ] {
        fs::create_dir_all(root.join(file).parent().unwrap()).unwrap();
        fs::write(root.join(file), text).unwrap();
    }

    run("git status", false);
    assert!(
        marker.exists(),
        "without its environment git does run them: the traps work"
    );
    fs::remove_file(&marker).unwrap();
    for line in [
        "git status",
        "git diff",
        "git diff --stat HEAD",
        "git log -p",
        "git show",
        "git blame a.txt",
        "git grep two",
        "git add a.txt",
        "git commit -m second",
        "git commit --amend",
        "git log -1 --format=%h",
        "git checkout -b topic",
        "git tag -a v1 -m x",
        "git branch",
        "git stash list",
        "git reset HEAD~1",
        "git stash push",
        "git stash show -p",
        "git stash pop",
        "git restore a.txt",
        "git switch main",
        "git reflog",
        "git mv a.txt b.txt",
        "git -C bare log",
        "git -C bare status",
    ] {
        run(line, true);
        assert!(!marker.exists(), "{line}");
    }
}

fn piece() -> impl Strategy<Value = String> {
    let words = vec![
        "ls",
        "cat",
        "git",
        "sh",
        "bash",
        "env",
        "find",
        "cp",
        "rm",
        "sort",
        "mix",
        "python3",
        "cd",
        "grep",
        "echo",
        "test",
        "make",
        "rg",
        "-c",
        "-C",
        "-o",
        "-e",
        "-exec",
        "--output=",
        "-t",
        "--",
        "-",
        "=",
        "/",
        "/etc/passwd",
        "..",
        "../",
        "~",
        ".git",
        "lib",
        "a.ex",
        " ",
        " ",
        " ",
        "|",
        "||",
        "&&",
        "&",
        ";",
        "\n",
        ">",
        ">>",
        "<",
        "<<",
        "2>&1",
        "&>",
        "'",
        "\"",
        "\\",
        "$",
        "`",
        "$(",
        "(",
        ")",
        "{",
        "}",
        "*",
        "?",
        "[",
        "]",
        "#",
        "!",
        "status",
        "diff",
        "HEAD:",
        ":",
        "\t",
        "/proj",
        "/proj-evil",
        "@",
        ",",
        "%2e%2e",
        "push",
        "ext::",
    ];
    prop_oneof![8 => prop::sample::select(words).prop_map(str::to_owned), 1 => "[ -~]{1,3}", 1 => any::<char>().prop_map(String::from)]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4_000))]

    #[test]
    fn what_passes_stays_inside(pieces in prop::collection::vec(piece(), 1..14)) {
        let line = pieces.concat();
        if let Ok(plan) = check(&line) {
            for command in plan.programs() {
                let name = command.argv[0].text();
                prop_assert!(POLICY.allowed_commands(List::Narrow).any(|known| known == name), "{line:?}");
                prop_assert!(!SHELLS.contains(name) && !LAUNCHERS.contains(name), "{line:?}");
                for word in &command.argv {
                    let control = word.text().chars().any(|c| c.is_ascii_control() && c != '\n' && c != '\t');
                    prop_assert!(!control, "{line:?}");
                }
                for path in &command.paths {
                    prop_assert!(!leaves(&path.path), "{line:?} {path:?}");
                    let git = path.path.to_ascii_lowercase().split('/').any(|part| part == ".git");
                    prop_assert!(path.mode == PathMode::Read || !git, "{line:?} {path:?}");
                }
                for redirection in &command.redirections {
                    let (Target::Read(path) | Target::Write(path) | Target::Append(path)) = &redirection.target else { continue };
                    prop_assert!(!leaves(path), "{line:?} {path:?}");
                }
                // Only texts of commands that never open them may look like paths outside.
                if !["echo", "printf", "true", "false", "basename", "dirname", "tr", "grep", "rg", "find", "test", "[", "cut", "sort", "diff", "date", "git", "make"].contains(&name) {
                    for word in &command.argv {
                        let text = word.text();
                        // `a/etc/passwd` lies inside, unless it is glued to an option or another
                        // sign.
                        let inside = !text.starts_with('-') && !text.contains(['=', '@', ':']) && !leaves(text);
                        prop_assert!(inside || !text.contains("/etc/passwd"), "{line:?}");
                    }
                }
            }
        }
    }

    #[test]
    fn quoted_text_arrives_as_it_is(text in "[^\0-\u{8}\u{b}-\u{1f}\u{7f}]{0,40}") {
        let single = format!("echo '{}'", text.replace('\'', "'\\''"));
        let double: String = text.chars().flat_map(|c| if "$`\"\\".contains(c) { vec!['\\', c] } else { vec![c] }).collect();
        let double = format!("echo \"{double}\"");
        for line in [single, double] {
            let plan = check(&line).map_err(|e| TestCaseError::fail(format!("{line:?} {e:?}")))?;
            prop_assert_eq!(plan.programs()[0].argv[1].text(), &text, "{}", line);
        }
    }

    #[test]
    fn no_text_makes_it_panic(line in any::<String>(), pieces in prop::collection::vec(piece(), 0..30)) {
        let _ = check(&line);
        let _ = check(&pieces.join(" "));
    }
}
