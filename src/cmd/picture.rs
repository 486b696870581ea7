//! `graphlume picture`.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::time::Duration;

use graphlume_types::SessionId;
use serde_json::Value;

use crate::cli::PictureArgs;
use crate::failure::{Failure, failure};

/// Bytes of an answer: what the largest picture can take.
const ANSWER_BYTES_MAX: u64 = 256 << 20;
/// How long the server may say nothing, after what it waits for the layout.
const PATIENCE: Duration = Duration::from_secs(120);

/// Asks a server for the picture and writes it.
pub fn run(args: &PictureArgs) -> Result<(), Failure> {
    let format = format(&args.out)?;
    let server = Server::of(&args.server)?;
    let token = args.key.as_deref().map(|key| server.token(key)).transpose()?;
    let query = query(args);
    let header = token.map(|token| format!("Bearer {token}"));
    let ask = |session: &str, dataset: &str| {
        let path = format!("/viz/{}/picture.{format}?{query}{dataset}", encoded(session));
        server.get(&path, header.as_deref())
    };
    let mut answer = ask(&args.what, "")?;
    if answer.status == 404 {
        // No session: a new one shows the dataset of that name.
        let dataset = format!("&dataset={}", encoded(&args.what));
        answer = ask(SessionId::random().as_str(), &dataset)?;
    }
    if answer.status == 404 {
        let key = if args.key.is_some() { "" } else { "; --key takes the key of who may see it" };
        let told = answer.reason();
        return Err(failure(format!(
            "{}: no session or dataset of that id: {told}{key}",
            args.what
        )));
    }
    if answer.status != 200 {
        return Err(failure(format!("{}: {}", args.what, answer.reason())));
    }
    write(&args.out, &answer.body)
}

/// The format that the extension tells.
fn format(out: &Path) -> Result<String, Failure> {
    let kind = out.extension().and_then(|e| e.to_str()).unwrap_or("").to_ascii_lowercase();
    if matches!(kind.as_str(), "png" | "svg" | "pdf") {
        return Ok(kind);
    }
    let shown = out.display();
    Err(failure(format!("--out {shown}: the extension tells the format; use .png, .svg or .pdf")))
}

/// Writes the file, which appears whole or not at all.
fn write(out: &Path, bytes: &[u8]) -> Result<(), Failure> {
    let mut part = out.as_os_str().to_owned();
    part.push(format!(".{}.part", std::process::id()));
    let written = std::fs::write(&part, bytes).and_then(|()| std::fs::rename(&part, out));
    written.map_err(|e| {
        // A part of a picture cannot be opened.
        let _ = std::fs::remove_file(&part);
        failure(format!("--out {}: {e}", out.display()))
    })
}

fn query(args: &PictureArgs) -> String {
    let mut pairs = vec![
        ("width", args.width.to_string()),
        ("height", args.height.to_string()),
        ("scale", args.scale.to_string()),
        ("wait", args.wait.to_string()),
        ("legend", args.legend.to_string()),
    ];
    if args.bundle {
        pairs.push(("bundle", "true".to_owned()));
    }
    if args.no_communities {
        pairs.push(("superGraph", "false".to_owned()));
    }
    if args.no_names {
        pairs.push(("names", "false".to_owned()));
    }
    let texts = [("theme", &args.theme), ("background", &args.background), ("title", &args.title)];
    pairs.extend(texts.into_iter().filter_map(|(name, text)| Some((name, text.clone()?))));
    let pair = |(name, value): (&str, String)| format!("{name}={}", encoded(&value));
    pairs.into_iter().map(pair).collect::<Vec<_>>().join("&")
}

/// A text as a part of an address.
fn encoded(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for byte in text.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'~' => {
                out.push(char::from(byte));
            }
            _ => out.push_str(&format!("%{byte:02X}")),
        }
    }
    out
}

/// A server by its address.
struct Server {
    /// Host and port.
    place: String,
    /// What comes before the paths of its routes.
    base: String,
}

/// What it answers.
struct Answer {
    status: u16,
    body: Vec<u8>,
}

impl Answer {
    /// What it says is wrong.
    fn reason(&self) -> String {
        let told: Value = serde_json::from_slice(&self.body).unwrap_or_default();
        let message = told.pointer("/error/message").or_else(|| told.get("message"));
        let message = message.or_else(|| told.get("detail")).and_then(Value::as_str);
        message.map_or_else(
            || format!("the server answers {} {}", self.status, shown(&self.body)),
            str::to_owned,
        )
    }
}

/// The first 200 letters of an error that the server answered.
fn shown(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).chars().filter(|c| !c.is_control()).take(200).collect()
}

impl Server {
    fn of(url: &str) -> Result<Self, Failure> {
        let Some(rest) = url.strip_prefix("http://") else {
            return Err(failure(format!(
                "--server {url}: write it as http://host:port; for https run the command beside the server"
            )));
        };
        let (place, base) = rest.split_once('/').unwrap_or((rest, ""));
        let has_port = place.rsplit_once(':').is_some_and(|(_, port)| port.parse::<u16>().is_ok());
        let place = if has_port { place.to_owned() } else { format!("{place}:80") };
        let base = base.trim_end_matches('/');
        let base = if base.is_empty() { String::new() } else { format!("/{base}") };
        Ok(Self { place, base })
    }

    /// The token for which a personal key is exchanged.
    fn token(&self, key: &str) -> Result<String, Failure> {
        let header = format!("PersonalKey {}", key.trim());
        let answer = self.get("/api/v2/auth/pkey/jwt/", Some(&header))?;
        let told: Value = serde_json::from_slice(&answer.body).unwrap_or_default();
        let token =
            told.get("token").or_else(|| told.pointer("/data/token")).and_then(Value::as_str);
        token.map(str::to_owned).ok_or_else(|| failure(format!("--key: {}", answer.reason())))
    }

    /// One request in HTTP/1.0, whose answer ends with the connection.
    fn get(&self, path: &str, authorization: Option<&str>) -> Result<Answer, Failure> {
        let Self { place, base } = self;
        let wrong = |e: &dyn std::fmt::Display| failure(format!("--server http://{place}: {e}"));
        if authorization.is_some_and(|text| text.chars().any(char::is_control)) {
            return Err(failure("--key: the key has a line break; write it in one line"));
        }
        let mut stream = TcpStream::connect(place.as_str())
            .map_err(|e| wrong(&format!("{e}; name the address of a running `graphlume serve`")))?;
        stream.set_read_timeout(Some(PATIENCE))?;
        let authorization =
            authorization.map_or_else(String::new, |text| format!("Authorization: {text}\r\n"));
        let head = format!("GET {base}{path} HTTP/1.0\r\nHost: {place}\r\n{authorization}\r\n");
        stream.write_all(head.as_bytes()).map_err(|e| wrong(&e))?;
        let mut bytes = Vec::new();
        stream.take(ANSWER_BYTES_MAX).read_to_end(&mut bytes).map_err(|e| wrong(&e))?;
        parse(&bytes).ok_or_else(|| wrong(&format!("that is no HTTP: {}", shown(&bytes))))
    }
}

/// The parts of an answer; `None` for what is none, or is cut off.
fn parse(bytes: &[u8]) -> Option<Answer> {
    let end = bytes.windows(4).position(|w| w == b"\r\n\r\n")?;
    let head = std::str::from_utf8(&bytes[..end]).ok()?;
    let mut lines = head.split("\r\n");
    let status = lines.next()?.strip_prefix("HTTP/1.")?.split(' ').nth(1)?.parse().ok()?;
    let body = bytes[end + 4..].to_vec();
    let length = lines.find_map(|line| {
        let (name, value) = line.split_once(':')?;
        name.eq_ignore_ascii_case("content-length").then(|| value.trim().parse::<usize>().ok())?
    });
    let is_whole = length.is_none_or(|length| length == body.len());
    is_whole.then_some(Answer { status, body })
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn an_address_leads_to_a_place_and_a_path() {
        let of = |url| Server::of(url).map(|s| (s.place, s.base)).map_err(|e| e.message);
        assert_eq!(of("http://host:81/a/b/").unwrap(), ("host:81".to_owned(), "/a/b".to_owned()));
        assert_eq!(of("http://host").unwrap(), ("host:80".to_owned(), String::new()));
        assert!(of("https://host").unwrap_err().contains("--server https://host"));
    }

    #[test]
    fn answers_are_read_whole_or_not_at_all() {
        let whole = parse(b"HTTP/1.1 404 Not Found\r\nContent-Length: 2\r\n\r\n{}").unwrap();
        assert_eq!((whole.status, whole.body.as_slice()), (404, &b"{}"[..]));
        assert!(parse(b"HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nshort").is_none());
        assert!(parse(b"SSH-2.0\r\n\r\n").is_none());
        let told = Answer { status: 400, body: br#"{"message": "width=1 is small"}"#.to_vec() };
        assert_eq!(told.reason(), "width=1 is small");
        assert_eq!(encoded("a b&ü"), "a%20b%26%C3%BC");
        assert!(format(Path::new("x.gif")).unwrap_err().message.contains(".svg"));
    }
}
