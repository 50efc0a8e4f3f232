//! Lua's errors, with script, line and message.

use crate::error::{Error, ScriptError};
use std::path::Path;

/// Finds the place in a Lua error.
pub fn script_error(script: &Path, error: &mlua::Error) -> Error {
    let text = innermost(error);
    let text = text.split("\nstack traceback:").next().unwrap_or(&text).trim();
    let text = text.strip_prefix("runtime error: ").or_else(|| text.strip_prefix("syntax error: ")).unwrap_or(text);
    let (line, message) = place(script, text).map_or((None, text), |(line, message)| (Some(line), message));
    Error::Script(ScriptError { script: script.display().to_string(), line, message: message.to_owned() })
}

fn innermost(error: &mlua::Error) -> String {
    match error {
        mlua::Error::CallbackError { cause, traceback } => {
            // A function of ours failed: it knows the reason, and the traceback knows the script's line.
            let line = traceback.lines().map(str::trim).find(|line| line.contains(".lua:"));
            line.map_or_else(|| innermost(cause), |line| format!("{line} {}", innermost(cause)))
        }
        other => other.to_string(),
    }
}

/// Lua writes `path:line: message`, and shortens a long path from the left.
fn place<'a>(script: &Path, text: &'a str) -> Option<(u32, &'a str)> {
    let name = script.file_name()?.to_str()?;
    let after = &text[text.find(&format!("{name}:"))? + name.len() + 1..];
    let digits = after.find(|letter: char| !letter.is_ascii_digit())?;
    let line = after[..digits].parse().ok()?;
    let message = after[digits..].strip_prefix(':')?.trim_start();
    // A traceback writes the caller's name (in quotes, or its place in angles) before our reason.
    let in_function = message.strip_prefix("in function ").or_else(|| message.strip_prefix("in "));
    let reason = in_function.and_then(|rest| match rest.as_bytes().first()? {
        b'\'' => rest[1..].split_once('\'').map(|(_, reason)| reason),
        b'<' => rest.split_once('>').map(|(_, reason)| reason),
        _ => rest.split_once("chunk").map(|(_, reason)| reason),
    });
    let message = reason.unwrap_or(message).trim_start();
    Some((line, message.strip_prefix("runtime error: ").unwrap_or(message)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reported(message: &str) -> String {
        script_error(Path::new("/some/where/put.lua"), &mlua::Error::RuntimeError(message.into())).to_string()
    }

    #[test]
    fn place_and_message_are_distinguished() {
        assert_eq!(
            reported("/some/where/put.lua:7: boom\nstack traceback:\n\tx"),
            "script /some/where/put.lua, line 7: boom"
        );
        assert_eq!(
            reported("...re/put.lua:12: attempt to call nil"),
            "script /some/where/put.lua, line 12: attempt to call nil"
        );
        assert_eq!(
            reported("a/put.lua:8: in function 'done' runtime error: gone"),
            "script /some/where/put.lua, line 8: gone"
        );
        assert_eq!(reported("put.lua:8: in function <put.lua:3> gone"), "script /some/where/put.lua, line 8: gone");
        assert_eq!(reported("no place"), "script /some/where/put.lua: no place");
    }
}
