//! Input bytes that several runs read, each from the start.
//!
//! A file is opened anew for each run, and read as far as it went at first: a capture may still be growing. A pipe can be read
//! only once, so its bytes are kept in a nameless temporary file, up to a limit; readers use the bytes that are there and then
//! continue from the pipe. Devices and folders are rejected: `/dev/zero` never ends, and a terminal does not tell its user that
//! input is expected.

use std::{
    env,
    fs::{File, Metadata},
    io::{self, Read, Seek, SeekFrom, Write},
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
};

use crate::{digest::Digest, error::Error, provenance::InputFile};

/// Most bytes kept of a pipe.
const MAX_PIPE_BYTES: u64 = 4 << 30;

/// Longest text that is read as a whole, in bytes. Parsed, a byte of TOML can take 80 of memory.
const MAX_TEXT_BYTES: u64 = 24 << 20;

/// A file or pipe that can be read repeatedly; clones share a pipe's bytes.
#[derive(Debug, Clone)]
pub struct Supply {
    path: PathBuf,
    kind: Kind,
}

#[derive(Debug, Clone)]
enum Kind {
    /// A file of this many bytes when it was opened.
    File(u64),
    Pipe(Arc<Pipe>),
}

impl Supply {
    /// Opens `path`; `-` is standard input.
    ///
    /// # Errors
    /// [`Error::File`] if it cannot be opened, or is a folder or a device.
    pub fn open(path: &Path) -> Result<Self, Error> {
        let failed = |error| Error::file("read", path, error);
        let file = open(path).map_err(failed)?;
        let metadata = file.metadata().map_err(failed)?;
        let kind = if metadata.is_file() {
            Kind::File(metadata.len())
        } else {
            Kind::Pipe(Arc::new(Pipe::keep(file, env::temp_dir()).map_err(failed)?))
        };
        Ok(Self { path: path.to_owned(), kind })
    }

    /// Reads everything from the start; of a file, what it contained when the supply was opened.
    ///
    /// # Errors
    /// [`Error::File`] if a file can no longer be opened, or has become shorter.
    pub fn read(&self) -> Result<Box<dyn Read + Send>, Error> {
        match &self.kind {
            Kind::File(bytes) => match reopen(&self.path, *bytes) {
                Ok(file) => Ok(Box::new(file)),
                Err(error) => Err(Error::file("read", &self.path, error)),
            },
            Kind::Pipe(pipe) => Ok(Box::new(Kept { pipe: pipe.clone(), at: 0 })),
        }
    }

    /// Describes what was read from its start, with its digest.
    ///
    /// # Errors
    /// [`Error::File`] if the rest of a file cannot be read.
    pub(crate) fn digested<R: Read>(&self, kind: &'static str, digest: Digest<R>) -> Result<InputFile, Error> {
        let sha256 = digest
            .finish(matches!(self.kind, Kind::Pipe(_)))
            .map_err(|error| Error::file("read", &self.path, error))?;
        Ok(InputFile { kind, name: self.name(), sha256 })
    }

    /// The path as given.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Its name in texts.
    #[must_use]
    pub fn name(&self) -> String {
        match self.path.file_name() {
            _ if self.path == Path::new("-") => "standard input".to_owned(),
            Some(name) => name.to_string_lossy().into_owned(),
            None => self.path.display().to_string(),
        }
    }
}

/// The whole text at `path`; `-` is standard input. Read once: it may be a pipe.
///
/// # Errors
/// [`Error::File`] if it cannot be read, is not text, or is longer than 24 MiB.
pub fn read_text(path: &Path) -> Result<String, Error> {
    let mut text = String::new();
    let read = open(path).and_then(|file| file.take(MAX_TEXT_BYTES + 1).read_to_string(&mut text));
    match read {
        Ok(bytes) if bytes as u64 > MAX_TEXT_BYTES => {
            Err(Error::file("read", path, io::Error::other(format!("it is longer than {} MiB", MAX_TEXT_BYTES >> 20))))
        }
        Ok(_) => Ok(text),
        Err(error) => Err(Error::file("read", path, error)),
    }
}

/// Replaces `-` by standard input.
pub(crate) fn meant(path: &Path) -> &Path {
    if path == Path::new("-") { Path::new("/dev/stdin") } else { path }
}

/// Opens a file or a pipe.
fn open(path: &Path) -> io::Result<File> {
    let file = File::open(meant(path))?;
    let metadata = file.metadata()?;
    if metadata.is_dir() {
        return Err(io::Error::other("it is a folder"));
    }
    if is_device(&metadata) {
        return Err(io::Error::other("it is a device or a terminal: a file or a pipe is needed"));
    }
    Ok(file)
}

/// The first `bytes` of a file, which may have grown since.
fn reopen(path: &Path, bytes: u64) -> io::Result<io::Take<File>> {
    let file = open(path)?;
    if file.metadata()?.len() < bytes {
        return Err(io::Error::other("it has become shorter during the run: copy it first"));
    }
    Ok(file.take(bytes))
}

#[cfg(unix)]
fn is_device(metadata: &Metadata) -> bool {
    use std::os::unix::fs::FileTypeExt as _;
    metadata.file_type().is_char_device() || metadata.file_type().is_block_device()
}

#[cfg(not(unix))]
fn is_device(_: &Metadata) -> bool {
    false
}

/// A pipe, and the bytes read from it.
#[derive(Debug)]
struct Pipe {
    state: Mutex<State>,
    // Where its bytes are kept.
    folder: PathBuf,
    most: u64,
}

#[derive(Debug)]
struct State {
    /// `None` at its end.
    source: Option<File>,
    kept: File,
    length: u64,
}

impl Pipe {
    fn keep(source: File, folder: PathBuf) -> io::Result<Self> {
        let kept = tempfile::tempfile_in(&folder).map_err(|error| unkept(&folder, &error))?;
        let state = State { source: Some(source), kept, length: 0 };
        Ok(Self { state: Mutex::new(state), folder, most: MAX_PIPE_BYTES })
    }

    /// Reads bytes starting at `at`, which must be kept already or come next.
    fn read(&self, at: u64, buffer: &mut [u8]) -> io::Result<usize> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if at < state.length {
            let most = buffer.len().min(usize::try_from(state.length - at).unwrap_or(usize::MAX));
            state.kept.seek(SeekFrom::Start(at))?;
            return state.kept.read(&mut buffer[..most]);
        }
        let Some(source) = &mut state.source else { return Ok(0) };
        let got = source.read(buffer)?;
        if got == 0 {
            state.source = None;
            return Ok(0);
        }
        if state.length + got as u64 > self.most {
            state.source = None;
            let what = format!("the pipe brings more than {} GiB: write it to a file first", self.most >> 30);
            return Err(io::Error::other(what));
        }
        let length = state.length;
        state.kept.seek(SeekFrom::Start(length))?;
        state.kept.write_all(&buffer[..got]).map_err(|error| unkept(&self.folder, &error))?;
        state.length += got as u64;
        Ok(got)
    }
}

/// An error of the file that a pipe is kept in: without this, it would look like the pipe's.
fn unkept(folder: &Path, error: &io::Error) -> io::Error {
    io::Error::other(format!(
        "a pipe is kept in a temporary file in {}, which failed: {error}; set TMPDIR to another folder",
        folder.display()
    ))
}

/// Reads a pipe from its start.
struct Kept {
    pipe: Arc<Pipe>,
    at: u64,
}

impl Read for Kept {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let got = self.pipe.read(self.at, buffer)?;
        self.at += got as u64;
        Ok(got)
    }
}

#[cfg(all(test, unix))]
mod tests {
    use std::{os::fd::OwnedFd, thread};

    use super::*;

    fn piped(most: u64, bytes: Vec<u8>) -> Supply {
        let (reader, mut writer) = io::pipe().expect("a pipe");
        thread::spawn(move || writer.write_all(&bytes));
        let mut pipe = Pipe::keep(File::from(OwnedFd::from(reader)), env::temp_dir()).expect("a temporary file");
        pipe.most = most;
        Supply { path: PathBuf::from("-"), kind: Kind::Pipe(Arc::new(pipe)) }
    }

    #[test]
    fn a_pipe_is_read_from_its_start_by_all_even_before_its_end() {
        let bytes: Vec<u8> = (0..300_000u32).map(|at| (at % 251) as u8).collect();
        let supply = piped(1 << 20, bytes.clone());
        let mut half = vec![0; 100_000];
        let mut first = supply.read().unwrap();
        first.read_exact(&mut half).unwrap();
        let all = || {
            let mut all = Vec::new();
            supply.clone().read().unwrap().read_to_end(&mut all).unwrap();
            all
        };
        assert!(all() == bytes && all() == bytes);
        let mut rest = Vec::new();
        first.read_to_end(&mut rest).unwrap();
        assert!([half, rest].concat() == bytes);
    }

    #[test]
    fn a_pipe_that_brings_too_much_is_an_error() {
        let error = io::copy(&mut piped(1 << 10, vec![0; 5000]).read().unwrap(), &mut io::sink()).unwrap_err();
        assert!(error.to_string().contains("write it to a file first"), "{error}");
    }

    #[test]
    fn a_pipe_that_cannot_be_kept_says_where() {
        let (reader, _writer) = io::pipe().unwrap();
        let error = Pipe::keep(File::from(OwnedFd::from(reader)), "/nowhere".into()).unwrap_err();
        assert!(error.to_string().starts_with("a pipe is kept in a temporary file in /nowhere"), "{error}");
    }

    #[test]
    fn a_file_that_is_still_written_is_the_same_for_all() {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        file.write_all(b"first").unwrap();
        let supply = Supply::open(file.path()).unwrap();
        let read = || supply.read().map(|bytes| io::read_to_string(bytes).unwrap());
        assert_eq!(read().unwrap(), "first");
        file.write_all(b"second").unwrap();
        assert_eq!(read().unwrap(), "first");
        file.as_file().set_len(3).unwrap();
        let error = read().unwrap_err();
        assert!(error.to_string().contains("shorter"), "{error}");
    }

    #[test]
    fn folders_and_devices_are_refused() {
        for (path, why) in [("/dev/zero", "a device"), ("/dev", "a folder")] {
            for error in [Supply::open(Path::new(path)).unwrap_err(), read_text(Path::new(path)).unwrap_err()] {
                assert!(error.to_string().contains(why), "{error}");
            }
        }
    }
}
