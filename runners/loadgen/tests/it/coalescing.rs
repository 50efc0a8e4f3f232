//! Sends that are due close together leave together where that is asked for and the schedule is dense; none is lost.

use crate::support::{Server, run};

#[test]
fn on_a_dense_schedule_requests_wait_for_each_other_and_all_are_sent() {
    let server = Server::ok();
    for arrival in ["constant", "poisson"] {
        let run = run(&format!(
            "-t1 -c8 -R 3000 -n 3000 -d 10s --arrival {arrival} --coalesce 1ms --summary {}",
            server.url("/")
        ));
        assert_eq!(run.code, Some(0), "{}", run.stderr);
        run.assert_nothing_vanished();
        assert_eq!(run.count("/requests/completed"), 3000);
        assert_eq!(run.number("/generator/coalesce_us"), 1000.0);
        let held = run.count("/generator/held");
        assert!(held > 0 && held < run.count("/generator/lag_us/count"), "{held}");
        let line = format!("truepace: {held} of {} sends held back", run.count("/generator/lag_us/count"));
        assert!(run.stdout.contains(&line), "{line} is missing in\n{}", run.stdout);
    }
    assert_eq!(server.lines().len(), 6000);
}

#[test]
fn no_request_waits_on_a_thin_schedule_or_without_slack() {
    let server = Server::ok();
    for (flags, slack_us) in [("-R 500", None), ("-R 3000 --coalesce 0s", Some(0.0)), ("-R 900 --coalesce 1ms", None)] {
        let run = run(&format!("-t1 -c8 {flags} -d 1s --arrival poisson --summary {}", server.url("/")));
        run.assert_nothing_vanished();
        assert_eq!(run.count("/generator/held"), 0, "{flags}");
        assert!(!run.stdout.contains("held back"), "{}", run.stdout);
        if let Some(slack_us) = slack_us {
            assert_eq!(run.number("/generator/coalesce_us"), slack_us);
        }
    }
}

#[test]
fn a_closed_loop_has_no_schedule_to_hold_back_from() {
    let server = Server::ok();
    let run = run(&format!("-t1 -c2 -n 100 --coalesce 1ms {}", server.url("/")));
    assert_eq!(run.count("/requests/completed"), 100);
    assert_eq!(run.count("/generator/held"), 0);
    assert!(run.json["generator"]["coalesce_us"].is_null(), "{}", run.json["generator"]);
}
