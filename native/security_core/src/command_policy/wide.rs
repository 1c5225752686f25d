//! The wide list: the narrow one, what an engineer types beside it, and options that only a fence
//! makes harmless.

use super::Reason::{
    EvaluatesCode, FollowsLinks, LeavesProject, NeverEnds, RunsProgram, WaitsForInput, WritesFile,
};
use super::grammar::{CommandGrammar, Kind, PathMode, one_of};
use super::{git_wide, launch};
use Kind::{Name, Number, Text};

const READ: Kind = Kind::Path(PathMode::Read);
const WRITE: Kind = Kind::Path(PathMode::Write);
const DELETE: Kind = Kind::Path(PathMode::Delete);

fn command(name: &'static str) -> CommandGrammar {
    CommandGrammar::new(name)
}

/// The wide list, from the narrow one.
pub(super) fn widened(narrow: &[CommandGrammar]) -> Vec<CommandGrammar> {
    let mut list: Vec<CommandGrammar> = narrow.iter().cloned().map(widen).collect();
    list.extend(scripts());
    list.extend(launch::launchers());
    list.extend(texts());
    list.extend(sums());
    list.extend(files());
    list.extend(machine());
    list.extend(archives());
    list
}

/// What a fence makes harmless in a command of the narrow list.
fn widen(grammar: CommandGrammar) -> CommandGrammar {
    match grammar.name.as_str() {
        "git" => git_wide::widen(grammar),
        "find" => grammar
            .no_longer_refuses("exec delete L H follow")
            .flags("delete L H follow")
            .takes_command("exec"),
        "tail" => grammar
            .no_longer_refuses("f F follow")
            .flags("f F")
            .may_take("follow", one_of("name descriptor")),
        "ls" => grammar
            .no_longer_refuses("L dereference dereference-command-line")
            .flags("L dereference dereference-command-line"),
        "grep" => grammar
            .no_longer_refuses("R dereference-recursive")
            .flags("R dereference-recursive"),
        "stat" | "file" => grammar
            .no_longer_refuses("L dereference")
            .flags("L dereference"),
        "du" => grammar
            .no_longer_refuses("L D H dereference")
            .flags("L D H dereference"),
        "cp" => grammar
            .no_longer_refuses("L H dereference")
            .flags("L H dereference"),
        "make" => grammar
            .no_longer_refuses("p print-data-base d debug")
            .flags("p print-data-base d")
            .may_take("debug", Name)
            .rest(Kind::MakeTarget),
        _ => grammar,
    }
}

fn scripts() -> Vec<CommandGrammar> {
    let awk = |name: &'static str| {
        command(name)
            .takes("F field-separator", Text)
            .takes("v assign", Text)
            .flags("version V")
            .refuses(
                "f file E exec e source i include l load o pretty-print p profile d \
                 dump-variables D debug W",
                EvaluatesCode,
            )
            .first([Kind::Awk])
            .rest(READ)
            .at_least(1)
            .stops()
    };
    vec![
        awk("awk"),
        awk("gawk"),
        awk("mawk"),
        command("sed")
            .flags(
                "n quiet silent E r regexp-extended s separate u unbuffered z null-data \
                 debug posix version",
            )
            .takes("e expression", Kind::Sed)
            .takes("l line-length", Number)
            .may_take("i in-place", one_of(".bak .orig .old"))
            .refuses("f file", EvaluatesCode)
            .refuses("follow-symlinks", FollowsLinks)
            .changes_with("i in-place")
            .forces("--sandbox")
            .first([Kind::Sed])
            .first_unless("e expression")
            .rest(READ)
            .at_least(1),
        command("jq")
            .flags(
                "n null-input r raw-output j join-output a ascii-output s slurp R raw-input c \
                     compact-output C color-output M monochrome-output \
                 S sort-keys e exit-status tab unbuffered stream seq V version",
            )
            .takes("indent", Number)
            .takes_pair("arg argjson", (Name, Text))
            .takes_pair("slurpfile rawfile argfile", (Name, READ))
            .refuses("f from-file L args jsonargs run-tests", EvaluatesCode)
            .first([Text])
            .rest(READ)
            .at_least(1),
    ]
}

fn texts() -> Vec<CommandGrammar> {
    let mut list = vec![
        command("tee")
            .flags("a i append ignore-interrupts")
            .rest(WRITE),
        command("tac")
            .flags("b r before regex")
            .takes("s separator", Text)
            .rest(READ),
        command("rev").rest(READ),
        command("paste")
            .flags("s z serial zero-terminated")
            .takes("d delimiters", Text)
            .rest(READ),
        command("join")
            .flags("i z ignore-case check-order nocheck-order header zero-terminated")
            .takes("a e j o t v 1 2", Text)
            .first([READ, READ])
            .at_least(2),
        command("fold")
            .flags("b s bytes spaces")
            .takes("w width", Number)
            .rest(READ),
        command("fmt")
            .flags("c s t u")
            .takes("w width g goal p prefix", Text)
            .digits()
            .rest(READ),
        command("expand")
            .flags("i initial")
            .takes("t tabs", Text)
            .rest(READ),
        command("unexpand")
            .flags("a all first-only")
            .takes("t tabs", Text)
            .rest(READ),
        command("column")
            .flags("t x n table")
            .takes("s separator o output-separator c N table-columns R", Text)
            .rest(READ),
        command("shuf")
            .flags("e r z echo repeat zero-terminated")
            .takes("i input-range", Text)
            .takes("n head-count", Number)
            .takes("o output", WRITE)
            .rest(READ),
        command("seq")
            .flags("w equal-width")
            .takes("s separator f format", Text)
            .rest(Number)
            .at_least(1),
    ];
    list.extend(encodings());
    list
}

fn encodings() -> Vec<CommandGrammar> {
    vec![
        command("od")
            .flags("a b c d f i l o s v x")
            .takes("A j N t w address-radix skip-bytes read-bytes format", Name)
            .rest(READ),
        command("xxd")
            .flags("a b C c e g i p ps r u")
            .takes("l s o n", Name)
            .first([READ, WRITE]),
        command("hexdump")
            .flags("b c C d o x v")
            .takes("n s", Number)
            .rest(READ),
        command("strings")
            .flags("a f all")
            .takes("n t e bytes radix encoding", Name)
            .rest(READ),
        command("iconv")
            .flags("c l list silent")
            .takes("f from-code t to-code", Name)
            .takes("o output", WRITE)
            .rest(READ),
        command("base64")
            .flags("d i decode ignore-garbage")
            .takes("w wrap", Number)
            .rest(READ),
        command("base32")
            .flags("d i decode ignore-garbage")
            .takes("w wrap", Number)
            .rest(READ),
        command("egrep").flags("E").with(short_grep),
        command("fgrep").flags("F").with(short_grep),
    ]
}

/// What both older names of `grep` take.
fn short_grep(grammar: CommandGrammar) -> CommandGrammar {
    grammar
        .flags("c H h I i l L n o q r s v w x")
        .takes("A B C m", Number)
        .takes("e include exclude exclude-dir", Text)
        .first([Text])
        .first_unless("e")
        .rest(READ)
        .at_least(1)
}

fn sums() -> Vec<CommandGrammar> {
    [
        "md5sum",
        "sha1sum",
        "sha224sum",
        "sha256sum",
        "sha384sum",
        "sha512sum",
        "b2sum",
        "cksum",
        "sum",
    ]
    .map(|name| {
        command(name)
            .flags(
                "b t c w z r s binary check tag text zero ignore-missing quiet status strict warn",
            )
            .takes("l length a algorithm", Name)
            .rest(READ)
    })
    .to_vec()
}

fn files() -> Vec<CommandGrammar> {
    vec![
        command("realpath")
            .flags(
                "e m L P q s z canonicalize-existing canonicalize-missing \
             logical physical quiet no-symlinks zero",
            )
            .takes("relative-to relative-base", READ)
            .rest(READ)
            .at_least(1),
        command("readlink")
            .flags(
                "e f m n q s v z canonicalize canonicalize-existing \
             canonicalize-missing no-newline",
            )
            .rest(READ)
            .at_least(1),
        command("chmod")
            .flags("c f v R changes quiet silent verbose recursive")
            .takes("reference", READ)
            .first([Kind::Mode])
            .rest(WRITE)
            .at_least(2),
        command("ln")
            .flags("s f n v r T symbolic force no-dereference verbose relative no-target-directory")
            .refuses("i interactive", WaitsForInput)
            .refuses("L P logical physical d F directory", FollowsLinks)
            .refuses("t target-directory b backup S suffix", WritesFile)
            .rest(READ)
            .last(WRITE)
            .at_least(2),
        command("truncate")
            .flags("c no-create")
            .takes("s size", Name)
            .takes("r reference", READ)
            .rest(WRITE)
            .at_least(1),
        command("install")
            .flags("d D v C p directory verbose compare preserve-timestamps")
            .takes("m mode", Name)
            .takes("t target-directory", WRITE)
            .first_unless("t target-directory")
            .rest(READ)
            .last(WRITE)
            .at_least(1),
        command("unlink").first([DELETE]).at_least(1),
        command("mktemp")
            .flags("d q u directory quiet dry-run")
            .takes("suffix", Name)
            .first([WRITE])
            .at_least(1),
        command("df")
            .flags(
                "a h H i k l P T all human-readable si inodes local portability \
             print-type total",
            )
            .takes("B block-size t type x exclude-type", Name)
            .rest(READ),
        command("diffstat")
            .flags("b c C k l q s S t u v w")
            .takes("n N p r", Number)
            .rest(READ),
        command("fd")
            .flags(
                "H I u s i g F a l p 0 hidden no-ignore unrestricted case-sensitive \
             ignore-case glob fixed-strings absolute-path list-details full-path print0",
            )
            .takes("d max-depth min-depth", Number)
            .takes(
                "t type e extension S size E exclude changed-within changed-before",
                Text,
            )
            .refuses("x exec X exec-batch", RunsProgram)
            .refuses("L follow", FollowsLinks)
            .first([Text])
            .rest(READ),
    ]
}

fn machine() -> Vec<CommandGrammar> {
    vec![
        command("sleep").rest(Name).at_least(1),
        command("which").flags("a").rest(Name).at_least(1),
        command("env").flags("0 null"),
        command("printenv").flags("0 null").rest(Name),
        command("ps")
            .flags("A a d e f F H j l L N T u x w M V y")
            .takes(
                "o O C p q s t U G \
             sort ppid pid format user",
                Text,
            )
            .flags("forest headers no-headers")
            .rest(Name),
        command("pgrep")
            .flags("a c f i l n o v x")
            .takes("u P", Name)
            .first([Text])
            .at_least(1),
        command("uname").flags(
            "a s n r v m p i o all kernel-name nodename kernel-release \
             kernel-version machine processor operating-system",
        ),
        command("hostname").flags("f i I s"),
        command("id").flags("u g G n r").rest(Name),
        command("whoami"),
        command("groups"),
        command("nproc").flags("all").takes("ignore", Number),
        command("free").flags("b k m g h t w").takes("s c", Number),
        command("uptime").flags("p s"),
        command("arch"),
        command("tty").flags("s"),
        command("lsof")
            .refuses("r", NeverEnds)
            .flags("n P a t")
            .takes("i p u c", Text),
        command("ss").flags("a l n p r t u x s 4 6"),
        command("cal").flags("1 3 j m y").rest(Number),
        command("bc").flags("l q s w").rest(READ),
        command("expr").plain().rest(Text).at_least(1),
        command("factor").rest(Number),
        command("elixirc")
            .flags(
                "v ignore-module-conflict no-docs no-debug-info verbose \
             warnings-as-errors",
            )
            .takes("o", WRITE)
            .rest(READ)
            .at_least(1)
            .networked(),
        command("iex")
            .flags("v version")
            .refuses("S dot-iex remsh", WaitsForInput)
            .refuses("e eval r pr pa pz rpc-eval", EvaluatesCode)
            .needs_words(),
        command("epmd").flags("names").words().needs_words(),
    ]
}

fn archives() -> Vec<CommandGrammar> {
    vec![
        command("gzip")
            .flags(
                "c d f k l n N q r t v 1 2 3 4 5 6 7 8 9 stdout decompress force \
             keep list recursive test verbose fast best",
            )
            .rest(WRITE),
        command("gunzip")
            .flags(
                "c f k l n N q r t v stdout force keep list recursive test \
             verbose",
            )
            .rest(WRITE),
        command("zcat").flags("f v").rest(READ),
        command("tar")
            // A name with a colon would be a file on another machine, reached by a program.
            .forces("--force-local")
            .bundle_first()
            .flags(
                "c x t r u v z j J k p O h create extract get list append update verbose gzip \
                     bzip2 xz zstd keep-old-files preserve-permissions \
                 to-stdout dereference no-same-owner numeric-owner auto-compress a w totals \
                 wildcards",
            )
            .takes("f file", WRITE)
            .takes("C directory", WRITE)
            .takes("strip-components", Number)
            .takes("exclude", Text)
            .takes("X exclude-from", READ)
            .refuses(
                "I use-compress-program to-command checkpoint-action rsh-command \
                 rmt-command F info-script new-volume-script",
                RunsProgram,
            )
            .refuses("P absolute-names T files-from", LeavesProject)
            .rest(READ),
        command("unzip")
            .flags("l o n q v p t j")
            .takes("d", WRITE)
            .takes("x", Text)
            .first([READ])
            .rest(Text)
            .at_least(1),
    ]
}
