//! Searches a tree from a shell:
//! `search ROOT PATTERN [--path P] [--mode content|files|count] [-A n] [-B n] [-t type] [-i] [-U] [--head n] [--budget n] [--line n] [--threads n] [--timeout ms]`.
//! The listing goes to stdout, the totals and the time to stderr.

use code_search::{CancelToken, Options, OutputMode, Search};
use std::time::{Duration, Instant};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut args = std::env::args().skip(1);
    let root = args.next().ok_or("ROOT is missing")?;
    let pattern = args.next().ok_or("PATTERN is missing")?;
    let mut search = Search {
        root: root.into(),
        path: ".".into(),
        pattern,
        options: Options {
            budget: usize::MAX,
            ..Options::default()
        },
    };
    let mut timeout = Duration::from_secs(30);
    while let Some(option) = args.next() {
        let mut value = || args.next().ok_or(format!("{option} needs a value"));
        let options = &mut search.options;
        match option.as_str() {
            "-i" => options.case_insensitive = true,
            "-U" => options.multiline = true,
            "-A" => options.context_after = value()?.parse()?,
            "-B" => options.context_before = value()?.parse()?,
            "-t" => options.file_type = Some(value()?),
            "--path" => search.path = value()?.into(),
            "--head" => options.head_limit = Some(value()?.parse()?),
            "--budget" => options.budget = value()?.parse()?,
            "--line" => options.line_limit = value()?.parse()?,
            "--threads" => options.threads = Some(value()?.parse()?),
            "--timeout" => timeout = Duration::from_millis(value()?.parse()?),
            "--mode" => {
                options.output_mode = match value()?.as_str() {
                    "content" => OutputMode::Content,
                    "files" => OutputMode::FilesWithMatches,
                    "count" => OutputMode::Count,
                    other => return Err(format!("unknown mode {other}").into()),
                }
            }
            other => return Err(format!("unknown option {other}").into()),
        }
    }
    let start = Instant::now();
    let mut report = search.run(&CancelToken::new(), timeout)?;
    let took = start.elapsed();
    println!("{}", std::mem::take(&mut report.text));
    eprintln!("{took:?} {report:?}");
    Ok(())
}
