//! How a naive reader follows a path, to compare the policies with.

/// The project that the targets judge paths for.
pub const ROOT: &str = "/srv/project";

/// Where a naive reader ends up: the parts of `path` from `cwd` (or the file system's root) with
/// `..` carried out. False when it climbs above the root of the file system or leaves the project
/// on its way.
pub fn stays_inside(path: &str, cwd: &str) -> bool {
    let mut parts: Vec<&str> = Vec::new();
    let start = if path.starts_with('/') {
        String::new()
    } else {
        format!("{ROOT}/{cwd}/")
    };
    let whole = format!("{start}{path}");
    for part in whole.split('/') {
        match part {
            "" | "." => {}
            ".." => drop(parts.pop()),
            part => parts.push(part),
        }
        let inside = parts.len() >= 2 && parts[0] == "srv" && parts[1] == "project";
        if part == ".." && !inside {
            return false;
        }
    }
    parts.len() >= 2 && parts[0] == "srv" && parts[1] == "project"
}
