//! Scripts run as in wrk and wrk2, and their errors name script, line and cause.

use crate::support::{Scratch, Server, agrees, held, run, script};
use std::collections::BTreeSet;
use std::io::Write;

fn with_script(text: &str, line: &str, server: &Server) -> crate::support::Run {
    let scratch = Scratch::new();
    let path = scratch.file("case.lua", text);
    run(&format!("-s {} {} {}", path.display(), line.replace("URL", &server.url("/base?q")), ""))
}

#[test]
fn without_functions_the_wrk_table_makes_the_request() {
    let server = Server::ok();
    let text = "wrk.method = 'POST'\nwrk.body = 'hello'\nwrk.path = '/p'\nwrk.headers['X-A'] = 'b'\n";
    assert_eq!(with_script(text, "-c1 -n2 URL", &server).code, Some(0));
    let seen = server.seen.lock().unwrap()[1].clone();
    assert_eq!((seen.line.as_str(), seen.body.as_slice()), ("POST /p HTTP/1.1", &b"hello"[..]));
    assert_eq!(seen.header("x-a"), Some("b"));
    assert_eq!(seen.header("host"), Some(server.address.to_string().as_str()));
    assert_eq!(seen.header("content-length"), Some("5"));
}

#[test]
fn defaults_of_the_wrk_table_come_from_the_url() {
    let server = Server::ok();
    let text = "function request()\n assert(wrk.scheme == 'http' and wrk.host == '127.0.0.1' and wrk.method == 'GET')\n \
                assert(wrk.port == '%PORT%' and type(wrk.thread) == 'userdata' and require('wrk') == wrk)\n return wrk.format()\nend\n";
    let run = with_script(&text.replace("%PORT%", &server.address.port().to_string()), "-c1 -n1 URL", &server);
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    assert_eq!(server.lines(), ["GET /base?q HTTP/1.1"]);
}

#[test]
fn arguments_reach_init_as_in_wrk() {
    let server = Server::ok();
    let text = "function init(args) first = args[0] .. '|' .. args[1] .. '|' .. args[2] .. '|' .. #args end\n\
                request = function() return wrk.format(nil, '/' .. first:gsub('http://[^|]*', 'url')) end\n";
    with_script(text, "-c1 -n1 URL -- one -two", &server);
    assert_eq!(server.lines(), ["GET /url|one|-two|2 HTTP/1.1"]);
}

#[test]
fn the_same_script_sends_its_headers_in_the_same_order_each_time() {
    let names = ["Accept", "Cookie", "Referer", "User-Agent", "X-A", "X-B", "X-Z"];
    let given = "{ ['X-B'] = 1, Cookie = 2, ['X-Z'] = 3, Accept = 4, Referer = 5, ['User-Agent'] = 6, ['X-A'] = 7 }";
    for (text, flags) in [
        (format!("wrk.headers = {given}\n"), ""),
        (format!("for name, value in pairs({given}) do wrk.headers[name] = value end\n"), ""),
        (format!("function request() return wrk.format('GET', '/', {given}) end\n"), ""),
        (String::new(), "-H X-Z:1 -H X-A:2 -H Referer:3 -H Cookie:4 -H Accept:5 -H X-B:6 -H User-Agent:7"),
    ] {
        let server = Server::ok();
        // What the order came from was drawn anew for each Lua state.
        let run = with_script(&format!("wrk.body = 'text'\n{text}"), &format!("-t4 -c4 -n8 {flags} URL"), &server);
        assert_eq!(run.code, Some(0), "{}", run.stderr);
        for seen in server.seen.lock().unwrap().iter() {
            let order: Vec<&str> = seen.headers.iter().filter_map(|header| header.split(':').next()).collect();
            assert_eq!(order[0], "Host", "{text}");
            let mut sorted = names.to_vec();
            sorted.insert(1, "Content-Length");
            assert_eq!(order[1..], sorted, "{text}");
        }
    }
}

#[test]
fn a_header_that_servers_refuse_is_named() {
    let server = Server::ok();
    for (text, line) in [
        ("wrk.headers['X-Bell'] = 'a\\7b'\n", "line 3 "),
        ("function request() return wrk.format('GET', '/', { ['X-Bell'] = '\\0' }) end\n", "line 3 "),
        ("function request() return wrk.format() .. wrk.format('GET', '/', { ['X-Bell'] = '\\27' }) end\n", "line 6 "),
        ("function request() return 'GET / HTTP/1.1\\r\\nX-Bell: a\\1\\r\\n\\r\\n' end\n", "line 2 "),
    ] {
        let run = with_script(text, "-c1 -n2 URL", &server);
        assert_eq!(run.code, Some(1), "{text}{}", run.stderr);
        for part in ["case.lua", "'X-Bell'", "the control byte 0x", line] {
            assert!(run.stderr.contains(part), "'{part}' is missing for\n{text}{}", run.stderr);
        }
    }
    let run = run(&format!("-n1 -c1 -H X-Bell:a\u{7}b {}", server.url("/")));
    assert_eq!(run.code, Some(1));
    assert!(run.stderr.contains("--header 'X-Bell:a\\u{7}b'") && run.stderr.contains("0x07"), "{}", run.stderr);
    assert_eq!(server.lines().len(), 0);
}

#[test]
fn wrk_format_completes_the_headers_given() {
    let server = Server::ok();
    let text = "request = function() return wrk.format('PUT', '/x', { ['X-Own'] = 5 }, 'abc') end\n";
    with_script(text, "-c1 -n1 -H Left:out URL", &server);
    let seen = server.seen.lock().unwrap()[0].clone();
    assert_eq!((seen.header("x-own"), seen.header("left"), seen.body.as_slice()), (Some("5"), None, &b"abc"[..]));
    assert!(seen.header("host").is_some());
}

#[test]
fn no_request_is_lost_unless_wrk_compat_asks_for_it() {
    let text = "local id = 0\nrequest = function() id = id + 1 return wrk.format('GET', '/' .. id) end\n";
    for (flag, first) in [("", "GET /1 HTTP/1.1"), ("--wrk-compat", "GET /2 HTTP/1.1")] {
        let server = Server::ok();
        with_script(text, &format!("-c1 -n3 {flag} URL"), &server);
        assert_eq!(server.lines()[0], first);
    }
}

#[test]
fn wrk_compat_swallows_on_the_first_thread_only() {
    let text = "local id = 0\nfunction setup(t) n = (n or 0) + 1 t:set('me', n) end\n\
                request = function() id = id + 1 return wrk.format('GET', '/' .. me .. '/' .. id) end\n";
    let server = Server::ok();
    with_script(text, "-t2 -c2 -n4 --wrk-compat URL", &server);
    let lines: BTreeSet<String> = server.lines().into_iter().collect();
    assert_eq!(lines, ["/1/2", "/1/3", "/2/1", "/2/2"].map(|path| format!("GET {path} HTTP/1.1")).into());
}

#[test]
fn random_numbers_are_unseeded_and_the_same_in_every_thread() {
    // Published: of 3 959 100 draws, 372 are 1. The same generator drew them.
    let text = "function init() local n = 0\n for i = 1, 3959100 do if math.random(1, 10000) == 1 then n = n + 1 end end\n ones = n end\n\
                request = function() return wrk.format('GET', '/' .. ones) end\n";
    let server = Server::ok();
    with_script(text, "-t2 -c2 -n2 URL", &server);
    assert_eq!(server.lines(), ["GET /372 HTTP/1.1", "GET /372 HTTP/1.1"]);
}

#[test]
fn setup_response_and_done_work_together() {
    let server = Server::start(|stream, _| {
        stream.write_all(b"HTTP/1.1 404 Nothing\r\nX-Tag: v\r\nContent-Length: 4\r\n\r\nbody").is_ok()
    });
    let text = "local threads = {}\n\
        function setup(thread) threads[#threads + 1] = thread thread:set('number', #threads) thread:set('list', { deep = { 1, 'two', true } }) end\n\
        function init() count = 0 end\n\
        function response(status, headers, body) count = count + 1 last = status .. headers['X-Tag'] .. body end\n\
        function done(summary, latency, requests)\n\
          local total = 0\n for _, t in ipairs(threads) do total = total + t:get('count') end\n\
          print('responses', total, threads[2]:get('number'), threads[1]:get('last'), threads[1]:get('list').deep[2], tostring(threads[1].addr))\n\
          print('summary', summary.requests, summary.errors.status, summary.bytes > 0, summary.duration > 400000 and summary.duration < 2000000)\n\
          print('latency', latency.min <= latency.mean and latency.mean <= latency.max, latency:percentile(50) <= latency.max, #latency, latency.stdev >= 0)\n\
          print('whole', latency.min % 1, latency(1) == latency.min, latency[#latency] == latency.max, requests.max >= 0)\n\
        end\n";
    let run = with_script(text, "-t2 -c2 -R100 -n50 URL", &server);
    assert_eq!(run.code, Some(4), "none succeeded: {}", run.stderr);
    let address = server.address;
    for line in [
        format!("responses\t50\t2\t404vbody\ttwo\t{address}"),
        "summary\t50\t50\ttrue\ttrue".into(),
        "latency\ttrue\ttrue\t50\ttrue".into(),
        "whole\t0\ttrue\ttrue\ttrue".into(),
    ] {
        assert!(run.stdout.contains(&line), "'{line}' is missing in\n{}\n{}", run.stdout, run.stderr);
    }
}

#[test]
fn a_thread_can_be_stopped_and_sent_elsewhere() {
    let (first, other) = (Server::ok(), Server::ok());
    let text = format!(
        "function setup(thread) thread.addr = wrk.lookup('127.0.0.1', '{}')[1] assert(wrk.connect(thread.addr)) end\n\
         function response() n = (n or 0) + 1 if n == 5 then wrk.thread:stop() end end\n",
        other.address.port()
    );
    let run = with_script(&text, "-t1 -c1 -R100 -d60s URL", &first);
    // What is due while the fifth response is read is sent all the same.
    assert!((5..100).contains(&run.count("/requests/completed")), "{}", run.json["requests"]);
    assert_eq!((first.lines().len(), &run.json["interrupted"]), (0, &false.into()), "{}", run.stderr);
}

#[test]
fn an_address_set_while_running_moves_every_connection() {
    let (first, other) = (Server::ok(), Server::ok());
    // wrk2's own scripts for several servers do this; there it cuts the requests under way, here none is lost.
    let text = format!(
        "function init() there = wrk.lookup('127.0.0.1', {})[1] n = 0 end\n\
         function response() n = n + 1 if n == 5 then wrk.thread.addr = there end end\n",
        other.address.port()
    );
    for mode in ["-R500 -n200", "-n200"] {
        let before = (first.lines().len(), other.lines().len());
        let run = with_script(&text, &format!("-t1 -c4 {mode} URL"), &first);
        assert_eq!((run.code, run.count("/requests/failed")), (Some(0), 0), "{}", run.stderr);
        assert_eq!(run.count("/requests/completed"), 200);
        let (old, new) = (first.lines().len() - before.0, other.lines().len() - before.1);
        assert!((5..=9).contains(&old) && old + new == 200, "{old} and {new}");
    }
}

#[test]
fn features_of_the_scripts_that_come_with_wrk_and_wrk2_work_together() {
    let server = Server::start(|stream, seen| {
        let token = if seen.line.contains("/auth") { "X-Token: t7\r\n" } else { "" };
        stream.write_all(format!("HTTP/1.1 200 OK\r\n{token}Content-Length: 2\r\n\r\nok").as_bytes()).is_ok()
    });
    // An address chosen from those that listen, a login before the load, a counter in a header, a list of paths, raw
    // requests with a bare Host, table.getn, unpack of threads, os.clock, and a report with %d and %g.
    let text = "local threads, addrs = {}, nil\n\
        function setup(thread)\n\
          if not addrs then\n addrs = wrk.lookup(wrk.host, wrk.port or 'http')\n\
            for i = #addrs, 1, -1 do if not wrk.connect(addrs[i]) then table.remove(addrs, i) end end\n end\n\
          thread.addr = addrs[math.random(#addrs)]\n table.insert(threads, thread)\n thread:set('id', #threads)\n end\n\
        function init(args)\n requests, responses, calls, started = 0, 0, '', os.clock()\n\
          print(('thread %d at %s, %d arguments'):format(id, wrk.thread.addr, #args))\n\
          reqs = { string.format('GET %s HTTP/1.1\\r\\nHost:%s:%s\\r\\n\\r\\n', '/raw', wrk.host, wrk.port), wrk.format(nil, '/formatted') }\n end\n\
        function request()\n requests = requests + 1\n if not token then return wrk.format('GET', '/auth') end\n\
          wrk.headers['X-Counter'] = requests\n calls = calls .. (calls == '' and '' or ',') .. requests\n\
          return requests % 3 == 0 and wrk.format(nil, '/counted') or reqs[1 + requests % 2] end\n\
        function response(status, headers, body)\n responses = responses + 1\n\
          if not token and status == 200 then token = headers['X-Token'] wrk.headers['X-Token'] = token end end\n\
        function done(summary, latency, requests)\n local t = unpack(threads, 1, 2)\n local n = 0\n\
          t:get('calls'):gsub('([0-9]+)', function() n = n + 1 end)\n\
          for i, thread in ipairs(threads) do\n\
            print(('thread %d made %d requests and got %d responses'):format(thread:get('id'), thread:get('requests'), thread:get('responses')))\n end\n\
          print(('counted %d of %d, getn %d'):format(n, summary.requests, table.getn(threads)))\n\
          for _, p in pairs({ 50, 90, 99, 99.999 }) do io.write(string.format('%g%%,%d\\n', p, latency:percentile(p))) end\n\
          io.write(string.format('%d %d %d %d %d\\n', summary.errors.connect, summary.errors.read, summary.errors.write, summary.errors.status, summary.errors.timeout))\n end\n";
    let run = with_script(text, "-t2 -c2 -n20 URL -- one", &server);
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    let address = server.address;
    for line in [
        &format!("thread 2 at {address}, 1 arguments"),
        "thread 1 made 10 requests and got 10 responses",
        "counted 9 of 20, getn 2",
        "99.999%,",
        "\n0 0 0 0 0\n",
    ] {
        assert!(run.stdout.contains(line), "'{line}' is missing in\n{}", run.stdout);
    }
    let of = |path: &str| server.lines().iter().filter(|line| line.contains(path)).count();
    assert_eq!((of("/auth"), of("/raw") + of("/formatted") + of("/counted")), (2, 18));
    let seen = server.seen.lock().unwrap();
    let counted = seen.iter().find(|seen| seen.line.contains("/counted")).unwrap();
    assert_eq!((counted.header("x-token"), counted.header("x-counter").is_some()), (Some("t7"), true));
}

#[test]
fn a_second_value_of_request_is_not_sent() {
    let server = Server::ok();
    let text = "request = function() return wrk.format(nil, '/two'), 'mine' end\n";
    assert_eq!(with_script(text, "-c1 -n2 URL", &server).code, Some(0));
    assert_eq!(server.lines(), ["GET /two HTTP/1.1", "GET /two HTTP/1.1"]);
}

#[test]
fn delay_spaces_requests_of_a_closed_loop() {
    let server = Server::ok();
    agrees(|| {
        let run = with_script("function delay() return 50 end\n", "-t1 -c1 -d1s URL", &server);
        assert!(run.count("/requests/completed") <= 21, "{}", run.json["requests"]);
        held(run.count("/requests/completed") >= 15, &run.json["requests"])
    });
}

#[test]
fn delay_comes_before_each_request_the_first_of_a_connection_included() {
    let server = Server::ok();
    let text = "local n = 0\nfunction delay() n = n + 1 return 1 end\n\
                function request() return wrk.format('GET', '/' .. n) end\n";
    assert_eq!(with_script(text, "-t1 -c1 -n3 URL", &server).code, Some(0));
    assert_eq!(server.lines(), ["GET /1 HTTP/1.1", "GET /2 HTTP/1.1", "GET /3 HTTP/1.1"]);
}

#[test]
fn a_service_may_have_any_name_that_the_system_knows() {
    let server = Server::ok();
    let services = std::fs::read_to_string("/etc/services").unwrap_or_default();
    let names = services.lines().filter_map(|line| line.split_once(char::is_whitespace));
    let other = names.filter_map(|(name, rest)| Some((name, rest.trim_start().strip_suffix("/tcp")?)));
    let known = [("http", "80"), ("https", "443"), ("7000", "7000")];
    for (name, port) in known.into_iter().chain(other.filter(|(name, _)| !name.starts_with('#')).take(1)) {
        let text = format!("function init() print(wrk.lookup('127.0.0.1', '{name}')[1]) end\n");
        let run = with_script(&text, "-c1 -n1 URL", &server);
        assert!(run.stdout.contains(&format!("127.0.0.1:{port}\n")), "{name}: {}{}", run.stdout, run.stderr);
    }
}

#[test]
fn scripts_may_exchange_request_while_they_run() {
    let server = Server::ok();
    let text = "request = function() return wrk.format('GET', '/login') end\n\
                response = function() request = function() return wrk.format('GET', '/in') end end\n";
    with_script(text, "-c1 -n3 URL", &server);
    assert_eq!(server.lines(), ["GET /login HTTP/1.1", "GET /in HTTP/1.1", "GET /in HTTP/1.1"]);
}

#[test]
fn errors_name_script_line_and_cause() {
    let server = Server::ok();
    for (text, parts) in [
        ("x = = 1\n", &["line 1", "unexpected symbol"][..]),
        ("\n\nlocal t = nil\nt.x = 1\n", &["line 4", "attempt to index local 't'"]),
        ("function init()\n error('no luck')\nend\n", &["line 2", "no luck"]),
        ("function request()\n return nothing.at_all\nend\n", &["line 2", "attempt to index global 'nothing'"]),
        ("function request() return nil end\n", &["request() gave a nil", "wrk.format"]),
        ("function request() return 'GET /' end\n", &["gave no whole request"]),
        (
            "function request() return 'PUT / HTTP/1.1\\r\\nContent-Length: 9\\r\\n\\r\\nab' end\n",
            &["body of 2 bytes", "Content-Length 9"],
        ),
        ("function setup(thread)\n thread:set('f', print)\nend\n", &["line 2", "cannot transfer a function"]),
        ("function response()\n error('late')\nend\n", &["line 2", "late"]),
        ("function done()\n error('last')\nend\n", &["line 2", "last"]),
        ("function init()\n error({ code = 7, why = 'none' })\nend\n", &["line 2", "code = 7, why = none"]),
        ("error(setmetatable({}, { __tostring = function() return 'own text' end }))\n", &["line 1", "own text"]),
        ("function setup()\n error(nil)\nend\n", &["line 2", "nil"]),
        ("function request()\n error({ code = 8 })\nend\n", &["line 2", "code = 8"]),
        ("function response()\n error({ code = 9 })\nend\n", &["line 2", "code = 9"]),
        ("function done()\n error({ code = 10 })\nend\n", &["line 2", "code = 10"]),
        (
            "function init()\n wrk.lookup('127.0.0.1', 'no-such')\nend\n",
            &["line 2", "'127.0.0.1' and service 'no-such'"],
        ),
    ] {
        let run = with_script(text, "-c1 -n2 URL", &server);
        assert_eq!(run.code, Some(1), "{text}{}", run.stderr);
        assert!(run.stderr.contains("case.lua"), "{}", run.stderr);
        for part in parts {
            assert!(run.stderr.contains(part), "'{part}' is missing for\n{text}{}", run.stderr);
        }
        let cause = parts.last().unwrap();
        assert_eq!(run.stderr.matches(cause).count(), 1, "said once: {}", run.stderr);
        assert!(!run.stderr.contains("table: 0x") && run.stderr.matches("bound").count() <= 1, "{}", run.stderr);
    }
}

#[test]
fn the_lab_s_scripts_ask_for_what_they_say() {
    let lines = |name: &str, rest: &str| {
        let server = Server::ok();
        let run = run(&format!("-s {} {rest}", script(name).display()).replace("URL", &server.url("")));
        assert_eq!(run.code, Some(0), "{}", run.stderr);
        let seen = server.seen.lock().unwrap().clone();
        let text = |seen: &crate::support::Seen| {
            format!("{} {}", seen.line.trim_end_matches(" HTTP/1.1"), String::from_utf8_lossy(&seen.body))
        };
        seen.iter().map(|seen| text(seen).trim_end().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(lines("put.lua", "-c1 -n2 URL"), ["PUT /v0/entity?id=1 1", "PUT /v0/entity?id=2 2"]);
    let alternating = ["PUT /v0/entity?id=1 1", "GET /v0/entity?id=1", "PUT /v0/entity?id=2 2", "GET /v0/entity?id=2"];
    assert_eq!(lines("put_get.lua", "-c1 -n4 URL"), alternating);
    let id = |line: &String| line.strip_prefix("GET /v0/entity?id=").and_then(|id| id.parse::<u32>().ok());
    assert!(lines("get.lua", "-c1 -n300 URL").iter().all(|line| id(line).is_some_and(|id| (1..=10_000).contains(&id))));
    assert!(
        lines("get_random.lua", "-c1 -n300 URL -- 7")
            .iter()
            .all(|line| id(line).is_some_and(|id| (1..=7).contains(&id)))
    );
    let filled: BTreeSet<String> = lines("fill.lua", "-t2 -c3 -n101 URL -- 101 3 5").into_iter().collect();
    assert_eq!(filled, (5..106).map(|id| format!("PUT /v0/entity?id={id} vvv")).collect());
    let named: BTreeSet<String> = lines("fill.lua", "-t2 -c3 -n50 URL -- 50 own 1 key").into_iter().collect();
    assert_eq!(named, (1..51).map(|id| format!("PUT /v0/entity?id=key{id} value{id}")).collect());
}
