//! Chromium without a window, controlled by the DevTools protocol: zero-terminated JSON over its descriptors 3 and 4
//! (`--remote-debugging-pipe`).

use std::{
    fs,
    io::{BufRead, BufReader, Write},
    path::PathBuf,
    process::{Child, ChildStdin, ChildStdout, Command, Stdio},
    sync::atomic::{AtomicU32, Ordering},
    thread::sleep,
    time::{Duration, Instant},
};

use base64::{Engine, prelude::BASE64_STANDARD};
use serde_json::{Value, json};

/// A browser with one page. Ends when dropped.
pub struct Browser {
    child: Child,
    to: ChildStdin,
    from: BufReader<ChildStdout>,
    session: String,
    asked: u64,
    profile: PathBuf,
}

impl Browser {
    /// A browser, if Chromium is installed on this machine.
    pub fn open() -> Option<Self> {
        Self::open_with(&[])
    }

    /// A browser with additional arguments.
    pub fn open_with(more: &[String]) -> Option<Self> {
        static OPENED: AtomicU32 = AtomicU32::new(0);
        let names = ["chromium", "chromium-browser", "google-chrome"];
        let folders: Vec<PathBuf> = std::env::split_paths(&std::env::var_os("PATH")?).collect();
        let mut places = names.iter().flat_map(|name| folders.iter().map(move |folder| folder.join(name)));
        let Some(found) = places.find(|place| place.exists()) else {
            dovetail_skip::skipped("no Chromium on this machine");
            return None;
        };
        let name = format!("dovetail-admin-{}-{}", std::process::id(), OPENED.fetch_add(1, Ordering::Relaxed));
        let profile = std::env::temp_dir().join(name);
        let mut child = Command::new("sh")
            .args(["-c", "exec \"$0\" \"$@\" 3<&0 4>&1 </dev/null >/dev/null"])
            .arg(found)
            .args(["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"])
            .args(["--disable-background-networking", "--disable-component-update", "--disable-sync"])
            .args(["--disable-dev-shm-usage", "--hide-scrollbars", "--remote-debugging-pipe"])
            .arg(format!("--user-data-dir={}", profile.display()))
            .args(more)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let (to, from) = (child.stdin.take().unwrap(), BufReader::new(child.stdout.take().unwrap()));
        let mut browser = Self { child, to, from, session: String::new(), asked: 0, profile };
        let target = browser.ask("Target.createTarget", json!({ "url": "about:blank" }))["targetId"].clone();
        let attached = browser.ask("Target.attachToTarget", json!({ "targetId": target, "flatten": true }));
        browser.session = attached["sessionId"].as_str().unwrap().to_owned();
        Some(browser)
    }

    /// Sets width, height and dark mode.
    pub fn look(&mut self, width: u32, height: u32, dark: bool) {
        let size = json!({ "width": width, "height": height, "deviceScaleFactor": 1, "mobile": false });
        self.ask("Emulation.setDeviceMetricsOverride", size);
        let scheme = if dark { "dark" } else { "light" };
        let features = json!({ "features": [{ "name": "prefers-color-scheme", "value": scheme }] });
        self.ask("Emulation.setEmulatedMedia", features);
    }

    pub fn go(&mut self, url: &str) {
        self.ask("Page.navigate", json!({ "url": url }));
        self.wait_for(&format!("location.href === '{url}' && document.readyState === 'complete'"));
    }

    /// Why a page cannot be loaded; empty if it can.
    pub fn failure(&mut self, url: &str) -> String {
        self.ask("Page.navigate", json!({ "url": url }))["errorText"].as_str().unwrap_or_default().to_owned()
    }

    pub fn run(&mut self, script: &str) -> Value {
        let answer = self.ask("Runtime.evaluate", json!({ "expression": script, "returnByValue": true }));
        assert!(answer["exceptionDetails"].is_null(), "{script}: {answer:#}");
        answer["result"]["value"].clone()
    }

    /// The value of an expression as text.
    pub fn text(&mut self, expression: &str) -> String {
        self.run(&format!("String({expression})")).as_str().unwrap().to_owned()
    }

    /// Waits until the condition is true.
    pub fn wait_for(&mut self, condition: &str) {
        let began = Instant::now();
        while self.run(&format!("Boolean({condition})")) != true {
            assert!(
                began.elapsed() < Duration::from_secs(30),
                "not {condition}: {}",
                self.text("document.body.innerText")
            );
            sleep(Duration::from_millis(100));
        }
    }

    /// The whole page as PNG.
    pub fn screenshot(&mut self) -> Vec<u8> {
        let picture = self.ask("Page.captureScreenshot", json!({ "captureBeyondViewport": true }));
        BASE64_STANDARD.decode(picture["data"].as_str().unwrap()).unwrap()
    }

    fn ask(&mut self, method: &str, params: Value) -> Value {
        self.asked += 1;
        let mut request = json!({ "id": self.asked, "method": method, "params": params });
        if !self.session.is_empty() {
            request["sessionId"] = self.session.clone().into();
        }
        self.to.write_all(format!("{request}\0").as_bytes()).unwrap();
        loop {
            let mut answer = Vec::new();
            self.from.read_until(0, &mut answer).unwrap();
            assert_eq!(answer.pop(), Some(0), "the browser is gone");
            let answer: Value = serde_json::from_slice(&answer).unwrap();
            if answer["id"] == self.asked {
                assert!(answer["error"].is_null(), "{method}: {answer}");
                return answer["result"].clone();
            }
        }
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        let _ = fs::remove_dir_all(&self.profile);
    }
}
