//! The text and file commands. None of them needs the network.

use super::Reason;
use super::Reason::{
    DeletesBySearch, FollowsLinks, LeavesProject, NeverEnds, RunsProgram, WaitsForInput, WritesFile,
};
use super::grammar::{CommandGrammar, Kind, PathMode, one_of};
use Kind::{Name, Number, Text};

const READ: Kind = Kind::Path(PathMode::Read);
const WRITE: Kind = Kind::Path(PathMode::Write);
const DELETE: Kind = Kind::Path(PathMode::Delete);
const COLOR: &str = "auto always never";

fn command(name: &'static str) -> CommandGrammar {
    CommandGrammar::new(name)
}

/// Every text and file command of the closed list.
pub(super) fn text_and_files() -> Vec<CommandGrammar> {
    let mut list = reading();
    list.extend(searching());
    list.extend(writing());
    list.extend(saying());
    list
}

fn reading() -> Vec<CommandGrammar> {
    let mut list = vec![
        command("cat")
            .flags(
                "A b e E n s t T u v show-all number-nonblank show-ends number squeeze-blank \
                 show-tabs show-nonprinting",
            )
            .rest(READ),
        command("head")
            .flags("q v z quiet silent verbose zero-terminated")
            .takes("n c lines bytes", Number)
            .digits()
            .rest(READ),
        command("tail")
            .flags("q v z quiet silent verbose zero-terminated")
            .takes("n c lines bytes", Number)
            .refuses("f F follow retry pid", NeverEnds)
            .digits()
            .rest(READ),
        command("ls")
            .flags(
                "a A b B c C d f F g G h H i k l m n N o p q Q r R s S t u U v x X Z 1 all \
                     almost-all author escape ignore-backups directory file-type \
                 group-directories-first no-group human-readable si inode kibibytes \
                 numeric-uid-gid literal hide-control-chars quote-name reverse \
                 recursive size full-time zero",
            )
            .may_take("color classify hyperlink", one_of(COLOR))
            .takes(
                "sort",
                one_of("none size time version extension name width"),
            )
            .takes(
                "time",
                one_of(
                    "atime access use ctime status birth creation mtime \
                 modification",
                ),
            )
            .takes(
                "format",
                one_of("across commas horizontal long single-column verbose vertical"),
            )
            .takes("indicator-style", one_of("none slash file-type classify"))
            .takes("I ignore hide time-style", Text)
            .takes("block-size quoting-style", Name)
            .takes("w width T tabsize", Number)
            .refuses("L dereference dereference-command-line", FollowsLinks)
            .rest(READ),
    ];
    list.extend(sorting());
    list.extend(comparing());
    list.extend(telling());
    list
}

fn sorting() -> Vec<CommandGrammar> {
    vec![
        command("wc")
            .flags("c m l L w bytes chars lines max-line-length words")
            .takes("total", one_of("auto always only never"))
            .refuses("files0-from", LeavesProject)
            .rest(READ),
        command("sort")
            .flags(
                "b d f g h i M n R r s u V z c C m ignore-leading-blanks dictionary-order \
                     ignore-case general-numeric-sort human-numeric-sort \
                 ignore-nonprinting month-sort numeric-sort random-sort reverse stable unique \
                 version-sort zero-terminated merge debug",
            )
            .may_take("check", one_of("quiet silent diagnose-first"))
            .takes("k key t field-separator", Text)
            .takes("S buffer-size parallel batch-size", Number)
            .takes("o output T temporary-directory", WRITE)
            .takes(
                "sort",
                one_of("general-numeric human-numeric month numeric random version"),
            )
            .takes("random-source", READ)
            .refuses("compress-program", RunsProgram)
            .refuses("files0-from", LeavesProject)
            .rest(READ),
        command("uniq")
            .flags("c d D i u z count repeated ignore-case unique zero-terminated")
            .may_take("all-repeated group", Name)
            .takes("f s w skip-fields skip-chars check-chars", Number)
            .first([READ, WRITE]),
    ]
}

fn comparing() -> Vec<CommandGrammar> {
    vec![
        command("diff")
            .flags(
                "a b B c d e E i n N p q r s t T u w y Z brief report-identical-files context \
                     unified ed rcs side-by-side show-c-function recursive \
                 new-file unidirectional-new-file ignore-case ignore-tab-expansion \
                 ignore-trailing-space ignore-space-change ignore-all-space \
                 ignore-blank-lines strip-trailing-cr text minimal speed-large-files \
                 expand-tabs initial-tab suppress-common-lines left-column \
                 no-dereference normal",
            )
            .may_take("color", one_of(COLOR))
            .takes("C U W width tabsize horizon-lines", Number)
            .takes(
                "F I x L label exclude show-function-line ignore-matching-lines",
                Text,
            )
            .takes("X exclude-from from-file to-file", READ)
            // A link inside a compared folder may lead out.
            .forces("--no-dereference")
            .first([READ, READ])
            .at_least(1),
        command("cmp")
            .flags("b l s print-bytes verbose quiet silent")
            .takes("i n ignore-initial bytes", Number)
            .first([READ, READ])
            .at_least(1),
        command("comm")
            .flags("1 2 3 i z check-order nocheck-order total zero-terminated")
            .takes("output-delimiter", Text)
            .first([READ, READ])
            .at_least(2),
        command("cut")
            .flags("n s z complement only-delimited zero-terminated")
            .takes(
                "b c d f bytes characters delimiter fields output-delimiter",
                Text,
            )
            .rest(READ),
        command("tr")
            .flags("c C d s t complement delete squeeze-repeats truncate-set1")
            .first([Text, Text])
            .at_least(1),
        command("nl")
            .flags("p no-renumber")
            .takes(
                "b d f h n s body-numbering section-delimiter footer-numbering \
                 header-numbering number-format number-separator",
                Text,
            )
            .takes(
                "i l v w line-increment join-blank-lines starting-line-number number-width",
                Number,
            )
            .rest(READ),
    ]
}

fn telling() -> Vec<CommandGrammar> {
    vec![
        command("tree")
            .flags(
                "a d f i q N Q p u g s h D F v t c U r n C A S x J X dirsfirst filesfirst \
                 prune noreport gitignore inodes device du si matchdirs ignore-case",
            )
            .takes("L filelimit", Number)
            .takes("P I sort timefmt charset", Text)
            .takes("o", WRITE)
            .takes("gitfile infofile", READ)
            .refuses("l", FollowsLinks)
            .refuses("R H T fromfile fromtabfile info", WritesFile)
            .rest(READ),
        command("stat")
            .flags("t Z terse")
            .takes("c format printf", Text)
            .takes("cached", one_of("always never default"))
            .refuses("L dereference", FollowsLinks)
            .rest(READ)
            .at_least(1),
        command("file")
            .flags(
                "b i k n N p r 0 v brief mime mime-type mime-encoding keep-going no-buffer \
                 no-pad preserve-date raw print0 extension version apple",
            )
            .takes("F separator e exclude", Name)
            .refuses("f files-from m magic-file C compile", LeavesProject)
            .refuses("L dereference", FollowsLinks)
            .refuses("z Z uncompress uncompress-noreport", RunsProgram)
            .rest(READ),
        command("du")
            .flags(
                "0 a b c h k m s S x all apparent-size bytes total human-readable si \
                 summarize separate-dirs one-file-system null inodes",
            )
            .may_take("time", Name)
            .takes("d max-depth B block-size t threshold", Number)
            .takes("exclude", Text)
            .takes("X exclude-from", READ)
            .refuses("L D H dereference dereference-args", FollowsLinks)
            .refuses("files0-from", LeavesProject)
            .rest(READ),
        command("basename")
            .flags("a z multiple zero")
            .takes("s suffix", Text)
            .rest(Text)
            .at_least(1),
        command("dirname").flags("z zero").rest(Text).at_least(1),
    ]
}

fn searching() -> Vec<CommandGrammar> {
    let mut list = vec![
        command("grep")
            .flags(
                "a b c E F G H h I i l L n o P q r s T U v w x y Z z count extended-regexp \
                     fixed-strings basic-regexp perl-regexp with-filename \
                 no-filename ignore-case no-ignore-case files-with-matches files-without-match \
                 line-number only-matching quiet silent recursive \
                 no-messages initial-tab invert-match word-regexp line-regexp null null-data \
                 byte-offset line-buffered text binary",
            )
            .may_take("color colour", one_of(COLOR))
            .takes(
                "A B C m after-context before-context context max-count",
                Number,
            )
            .takes("e regexp include exclude exclude-dir label", Text)
            .takes("f file exclude-from", READ)
            .takes("binary-files", one_of("binary without-match text"))
            .takes("d directories", one_of("read skip recurse"))
            .takes("D devices", one_of("read skip"))
            .refuses("R dereference-recursive", FollowsLinks)
            .digits()
            .first([Text])
            .first_unless("e f regexp file")
            .rest(READ)
            .at_least(1),
        command("rg")
            .flags(
                "a b c F H I i l N n o P p q S s U u uu uuu v V w x 0 text byte-offset count \
                     count-matches fixed-strings with-filename no-filename \
                 ignore-case case-sensitive smart-case files-with-matches files-without-match \
                 line-number no-line-number only-matching pcre2 pretty \
                 quiet no-messages multiline multiline-dotall invert-match version word-regexp \
                 line-regexp null null-data column no-column files heading no-heading hidden \
                 no-hidden no-ignore no-ignore-vcs no-ignore-parent no-ignore-global \
                 no-ignore-dot no-config no-unicode json passthru passthrough sort-files stats \
                 trim type-list vimgrep \
                 glob-case-insensitive one-file-system crlf line-buffered block-buffered \
                 max-columns-preview include-zero debug no-follow unrestricted",
            )
            .takes(
                "A B C m M j d after-context before-context context max-count max-columns \
                 max-depth maxdepth max-filesize threads",
                Number,
            )
            .takes(
                "e g r t T E regexp glob iglob replace type type-not encoding \
                 context-separator field-match-separator field-context-separator colors \
                 path-separator",
                Text,
            )
            .takes("color", one_of("auto always never ansi"))
            .takes("sort sortr", one_of("none path modified accessed created"))
            .takes("engine", one_of("default pcre2 auto"))
            .takes("f file ignore-file", READ)
            .refuses("L follow", FollowsLinks)
            .refuses(
                "pre pre-glob hostname-bin z search-zip hyperlink-format",
                RunsProgram,
            )
            // Its configuration file could name a program to run.
            .forces("--no-config")
            .first([Text])
            .first_unless("e f regexp file files type-list version V")
            .rest(READ)
            .at_least(1),
    ];
    list.extend(finding());
    list
}

fn finding() -> Vec<CommandGrammar> {
    vec![
        command("find")
            .words()
            .flags(
                "P empty print print0 ls prune not o or a and true false depth readable \
                     writable executable daystart mount xdev quit noleaf \
                 ignore_readdir_race nouser nogroup",
            )
            .takes(
                "name iname path ipath wholename iwholename regex iregex regextype size perm \
                 user group printf fstype lname ilname newermt newerat newerct",
                Text,
            )
            .takes("type xtype", Name)
            .takes(
                "maxdepth mindepth mtime mmin atime amin ctime cmin links inum used uid gid",
                Number,
            )
            .takes("newer anewer cnewer samefile", READ)
            .refuses("exec execdir ok okdir", RunsProgram)
            .refuses("delete", DeletesBySearch)
            .refuses("fprint fprint0 fprintf fls", WritesFile)
            .refuses("L H follow", FollowsLinks)
            .refuses("files0-from", LeavesProject)
            .rest(READ),
    ]
}

fn writing() -> Vec<CommandGrammar> {
    let copying = |grammar: CommandGrammar| {
        grammar
            .flags(
                "b f n T u v force no-clobber no-target-directory verbose \
                 strip-trailing-slashes debug",
            )
            .may_take(
                "backup",
                one_of("none off numbered t existing nil simple never"),
            )
            .may_take("update", one_of("all none older none-fail"))
            .takes("t target-directory", WRITE)
            // A suffix could complete a name to that of git's folder.
            .refuses("S suffix", WritesFile)
            .refuses("i interactive", WaitsForInput)
    };
    vec![
        command("test").test_expression(),
        command("[").test_expression(),
        command("cp")
            .with(copying)
            .flags(
                "a d p P r R x archive no-dereference recursive one-file-system parents \
                 attributes-only remove-destination copy-contents",
            )
            .may_take("preserve", Text)
            .takes("no-preserve", Text)
            .may_take("reflink", one_of("auto always never"))
            .takes("sparse", one_of("auto always never"))
            .refuses("L H dereference", FollowsLinks)
            .refuses("l s link symbolic-link", FollowsLinks)
            .first_unless("t target-directory")
            .rest(READ)
            .last(WRITE)
            .at_least(2),
        // What is moved away is changed too, so the sources count as removed.
        command("mv")
            .with(copying)
            .first_unless("t target-directory")
            .rest(DELETE)
            .last(WRITE)
            .at_least(2),
        command("mkdir")
            .flags("p v parents verbose")
            .takes("m mode", Name)
            .rest(WRITE)
            .at_least(1),
        command("rmdir")
            .flags("p v parents verbose ignore-fail-on-non-empty")
            .rest(DELETE)
            .at_least(1),
        command("rm")
            .flags("d f r R v dir force recursive verbose one-file-system preserve-root")
            .refuses("i I interactive", WaitsForInput)
            .refuses("no-preserve-root", LeavesProject)
            .rest(DELETE)
            .at_least(1),
        command("touch")
            .flags("a c f h m no-create no-dereference")
            .takes("d t date time", Text)
            .takes("r reference", READ)
            .rest(WRITE)
            .at_least(1),
    ]
}

fn saying() -> Vec<CommandGrammar> {
    vec![
        command("echo").plain().rest(Text),
        command("printf").plain().rest(Text).at_least(1),
        command("pwd").flags("L P logical physical"),
        command("date")
            .flags("u R utc universal rfc-email")
            .may_take("I iso-8601", one_of("date hours minutes seconds ns"))
            .takes("rfc-3339", one_of("date seconds ns"))
            .takes("d date", Text)
            .takes("r reference", READ)
            .refuses("s set", Reason::ChangesSettings)
            .refuses("f file", LeavesProject)
            .first([Kind::DateFormat]),
        command("true").plain().rest(Text),
        command("false").plain().rest(Text),
    ]
}
