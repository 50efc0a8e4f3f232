//! `--target`: the servers that share one schedule.

use super::args::Args;
use super::config::{InterleaveKind, TargetConfig};
use super::{parse_header, usage};
use crate::error::{Error, Result};
use crate::http::is_token;
use crate::schedule::MOST_WEIGHT;
use crate::target::Target;
use crate::units::{parse_count, parse_seconds};
use std::io::Read;
use std::path::PathBuf;

/// Most targets: their successions are recorded pair by pair.
const MAX_TARGETS: usize = 16;
/// Weights are multiples of a hundredth.
const WEIGHT_PARTS: f64 = 100.0;
/// Shortest slice, in seconds: a few round trips must fit into it.
const MIN_SLICE_S: f64 = 1e-3;
/// What may follow a URL.
const KEYS: [&str; 3] = ["script=", "header=", "weight="];

/// The targets, from `--target` or from the URL.
pub(super) fn parse(args: &Args) -> Result<Vec<TargetConfig>> {
    let headers = args.headers.iter().map(|header| parse_header(header)).collect::<Result<Vec<_>>>()?;
    let body = args.body.as_deref().map(read_body).transpose()?;
    let method = parse_method(args.method.as_deref().unwrap_or(if body.is_some() { "POST" } else { "GET" }))?;
    let only = |name: &str, url: &str| -> Result<TargetConfig> {
        let target = Target::parse(url)?;
        let authorization = target.authorization.iter().map(|value| ("Authorization".to_owned(), value.clone()));
        let mut config = TargetConfig {
            name: name.to_owned(),
            script: args.script.clone(),
            method: method.clone(),
            body: body.clone(),
            headers: authorization.collect(),
            sends_host: true,
            target,
            weight: 1,
        };
        headers.iter().cloned().for_each(|header| set_header(&mut config, header));
        Ok(config)
    };
    if args.targets.is_empty() {
        return Ok(vec![only("target", args.url.as_deref().unwrap_or_default())?]);
    }
    if args.targets.len() > MAX_TARGETS {
        return usage(format!("--target was given {} times; {MAX_TARGETS} is the most", args.targets.len()));
    }
    let mut targets: Vec<TargetConfig> = Vec::new();
    let mut weights = Vec::new();
    for text in &args.targets {
        let wrong = |why: &str| {
            Error::Usage(format!("--target '{text}' {why}; write for example a=http://127.0.0.1:8080/,script=get.lua"))
        };
        let (name, rest) = text.split_once('=').ok_or_else(|| wrong("has no name"))?;
        if name.is_empty() || !name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte)) {
            return Err(wrong("has a name that is not of letters, digits, '-', '_' and '.'"));
        }
        if targets.iter().any(|target| target.name == name) {
            return Err(wrong("has the name of another"));
        }
        let mut parts = parts(rest).into_iter();
        let mut target = only(name, &parts.next().unwrap_or_default())?;
        let mut weight = 1.0;
        for part in parts {
            match part.split_once('=') {
                Some(("script", file)) => target.script = Some(PathBuf::from(file)),
                Some(("header", header)) => set_header(&mut target, parse_header(header)?),
                Some(("weight", number)) => weight = parse_weight(number).map_err(|why| wrong(&why))?,
                _ => return Err(wrong("has an option that is not known")),
            }
        }
        targets.push(target);
        weights.push(weight);
    }
    if let Some(list) = &args.weights {
        weights = list
            .split(':')
            .map(|weight| parse_weight(weight).map_err(|why| Error::Usage(format!("--weights: one {why}"))))
            .collect::<Result<_>>()?;
        if weights.len() != targets.len() {
            return usage(format!(
                "--weights '{list}' has {} shares for {} targets; give one for each",
                weights.len(),
                targets.len()
            ));
        }
    }
    for (target, weight) in targets.iter_mut().zip(whole(&weights)?) {
        target.weight = weight;
    }
    Ok(targets)
}

/// Headers that are sent without being asked for, as the `wrk` table of a script names them.
const OWN_HEADERS: [&str; 3] = ["Host", "Authorization", "Content-Length"];

/// Sets a header, whatever the case of its name, or takes it away.
fn set_header(config: &mut TargetConfig, (name, value): (String, Option<String>)) {
    let name = OWN_HEADERS.iter().find(|own| own.eq_ignore_ascii_case(&name)).map_or(name, |own| (*own).to_owned());
    config.headers.retain(|(earlier, _)| !earlier.eq_ignore_ascii_case(&name));
    if name == "Host" {
        config.sends_host = value.is_some();
    }
    config.headers.extend(value.map(|value| (name, value)));
}

fn parse_method(method: &str) -> Result<String> {
    if !method.is_empty() && method.bytes().all(is_token) {
        Ok(method.to_owned())
    } else {
        usage(format!("--method '{}' is no method; write for example -m PUT", method.escape_debug()))
    }
}

/// The body that `-b` names: its own text, that of a file, or standard input.
fn read_body(text: &str) -> Result<Vec<u8>> {
    let Some(path) = text.strip_prefix('@') else { return Ok(text.as_bytes().to_vec()) };
    let mut body = Vec::new();
    let read = match path {
        "-" => std::io::stdin().read_to_end(&mut body).map(|_| body),
        _ => std::fs::read(path),
    };
    read.map_err(|error| Error::Usage(format!("cannot read the body {path}: {error}; check the path after -b @")))
}

/// Parts at commas, but for commas of the URL or a header: a new part begins with a key that is known.
fn parts(text: &str) -> Vec<String> {
    let mut parts: Vec<String> = Vec::new();
    for piece in text.split(',') {
        match parts.last_mut() {
            Some(last) if !KEYS.iter().any(|key| piece.starts_with(key)) => {
                last.push(',');
                last.push_str(piece);
            }
            _ => parts.push(piece.to_owned()),
        }
    }
    parts
}

fn parse_weight(text: &str) -> std::result::Result<f64, String> {
    let weight = parse_count(text)?;
    let parts = weight * WEIGHT_PARTS;
    if parts >= 1.0 && (parts - parts.round()).abs() < 1e-6 {
        Ok(weight)
    } else {
        Err(format!("has the weight {text}, which is not a number of hundredths above 0"))
    }
}

/// The same proportions in whole numbers.
fn whole(weights: &[f64]) -> Result<Vec<u32>> {
    let parts: Vec<u64> = weights.iter().map(|weight| (weight * WEIGHT_PARTS).round() as u64).collect();
    let common = parts.iter().copied().fold(0, greatest_common_divisor);
    let sum: u64 = parts.iter().map(|part| part / common).sum();
    if sum > u64::from(MOST_WEIGHT) {
        return usage(format!(
            "the weights of the targets are {sum} parts in whole numbers, and {MOST_WEIGHT} is the most; give rounder ones"
        ));
    }
    Ok(parts.iter().map(|part| (part / common) as u32).collect())
}

fn greatest_common_divisor(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { greatest_common_divisor(b, a % b) }
}

/// `request`, `slice=100ms` or `none`.
pub(super) fn parse_interleave(text: &str) -> Result<InterleaveKind> {
    match text.split_once('=') {
        None if text == "request" => Ok(InterleaveKind::Request),
        None if text == "none" => Ok(InterleaveKind::None),
        Some(("slice", length)) => match parse_seconds(length) {
            Ok(seconds) if seconds >= MIN_SLICE_S => Ok(InterleaveKind::Slice(seconds)),
            Ok(_) => usage(format!("--interleave {text}: a slice is at least 1ms")),
            Err(reason) => usage(format!("--interleave: {reason}")),
        },
        _ => usage(format!("--interleave {text} is not known; give request, slice=100ms or none")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    fn targets(line: &str) -> Result<Vec<TargetConfig>> {
        parse(&Args::try_parse_from(format!("truepace {line}").split(' ')).expect("clap takes it"))
    }

    #[test]
    fn targets_have_names_scripts_headers_and_weights() {
        let both = targets(
            "-s all.lua -H A:b --target a=http://h:1/x?y=1,2 --target b=http://h:2/,script=b.lua,header=C:d,e,weight=0.2",
        )
        .unwrap();
        assert_eq!((both[0].name.as_str(), both[0].target.path.as_str(), both[0].weight), ("a", "/x?y=1,2", 5));
        assert_eq!((both[1].script.clone(), both[1].weight), (Some("b.lua".into()), 1));
        assert_eq!(both[1].headers, [("A".into(), "b".into()), ("C".into(), "d,e".into())]);
        assert_eq!(both[0].script, Some("all.lua".into()), "what is given once is everybody's");
        let taken_away = targets("-H A:b -H host: -H Authorization: -H a:c http://u:p@h/").unwrap();
        assert_eq!((&taken_away[0].headers, taken_away[0].sends_host), (&vec![("a".into(), "c".into())], false));
        let weights = |line: &str| targets(line).map(|all| all.iter().map(|target| target.weight).collect::<Vec<_>>());
        let three = "--target a=http://h/ --target b=http://h/ --target c=http://h/";
        assert_eq!(weights(&format!("{three} --weights 1:1:0.2")), Ok(vec![5, 5, 1]));
        assert_eq!(targets("http://h/").unwrap()[0].name, "target");
    }

    #[test]
    fn nonsense_is_refused_by_name() {
        for (line, word) in [
            ("--target http://h/", "name"),
            ("--target a=h", "scheme"),
            ("--target a/b=http://h/", "letters"),
            ("--target a=http://h/ --target a=http://h/", "another"),
            ("--target a=http://h/,weight=0", "weight"),
            ("--target a=http://h/ --weights 1:2", "--weights"),
            ("--target a=http://h/,weight=0.01 --target b=http://h/,weight=3", "rounder"),
        ] {
            let error = targets(line).expect_err(line);
            assert!(error.to_string().contains(word), "{line}: {error}");
        }
        for text in ["turns", "slice", "slice=0.1ms", "slice=x"] {
            assert!(parse_interleave(text).is_err(), "{text}");
        }
        assert_eq!(parse_interleave("slice=50ms"), Ok(InterleaveKind::Slice(0.05)));
    }
}
