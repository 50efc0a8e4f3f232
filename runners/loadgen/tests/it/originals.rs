//! Scripts of the shapes that come with wrk and wrk2 (their folder `scripts/`): the same requests, byte by byte, and the
//! same printed lines. The scripts here are ours.

use crate::support::{OK, Run, Scratch, Server, run};
use std::io::Write;

fn with_script(text: &str, line: &str, server: &Server) -> Run {
    let scratch = Scratch::new();
    let path = scratch.file("case.lua", text);
    let run = run(&format!("-s {} {line} {}", path.display(), server.url("/")));
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    run
}

/// Each request as its head and its body, Host left out, in the order in which they came.
fn requests(server: &Server) -> Vec<String> {
    let seen = server.seen.lock().unwrap();
    let host = format!("Host: {}", server.address);
    let whole = seen.iter().map(|seen| {
        assert_eq!(seen.headers[0], host);
        let head = [std::slice::from_ref(&seen.line), &seen.headers[1..]].concat().join("\n");
        format!("{head}\n\n{}", String::from_utf8_lossy(&seen.body))
    });
    whole.collect()
}

/// What a script printed: before the report and after it.
fn printed(run: &Run) -> (Vec<&str>, Vec<&str>) {
    let lines: Vec<&str> = run.stdout.lines().collect();
    let begin = lines.iter().position(|line| line.starts_with("Running ")).expect("the report begins");
    let end = lines.iter().position(|line| line.starts_with("Transfer/sec:")).expect("the report ends");
    (lines[..begin].to_vec(), lines[end + 1..].to_vec())
}

#[test]
fn a_method_with_body_and_header() {
    let server = Server::ok();
    let text = "wrk.method = 'POST'\nwrk.body = 'a=1&b=2'\nwrk.headers['Content-Type'] = 'text/x-form'\n";
    with_script(text, "-t1 -c1 -n2", &server);
    let post = "POST / HTTP/1.1\nContent-Length: 7\nContent-Type: text/x-form\n\na=1&b=2";
    assert_eq!(requests(&server), [post, post]);
}

#[test]
fn a_counter_in_path_and_header() {
    let server = Server::ok();
    let text = "count = 0\nrequest = function()\n local path = '/' .. count\n wrk.headers['X-Count'] = count\n \
                count = count + 1\n return wrk.format(nil, path)\nend\n";
    with_script(text, "-t1 -c1 -n3", &server);
    assert_eq!(requests(&server), [0, 1, 2].map(|n| format!("GET /{n} HTTP/1.1\nX-Count: {n}\n\n")));
}

#[test]
fn a_row_of_requests_made_once_and_pipelined() {
    let server = Server::ok();
    let text = "init = function(args)\n local row = {}\n for i, word in ipairs({ 'one', 'two', 'three' }) do\n \
                row[i] = wrk.format(nil, '/?' .. word)\n end\n whole = table.concat(row)\nend\n\
                request = function() return whole end\n";
    let run = with_script(text, "-t1 -c1 -n6", &server);
    let row = ["one", "two", "three"].map(|word| format!("GET /?{word} HTTP/1.1\n\n"));
    assert_eq!(requests(&server), [row.clone(), row].concat());
    assert_eq!((run.count("/requests/completed"), run.count("/errors/read")), (6, 0));
}

#[test]
fn a_token_from_the_first_response() {
    let server = Server::start(|stream, seen| {
        let token = if seen.line.contains("/login") { "X-Token: t7\r\n" } else { "" };
        stream.write_all(format!("HTTP/1.1 200 OK\r\n{token}Content-Length: 0\r\n\r\n").as_bytes()).is_ok()
    });
    let text = "path = '/login'\nrequest = function() return wrk.format('GET', path) end\n\
        response = function(status, headers)\n if not token and status == 200 then\n token = headers['X-Token']\n \
        path = '/data'\n wrk.headers['X-Token'] = token\n end\nend\n";
    with_script(text, "-t1 -c1 -n3", &server);
    let data = "GET /data HTTP/1.1\nX-Token: t7\n\n";
    assert_eq!(requests(&server), ["GET /login HTTP/1.1\n\n", data, data]);
}

#[test]
fn an_address_for_each_thread() {
    let server = Server::ok();
    let text = "local addrs\nfunction setup(thread)\n if not addrs then\n addrs = wrk.lookup(wrk.host, wrk.port or 'http')\n \
        for i = #addrs, 1, -1 do if not wrk.connect(addrs[i]) then table.remove(addrs, i) end end\n end\n \
        thread.addr = addrs[math.random(#addrs)]\nend\n\
        function init() print(('at %s'):format(wrk.thread.addr)) end\n";
    let run = with_script(text, "-t2 -c2 -n2", &server);
    let at = format!("at {}", server.address);
    assert_eq!(printed(&run), (vec![at.as_str(); 2], vec![]));
    assert_eq!(requests(&server), ["GET / HTTP/1.1\n\n"; 2]);
}

#[test]
fn values_of_threads_counted_at_the_end() {
    let server = Server::ok();
    let text = "local number, threads = 1, {}\n\
        function setup(thread) thread:set('id', number) table.insert(threads, thread) number = number + 1 end\n\
        function init() sent, got = 0, 0 print(('thread %d made'):format(id)) end\n\
        function request() sent = sent + 1 return wrk.request() end\nfunction response() got = got + 1 end\n\
        function done()\n for _, thread in ipairs(threads) do\n \
        print(('thread %d: %d, %d'):format(thread:get('id'), thread:get('sent'), thread:get('got')))\n end\nend\n";
    let run = with_script(text, "-t2 -c2 -n6", &server);
    assert_eq!(printed(&run), (vec!["thread 1 made", "thread 2 made"], vec!["thread 1: 3, 3", "thread 2: 3, 3"]));
    assert_eq!(requests(&server), ["GET / HTTP/1.1\n\n"; 6]);
}

#[test]
fn percentiles_as_a_table_at_the_end() {
    let server = Server::start(|stream, _| {
        std::thread::sleep(std::time::Duration::from_millis(2));
        stream.write_all(OK).is_ok()
    });
    let text = "done = function(summary, latency)\n io.write('----\\n')\n for _, p in pairs({ 50, 99.999 }) do\n \
        io.write(string.format('%g%%,%d\\n', p, latency:percentile(p)))\n end\nend\n";
    let run = with_script(text, "-t1 -c1 -n9", &server);
    let (_, after) = printed(&run);
    assert_eq!((after.len(), after[0]), (3, "----"));
    let value = |line: &str, name: &str| line.strip_prefix(name).and_then(|us| us.parse::<u64>().ok()).expect(name);
    let (p50, p99_999) = (value(after[1], "50%,"), value(after[2], "99.999%,"));
    assert!(2000 <= p50 && p50 <= p99_999, "{after:?}");
}

#[test]
fn a_thread_that_stops_itself() {
    let server = Server::ok();
    let text = "local left = 100\nfunction response() left = left - 1 if left == 0 then wrk.thread:stop() end end\n";
    // What is due while the hundredth response is read is sent all the same; in a closed loop nothing is.
    for (mode, most) in [("", 100), ("-R200", 200)] {
        let run = with_script(text, &format!("-t1 -c1 -d60s {mode}"), &server);
        assert!((100..=most).contains(&run.count("/requests/completed")), "{mode}: {}", run.json["requests"]);
        assert_eq!(run.count("/requests/failed"), 0, "{mode}");
    }
}

#[test]
fn a_random_delay_before_each_request() {
    let server = Server::ok();
    let run = with_script("function delay() return math.random(20, 60) end\n", "-t1 -c1 -n5", &server);
    assert!(run.number("/elapsed_s") >= 0.1, "{}", run.number("/elapsed_s"));
    assert_eq!(requests(&server), ["GET / HTTP/1.1\n\n"; 5]);
}
