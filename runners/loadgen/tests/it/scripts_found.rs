//! What scripts in public reports rely on beyond wrk's documentation, and what wrk and wrk2 each mean by it.

use crate::support::{Run, Scratch, Server, agrees, finish, held, run, spawn};
use std::io::Write;
use std::process::Command;

fn with_script(text: &str, line: &str, server: &Server) -> Run {
    let scratch = Scratch::new();
    let path = scratch.file("case.lua", text);
    run(&format!("-s {} {}", path.display(), line.replace("URL", &server.url("/"))))
}

fn assert_done(run: &Run) {
    assert_eq!(run.code, Some(0), "{}{}", run.stdout, run.stderr);
}

#[test]
fn a_number_may_be_a_body() {
    let server = Server::ok();
    let text = "local n = 9\nfunction request() n = n + 1 return wrk.format('PUT', '/' .. n, nil, n) end\n";
    assert_done(&with_script(text, "-c1 -n2 URL", &server));
    let seen: Vec<_> = server.seen.lock().unwrap().iter().map(|seen| (seen.line.clone(), seen.body.clone())).collect();
    assert_eq!(
        seen,
        [("PUT /10 HTTP/1.1".to_owned(), b"10".to_vec()), ("PUT /11 HTTP/1.1".to_owned(), b"11".to_vec())]
    );
}

#[test]
fn a_request_by_hand_may_end_in_one_empty_line_too_many() {
    // The server skips the blank line before the next request line (RFC 9112 section 2.2), as all known ones do.
    let server = Server::ok();
    let text = "function request() return 'GET /raw HTTP/1.1\\r\\nHost: it\\r\\n\\r\\n\\r\\n' end\n";
    assert_done(&with_script(text, "-c1 -n1 URL", &server));
    assert_eq!(server.lines(), ["GET /raw HTTP/1.1"]);
}

#[test]
fn response_and_delay_may_be_exchanged_while_they_run() {
    let server = Server::ok();
    let text = "local threads = {}\nfunction setup(t) threads[1] = t end\nfirst, later, waits = 0, 0, 0\n\
        function delay() waits = waits + 1 delay = function() waits = waits + 10 return 0 end return 1 end\n\
        function response() first = first + 1\n\
          if first == 3 then response = function() later = later + 1 if later == 2 then response = nil end end end\n end\n\
        function done() print('seen', threads[1]:get('first'), threads[1]:get('later'), threads[1]:get('waits') % 10, threads[1]:get('waits') > 10) end\n";
    let run = with_script(text, "-t1 -c1 -n10 URL", &server);
    assert_done(&run);
    assert!(run.stdout.contains("seen\t3\t2\t1\ttrue"), "{}", run.stdout);
}

#[test]
fn a_delay_that_an_open_loop_does_not_ask_for_is_reported() {
    let server = Server::ok();
    let text = "function delay() return 500 end\n";
    let open = with_script(text, "-t1 -c1 -R100 -n30 URL", &server);
    assert_eq!(open.count("/requests/completed"), 30);
    assert!(open.stderr.contains("delay() is not called") && open.stderr.contains("-R"), "{}", open.stderr);
    let closed = with_script(text, "-t1 -c1 -n1 URL", &server);
    assert!(!closed.stderr.contains("delay()"), "{}", closed.stderr);
}

#[test]
fn wrk_s_own_set_up_can_be_built_on() {
    let server = Server::ok();
    let text = "function setup(thread) assert(#wrk.addrs >= 1) thread.addr = wrk.addrs[#wrk.addrs]\n\
          wrk.resolve(wrk.host, wrk.port) assert(tostring(wrk.addrs[1]) == tostring(thread.addr)) end\n\
        function init() local plain = wrk.request\n print('before', plain == nil) end\n\
        function request() wrk.headers['X-Turn'] = 'mine' return wrk.request() end\n";
    let run = with_script(text, "-t1 -c1 -n2 URL", &server);
    assert_done(&run);
    assert!(run.stdout.contains("before\ttrue"), "{}", run.stdout);
    // wrk makes its one request after init(): what changes later is not in it.
    assert!(server.seen.lock().unwrap().iter().all(|seen| seen.header("x-turn").is_none()));
}

#[test]
fn the_metatables_of_what_a_script_is_given_can_be_looked_at() {
    // `typeof` of lua-users.org's wiki reads a field of the metatable, whatever it is of.
    let server = Server::ok();
    let text = "local function kind(value) local meta = getmetatable(value) return meta and meta._NAME or type(value) end\n\
        function setup(thread) print(kind(thread), kind(thread.addr)) end\n\
        function done(summary, latency, requests) print(kind(summary), kind(latency), kind(requests)) end\n\
        assert(getmetatable(setmetatable({}, { __metatable = 'locked' })) == 'locked' and getmetatable(1) == nil)\n";
    let run = with_script(text, "-t1 -c1 -n1 URL", &server);
    assert_done(&run);
    for line in ["userdata\tuserdata\n", "table\tuserdata\tuserdata\n"] {
        assert!(run.stdout.contains(line), "'{line}' is missing in {}", run.stdout);
    }
}

#[test]
fn a_path_that_wrk_refuses_is_refused() {
    let server = Server::ok();
    let run = with_script("function request() return wrk.format(nil, 'items') end\n", "-t1 -c1 -n1 URL", &server);
    assert_eq!(run.code, Some(1), "{}", run.stderr);
    assert!(run.stderr.contains("'items'") && run.stderr.contains("begin with '/'"), "{}", run.stderr);
    assert_eq!(server.lines(), Vec::<String>::new());
}

#[test]
fn an_init_of_wrk_itself_may_be_replaced() {
    let server = Server::ok();
    let text = "local plain = wrk.init\nwrk.init = function(args) wrk.path = '/' .. args[1] plain(args) end\n";
    assert_done(&with_script(text, "-t1 -c1 -n1 URL -- replaced", &server));
    assert_eq!(server.lines(), ["GET /replaced HTTP/1.1"]);
}

#[test]
fn in_a_closed_loop_statistics_are_walked_by_distinct_values_as_in_wrk() {
    let server = Server::ok();
    let text = "function done(summary, latency, requests)\n\
        local sum, last, rising = 0, -1, true\n\
        for i = 1, #latency do local value, count = latency(i) sum = sum + count rising = rising and value > last last = value end\n\
        print('walked', sum == summary.requests, rising, last == latency.max, #latency <= summary.requests)\n\
        print('beyond', latency(#latency + 1))\n print('before', latency(0)) end\n";
    let run = with_script(text, "-t2 -c4 -n20000 URL", &server);
    assert_done(&run);
    for line in ["walked\ttrue\ttrue\ttrue\ttrue", "beyond\t0\t0", "before\t0\t0"] {
        assert!(run.stdout.contains(line), "'{line}' is missing in {}", run.stdout);
    }
}

#[test]
fn in_an_open_loop_statistics_are_walked_request_by_request_as_in_wrk2() {
    let server = Server::ok();
    let text = "function done(summary, latency, requests)\n\
        local sum, rising = 0, true\n\
        for i = 1, #latency do sum = sum + latency[i] rising = rising and (i == 1 or latency[i] >= latency[i - 1]) end\n\
        local mean = sum / #latency\n\
        print('walked', #latency == summary.requests, rising, math.abs(mean - latency.mean) <= 1 + latency.mean / 100)\n\
        print('median', latency[#latency / 2] == latency:percentile(50), latency[#latency] == latency.max) end\n";
    let run = with_script(text, "-t1 -c4 -R2000 -n1000 URL", &server);
    assert_done(&run);
    for line in ["walked\ttrue\ttrue\ttrue", "median\ttrue\ttrue"] {
        assert!(run.stdout.contains(line), "'{line}' is missing in {}", run.stdout);
    }
}

#[test]
fn a_script_may_end_the_program() {
    let server = Server::ok();
    let run =
        with_script("function init(args) if #args < 1 then print('usage') os.exit(7) end end\n", "-c1 URL", &server);
    assert_eq!(run.code, Some(7), "{}", run.stderr);
}

#[test]
fn files_and_modules_next_to_the_caller_are_read() {
    let server = Server::ok();
    let scratch = Scratch::new();
    scratch.file("helper.lua", "return { path = function() return '/helped' end }\n");
    scratch.file("body.json", "{\"a\":1}");
    let script = scratch.file(
        "post.lua",
        "local helper = require('helper')\nwrk.method = 'POST'\nwrk.headers['Content-Type'] = 'application/json'\n\
         wrk.path = helper.path()\nlocal file = assert(io.open('body.json', 'rb'))\nwrk.body = file:read('*a')\nfile:close()\n\
         function done(summary) local out = io.open('out.csv', 'w') out:write(summary.requests, '\\n') out:close() end\n",
    );
    let output = Command::new(env!("CARGO_BIN_EXE_truepace"))
        .args(["-t1", "-c1", "-n3", "-s", script.to_str().unwrap(), &server.url("/")])
        .current_dir(&scratch.0)
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    let seen = server.seen.lock().unwrap()[0].clone();
    assert_eq!((seen.line.as_str(), seen.body.as_slice()), ("POST /helped HTTP/1.1", &b"{\"a\":1}"[..]));
    assert_eq!(std::fs::read_to_string(scratch.0.join("out.csv")).unwrap(), "3\n");
}

#[test]
fn c_modules_find_luajit_in_the_program() {
    // What a module such as cjson asks of the program that loads it; `ffi` looks the names up as the system's loader does.
    let server = Server::ok();
    let text = "local ffi = require('ffi')\n\
        for name in ('lua_createtable lua_settable lua_pushlstring lua_tolstring lua_checkstack lua_next lua_call lua_pcall '\n\
          .. 'luaL_register luaL_checklstring luaL_openlib luaL_error luaL_newmetatable luaL_checkudata luaL_buffinit'):gmatch('%S+') do\n\
          ffi.cdef('void ' .. name .. '(void);')\n assert(ffi.C[name])\n end\n";
    assert_done(&with_script(text, "-t1 -c1 -n1 URL", &server));
}

#[test]
fn a_module_of_luajit_s_own_and_its_clock_are_there() {
    let server = Server::ok();
    let text = "local bit, jit = require('bit'), require('jit')\nassert(jit.status() and bit.bxor(5, 1) == 4)\n\
        local t = wrk.time_us() assert(t > 1.6e15 and os.clock() >= 0)\n";
    assert_done(&with_script(text, "-t1 -c1 -n1 URL", &server));
}

#[test]
fn a_login_that_fails_ends_the_thread_and_not_the_others() {
    let server = Server::start(|stream, seen| {
        let refused = seen.line.contains("/1/");
        if refused {
            std::thread::sleep(std::time::Duration::from_millis(100)); // several more are due by then
        }
        let status = if refused { "401 No" } else { "200 OK" };
        stream.write_all(format!("HTTP/1.1 {status}\r\nContent-Length: 0\r\n\r\n").as_bytes()).is_ok()
    });
    let text = "local n = 0\nfunction setup(t) n = n + 1 t:set('id', n) end\n\
        function request() return wrk.format('GET', '/' .. id .. '/') end\n\
        function response(status) if status == 401 then wrk.thread:stop() end end\n";
    agrees(|| {
        let run = with_script(text, "-t2 -c2 -R200 -d1s URL", &server);
        assert_done(&run);
        assert_eq!(run.count("/status/401"), 1, "{}", run.json["status"]);
        held(run.count("/status/200") == 100, &run.json["status"])
    });
}

#[test]
fn what_the_script_prints_stands_in_order_with_the_report() {
    let server = Server::ok();
    let scratch = Scratch::new();
    let script =
        scratch.file("case.lua", "function init() print('in init') end\nfunction done() io.write('in done\\n') end\n");
    let run = finish(
        spawn(&["-t1", "-c1", "-n1", "-s", script.to_str().unwrap(), &server.url("/")]),
        &scratch.0.join("none"),
    );
    let at = |text: &str| run.stdout.find(text).unwrap_or_else(|| panic!("no '{text}' in {}", run.stdout));
    assert!(
        at("in init") < at("Running ") && at("Running ") < at("Requests/sec:") && at("Requests/sec:") < at("in done")
    );
}
