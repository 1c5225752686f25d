//! Lines that the policy accepts, run by the runner and by bash: the same output, the same exit
//! code, the same files.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used)]

use std::collections::BTreeMap;
use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use command_runner::wire::{FrameWriter, Term};
use security_core::command_policy::{CommandPolicy, List, Place};

/// What a line did: its output, its exit code, and the files that it left.
#[derive(Debug, PartialEq, Eq)]
struct Done {
    stdout: String,
    code: i64,
    files: BTreeMap<PathBuf, Vec<u8>>,
}

struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("shell-{}-{name}", std::process::id()));
        fs::create_dir_all(path.join("sub/deep")).unwrap();
        let path = path.canonicalize().unwrap();
        for (file, text) in [
            ("a.txt", "one\ntwo\nthree\n"),
            ("b.txt", "two\nfour\n"),
            ("sub/c.ex", "defmodule C do\nend\n"),
            ("sub/deep/d.ex", "d\n"),
            ("with blank.txt", "blank\n"),
            (".hidden", "h\n"),
        ] {
            fs::write(path.join(file), text).unwrap();
        }
        Self(path)
    }

    fn files(&self) -> BTreeMap<PathBuf, Vec<u8>> {
        let mut found = BTreeMap::new();
        let mut todo = vec![self.0.clone()];
        while let Some(folder) = todo.pop() {
            for entry in fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                if path.is_dir() {
                    todo.push(path);
                } else {
                    let name = path.strip_prefix(&self.0).unwrap().to_owned();
                    found.insert(name, fs::read(&path).unwrap());
                }
            }
        }
        found
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

const ENVIRONMENT: [(&str, &str); 3] = [
    ("PATH", "/usr/bin:/bin"),
    ("LC_ALL", "C.UTF-8"),
    ("HOME", "/nonexistent"),
];

fn spec(root: &Path, line: &str) -> Result<Term, String> {
    let place = Place {
        root: root.to_str(),
        list: List::Wide,
        ..Place::default()
    };
    let plan = CommandPolicy::new()
        .check(line, place)
        .map_err(|denial| format!("{denial} {:?}", denial.argument))?;
    let plan = serde_json::json!({"root": root, "plan": plan}).to_string();
    let budget = || Term::Tuple(vec![Term::Int(100_000), Term::Int(0)]);
    let variable = |(name, value)| Term::Tuple(vec![Term::text(name), Term::text(value)]);
    let limits = [
        "cpu_seconds",
        "memory_bytes",
        "open_files",
        "file_bytes",
        "processes",
    ];
    let root = || Term::List(vec![Term::text(root.to_str().unwrap())]);
    Ok(Term::map([
        ("version", Term::Int(4)),
        ("plan", Term::Bytes(plan.into_bytes())),
        ("cd", Term::text("/")),
        (
            "env",
            Term::List(ENVIRONMENT.into_iter().map(variable).collect()),
        ),
        ("timeout", Term::Int(60_000)),
        ("grace", Term::Int(100)),
        ("stdout", budget()),
        ("stderr", budget()),
        ("channel", Term::nil()),
        ("limits", Term::map(limits.map(|name| (name, Term::nil())))),
        (
            "confine",
            Term::map([
                ("read", Term::nil()),
                ("write", root()),
                ("network", Term::text("none")),
                ("sockets", Term::List(vec![])),
                ("temporary", Term::nil()),
                ("holder", Term::nil()),
                ("temporary_bytes", Term::Int(1 << 20)),
                ("mode", Term::text("off")),
            ]),
        ),
    ]))
}

fn field<'a>(answer: &'a [(Term, Term)], name: &str) -> &'a Term {
    &answer
        .iter()
        .find(|(key, _)| *key == Term::text(name))
        .unwrap()
        .1
}

fn text(report: &Term, name: &str) -> String {
    let Term::Map(pairs) = report else {
        panic!("{report:?}")
    };
    match field(pairs, name) {
        Term::Bytes(bytes) => String::from_utf8(bytes.clone()).unwrap(),
        other => panic!("{other:?}"),
    }
}

/// What the runner makes of a line; none when a command was not run because the line was judged for
/// another course of it.
fn run(line: &str, name: &str) -> Result<Option<(Done, String)>, String> {
    let folder = Folder::new(name);
    let spec = spec(&folder.0, line)?;
    let scratch = folder.0.with_extension("scratch");
    let mut child = Command::new(env!("CARGO_BIN_EXE_jido_command_runner"))
        .arg(&scratch)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut frames = FrameWriter::default();
    frames.push(&spec);
    frames.flush(child.stdin.as_ref().unwrap()).unwrap();
    let mut output = child.stdout.take().unwrap();
    let answer = loop {
        let mut length = [0; 4];
        output.read_exact(&mut length).unwrap();
        let mut frame = vec![0; u32::from_be_bytes(length) as usize];
        output.read_exact(&mut frame).unwrap();
        let Term::Map(pairs) = Term::decode(&frame).unwrap() else {
            panic!()
        };
        if *field(&pairs, "event") != Term::text("started") {
            break pairs;
        }
    };
    drop(child.stdin.take());
    child.wait().unwrap();
    assert_eq!(
        *field(&answer, "event"),
        Term::text("done"),
        "{line}: {answer:?}"
    );
    assert_eq!(
        *field(&answer, "status"),
        Term::text("exited"),
        "{line}: {answer:?}"
    );
    let Term::Int(code) = field(&answer, "exit_code") else {
        panic!("{answer:?}")
    };
    let errors = text(field(&answer, "stderr"), "head");
    if errors.contains("not run, since") {
        return Ok(None);
    }
    let stdout = text(field(&answer, "stdout"), "head");
    Ok(Some((
        Done {
            stdout,
            code: *code,
            files: folder.files(),
        },
        errors,
    )))
}

fn bash(line: &str, name: &str) -> (Done, String) {
    let folder = Folder::new(name);
    let mut child = Command::new("/bin/bash")
        .args([
            "--norc",
            "--noprofile",
            "-c",
            &format!("shopt -s globstar\n{line}"),
        ])
        .env_clear()
        .envs(ENVIRONMENT)
        .current_dir(&folder.0)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdin.take());
    let output = child.wait_with_output().unwrap();
    let stdout = String::from_utf8(output.stdout).unwrap();
    let code = i64::from(output.status.code().unwrap());
    let errors = String::from_utf8(output.stderr).unwrap();
    (
        Done {
            stdout,
            code,
            files: folder.files(),
        },
        errors,
    )
}

fn compare(lines: &[String], name: &str) -> usize {
    let mut wrong = Vec::new();
    let mut compared = 0;
    for line in lines {
        // The same path for both, since `pwd` prints it.
        let (own, errors) = match run(line, name) {
            Ok(Some(done)) => done,
            Ok(None) => continue,
            Err(denial) => {
                wrong.push(format!("{line:?} is refused: {denial}"));
                continue;
            }
        };
        let (theirs, their_errors) = bash(line, name);
        compared += 1;
        if own != theirs {
            wrong.push(format!(
                "{line:?}\n  runner {own:?} {errors:?}\n  bash   {theirs:?} {their_errors:?}"
            ));
        }
    }
    assert!(
        wrong.is_empty(),
        "{} of {compared} differ:\n{}",
        wrong.len(),
        wrong.join("\n")
    );
    compared
}

#[test]
fn lines_do_what_bash_does_with_them() {
    #[rustfmt::skip]
    let lines = [
        // Lists, groups and exit codes.
        "true", "false", "true && echo a || echo b", "false && echo a || echo b", "false || false; echo $?",
        "false; echo $?; echo $?", "! true; echo $?", "! false && echo yes", "! false | true; echo $?", "true | false", "false | true",
        "(exit 3); echo $?", "{ false; true; }; echo $?", "(false)", "(true; false) || echo caught", "exit 4", "echo a; exit 5; echo b",
        "(exit 2) || (exit 3)", "{ exit 6; }; echo no", "false; exit", "true && (false || exit 9); echo $?", "exit $?", "! (exit 0)",
        "echo \"code: $?\"; false; echo \"code: $?\"", "false; echo ${?}x", "cargo --version 2>/dev/null; echo $?", "ls missing 2>/dev/null || echo none",
        "(echo a; echo b) | sort -r", "{ echo b; echo a; } | sort", "echo x | { cat; echo y; }", "echo x | (cat; echo y) | tac",
        "(false || (exit 1) || true) 2>/dev/null; echo $?", "(true; (exit 4)); echo $?", "true;", "true\nfalse\n", "echo a &&\necho b", "echo a |\ncat",
        // Folders.
        "cd sub && pwd && ls", "(cd sub && ls); ls", "cd sub; cat c.ex; cd ..; ls", "cd sub && cd deep && ls && cd ../.. && ls", "cd missing 2>/dev/null || echo no",
        "cd sub | cat; ls", "{ cd sub; }; ls", "cd a.txt 2>/dev/null; echo $?", "cd sub && echo $PWD", "mkdir -p x/y && cd x/y && pwd && touch z",
        "cd sub && echo hi > new && cat new; cat ../a.txt", "(cd sub; echo x > in-sub); cat sub/in-sub", "cd . && ls", "cd sub/../sub && pwd",
        // Variables.
        "A=1; echo $A ${A} \"$A\" '$A' x${A}y", "A='a  b'; echo \"$A\"", "A=; echo [$A]", "A=x; B=$A$A; echo $B", "A=1; (A=2; echo $A); echo $A",
        "A=1; { A=2; }; echo $A", "export A=7; printenv A", "A=7; printenv A; echo $?", "A=7; export A; printenv A", "A=5 printenv A; printenv A", "export A=1 B=2; env | grep -c '^[AB]='",
        "A=1; unset A; printenv A", "export A=1; unset A; printenv A; echo $?", "env A=3 printenv A", "export A=1; env -u A printenv A; echo $?", "export A='x y'; printenv A",
        "A=a.txt; cat $A", "A=sub; cd $A && ls", "A=1; A=2 true; echo $A", "X=1 Y=2; echo $X$Y", "A=1; echo x | (A=2; cat); echo $A", "export A=1; (unset A; printenv A); printenv A",
        // Words.
        "echo a{b,c}d", "echo {1..5} {a..c} {3..1} {01..03}", "echo {a,b}{1,2}", "echo {} {a} '{a,b}' \"{a,b}\" \\{a,b}", "echo x{,y}", "echo {a,b{1,2},c}", "echo stash@{0} a{b",
        "echo *.txt", "echo *", "echo .h*", "echo sub/*", "echo */*.ex", "echo **/*.ex", "echo [ab].txt", "echo [!a].txt", "echo ?.txt", "echo *.none", "ls *.{txt,ex}", "cat 'with blank.txt'", "cat with*",
        "echo '*' \"*\" \\*", "touch new.txt && echo *.txt", "rm *.txt && echo *", "echo 'a'\"b\"c\\ d", "echo \"a\\$b\" 'c\\d' \"e\\\\f\" \"g\\h\"", "echo a\\\nb", "echo \"a\\\nb\"", "printf '%s|' '' \"\" x", "echo a#b # c", "# only\necho a",
        "echo \"it's\" 'say \"x\"'", "echo a~ 'b~'", "echo $ a$ \"$\"", "echo -n x; echo y", "printf '%s\\n' {a,b}\\ c", "echo a'*'b*",
        // Redirections.
        "echo a > f; cat f", "echo a > f; echo b >> f; cat f", "cat < a.txt", "cat < a.txt > f; wc -l < f", "ls missing > f 2>&1; wc -l < f", "ls missing 2>&1 | wc -l", "ls missing 2>&1 > f | wc -l",
        "(echo out; echo err >&2) 2> f; cat f", "{ echo a; echo b; } > f; cat f", "{ ls missing; } 2> /dev/null; echo $?", "echo a > sub/f && cat sub/f", "> f; ls f", ": > f; wc -c < f", "cat < missing 2>/dev/null; echo $?", "(cat) < a.txt", "{ head -1; } < a.txt",
        "echo a &> f; cat f", "echo a >| f; cat f", "echo a 1>&2", "echo a 2>&1 >/dev/null", "cargo --version 2> f; wc -l < f; rm f", "cargo --version > f 2>&1; wc -l < f; rm f", "cargo --version 2>&1 | wc -l", "(cargo --version) 2> f; wc -l < f; rm f", "{ cargo --version; } 2>&1 | wc -l", "cd missing 2> f; wc -l < f", "echo a > missing/f 2>/dev/null; echo $?", "ls |& cat", "true > f && cat f",
        // Here-documents.
        "cat <<E\na\n  b\nE", "cat <<'E'\n$x `y` $(z)\nE", "cat <<-E\n\ta\n\t\tb\n\tE", "cat <<E | tac\n1\n2\nE", "cat <<A; cat <<B\n1\nA\n2\nB", "cat <<E > f && cat f\nx\nE", "(cat; echo z) <<E\ny\nE", "cat <<< word", "cat <<< 'a b'", "A=v; cat <<< \"$A w\"", "cat <<A <<B\n1\nA\n2\nB", "cat < a.txt <<E\nx\nE", "cat <<E < a.txt\nx\nE", "cat <<E\nE", "wc -l <<\"E F\"\na\nE F", "cat <<E\nit's \"x\" & (y)\nE\necho after",
        // Programs that run programs, and scripts.
        "ls *.txt | xargs -n1 echo x", "printf '%s\\n' a.txt b.txt | xargs wc -l", "printf '%s\\0' a.txt 'with blank.txt' | xargs -0 cat", "ls -d sub | xargs -I{} ls {}", "printf 'a.txt\\n' | xargs -I% cp % %.bak && cat a.txt.bak", "find . -name '*.ex' -exec wc -l {} \\; | sort", "find . -name '*.ex' -exec cat {} + | sort", "find . -name '*.txt' -delete; ls",
        "find sub -type f | sort | xargs cat", "timeout 5 echo a", "timeout 0.1 sleep 5; echo $?", "nice -n 5 echo a", "timeout 5 false; echo $?", "sed -n '2p' a.txt", "sed 's/o/0/g' a.txt", "sed -i 's/one/1/' a.txt; cat a.txt", "awk '{print NR\": \"$1}' a.txt", "awk -F. '{print $2}' <<< a.b", "awk '$1 ~ /^t/ {n++} END {print n}' a.txt", "seq 5 | paste -sd+ | bc", "sort a.txt b.txt | uniq -d", "comm -12 a.txt b.txt 2>/dev/null; echo $?", "echo a | tee f g; cat f g", "sha256sum a.txt", "seq 3 | tac | tr '\\n' ' '", "seq 100000 | head -2", "expr 1 + 2", "test -f a.txt && echo y || echo n", "[ -d sub ] && [ ! -f nope ]; echo $?", "[ $? -eq 0 ] && echo ok", "which cat >/dev/null; echo $?", "command -v cat > /dev/null && echo has", "printenv A B", "head -c 3 a.txt; echo",
    ];
    let lines: Vec<String> = lines.into_iter().map(str::to_owned).collect();
    let compared = compare(&lines, "written");
    // Only what goes on after a `cd` that fails is not run.
    assert!(compared + 3 >= lines.len(), "{compared} of {}", lines.len());
}

#[test]
fn what_xargs_reads_is_never_an_option() {
    let line = "printf -- '-l\\n' | xargs wc 2>/dev/null; echo $?";
    let (done, _) = run(line, "operands").unwrap().unwrap();
    assert_eq!(done.stdout, "123\n");
}

/// Numbers that look random, the same in every run.
struct Random(u64);

impl Random {
    fn below(&mut self, end: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 % end as u64).unwrap()
    }

    fn one_of<'a>(&mut self, texts: &[&'a str]) -> &'a str {
        texts[self.below(texts.len())]
    }

    fn command(&mut self) -> String {
        let word = self.one_of(&[
            "a", "'b c'", "\"d e\"", "{f,g}", "*.txt", "$?", "x$?y", "$PWD", "$V", "\"$V\"", "\\*",
        ]);
        let redirect = self.one_of(&[
            "",
            "",
            "",
            " > out",
            " >> out",
            " 2>/dev/null",
            " 2>&1",
            " >&2",
            " < a.txt",
        ]);
        match self.below(12) {
            0 => "true".into(),
            1 => "false".into(),
            2 => format!("cat{redirect}"),
            3 => "V=w".into(),
            4 => "export V=e".into(),
            5 => format!("printenv V{redirect}"),
            6 => format!("ls missing{redirect}"),
            7 => format!("wc -l a.txt{redirect}"),
            8 => "cd .".into(),
            9 => format!("exit {}", self.below(4)),
            _ => format!("echo {word}{redirect}"),
        }
    }

    fn list(&mut self, depth: usize) -> String {
        let mut line = self.pipeline(depth);
        for _ in 0..self.below(4) {
            line += self.one_of(&["; ", " && ", " || ", "\n"]);
            line += &self.pipeline(depth);
        }
        line
    }

    /// Each part reads all that the one before it has to say, and writes nothing before that: what
    /// a line does would depend on which of them is faster otherwise.
    fn pipeline(&mut self, depth: usize) -> String {
        let first = self.part(depth);
        match self.below(8) {
            0 => format!("{first} | cat"),
            1 => format!("{first} | sort | wc -l"),
            2 if !first.starts_with('!') => {
                format!("{{ {first}\n}} | {{ cat; {}\n}}", self.part(depth))
            }
            3 if !first.starts_with('!') => {
                format!("{{ {first}\n}} | (cat; {})", self.part(depth))
            }
            _ => first,
        }
    }

    fn part(&mut self, depth: usize) -> String {
        let bang = if self.below(9) == 0 { "! " } else { "" };
        match self.below(5) {
            // The policy takes two parentheses for arithmetic, even with a blank between them.
            0 if depth > 0 => match self.list(depth - 1) {
                list if list.starts_with('(') => format!("( true; {list} )"),
                list => format!("( {list} )"),
            },
            1 if depth > 0 => format!("{{ {}\n}}", self.list(depth - 1)),
            _ => format!("{bang}{}", self.command()),
        }
    }
}

#[test]
fn generated_lines_do_what_bash_does_with_them() {
    let mut random = Random(0x9E37_79B9_7F4A_7C15);
    // The policy takes only so many braces.
    let lines: Vec<String> = std::iter::repeat_with(|| format!("V=v; {}", random.list(2)))
        .filter(|line| line.len() < 200 && line.matches("{ ").count() <= 8)
        .take(250)
        .collect();
    let compared = compare(&lines, "generated");
    assert!(compared * 2 > lines.len(), "{compared} of {}", lines.len());
}
