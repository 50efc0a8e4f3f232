//! Addresses in scripts: `wrk.lookup`, `wrk.connect`, `thread.addr`.

use mlua::{Lua, MetaMethod, UserData, UserDataMethods, UserDataRef};
use std::net::{SocketAddr, TcpStream, ToSocketAddrs};
use std::time::Duration;

/// How long `wrk.connect` waits.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(2);

/// An address as a script holds it; `tostring` gives `host:port`.
#[derive(Debug, Clone, Copy)]
pub struct Address(pub SocketAddr);

impl UserData for Address {
    fn add_methods<M: UserDataMethods<Self>>(methods: &mut M) {
        methods.add_meta_method(MetaMethod::ToString, |_, address, ()| Ok(address.0.to_string()));
    }
}

/// `wrk.lookup(host, service)`: all addresses. The service is a port number, or `http` or `https`.
pub fn lookup(_: &Lua, (host, service): (String, Option<String>)) -> mlua::Result<Vec<Address>> {
    let port = match service.as_deref() {
        None | Some("http") => 80,
        Some("https") => 443,
        Some(digits) => digits.parse().map_err(|_| {
            mlua::Error::runtime(format!("wrk.lookup: '{digits}' is no port; give a number, http or https"))
        })?,
    };
    let found = (host.as_str(), port)
        .to_socket_addrs()
        .map_err(|error| mlua::Error::runtime(format!("wrk.lookup: {host} has no address: {error}")))?;
    Ok(found.map(Address).collect())
}

/// `wrk.connect(addr)`: whether somebody listens there.
pub fn connect(_: &Lua, address: UserDataRef<Address>) -> mlua::Result<bool> {
    Ok(TcpStream::connect_timeout(&address.0, CONNECT_TIMEOUT).is_ok())
}
