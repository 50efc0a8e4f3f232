//! Addresses in scripts: `wrk.lookup`, `wrk.connect`, `thread.addr`.

use crate::target::Peer;
use dns_lookup::{AddrInfoHints, LookupError, SockType, getaddrinfo};
use mlua::{Lua, MetaMethod, UserData, UserDataMethods, UserDataRef};
use std::time::Duration;

/// How long `wrk.connect` waits.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(2);

/// An address as a script holds it; `tostring` gives `host:port`, or a Unix socket's path.
#[derive(Debug, Clone)]
pub struct Address(pub Peer);

impl UserData for Address {
    fn add_methods<M: UserDataMethods<Self>>(methods: &mut M) {
        methods.add_meta_method(MetaMethod::ToString, |_, address, ()| Ok(address.0.to_string()));
    }
}

/// `wrk.lookup(host, service)`: all addresses. The service is a port number or a name that the system knows; without one
/// it is `http`.
pub fn lookup(_: &Lua, (host, service): (String, Option<String>)) -> mlua::Result<Vec<Address>> {
    let port = match service.as_deref() {
        // These two need no list of services.
        None | Some("http") => "80",
        Some("https") => "443",
        Some(other) => other,
    };
    let failed = |why: &dyn std::fmt::Display| {
        mlua::Error::runtime(format!("wrk.lookup: no address for '{host}' and service '{port}': {why}"))
    };
    let hints = AddrInfoHints { socktype: SockType::Stream.into(), ..AddrInfoHints::default() };
    let addresses = getaddrinfo(Some(&host), Some(port), Some(hints))
        .map_err(|error: LookupError| failed(&std::io::Error::from(error)))?;
    addresses.map(|info| info.map(|info| Address(Peer::Inet(info.sockaddr))).map_err(|error| failed(&error))).collect()
}

/// `wrk.connect(addr)`: whether somebody listens there.
pub fn connect(_: &Lua, address: UserDataRef<Address>) -> mlua::Result<bool> {
    Ok(address.0.listens(CONNECT_TIMEOUT).is_ok())
}
