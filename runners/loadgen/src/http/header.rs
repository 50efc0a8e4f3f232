//! What a header line may hold (RFC 9110 sections 5.1 and 5.5).

/// Finds why a header line, without its line end, is none that a server takes.
pub fn defect(line: &[u8]) -> Option<String> {
    let Some(colon) = line.iter().position(|byte| *byte == b':') else {
        return Some(format!("'{}' has no colon; write Name: value", line.escape_ascii()));
    };
    let (name, value) = (&line[..colon], &line[colon + 1..]);
    if name.is_empty() || !name.iter().all(|byte| is_token(*byte)) {
        let name = name.escape_ascii();
        return Some(format!("the name '{name}' may hold only letters, digits and !#$%&'*+-.^_`|~"));
    }
    let control = value.iter().find(|byte| byte.is_ascii_control() && **byte != b'\t')?;
    let name = name.escape_ascii();
    Some(format!("the value of '{name}' holds the control byte 0x{control:02x}; remove or encode it"))
}

/// Whether a byte may stand in a token: a method or a header's name (RFC 9110 section 5.6.2).
pub fn is_token(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte)
}
