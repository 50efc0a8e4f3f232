//! What `request()` gives: how many requests, of which kind, and the name of their operation.

use crate::support::Scratch;
use truepace::cli;
use truepace::lua::{RequestKind, Script, ThreadControl};
use truepace::tags::Tags;
use truepace::target::Peer;

/// A worker's script after its `init`, with the script of the main thread that set it up.
fn load(text: &str, tags: &Tags) -> Script {
    let scratch = Scratch::new();
    let path = scratch.file("case.lua", text).display().to_string();
    let config =
        cli::parse(["truepace", "-s", &path, "http://it/base"].map(str::to_owned).to_vec()).expect("it is taken");
    let main = Script::load(config.first(), tags).expect("it loads");
    let mut worker = Script::load(config.first(), tags).expect("it loads");
    main.setup(&worker, &ThreadControl::new(Peer::Inet("127.0.0.1:9".parse().expect("an address"))))
        .expect("it is set up");
    worker.init("http://it/base", &[]).expect("init() runs");
    worker
}

/// The next requests: their text, which of them are HEAD, and the operation's number.
fn next(script: &mut Script) -> Result<(String, Vec<bool>, u8), String> {
    let (mut text, mut kinds) = (b"left over".to_vec(), vec![RequestKind { head: true }]);
    script.request(&mut text, &mut kinds).map_err(|error| error.to_string())?;
    let text = String::from_utf8(text).expect("these are text");
    Ok((text, kinds.iter().map(|kind| kind.head).collect(), script.tag()))
}

#[test]
fn every_call_says_how_many_requests_it_gave() {
    let mut script = load(
        "local n = 0\nfunction request()\n n = n + 1\n local all = {}\n\
         for i = 1, n do all[i] = wrk.format(i % 2 == 0 and 'HEAD' or 'PUT', '/' .. i, nil, i % 2 == 1 and 'body') end\n\
         return table.concat(all) end\n",
        &Tags::default(),
    );
    for heads in [&[false][..], &[false, true], &[false, true, false], &[false, true, false, true]] {
        let (text, head_flags, _) = next(&mut script).unwrap();
        assert_eq!(head_flags, heads, "{text}");
        assert_eq!(text.matches("HTTP/1.1").count(), heads.len());
    }
}

#[test]
fn a_text_made_once_of_several_requests_is_counted_at_each_call() {
    let text = "init = function()\n local all = {}\n for i, query in ipairs({ 'a', 'b', 'c' }) do all[i] = wrk.format(nil, '/?' .. query) end\n\
                made = table.concat(all)\nend\nrequest = function() return made end\n";
    let mut script = load(text, &Tags::default());
    for _ in 0..2 {
        let (text, heads, _) = next(&mut script).unwrap();
        let get = |query: &str| format!("GET /?{query} HTTP/1.1\r\nHost: it\r\n\r\n");
        assert_eq!((text, heads), (["a", "b", "c"].map(get).concat(), vec![false; 3]));
    }
}

#[test]
fn a_later_text_that_is_no_request_is_refused_too() {
    let bad =
        "function request() if not called then called = true return wrk.format() end return 'GET / HTTP/1.1\\r\\n' end";
    let mut script = load(bad, &Tags::default());
    assert_eq!(next(&mut script).unwrap().1, [false]);
    let refused = next(&mut script).unwrap_err();
    assert!(
        refused.contains("case.lua") && refused.contains("the empty line after the headers is missing"),
        "{refused}"
    );
}

#[test]
fn without_request_the_one_text_is_counted_too() {
    let mut script = load("wrk.method = 'HEAD' wrk.tag = 'LOOK'", &Tags::default());
    assert_eq!(next(&mut script).unwrap().1, [true]);
    assert_eq!(script.tag(), 1);
}

#[test]
fn operations_are_numbered_by_name_alike_in_all_scripts() {
    let tags = Tags::default();
    let mut first = load(
        "local names = { 'PUT', 'GET', 'PUT', false, 'GET' }\nlocal n = 0\n\
         function request() n = n + 1 wrk.tag = names[n] return wrk.format() end\n",
        &tags,
    );
    let mut second = load(
        "local n = 0\nwrk.tag = 'SCAN'\nfunction request() n = n + 1\n\
         if n == 2 then return wrk.format(), 'GET' end\n if n == 3 then return ('x'):gsub('x', wrk.format()) end\n\
         return wrk.format() end\n",
        &tags,
    );
    assert_eq!([(); 5].map(|()| next(&mut first).unwrap().2), [1, 2, 1, 0, 2]);
    // A second value that is a string counts before wrk.tag; one that is none is no name.
    assert_eq!([(); 4].map(|()| next(&mut second).unwrap().2), [3, 2, 3, 3]);
    assert_eq!(tags.names(), ["PUT", "GET", "SCAN"]);
}

#[test]
fn tags_that_name_no_operation_are_refused() {
    for (tag, parts) in [
        ("{}", &["wrk.tag is a table"][..]),
        ("''", &["the tag ''", "without blanks"]),
        ("'a b'", &["the tag 'a b'", "without blanks"]),
        ("'a,b'", &["the tag 'a,b'", "commas"]),
        ("('x'):rep(65)", &["1 to 64 bytes"]),
    ] {
        let mut script = load(&format!("wrk.tag = {tag}"), &Tags::default());
        let refused = next(&mut script).unwrap_err();
        for part in parts.iter().chain(&["case.lua"]) {
            assert!(refused.contains(part), "'{part}' is missing in: {refused}");
        }
    }
    let mut script =
        load("local n = 0\nfunction request() n = n + 1 return wrk.format(), 'id' .. n end", &Tags::default());
    for number in 1..=64 {
        assert_eq!(next(&mut script).unwrap().2, number);
    }
    let refused = next(&mut script).unwrap_err();
    assert!(
        refused.contains("'id65'") && refused.contains("64") && refused.contains("kinds of operations"),
        "{refused}"
    );
}

#[test]
fn nothing_may_be_given_once_the_thread_is_stopped() {
    let mut script =
        load("function request() if stopped then wrk.thread:stop() end stopped = true end", &Tags::default());
    assert!(next(&mut script).unwrap_err().contains("request() gave a nil"));
    assert_eq!(next(&mut script).unwrap(), (String::new(), vec![], 0));
}
