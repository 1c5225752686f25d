//! Programs of `awk` and `sed`, as far as to know that they run no commands and open no files.
//!
//! For awk this look is what is relied on, so what it can't tell apart for sure is refused. GNU sed
//! is also given `--sandbox`, and refuses by itself what is overlooked here.

/// What is wrong with a program, as the words at fault.
type Verdict = Result<(), &'static str>;

/// An awk program: no `system`, no pipes, no `getline`, no output to files, no loading.
pub(super) fn awk(program: &str) -> Verdict {
    let mut lexer = Awk {
        rest: program,
        last: Last::Operator,
        printing: None,
        depth: 0,
        continues: false,
    };
    while let Some(c) = lexer.rest.chars().next() {
        lexer.token(c)?;
    }
    Ok(())
}

/// What a `/` means depends on what stands before it.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Last {
    /// Here an operand is expected: a `/` begins a regular expression.
    Operator,
    /// Here an operator is expected: a `/` divides.
    Operand,
    /// Behind `)` or a word with a meaning of its own a `/` may be either.
    Unsure,
}

struct Awk<'a> {
    rest: &'a str,
    last: Last,
    /// In a `print`: how deep in parentheses it stands.
    printing: Option<usize>,
    depth: usize,
    /// A line break does not end the statement.
    continues: bool,
}

impl Awk<'_> {
    fn token(&mut self, c: char) -> Verdict {
        match c {
            'a'..='z' | 'A'..='Z' | '_' => return self.name(),
            '0'..='9' | '.' => self.number(),
            '"' => return self.string(),
            '/' => return self.slash(),
            '@' => return Err("@"),
            '|' if self.rest.starts_with("||") => self.operator(2),
            '|' => return Err("|"),
            '>' if self.rest.starts_with(">>") || self.prints() => return Err("print > FILE"),
            '#' => self.skip(self.rest.find('\n').unwrap_or(self.rest.len())),
            '\\' if self.rest.starts_with("\\\n") => self.skip(2),
            '\\' => return Err("\\"),
            ' ' | '\t' => self.skip(1),
            '\n' => self.line_break(),
            ';' | '{' | '}' => {
                self.printing = None;
                self.operator(1);
            }
            '(' | '[' => {
                self.depth += 1;
                self.operator(1);
            }
            ')' | ']' => {
                self.depth = self.depth.saturating_sub(1);
                self.skip(1);
                self.last = if c == ')' {
                    Last::Unsure
                } else {
                    Last::Operand
                };
                self.continues = false;
            }
            '+' | '-' if self.rest[1..].starts_with(c) => {
                self.skip(2);
                self.last = Last::Unsure;
            }
            '&' if self.rest.starts_with("&&") => self.operator(2),
            ',' | '&' | '<' | '>' | '=' | '!' | '~' | '+' | '-' | '*' | '%' | '^' | '?' | ':'
            | '$' => {
                self.operator(1);
                // Behind `?` and `:` only gawk goes on in the next line.
                self.continues = matches!(c, ',' | '?' | ':');
            }
            _ => return Err("a character that awk does not know"),
        }
        Ok(())
    }

    fn skip(&mut self, bytes: usize) {
        self.rest = &self.rest[bytes..];
    }

    fn operator(&mut self, bytes: usize) {
        self.skip(bytes);
        self.last = Last::Operator;
        self.continues = bytes == 2;
    }

    fn line_break(&mut self) {
        self.skip(1);
        if !self.continues && self.depth == 0 {
            self.printing = None;
        }
        self.last = Last::Operator;
    }

    /// Whether a `>` here would send what is printed to a file.
    fn prints(&self) -> bool {
        self.printing.is_some_and(|depth| self.depth <= depth)
    }

    fn name(&mut self) -> Verdict {
        let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_';
        let width = self.rest.find(|c| !is_part(c)).unwrap_or(self.rest.len());
        let name = &self.rest[..width];
        self.skip(width);
        self.continues = false;
        match name {
            "system" => return Err("system"),
            "getline" => return Err("getline"),
            "close" | "fflush" | "nextfile" | "include" | "load" => self.last = Last::Unsure,
            "print" | "printf" => {
                self.printing = Some(self.depth);
                self.last = Last::Operator;
            }
            "return" | "in" | "if" | "while" | "for" | "do" | "else" | "exit" | "case"
            | "delete" => {
                self.last = Last::Operator;
                self.continues = matches!(name, "else" | "do");
            }
            "length" | "BEGIN" | "END" | "next" | "break" | "continue" => self.last = Last::Unsure,
            _ => self.last = Last::Operand,
        }
        Ok(())
    }

    fn number(&mut self) {
        let is_part = |c: char| c.is_ascii_alphanumeric() || c == '.';
        self.skip(self.rest.find(|c| !is_part(c)).unwrap_or(self.rest.len()));
        self.last = Last::Operand;
        self.continues = false;
    }

    fn string(&mut self) -> Verdict {
        self.delimited('"')?;
        self.last = Last::Operand;
        self.continues = false;
        Ok(())
    }

    fn slash(&mut self) -> Verdict {
        match self.last {
            Last::Operand => self.operator(1),
            // Only a program in which it makes no difference.
            Last::Unsure if self.rest[1..].contains(['/', '"', '#', '|', '>']) => return Err("/"),
            Last::Unsure => self.operator(1),
            Last::Operator => {
                let before = self.rest;
                self.delimited('/')?;
                let regex = &before[..before.len() - self.rest.len()];
                // Where a set in brackets ends, and with it the expression, differs between awks.
                if regex.contains('[') && set_is_open(regex) {
                    return Err("/[...]/");
                }
                self.last = Last::Operand;
                self.continues = false;
            }
        }
        Ok(())
    }

    /// Skips what stands between two of these characters.
    fn delimited(&mut self, end: char) -> Verdict {
        let mut chars = self.rest.char_indices().skip(1);
        while let Some((at, c)) = chars.next() {
            match c {
                '\n' => break,
                '\\' => {
                    chars.next();
                }
                c if c == end => {
                    self.skip(at + 1);
                    return Ok(());
                }
                _ => {}
            }
        }
        Err("a quote that is not closed")
    }
}

/// Whether the last `[` of a regular expression is not closed within it.
fn set_is_open(regex: &str) -> bool {
    let mut open = false;
    let mut chars = regex.chars();
    while let Some(c) = chars.next() {
        match c {
            '\\' => {
                chars.next();
            }
            '[' if !open => {
                open = true;
                // A `]` right behind it is a member.
                let rest = chars.as_str();
                let rest = rest.strip_prefix('^').unwrap_or(rest);
                if let Some(rest) = rest.strip_prefix(']') {
                    chars = rest.chars();
                }
            }
            ']' => open = false,
            _ => {}
        }
    }
    open
}

/// A sed program: none of the commands `e`, `r`, `R`, `w`, `W`, and no such flag of `s`. What can't
/// be followed is left to sed's own sandbox.
pub(super) fn sed(program: &str) -> Verdict {
    let mut rest = program;
    while let Some(c) = rest.chars().next() {
        rest = match c {
            ' ' | '\t' | '\n' | ';' | '{' | '}' | '!' | ',' | '$' | '~' | '+' | '0'..='9' => {
                &rest[1..]
            }
            '/' => behind(&rest[1..], '/')?,
            '\\' => match rest[1..].chars().next() {
                Some(mark) => behind(&rest[1 + mark.len_utf8()..], mark)?,
                None => return Ok(()),
            },
            'I' | 'M' => &rest[1..],
            'e' | 'r' | 'R' | 'w' | 'W' => return Err("e, r or w"),
            's' | 'y' => substitution(&rest[1..], c == 's')?,
            // Text, labels and numbers go on to the end of the line, or to a `;`, which the next
            // turn takes.
            'a' | 'i' | 'c' => behind_text(rest),
            'b' | 't' | 'T' | ':' | 'q' | 'Q' | 'l' | 'L' => {
                rest.find(['\n', ';', '}']).map_or("", |end| &rest[end..])
            }
            '=' | 'd' | 'D' | 'g' | 'G' | 'h' | 'H' | 'n' | 'N' | 'p' | 'P' | 'x' | 'z' | 'F' => {
                &rest[1..]
            }
            '#' => rest.find('\n').map_or("", |end| &rest[end..]),
            _ => return Err("a command that sed does not know"),
        };
    }
    Ok(())
}

/// What stands behind the text of `a`, `i` and `c`, which goes on behind a backslash at a line's
/// end.
fn behind_text(text: &str) -> &str {
    let ends = text.match_indices('\n');
    let mut last = ends.filter(|(at, _)| !text[..*at].ends_with('\\'));
    last.next().map_or("", |(end, _)| &text[end..])
}

/// What stands behind the next unescaped mark. In a set, `/` is itself to some seds; then sed's own
/// sandbox decides.
fn behind(text: &str, mark: char) -> Result<&str, &'static str> {
    let mut chars = text.char_indices();
    while let Some((at, c)) = chars.next() {
        match c {
            '\\' => {
                chars.next();
            }
            '[' if mark != '[' => {
                let inner = &text[at + 1..];
                let skipped = inner.strip_prefix('^').map_or(0, |_| 1);
                let first = inner[skipped..].strip_prefix(']').map_or(0, |_| 1);
                if let Some(end) = inner[skipped + first..].find(']') {
                    let stop = at + 1 + skipped + first + end;
                    while chars.as_str().len() > text.len() - stop {
                        chars.next();
                    }
                }
            }
            c if c == mark => return Ok(&text[at + c.len_utf8()..]),
            _ => {}
        }
    }
    Err("a pattern that is not closed")
}

/// `s/a/b/flags`, from the first mark on.
fn substitution(text: &str, has_flags: bool) -> Result<&str, &'static str> {
    let Some(mark) = text
        .chars()
        .next()
        .filter(|mark| !matches!(mark, '\n' | '\\'))
    else {
        return Err("s without a pattern");
    };
    let replacement = behind(&text[mark.len_utf8()..], mark)?;
    let flags = unescaped(replacement, mark)?;
    if !has_flags {
        return Ok(flags);
    }
    let rest = flags.trim_start_matches(|c: char| "gpiImM".contains(c) || c.is_ascii_digit());
    match rest.chars().next() {
        Some('e' | 'w') => Err("the flags e and w of s"),
        _ => Ok(rest),
    }
}

fn unescaped(text: &str, mark: char) -> Result<&str, &'static str> {
    let mut chars = text.char_indices();
    while let Some((at, c)) = chars.next() {
        match c {
            '\\' => {
                chars.next();
            }
            c if c == mark => return Ok(&text[at + c.len_utf8()..]),
            _ => {}
        }
    }
    Err("s without its end")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn awk_programs_that_only_compute_are_taken() {
        for program in [
            "{print $1}",
            "NR==1",
            "$3 > 5 {print $2}",
            "{ if ($3 > 5) print }",
            "/def |defp /{n++} END{print n}",
            "BEGIN{FS=\"|\"} {print $2 \" | \" $3}",
            "{sum += $1} END {printf \"%d\\n\", sum / NR}",
            "{print (a > b)}",
            "!seen[$0]++",
            "$1 ~ /^[a-z]+$/ || $2 == \"x\"",
            "/file_system/",
            "NR>=10 && NR<=20",
            "{gsub(/[|>]/, \"\"); print}",
            "{print $1 / 2, $2}",
            "{a = length / 2}",
        ] {
            assert_eq!(awk(program), Ok(()), "{program}");
        }
    }

    #[test]
    fn awk_programs_that_reach_out_are_refused() {
        for program in [
            "BEGIN{system(\"id\")}",
            "BEGIN{system (\"id\")}",
            "{print | \"sh\"}",
            "{\"date\" | getline x}",
            "{print > \"/tmp/x\"}",
            "{print $1, $2 > \"x\"}",
            "{print $1,\n $2 > \"x\"}",
            "{print(1) > \"x\"}",
            "{print a ? b :\n c > \"x\"}",
            "{print a ?\n b : c > \"x\"}",
            "{printf \"%s\" , $1 >> \"x\"}",
            "BEGIN{while((getline l < \"/etc/passwd\") > 0) print l}",
            "@load \"filefuncs\"",
            "BEGIN{f=\"system\"; @f(\"id\")}",
            "/\"/ { system(\"id\") } /\"/",
            "/[/]/ { print | \"sh\" }",
            "(1) /\"/ 2; {print | \"id\"} /\"/",
            "# \" \n BEGIN{system(\"id\")}",
            "{print \"a\\\" | \"sh\"}",
            "{ print a\\\n > \"x\" }",
            "{x=1 |& y}",
        ] {
            assert!(awk(program).is_err(), "{program}");
        }
    }

    #[test]
    fn sed_programs_are_taken_unless_they_reach_out() {
        for program in [
            "1,20p",
            "s/a/b/g",
            "/^$/d",
            "s|/usr|/opt|",
            "s/[/]/x/",
            "$d",
            "/a/,/b/p;q",
            "s/w/e/g",
            "10q",
            "/x/i\\\nnew",
            "y/abc/def/",
            "s#a#b#2p",
            "\\,x,d",
            "/re/{s/a/b/;p}",
            "a text with w",
        ] {
            assert_eq!(sed(program), Ok(()), "{program}");
        }
        for program in [
            "e",
            "1e id",
            "s/a/id/e",
            "s/a/b/gw out",
            "w out",
            "r /etc/passwd",
            "/x/w out",
            "1!e",
            "s/[/]/id/e",
            "{w x",
            "/a/{e id\n}",
            "R x",
            "W x",
        ] {
            assert!(sed(program).is_err(), "{program}");
        }
    }
}
