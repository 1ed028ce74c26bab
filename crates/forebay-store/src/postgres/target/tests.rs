use tokio_postgres::config::Host;

use super::*;

fn target(url: &str) -> Target {
    Target::parse(url).unwrap_or_else(|refusal| panic!("{url}: {refusal}"))
}

fn refused(url: &str) -> BadTarget {
    Target::parse(url).expect_err(url)
}

#[test]
fn a_url_names_user_password_host_port_and_database() {
    let target = target("postgres://fore%40bay:p%3A%2F%40ss@db.example.com:6432/led%20ger");
    assert_eq!(target.config.get_user(), Some("fore@bay"));
    assert_eq!(target.config.get_password(), Some(b"p:/@ss".as_slice()));
    assert_eq!(target.config.get_hosts(), [Host::Tcp("db.example.com".to_owned())]);
    assert_eq!(target.config.get_ports(), [6432]);
    assert_eq!(target.database(), "led ger");
}

#[test]
fn what_is_shown_has_no_password() {
    let target = target("postgresql://forebay:hunter2@[2001:db8::1],b:6432/f?sslmode=require");
    for shown in [target.to_string(), format!("{target:?}"), format!("{:?}", target.config)] {
        assert!(!shown.contains("hunter2"), "{shown}");
    }
    assert_eq!(target.to_string(), "postgres://forebay@[2001:db8::1]:5432,b:6432/f");
}

#[test]
fn tls_is_the_default_for_other_machines_and_nothing_falls_back() {
    for (url, trust) in [
        ("postgres://localhost/f", Trust::Disable),
        ("postgres://127.0.0.2/f", Trust::Disable),
        ("postgres://[::1]/f", Trust::Disable),
        ("postgres:///f?host=/var/run/postgresql", Trust::Disable),
        ("postgres://%2Frun%2Fpostgresql/f", Trust::Disable),
        ("postgres://localhost/f?sslmode=require", Trust::Require),
        ("postgres://db/f", Trust::Require),
        ("postgres://localhost,db/f", Trust::Require),
        ("postgres://db/f?sslmode=disable", Trust::Disable),
        ("postgres://db/f?sslmode=verify-full", Trust::VerifyFull),
        ("postgres://db/f?sslmode=verify-full&sslrootcert=system", Trust::VerifyFull),
        ("postgres://db/f?sslrootcert=/etc/ca.pem", Trust::VerifyFull),
        ("postgres://db/f?sslmode=require&sslrootcert=/etc/ca.pem", Trust::VerifyCa),
    ] {
        let target = target(url);
        assert_eq!(target.trust, trust, "{url}");
        let mode = if trust == Trust::Disable { SslMode::Disable } else { SslMode::Require };
        assert_eq!(target.config.get_ssl_mode(), mode, "{url}");
    }
    assert!(refused("postgres://db/f?sslmode=prefer").problem.contains("falls back"));
}

#[test]
fn a_password_from_elsewhere_stands_behind_that_of_the_url() {
    let elsewhere = || Some("elsewhere".to_owned());
    let of = |url: &str| target(url).or_password(elsewhere());
    assert_eq!(of("postgres://u@h/f").config.get_password(), Some(b"elsewhere".as_slice()));
    assert_eq!(of("postgres://u:here@h/f").config.get_password(), Some(b"here".as_slice()));
    assert_eq!(of("postgres://u@h/f?password_file=/run/pw").config.get_password(), None);
    assert!(of("postgres://u@h/f?password_file=/run/pw").has_password());
}

#[test]
fn what_is_wrong_is_said_without_the_text_that_may_hold_a_password() {
    for (url, problem) in [
        ("sqlite:f.db", "no PostgreSQL URL"),
        ("postgres://h", "the database is missing"),
        ("postgres://h/", "the database is missing"),
        ("postgres:///f", "the host is missing"),
        ("postgres://u:secret@/f", "the host is missing"),
        ("postgres://u:sec@ret@h/f", "there are two @ before the host"),
        ("postgres://u:sec/secret@h/f", "there is an @ after the host"),
        ("postgres://u:sec?secret@h/f", "there is an @ after the host"),
        ("postgres://h:secret/f", "the port is no number from 1 to 65535"),
        ("postgres://h:0/f", "the port is no number from 1 to 65535"),
        ("postgres://u:%ff@h/f", "the password can't be read"),
        ("postgres://h/f?secret=1", "there is an option that Forebay does not know"),
        ("postgres://h/f?sslmode=secret", "there is no such sslmode"),
        ("postgres://u:secret@h/f?password_file=p", "there is a password, and a file with one"),
        ("postgres://h/f?target_session_attrs=secret", "there are no such target_session_attrs"),
    ] {
        let refusal = refused(url);
        assert_eq!(refusal.problem, problem, "{url}");
        assert!(!refusal.to_string().contains("secret"), "{url}: {refusal}");
    }
}
