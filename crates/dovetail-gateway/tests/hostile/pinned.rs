//! Credentials for a connection: a later request on it would be taken for the same user's.

use std::io::Write;

use crate::{answer::answer_to, server::Server, strict, support::Setup};

/// A server that answers with the number of the connection, and requests Negotiate if there are no credentials.
fn numbered(asks: bool) -> Server<()> {
    Server::start(move |mut connection| {
        while let Ok(Some(message)) = strict::request(&mut connection.stream) {
            let (status, more) = if asks && message.field("authorization").is_none() {
                ("401 Unauthorized", "WWW-Authenticate: Basic realm=\"x\", Negotiate\r\n")
            } else {
                ("200 OK", "")
            };
            let number = connection.number;
            let answer = format!("HTTP/1.1 {status}\r\n{more}Content-Length: 1\r\n\r\n{number}");
            if connection.stream.write_all(answer.as_bytes()).is_err() {
                return;
            }
        }
    })
}

/// Which connection to the server answers a client's requests, in order; each client has a connection of its own.
fn answering(server: &Server<()>, requests: &[(usize, &str)]) -> Vec<String> {
    let gateway = Setup::default().start();
    let url = server.url("/");
    let mut clients = [gateway.connect(), gateway.connect()];
    let answers = requests.iter().map(|&(client, says)| {
        let client = &mut clients[client];
        write!(client, "GET {url} HTTP/1.1\r\nHost: x\r\n{says}\r\n").unwrap();
        answer_to(client, "GET").text()
    });
    answers.collect()
}

#[test]
fn a_connection_that_credentials_were_for_is_that_client_s_alone() {
    let says = "Authorization: NTLM TlRMTVNTUAAB\r\n";
    let answers = answering(&numbered(false), &[(0, says), (1, ""), (0, ""), (1, ""), (0, says)]);
    assert_eq!(answers, ["0", "1", "0", "1", "0"]);
}

#[test]
fn so_is_one_whose_server_asks_for_such() {
    assert_eq!(answering(&numbered(true), &[(0, ""), (1, ""), (0, ""), (1, "")]), ["0", "1", "0", "1"]);
}

#[test]
fn a_client_learns_that_a_connection_would_be_its_own() {
    let server = numbered(true);
    let gateway = Setup::default().start();
    let mut client = gateway.connect();
    let mut ask = |says: &str| {
        write!(client, "GET {} HTTP/1.1\r\nHost: x\r\n{says}\r\n", server.url("/")).unwrap();
        answer_to(&mut client, "GET")
    };
    let demand = ask("");
    assert_eq!(demand.field("proxy-support"), Some("Session-Based-Authentication"), "{demand:?}");
    assert_eq!(demand.field("connection"), Some("proxy-support"), "{demand:?}");
    let granted = ask("Authorization: Basic QTpC\r\n");
    assert_eq!((granted.text().as_str(), granted.field("proxy-support")), ("0", None), "{granted:?}");
}

#[test]
fn others_are_shared_also_with_a_password_for_each_request() {
    let says = "Authorization: Basic QTpC\r\n";
    assert_eq!(answering(&numbered(false), &[(0, says), (1, ""), (0, "")]), ["0", "0", "0"]);
}
