//! Numbers with units, read and printed as wrk and wrk2 do: `1k`, `2.5M`, `30s`, `1.25ms`, `7.88M`.

/// Reads a count or rate with an optional SI suffix (`k`, `M`, `G`, `T`, `P`, in either case; powers of 1000).
///
/// # Errors
/// A sentence without the flag's name, for the caller to complete.
pub fn parse_count(text: &str) -> Result<f64, String> {
    parse_scaled(text, &[("k", 1e3), ("m", 1e6), ("g", 1e9), ("t", 1e12), ("p", 1e15)])
        .ok_or_else(|| format!("'{text}' is not a number; write for example 500, 2k, 1.5M or 1e6"))
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

/// Reads a duration in seconds: a number with `us`, `ms`, `s`, `m` or `h`, in either case; a bare number is seconds.
///
/// # Errors
/// A sentence without the flag's name, for the caller to complete.
pub fn parse_seconds(text: &str) -> Result<f64, String> {
    parse_scaled(text, &[("us", 1e-6), ("ms", 1e-3), ("s", 1.0), ("m", 60.0), ("h", 3600.0)])
        .ok_or_else(|| format!("'{text}' is not a duration; write for example 500ms, 30s, 2m or 1h"))
}

/// A finite number, with an exponent or without, times its unit if it has one.
fn parse_scaled(text: &str, units: &[(&str, f64)]) -> Option<f64> {
    let lower = text.trim().to_ascii_lowercase();
    let (number, scale) = units
        .iter()
        .find_map(|(unit, scale)| lower.strip_suffix(unit).map(|number| (number, *scale)))
        .unwrap_or((&lower, 1.0));
    let (digits, exponent) = number.split_once('e').unwrap_or((number, "0"));
    let power = exponent.strip_prefix(['+', '-']).unwrap_or(exponent);
    // `f64::from_str` also takes signs, `inf` and `nan`, which nobody means here.
    let plain = digits.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.')
        && power.bytes().all(|byte| byte.is_ascii_digit());
    let value = number.parse::<f64>().ok().filter(|_| plain)? * scale;
    value.is_finite().then_some(value)
}

/// Share of a unit from which wrk prints a figure in it: `0.87ms` rather than `870.00us`.
const NEXT_UNIT_FROM: f64 = 0.85;

fn format_scaled(mut amount: f64, base: f64, units: &[&str], digits: usize) -> String {
    let mut unit = units[0];
    for next in &units[1..] {
        if amount < base * NEXT_UNIT_FROM {
            break;
        }
        amount /= base;
        unit = next;
    }
    format!("{amount:.digits$}{unit}")
}

/// A time in microseconds as wrk prints it: `17.00us`, `1.02ms`, `3.00s`, `2.00m`. Never in hours, as there.
pub fn format_us(us: f64) -> String {
    if us >= 1e6 { format_scaled(us / 1e6, 60.0, &["s", "m"], 2) } else { format_scaled(us, 1e3, &["us", "ms"], 2) }
}

/// The length of a run as the first line of wrk's report gives it: whole seconds without a fraction, even where that
/// rounds (`30s`, `2m` for 90 seconds); what wrk cannot be asked for keeps two digits (`2.50s`).
pub fn format_length(seconds: f64) -> String {
    format_scaled(seconds, 60.0, &["s", "m"], if seconds.fract() == 0.0 { 0 } else { 2 })
}

/// A duration in seconds, exact: whole numbers without a fraction (`30s`, `2m`).
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
    format_scaled(bytes, 1024.0, &["", "K", "M", "G", "T"], 2)
}

/// A count in powers of 1000 as wrk prints it: `1.05k`.
pub fn format_metric(count: f64) -> String {
    format_scaled(count, 1000.0, &["", "k", "M", "G", "T"], 2)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_take_si_suffixes_in_either_case() {
        for (text, count) in [
            ("12k", 12e3),
            ("12K", 12e3),
            ("1.5M", 1.5e6),
            ("2m", 2e6),
            ("2G", 2e9),
            ("3T", 3e12),
            ("3t", 3e12),
            ("0.5", 0.5),
        ] {
            assert_eq!(parse_count(text), Ok(count), "{text}");
        }
    }

    #[test]
    fn durations_take_units_in_either_case_and_default_to_seconds() {
        for (text, seconds) in [
            ("30", 30.0),
            ("30s", 30.0),
            ("1S", 1.0),
            ("2m", 120.0),
            ("2M", 120.0),
            ("1h", 3600.0),
            ("2H", 7200.0),
            ("500ms", 0.5),
            ("500MS", 0.5),
            ("250us", 0.000_25),
        ] {
            assert!((parse_seconds(text).unwrap() - seconds).abs() < 1e-12, "{text}");
        }
    }

    #[test]
    fn exponents_are_numbers_too() {
        for (text, count) in [("1e6", 1e6), ("1e+06", 1e6), ("2.5E3", 2.5e3), ("5e-1", 0.5), ("1e3k", 1e6)] {
            assert_eq!(parse_count(text), Ok(count), "{text}");
        }
        assert_eq!(parse_whole("1e+06"), Ok(1_000_000));
        assert_eq!(parse_seconds("1e1s"), Ok(10.0));
        assert_eq!(parse_seconds("1e+02"), Ok(100.0));
    }

    #[test]
    fn what_is_no_number_is_refused() {
        let numbers =
            ["", "k", "s", "-1", "+1", "inf", "nan", "1..2", "ten", "5 k", "1e", "e3", "1e+", "1e3e3", "1e999", "0x1"];
        for text in numbers {
            assert!(parse_count(text).is_err(), "{text}");
        }
        for text in ["", "ms", "-1s", "1d", "1 s", "infs", "nanm", "infinity", "1e400h"] {
            assert!(parse_seconds(text).is_err(), "{text}");
        }
        assert!(parse_whole("1.5").is_err());
        assert_eq!(parse_whole("1.5k"), Ok(1500));
    }

    #[test]
    fn printed_as_wrk_prints() {
        for (us, text) in [
            (17.0, "17.00us"),
            (849.99, "849.99us"),
            (850.0, "0.85ms"),
            (870.0, "0.87ms"),
            (1020.0, "1.02ms"),
            (870_000.0, "870.00ms"),
            (999_999.0, "1000.00ms"),
            (1_000_000.0, "1.00s"),
            (50_900_000.0, "50.90s"),
            (51_000_000.0, "0.85m"),
            (120_000_000.0, "2.00m"),
            (7_200_000_000.0, "120.00m"),
        ] {
            assert_eq!(format_us(us), text);
        }
        for (bytes, text) in [(870.0, "870.00"), (871.0, "0.85K"), (8_262_778.0, "7.88M"), (912_680_551.0, "0.85G")] {
            assert_eq!(format_binary(bytes), text);
        }
        for (count, text) in
            [(849.0, "849.00"), (850.0, "0.85k"), (1050.0, "1.05k"), (850_000.0, "0.85M"), (2e15, "2000.00T")]
        {
            assert_eq!(format_metric(count), text);
        }
        for (seconds, text) in
            [(30.0, "30s"), (50.0, "50s"), (51.0, "1m"), (90.0, "2m"), (120.0, "2m"), (7200.0, "120m"), (2.5, "2.50s")]
        {
            assert_eq!(format_length(seconds), text);
        }
        assert_eq!((format_seconds(30.0), format_seconds(55.0)), ("30s".into(), "55s".into()));
        assert_eq!(format_seconds(120.0), "2m");
    }
}
