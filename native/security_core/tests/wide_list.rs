//! The wide list of commands: what it takes, what it refuses, and that nothing hides behind its
//! syntax.
#![allow(missing_docs, clippy::unwrap_used, clippy::expect_used)]

#[path = "support/boundary.rs"]
mod boundary;

use proptest::prelude::*;
use security_core::command_policy::{
    CommandPolicy, Denial, DenialKind, JUDGED_LAUNCHERS, LAUNCHERS, List, PathMode, Place, Plan,
    Reason, SHELLS, Stage, Statement, Target,
};
use serde::Deserialize;
use std::sync::LazyLock;

use boundary::leaves;

static POLICY: LazyLock<CommandPolicy> = LazyLock::new(CommandPolicy::new);

fn judge(line: &str, list: List) -> Result<Plan, Box<Denial>> {
    let place = Place {
        root: Some("/proj"),
        list,
        ..Place::default()
    };
    POLICY.check(line, place)
}

fn wide(line: &str) -> Result<Plan, Box<Denial>> {
    judge(line, List::Wide)
}

fn argv(line: &str) -> Vec<Vec<String>> {
    let plan = wide(line).unwrap_or_else(|denial| panic!("{line}: {denial} {:?}", denial.argument));
    let words = |command: &security_core::command_policy::Command| {
        command
            .argv
            .iter()
            .map(|word| word.text().to_owned())
            .collect()
    };
    plan.programs().into_iter().map(words).collect()
}

#[derive(Deserialize)]
struct Ordinary {
    line: String,
    wide: String,
    narrow: String,
    why: Option<String>,
}

fn ordinary() -> Vec<Ordinary> {
    let path = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../test/fixtures/policy/ordinary_lines.json"
    );
    serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()
}

fn verdict(result: Result<Plan, Box<Denial>>) -> String {
    match result {
        Ok(_) => "runs".to_owned(),
        Err(denial) => serde_json::to_value(denial.kind)
            .unwrap()
            .as_str()
            .unwrap()
            .to_owned(),
    }
}

#[test]
fn ordinary_lines_of_elixir_work_run_inside_the_fence() {
    let lines = ordinary();
    let mut wrong = Vec::new();
    for row in &lines {
        let judge = |list| {
            let place = Place {
                root: Some("/proj"),
                list,
                ..Place::default()
            };
            verdict(POLICY.check(&row.line, place))
        };
        let got = (judge(List::Wide), judge(List::Narrow));
        if got != (row.wide.clone(), row.narrow.clone()) {
            wrong.push(format!("{:?}: wide {}, narrow {}", row.line, got.0, got.1));
        }
        assert_eq!(
            row.why.is_some(),
            row.wide != "runs",
            "{}: a refusal has its reason",
            row.line
        );
    }
    assert!(
        wrong.is_empty(),
        "{} wrong:\n{}",
        wrong.len(),
        wrong.join("\n")
    );
    let refused = lines.iter().filter(|row| row.wide != "runs").count();
    assert!(
        lines.len() >= 200 && refused * 12 <= lines.len(),
        "{refused} of {}",
        lines.len()
    );
}

#[test]
fn whatever_the_narrow_list_takes_the_wide_one_takes_too() {
    let path = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../test/fixtures/policy/command_policy.json"
    );
    let vectors: serde_json::Value =
        serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
    for vector in vectors.as_array().unwrap() {
        let (Some(line), Some(cwd)) = (vector["line"].as_str(), vector["cwd"].as_str()) else {
            continue;
        };
        let place = |list| Place {
            root: Some("/proj"),
            cwd,
            list,
            ..Place::default()
        };
        if POLICY.check(line, place(List::Narrow)).is_ok() {
            let refused = POLICY.check(line, place(List::Wide)).err();
            assert!(refused.is_none(), "{line:?}: {refused:?}");
        }
    }
}

#[test]
fn what_is_never_run_is_refused_wherever_it_stands() {
    use DenialKind::*;
    for (line, kind) in [
        ("bash -c ls", ShellInterpreterBlocked),
        ("(sh x)", ShellInterpreterBlocked),
        ("timeout 5 bash x", ShellInterpreterBlocked),
        ("find . -exec sh -c id \\;", ShellInterpreterBlocked),
        ("ls | xargs sh", ShellInterpreterBlocked),
        ("ls | xargs -n1 env A=b bash", ShellInterpreterBlocked),
        ("env A=b sh x", ShellInterpreterBlocked),
        ("nice -n 5 zsh", ShellInterpreterBlocked),
        ("time sh x", ShellInterpreterBlocked),
        ("X=sh; $X x", ShellInterpreterBlocked),
        ("{sh,-c,id}", ShellInterpreterBlocked),
        ("sudo ls", LauncherBlocked),
        ("nohup mix test", LauncherBlocked),
        ("timeout 5 sudo ls", LauncherBlocked),
        ("find . -exec perl x {} +", LauncherBlocked),
        ("eval ls", BuiltinBlocked),
        ("exec ls", BuiltinBlocked),
        ("source x", BuiltinBlocked),
        (". x", BuiltinBlocked),
        ("xargs eval", BuiltinBlocked),
        ("timeout 5 cd x", BuiltinBlocked),
        ("command ls", BuiltinBlocked),
        ("set -e; ls", BuiltinBlocked),
        ("cd -", BuiltinBlocked),
        ("cd", BuiltinBlocked),
        ("ls &", Background),
        ("(ls &)", Background),
        ("echo $(ls)", Substitution),
        ("echo \"`ls`\"", Substitution),
        ("cat <(ls)", Substitution),
        ("echo $((1+1))", Substitution),
        ("echo $\\\n(ls)", Substitution),
        ("cat <<EOF\n$(id)\nEOF", HereDocumentUnquoted),
        ("cat <<EOF\n$HOME\nEOF", HereDocumentUnquoted),
        ("cat <<EOF\nx", HereDocumentUnquoted),
        ("cat <<EOF", HereDocumentUnquoted),
        ("for f in *; do ls; done", ControlStructure),
        ("if true; then ls; fi", ControlStructure),
        ("while true; do ls; done", ControlStructure),
        ("f() { ls; }", ControlStructure),
        ("function f { ls; }", ControlStructure),
        ("[[ -f x ]]", ControlStructure),
        ("((1+1))", ControlStructure),
        ("case x in y) ls;; esac", ControlStructure),
        ("a=(1 2)", ControlStructure),
        ("PATH=. ls", VariableBlocked),
        ("export PATH=/tmp", VariableBlocked),
        ("env LD_PRELOAD=x ls", VariableBlocked),
        ("ERL_FLAGS=x mix test", VariableBlocked),
        ("export GIT_SSH_COMMAND=x", VariableBlocked),
        ("env -u HOME ls", VariableBlocked),
        ("xargs env GIT_DIR=x git status", VariableBlocked),
        ("npm_config_script_shell=x npm test", VariableBlocked),
        ("https_proxy=x mix deps.get", VariableBlocked),
        ("unset PATH", VariableBlocked),
        ("MIX_ENV=prod mix compile", EnvBlocked),
        ("export MIX_ENV=prod", EnvBlocked),
        ("env MIX_ENV=prod mix test", EnvBlocked),
        ("echo $HOME", UnknownVariable),
        ("echo ${X:-y}", Expansion),
        ("echo $1", Expansion),
        ("echo $$", Expansion),
        ("cat ~/x", Expansion),
        ("ls --x=~/y", Expansion),
        ("A='a b'; ls $A", UnquotedVariable),
        ("A='*'; ls $A", UnquotedVariable),
        ("ls > /tmp/x", AbsolutePathBlocked),
        ("(ls) > /tmp/x", AbsolutePathBlocked),
        ("tee /tmp/x", AbsolutePathBlocked),
        ("ls | tee ../x", PathTraversalBlocked),
        ("cd .. && ls", PathTraversalBlocked),
        ("cd lib && cd ../.. && ls", PathTraversalBlocked),
        ("(cd lib && cat ../../x)", PathTraversalBlocked),
        ("cd lib; (cd ..); cat ../../x", PathTraversalBlocked),
        ("A=/etc; cat $A/passwd", AbsolutePathBlocked),
        ("cat {lib,../..}/x", PathTraversalBlocked),
        ("sed -i s/a/b/ .git/config", ProtectedPath),
        ("sed -i.bak s/a/b/ .git/config", ProtectedPath),
        ("sed -ni s/a/b/ .git/config", ProtectedPath),
        ("sed --in-place s/a/b/ .git/config", ProtectedPath),
        ("tee .git/hooks/pre-commit", ProtectedPath),
        ("cat > .git/config <<'E'\nx\nE", ProtectedPath),
        ("git push", NetworkBlocked),
        ("timeout 9 git push", NetworkBlocked),
        ("(git push origin main)", NetworkBlocked),
        ("git -c core.pager=x log", OptionRefused),
        ("git rebase -x id main", OptionRefused),
        ("git rebase -i main", OptionRefused),
        ("git apply --unsafe-paths x", OptionRefused),
        ("git config core.pager id", UnexpectedArgument),
        ("git config --add a.b c", OptionRefused),
        ("git worktree add x", SubcommandNotAllowed),
        ("git bisect run make", SubcommandNotAllowed),
        ("git submodule foreach ls", SubcommandNotAllowed),
        ("git format-patch -o /tmp HEAD", OptionRefused),
        ("elixir -e 1", OptionRefused),
        ("python3 -c 1", OptionRefused),
        ("python3 -", OptionRefused),
        ("node --eval 1", OptionRefused),
        ("iex", MissingArgument),
        ("make -f - x", OptionRefused),
        ("make --file=- x", OptionRefused),
        ("awk 'BEGIN{system(\"id\")}'", ScriptRefused),
        ("awk '{print | \"sh\"}' x", ScriptRefused),
        ("awk -f x.awk y", OptionRefused),
        ("sed 's/a/id/e' x", ScriptRefused),
        ("sed -n 'w out' x", ScriptRefused),
        ("sed -e p -e e x", ScriptRefused),
        ("sed -f x y", OptionRefused),
        ("tar --to-command=sh -xf x", OptionRefused),
        ("tar -I sh -xf x", OptionRefused),
        ("split --filter=sh x", CommandNotAllowed),
        ("tar cIf 'sh x' a.tar lib", OptionRefused),
        ("tar xPf a.tar", OptionRefused),
        ("tar cf /tmp/a.tar lib", AbsolutePathBlocked),
        ("cat x$?", Expansion),
        ("echo a > x$?", GlobNotAllowed),
        ("awk '{print a ? b :\n c > \"/tmp/x\"}' x", ScriptRefused),
        ("git log --format='%+G?'", InvalidValue),
        ("git log --pretty='format:% G?'", InvalidValue),
        ("BC_ENV_ARGS=/etc/passwd bc", VariableBlocked),
        ("A+=x ls", Assignment),
        ("cp --parents .git/config x", ProtectedPath),
        ("cp -r .git copy", ProtectedPath),
        ("mv -b -S t -T evil .gi", OptionRefused),
        ("sed -it s/a/b/ .gi", InvalidValue),
        ("head -$? x", GlobNotAllowed),
        ("mix test --seed $?", Expansion),
        ("chmod u+s x", InvalidValue),
        ("chmod 4755 x", InvalidValue),
        ("mix do compile", TaskBlocked),
        ("mix cmd ls", TaskBlocked),
        ("mix run -e 1", OptionRefused),
        ("timeout 60 mix run --eval 1", OptionRefused),
        ("env mix release", TaskBlocked),
        ("./script/test", CommandNotAllowed),
        ("curl localhost", CommandNotAllowed),
    ] {
        let denial = wide(line).expect_err(line);
        assert_eq!(denial.kind, kind, "{line}: {:?}", denial.argument);
        assert_eq!(denial.list, Some(List::Wide));
        assert!(judge(line, List::Narrow).is_err(), "{line}");
    }
}

#[test]
fn a_launcher_is_judged_with_what_it_runs() {
    assert_eq!(
        argv("timeout -k 5 60 nice -n 10 wc -l a"),
        [[
            "timeout", "-k", "5", "60", "nice", "-n", "10", "wc", "-l", "a"
        ]]
    );
    let plan = wide("timeout 60 env MIX_ENV=test mix test --trace").unwrap();
    let command = plan.programs()[0];
    let call = command.mix.as_ref().unwrap();
    assert_eq!(
        (call.task.as_str(), call.env.as_deref()),
        ("test", Some("test"))
    );
    assert_eq!(
        command.argv.iter().map(|w| w.text()).collect::<Vec<_>>(),
        ["timeout", "60", "mix", "test", "--trace"]
    );
    assert!(
        command
            .env
            .contains(&("MIX_ENV".into(), Some("test".into())))
    );
    // Paths of the inner command are told, by their place among all words.
    let plan = wide("timeout 5 rm -f tmp/a").unwrap();
    let paths: Vec<_> = plan.programs()[0]
        .paths
        .iter()
        .map(|p| (p.index, p.path.as_str(), p.mode))
        .collect();
    assert_eq!(paths, [(4, "tmp/a", PathMode::Delete)]);
    assert_eq!(argv("env"), [["env"]]);
    assert_eq!(argv("command -v mix"), [["which", "mix"]]);
    assert_eq!(
        wide("timeout 1 timeout 1 timeout 1 timeout 1 timeout 1 timeout 1 ls")
            .unwrap_err()
            .kind,
        DenialKind::TooManyCommands
    );
    assert_eq!(
        wide(&format!("{} ls", "env A=b ".repeat(900)))
            .unwrap_err()
            .kind,
        DenialKind::TooManyCommands
    );
    assert_eq!(
        wide("timeout 5").unwrap_err().kind,
        DenialKind::MissingArgument
    );
}

#[test]
fn the_options_of_tar_may_come_without_a_dash() {
    let tar = |words: &str| argv(words)[0][2..].to_vec();
    assert_eq!(tar("tar xzf a.tgz"), ["-xzf", "a.tgz"]);
    assert_eq!(tar("tar xfz a.tgz"), ["-xzf", "a.tgz"]);
    assert_eq!(tar("tar -czf a.tgz lib"), ["-czf", "a.tgz", "lib"]);
    let plan = wide("tar czf a.tgz lib").unwrap();
    let modes: Vec<_> = plan.programs()[0].paths.iter().map(|p| p.mode).collect();
    assert_eq!(modes, [PathMode::Write, PathMode::Read]);
}

#[test]
fn a_plan_is_shown_as_the_line_it_was_understood_from() {
    let shown = |line: &str| wide(line).unwrap().shown();
    for line in [
        "echo 'hello there' | sort && ls lib",
        "cd lib && cat a.ex >b.txt 2>&1; ls ../test || false",
        "(cd lib && ls) | wc -l; ! { true; ls *.ex; } 2>/dev/null",
        "export A='x y' && env -u A printenv A",
        "time xargs '-I{}' cp -- '{}' '{}.bak' <names",
        "false; echo 'code: '$?. >>out",
        "cat <<<'some text'; exit 3",
    ] {
        assert_eq!(shown(line), line);
    }
    assert_eq!(shown("X=1 Y=2; echo $X"), "{ X=1; Y=2; }; echo 1");
    assert_eq!(shown("echo {a,b}\\ c"), "echo 'a c' 'b c'");
    assert_eq!(shown("mix test"), "MIX_ENV=dev mix test");
    // Read again it is the same, but where it has options that only this policy gives.
    let given = [
        "--sandbox",
        "--force-local",
        "--no-ext-diff",
        "--no-config",
        "--no-textconv",
        "--no-dereference",
        "--stdout",
    ];
    for row in ordinary().into_iter().filter(|row| row.wide == "runs") {
        let once = shown(&row.line);
        if given.iter().any(|option| once.contains(option)) {
            continue;
        }
        let again =
            wide(&once).unwrap_or_else(|denial| panic!("{once}: {denial} {:?}", denial.argument));
        assert_eq!(again.shown(), once, "{}", row.line);
        assert_eq!(argv(&once), argv(&row.line), "{once}");
    }
}

#[test]
fn names_that_xargs_reads_are_never_options() {
    assert_eq!(argv("ls | xargs wc -l")[1], ["xargs", "wc", "-l", "--"]);
    assert_eq!(
        argv("ls | xargs -0 -n 1 grep -l foo")[1],
        ["xargs", "-0", "-n", "1", "grep", "-l", "foo", "--"]
    );
    assert_eq!(argv("ls | xargs rm")[1], ["xargs", "rm", "--"]);
    assert_eq!(
        argv("ls | xargs sed -i s/a/b/")[1],
        ["xargs", "sed", "--sandbox", "-i", "s/a/b/", "--"]
    );
    assert_eq!(argv("ls | xargs git add")[1], ["xargs", "git", "add", "--"]);
    assert_eq!(argv("ls | xargs echo")[1], ["xargs", "echo"]);
    assert_eq!(
        argv("ls | xargs mix format")[1],
        ["xargs", "mix", "format", "--"]
    );
    assert_eq!(
        argv("ls | xargs -I{} cp {} {}.bak")[1],
        ["xargs", "-I{}", "cp", "--", "{}", "{}.bak"]
    );
    assert_eq!(
        argv("ls | xargs -I % cp -v -- % lib/%")[1],
        ["xargs", "-I", "%", "cp", "-v", "--", "%", "lib/%"]
    );
    assert_eq!(argv("ls | xargs")[1], ["xargs"]);
    for (line, reason) in [
        ("ls | xargs -I{} cp -v {} x", Reason::NeedsDashes),
        ("ls | xargs git log", Reason::NeedsDashes),
        ("ls | xargs -I{} git add {}", Reason::NeedsDashes),
        ("ls | xargs find", Reason::NeedsDashes),
        ("ls | xargs awk", Reason::NeedsDashes),
        ("ls | xargs grep", Reason::NeedsDashes),
        ("ls | xargs sed", Reason::NotListed),
        ("ls | xargs test", Reason::NeedsDashes),
        ("ls | xargs cp a", Reason::NeedsDashes),
        ("ls | xargs elixir", Reason::EvaluatesCode),
        ("ls | xargs python3", Reason::EvaluatesCode),
        ("ls | xargs mix", Reason::NeedsDashes),
        ("ls | xargs -I{} awk '{}'", Reason::NotListed),
        ("ls | xargs -I{} sed 's/{}/x/' a", Reason::NotListed),
        ("ls | xargs -I{} mix {}", Reason::NotListed),
        ("ls | xargs -I{} {} x", Reason::NotListed),
        ("ls | xargs -I ls ls a", Reason::NotListed),
        ("find . -exec awk '{}' x \\;", Reason::NotListed),
        ("find . -exec {} \\;", Reason::NotListed),
        ("find . -exec", Reason::NotListed),
        ("find . -exec ls {}", Reason::NotListed),
        ("find . -execdir ls {} +", Reason::RunsProgram),
        ("find . -ok rm {} +", Reason::RunsProgram),
    ] {
        let denial = wide(line).expect_err(line);
        assert_eq!(denial.reason, reason, "{line}: {:?}", denial.kind);
    }
}

#[test]
fn folders_and_variables_go_with_the_line() {
    let places = |line: &str| -> Vec<String> {
        let plan = wide(line).unwrap_or_else(|denial| panic!("{line}: {denial}"));
        plan.programs()
            .iter()
            .map(|command| command.cwd.clone())
            .collect()
    };
    assert_eq!(places("cd lib && ls && cd ../test && ls"), ["lib", "test"]);
    assert_eq!(places("(cd lib && ls); ls"), ["lib", ""]);
    assert_eq!(places("{ cd lib; ls; }; ls"), ["lib", "lib"]);
    assert_eq!(places("cd lib | cat; ls"), ["", ""]);
    assert_eq!(places("ls || cd lib; ls"), ["", ""]);
    assert_eq!(places("cd /proj/lib && ls"), ["lib"]);
    assert_eq!(
        argv("A=lib; cat $A/x \"$A y\" '$A' ${A}z"),
        [["cat", "lib/x", "lib y", "$A", "libz"]]
    );
    assert_eq!(argv("A=''; echo $A \"$A\" x$A"), [["echo", "", "x"]]);
    assert_eq!(argv("cd lib; echo $PWD"), [["echo", "/proj/lib"]]);
    assert_eq!(
        argv("A=1; (A=2; echo $A); echo $A"),
        [["echo", "2"], ["echo", "1"]]
    );
    assert_eq!(
        argv("false; echo code=$?."),
        [vec!["false"], vec!["echo", "code=0."]]
    );
    assert_eq!(
        argv("ls {lib,test}/*.ex x{1..3}"),
        [["ls", "lib/*.ex", "test/*.ex", "x1", "x2", "x3"]]
    );
    let plan = wide("export MIX_ENV=test && mix test; A=b cat x > $A").err();
    assert_eq!(
        plan.unwrap().kind,
        DenialKind::UnknownVariable,
        "A is the command's own"
    );
    let plan = wide("export MIX_ENV=test && mix test").unwrap();
    assert_eq!(
        plan.programs()[0].mix.as_ref().unwrap().env.as_deref(),
        Some("test")
    );
    let plan = wide("A=x; B=$A; echo $B").unwrap();
    let Stage::Statement { statements, .. } = &plan.steps[1].stages[0] else {
        panic!()
    };
    assert_eq!(
        statements[0],
        Statement::Assume {
            name: "A".into(),
            value: "x".into()
        }
    );
    assert_eq!(
        plan.programs()[0].assumes,
        [("B".to_owned(), "x".to_owned())]
    );
}

#[test]
fn here_documents_are_texts() {
    let text = |line: &str| {
        let plan =
            wide(line).unwrap_or_else(|denial| panic!("{line}: {denial} {:?}", denial.argument));
        let last = plan.programs()[0]
            .redirections
            .iter()
            .rfind(|r| r.fd == 0)
            .unwrap()
            .target
            .clone();
        match last {
            Target::Text(text) => text,
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(
        text("cat <<'EOF'\na $(id) `x` it's\n  b\nEOF\n"),
        "a $(id) `x` it's\n  b\n"
    );
    assert_eq!(
        text("cat <<EOF | wc -l\nplain (text) & more # no comment\nEOF"),
        "plain (text) & more # no comment\n"
    );
    assert_eq!(text("cat <<-E\n\t\ta\n\tE\n"), "a\n");
    assert_eq!(text("cat << \"A B\" > out\nx\nA B"), "x\n");
    assert_eq!(text("cat <<A; cat <<B\n1\nA\n2\nB\n"), "1\n");
    assert_eq!(text("jq . <<< '{\"a\": 1}'"), "{\"a\": 1}\n");
    assert_eq!(text("cat <<A <<B\n1\nA\n2\nB"), "2\n");
    assert_eq!(text("cat <<''\na\n\n"), "a\n");
    // What stands behind the text is a command again.
    assert_eq!(
        wide("cat <<E\nx\nE\nsudo ls").unwrap_err().kind,
        DenialKind::LauncherBlocked
    );
    assert_eq!(
        wide("cat <<E; sudo ls\nx\nE").unwrap_err().kind,
        DenialKind::LauncherBlocked
    );
    assert_eq!(argv("# a comment; sudo ls\nls # more `x`\n"), [["ls"]]);
}

#[test]
fn what_shows_differences_runs_no_program_that_a_repository_names() {
    let diffs = ["--no-ext-diff", "--no-textconv"];
    let logs = ["--no-ext-diff", "--no-textconv", "--no-show-signature"];
    for (line, switches) in [
        ("git diff HEAD~1", diffs.as_slice()),
        ("git stash show", &diffs),
        ("git range-diff a b", &diffs),
        ("git diff-tree HEAD", &diffs),
        ("git log -3", &logs),
        ("git show HEAD", &logs),
        ("git reflog show", &logs),
        ("git stash list", &logs),
        ("git whatchanged", &logs),
    ] {
        let argv = argv(line).concat();
        for switch in switches {
            assert!(argv.iter().any(|word| word == switch), "{line}: {argv:?}");
        }
    }
}

fn piece() -> impl Strategy<Value = String> {
    #[rustfmt::skip]
    let words = vec![
        "ls", "cat", "git", "sh", "bash", "env", "find", "cp", "rm", "mix", "cd", "echo", "xargs", "timeout", "awk", "sed", "tee",
        "nice", "time", "export", "unset", "exit", "{", "}", "(", ")", "((", "))", "{a,b}", "{1..3}", "$A", "${A}", "$?", "$PWD", "A=1",
        "A=/etc", "A=b", "PATH=x", "$(", "`", "<<", "<<-", "<<<", "'EOF'", "EOF", "\nEOF\n", "-exec", "{}", "+", "\\;", "-I{}", "-i", "-c", "-e",
        "--", "-", "=", "/", "/etc/passwd", "..", "../", "~", ".git", "lib", "a.ex", " ", " ", " ", " ", "|", "||", "&&", "&", ";", "\n",
        ">", ">>", "<", "2>&1", "&>", "'", "\"", "\\", "$", "*", "?", "[", "]", "#", "!", "push", "commit", "5", "print", "/x/",
        "test", "run", "do", "if", "for", "/proj", "%2e%2e", "@", ",", "\t",
    ];
    prop_oneof![12 => prop::sample::select(words).prop_map(str::to_owned), 1 => "[ -~]{1,3}", 1 => any::<char>().prop_map(String::from)]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(6_000))]

    #[test]
    fn what_passes_stays_inside(pieces in prop::collection::vec(piece(), 1..18)) {
        let line = pieces.concat();
        let Ok(plan) = wide(&line) else { return Ok(()) };
        for command in plan.programs() {
            let name = command.argv[0].text();
            prop_assert!(POLICY.allowed_commands(List::Wide).any(|known| known == name), "{line:?}");
            prop_assert!(!SHELLS.contains(name) && !name.contains('/'), "{line:?}");
            prop_assert!(!LAUNCHERS.contains(name) || JUDGED_LAUNCHERS.contains(name), "{line:?}");
            prop_assert!(!leaves(&command.cwd), "{line:?}");
            for (name, _) in &command.env {
                prop_assert!(name == "MIX_ENV" || name == "A" || !name.starts_with("PATH"), "{line:?}");
            }
            for word in &command.argv {
                let control = word.text().chars().any(|c| c.is_ascii_control() && c != '\n' && c != '\t');
                prop_assert!(!control, "{line:?}");
            }
            for path in &command.paths {
                prop_assert!(path.index < command.argv.len(), "{line:?}");
                prop_assert!(!leaves(&path.path), "{line:?} {path:?}");
                let git = path.path.to_ascii_lowercase().split('/').any(|part| part == ".git");
                prop_assert!(path.mode == PathMode::Read || !git, "{line:?} {path:?}");
            }
            for redirection in &command.redirections {
                let (Target::Read(path) | Target::Write(path) | Target::Append(path)) = &redirection.target else { continue };
                prop_assert!(!leaves(path), "{line:?} {path:?}");
            }
        }
        // What crosses to the runner is what was judged.
        let text = serde_json::to_string(&plan).unwrap();
        prop_assert_eq!(serde_json::from_str::<Plan>(&text).unwrap(), plan);
    }

    #[test]
    fn quoted_text_arrives_as_it_is(text in "[^\0-\u{8}\u{b}-\u{1f}\u{7f}]{0,40}") {
        let single = format!("echo '{}'", text.replace('\'', "'\\''"));
        let document = format!("cat <<'a b c'\n{text}\na b c");
        let plan = wide(&single).map_err(|e| TestCaseError::fail(format!("{single:?} {e:?}")))?;
        prop_assert_eq!(plan.programs()[0].argv[1].text(), &text, "{}", single);
        let plan = wide(&document).map_err(|e| TestCaseError::fail(format!("{document:?} {e:?}")))?;
        let expected = Target::Text(format!("{text}\n"));
        prop_assert_eq!(&plan.programs()[0].redirections[0].target, &expected, "{}", document);
    }

    #[test]
    fn no_text_makes_it_panic(line in any::<String>(), pieces in prop::collection::vec(piece(), 0..30)) {
        let _ = wide(&line);
        let _ = wide(&pieces.join(" "));
    }
}
