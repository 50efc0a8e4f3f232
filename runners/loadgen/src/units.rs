//! Numbers with units, read and printed as wrk and wrk2 do: `1k`, `2.5M`, `30s`, `1.25ms`, `7.88M`.

/// Reads a count or rate with an optional SI suffix (`k`, `M`, `G`, in either case; powers of 1000).
///
/// # Errors
/// A sentence without the flag's name, for the caller to complete.
pub fn parse_count(text: &str) -> Result<f64, String> {
    let trimmed = text.trim();
    let (digits, scale) = match trimmed.chars().last() {
        Some('k' | 'K') => (&trimmed[..trimmed.len() - 1], 1e3),
        Some('m' | 'M') => (&trimmed[..trimmed.len() - 1], 1e6),
        Some('g' | 'G') => (&trimmed[..trimmed.len() - 1], 1e9),
        _ => (trimmed, 1.0),
    };
    parse_plain(digits)
        .map(|value| value * scale)
        .ok_or_else(|| format!("'{text}' is not a number; write for example 500, 2k or 1.5M"))
}

/// Reads a whole number with an optional SI suffix.
///
/// # Errors
/// As [`parse_count`], and when the number has a fraction.
pub fn parse_whole(text: &str) -> Result<u64, String> {
    let value = parse_count(text)?;
    if value.fract() == 0.0 && value <= 9e15 {
        Ok(value as u64)
    } else {
        Err(format!("'{text}' is not a whole number"))
    }
}

/// Reads a duration in seconds: a number with `us`, `ms`, `s`, `m` or `h`; a bare number is seconds.
///
/// # Errors
/// A sentence without the flag's name, for the caller to complete.
pub fn parse_seconds(text: &str) -> Result<f64, String> {
    let trimmed = text.trim();
    let units = [("us", 1e-6), ("ms", 1e-3), ("s", 1.0), ("m", 60.0), ("h", 3600.0)];
    let (digits, scale) = units
        .iter()
        .find_map(|(unit, scale)| trimmed.strip_suffix(unit).map(|digits| (digits, *scale)))
        .unwrap_or((trimmed, 1.0));
    parse_plain(digits)
        .map(|value| value * scale)
        .ok_or_else(|| format!("'{text}' is not a duration; write for example 500ms, 30s, 2m or 1h"))
}

/// Digits with at most one point. `f64::from_str` also takes `inf`, `nan` and exponents, which nobody means here.
fn parse_plain(digits: &str) -> Option<f64> {
    let plain = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
    if plain { digits.parse().ok() } else { None }
}

fn scaled(mut amount: f64, base: f64, units: &[&str]) -> String {
    let mut unit = units[0];
    for next in &units[1..] {
        if amount < base {
            break;
        }
        amount /= base;
        unit = next;
    }
    format!("{amount:.2}{unit}")
}

/// A time in microseconds as wrk prints it: `17.00us`, `1.02ms`, `3.00s`, `2.00m`.
pub fn format_us(us: f64) -> String {
    if us >= 1e6 { scaled(us / 1e6, 60.0, &["s", "m", "h"]) } else { scaled(us, 1e3, &["us", "ms"]) }
}

/// A duration in seconds as wrk's first line prints it: whole numbers without a fraction (`30s`, `2m`).
pub fn format_seconds(seconds: f64) -> String {
    let (amount, unit) = match seconds {
        s if s >= 3600.0 => (s / 3600.0, "h"),
        s if s >= 60.0 => (s / 60.0, "m"),
        s => (s, "s"),
    };
    if amount.fract() == 0.0 { format!("{amount:.0}{unit}") } else { format!("{amount:.2}{unit}") }
}

/// A byte count in powers of 1024 as wrk prints it, without the closing `B`: `7.88M`.
pub fn format_binary(bytes: f64) -> String {
    scaled(bytes, 1024.0, &["", "K", "M", "G", "T"])
}

/// A count in powers of 1000 as wrk prints it: `1.05k`.
pub fn format_metric(count: f64) -> String {
    scaled(count, 1000.0, &["", "k", "M", "G", "T"])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_take_si_suffixes_in_either_case() {
        assert_eq!(parse_count("12k"), Ok(12_000.0));
        assert_eq!(parse_count("1.5M"), Ok(1_500_000.0));
        assert_eq!(parse_count("2G"), Ok(2e9));
        assert_eq!(parse_count("0.5"), Ok(0.5));
    }

    #[test]
    fn durations_take_units_and_default_to_seconds() {
        for (text, seconds) in
            [("30", 30.0), ("30s", 30.0), ("2m", 120.0), ("1h", 3600.0), ("500ms", 0.5), ("250us", 0.000_25)]
        {
            assert!((parse_seconds(text).unwrap() - seconds).abs() < 1e-12, "{text}");
        }
    }

    #[test]
    fn what_is_no_number_is_refused() {
        for text in ["", "k", "s", "-1", "1e3", "inf", "nan", "1..2", "ten", "5 k"] {
            assert!(parse_count(text).is_err(), "{text}");
        }
        for text in ["", "ms", "-1s", "1d", "1 s"] {
            assert!(parse_seconds(text).is_err(), "{text}");
        }
        assert!(parse_whole("1.5").is_err());
        assert_eq!(parse_whole("1.5k"), Ok(1500));
    }

    #[test]
    fn printed_as_wrk_prints() {
        assert_eq!(format_us(17.0), "17.00us");
        assert_eq!(format_us(1020.0), "1.02ms");
        assert_eq!(format_us(3_000_000.0), "3.00s");
        assert_eq!(format_us(120_000_000.0), "2.00m");
        assert_eq!(format_seconds(30.0), "30s");
        assert_eq!(format_seconds(120.0), "2m");
        assert_eq!(format_binary(8_262_778.0), "7.88M");
        assert_eq!(format_metric(1050.0), "1.05k");
    }
}
