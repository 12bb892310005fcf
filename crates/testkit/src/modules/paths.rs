//! The paths that source code names.

/// A module's path in its crate: the names from the crate's root down.
pub(super) type ModulePath = Vec<String>;

/// All paths in `tokens` that start with `crate`, `self` or `super`, from the crate's root. `module` is the module of
/// the tokens.
pub(super) fn named_paths(tokens: &[String], module: &[String]) -> Vec<ModulePath> {
    let mut paths = Vec::new();
    let mut inline: Vec<(String, usize)> = Vec::new();
    let mut depth = 0_usize;
    for (at, token) in tokens.iter().enumerate() {
        match token.as_str() {
            "{" => depth += 1,
            "}" => {
                depth = depth.saturating_sub(1);
                inline.retain(|(_, opened)| *opened <= depth);
            }
            "mod" if tokens.get(at + 2).is_some_and(|next| next == "{") => {
                inline.push((tokens[at + 1].clone(), depth + 1));
            }
            "crate" | "self" | "super" if opens_path(tokens, at) => {
                let mut base = module.to_vec();
                base.extend(inline.iter().map(|(name, _)| name.clone()));
                expand(tokens, at, &base, &mut |path, _| paths.push(path));
            }
            _ => {}
        }
    }
    paths
}

fn opens_path(tokens: &[String], at: usize) -> bool {
    let before = at.checked_sub(1).map(|before| tokens[before].as_str());
    // `pub(in crate::a)` restricts visibility; it names no item.
    tokens.get(at + 1).is_some_and(|next| next == "::") && !matches!(before, Some("::" | "in"))
}

/// The names that a module takes from its child modules by `use`, each with the child: `use a::{B, c::D as E};` gives `B` and `E` of `a`.
pub(super) fn names_from_children(tokens: &[String], children: &[String]) -> Vec<(String, String)> {
    let mut names = Vec::new();
    for (at, token) in tokens.iter().enumerate() {
        let Some(mut first) = tokens.get(at + 1) else { break };
        let mut start = at + 1;
        if token != "use" {
            continue;
        }
        if first == "self" && tokens.get(at + 3).is_some() {
            start = at + 3;
            first = &tokens[start];
        }
        if children.contains(first) {
            let child = first.clone();
            expand(tokens, start, &[], &mut |_, name| names.push((name, child.clone())));
        }
    }
    names
}

/// Calls `found` with each path in the use tree at `at`, and its name in this module. Returns the position after the
/// tree.
fn expand(tokens: &[String], mut at: usize, module: &[String], found: &mut dyn FnMut(ModulePath, String)) -> usize {
    let mut path = Vec::new();
    let mut is_first = true;
    while let Some(token) = tokens.get(at) {
        match token.as_str() {
            "crate" if is_first => path.clear(),
            "self" if is_first => path = module.to_vec(),
            "super" if is_first || path.len() < module.len() => {
                if is_first {
                    path = module.to_vec();
                }
                path.pop();
            }
            "{" => return expand_group(tokens, at + 1, &path, found),
            word if word.chars().all(|c| c.is_alphanumeric() || c == '_') => path.push(word.to_owned()),
            _ => break,
        }
        is_first = false;
        at += 1;
        if tokens.get(at).is_none_or(|next| next != "::") {
            break;
        }
        at += 1;
    }
    let mut name = path.last().cloned().unwrap_or_default();
    if tokens.get(at).is_some_and(|next| next == "as")
        && let Some(other) = tokens.get(at + 1)
    {
        name.clone_from(other);
        at += 2;
    }
    found(path, name);
    at
}

fn expand_group(
    tokens: &[String],
    mut at: usize,
    outer: &[String],
    found: &mut dyn FnMut(ModulePath, String),
) -> usize {
    while let Some(token) = tokens.get(at) {
        match token.as_str() {
            "}" => return at + 1,
            "," => at += 1,
            _ => {
                let before = at;
                at = expand(tokens, at, &[], &mut |path, name| {
                    found(outer.iter().cloned().chain(path).collect(), name);
                });
                // A sign that starts no path, such as `*`.
                at = at.max(before + 1);
            }
        }
    }
    at
}
