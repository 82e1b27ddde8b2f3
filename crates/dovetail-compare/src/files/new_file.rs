//! A file that appears only once it is complete.
//!
//! Where supported (Linux, most file systems), the file has no name until then, so that nothing is left behind however the
//! program ends; elsewhere it is a temporary file in the same folder. Pipes and devices are written to directly.

use std::{
    fs::{self, File, OpenOptions},
    io::{self, ErrorKind, Seek, Write},
    path::{Path, PathBuf},
};

use tempfile::{Builder, NamedTempFile, tempfile};

use crate::error::Error;

/// A file that is opened now and takes its name, possibly replacing another file, when it is [kept](Self::keep). If dropped
/// before, everything stays as it was.
#[derive(Debug)]
pub struct NewFile {
    path: PathBuf,
    place: Place,
}

#[derive(Debug)]
enum Place {
    /// A nameless file, and its future path.
    #[cfg(target_os = "linux")]
    Nameless(File, PathBuf),
    /// A temporary file, and its future path.
    Beside(NamedTempFile, PathBuf),
    /// To be copied over a file in a folder where no others can be created.
    Over(File, File),
    /// A pipe or a device.
    Straight(File),
}

impl NewFile {
    /// Ensures that `path` can be written, without changing anything there.
    ///
    /// # Errors
    /// [`Error::File`] if it cannot.
    pub fn open(path: &Path) -> Result<Self, Error> {
        let place = place(path).map_err(|error| Error::file("write", path, error))?;
        Ok(Self { path: path.to_owned(), place })
    }

    /// Its future path.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// A handle for writing; it shares its position with this one.
    ///
    /// # Errors
    /// [`Error::File`] if the system's limit of open files is reached.
    pub fn writer(&self) -> Result<File, Error> {
        self.file().try_clone().map_err(|error| Error::file("write", &self.path, error))
    }

    fn file(&self) -> &File {
        match &self.place {
            #[cfg(target_os = "linux")]
            Place::Nameless(file, _) => file,
            Place::Beside(file, _) => file.as_file(),
            Place::Over(file, _) | Place::Straight(file) => file,
        }
    }

    /// Writes a text and keeps the file.
    ///
    /// # Errors
    /// [`Error::File`] if that fails; everything stays as it was.
    pub fn keep_text(self, text: &str) -> Result<(), Error> {
        self.file().write_all(text.as_bytes()).map_err(|error| Error::file("write", &self.path, error))?;
        self.keep()
    }

    /// Gives the file its name, replacing another file with that name.
    ///
    /// # Errors
    /// [`Error::File`] if that fails; everything stays as it was.
    pub fn keep(self) -> Result<(), Error> {
        let Self { path, place } = self;
        let kept = match place {
            #[cfg(target_os = "linux")]
            Place::Nameless(file, target) => take_mode(&file, &target).and_then(|()| nameless::name(&file, &target)),
            Place::Beside(file, target) => take_mode(file.as_file(), &target)
                .and_then(|()| file.persist(target).map(drop).map_err(|error| error.error)),
            Place::Over(from, to) => copy(from, to),
            Place::Straight(_) => Ok(()),
        };
        kept.map_err(|error| Error::file("write", &path, error))
    }
}

/// Where to write what belongs at `path`.
fn place(path: &Path) -> io::Result<Place> {
    #[cfg(unix)]
    if let Some(file) = standard(path)? {
        return Ok(Place::Straight(file));
    }
    // A link remains a link: its target is replaced.
    let (target, old) = match fs::metadata(path) {
        Ok(metadata) if metadata.is_dir() => return Err(io::Error::other("it is a folder")),
        Ok(metadata) => {
            let old = OpenOptions::new().write(true).open(path)?;
            if !metadata.is_file() {
                return Ok(Place::Straight(old));
            }
            (fs::canonicalize(path)?, Some(old))
        }
        Err(error) if error.kind() == ErrorKind::NotFound => (led_to(path), None),
        Err(error) => return Err(error),
    };
    if target.file_name().is_none() {
        return Err(io::Error::other("it names no file"));
    }
    let folder = target.parent().filter(|folder| *folder != Path::new("")).unwrap_or(Path::new("."));
    if !folder.exists() {
        return Err(io::Error::other(format!("there is no folder {}: create it", folder.display())));
    }
    #[cfg(target_os = "linux")]
    if let Some(file) = nameless::file_in(folder) {
        return Ok(Place::Nameless(file, target));
    }
    match (beside(folder), old) {
        (Ok(file), _) => Ok(Place::Beside(file, target)),
        (Err(_), Some(old)) => Ok(Place::Over(tempfile()?, old)),
        (Err(error), None) => Err(error),
    }
}

/// Standard output or error, given by their device names. They may be files, to which later output is appended.
#[cfg(unix)]
fn standard(path: &Path) -> io::Result<Option<File>> {
    use std::os::fd::AsFd as _;
    let open = match path.to_str() {
        Some("/dev/stdout") => io::stdout().as_fd().try_clone_to_owned()?,
        Some("/dev/stderr") => io::stderr().as_fd().try_clone_to_owned()?,
        _ => return Ok(None),
    };
    Ok(Some(File::from(open)))
}

/// The target of a link that does not exist yet.
fn led_to(path: &Path) -> PathBuf {
    match fs::read_link(path) {
        Ok(next) => path.parent().unwrap_or(Path::new(".")).join(next),
        Err(_) => path.to_owned(),
    }
}

fn beside(folder: &Path) -> io::Result<NamedTempFile> {
    let mut builder = Builder::new();
    builder.prefix(".dovetail-").suffix(".tmp");
    #[cfg(unix)]
    builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
    // The library's error repeats the path, which our message states anyway.
    builder.tempfile_in(folder).map_err(|error| error.kind().into())
}

/// A file that replaces another gets the same permissions.
fn take_mode(file: &File, target: &Path) -> io::Result<()> {
    match fs::metadata(target) {
        Ok(metadata) => file.set_permissions(metadata.permissions())?,
        Err(error) if error.kind() == ErrorKind::NotFound => {}
        Err(error) => return Err(error),
    }
    // A full disk may only be noticed here.
    file.sync_all()
}

fn copy(mut from: File, mut to: File) -> io::Result<()> {
    from.rewind()?;
    to.set_len(0)?;
    io::copy(&mut from, &mut to)?;
    to.sync_all()
}

/// Nameless files.
#[cfg(target_os = "linux")]
mod nameless {
    use std::{
        ffi::OsString,
        fs::{self, File},
        io,
        os::fd::AsRawFd as _,
        path::Path,
        process,
    };

    use rustix::{
        fs::{AtFlags, CWD, Mode, OFlags, linkat, open},
        io::Errno,
    };

    /// Creates one in `folder`, if its file system supports them.
    pub(super) fn file_in(folder: &Path) -> Option<File> {
        let file = open(folder, OFlags::WRONLY | OFlags::TMPFILE | OFlags::CLOEXEC, Mode::from_raw_mode(0o666));
        let file = File::from(file.ok()?);
        // Its name is given through this path.
        Path::new(&in_proc(&file)).exists().then_some(file)
    }

    fn in_proc(file: &File) -> String {
        format!("/proc/self/fd/{}", file.as_raw_fd())
    }

    /// Links `file` at `target`.
    pub(super) fn name(file: &File, target: &Path) -> io::Result<()> {
        let link = |path: &Path| linkat(CWD, in_proc(file).as_str(), CWD, path, AtFlags::SYMLINK_FOLLOW);
        match link(target) {
            Err(Errno::EXIST) => {}
            done => return Ok(done?),
        }
        // A link does not replace a file, but a rename does.
        let mut name = OsString::from(".dovetail-");
        name.push(format!("{}-{}.tmp", process::id(), file.as_raw_fd()));
        let beside = target.with_file_name(name);
        link(&beside)?;
        fs::rename(&beside, target).inspect_err(|_| {
            let _ = fs::remove_file(&beside);
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_replaced_whole_and_nothing_is_left_beside() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.toml");
        let entries = || fs::read_dir(folder.path()).unwrap().count();
        NewFile::open(&path).unwrap().keep_text("old").unwrap();
        let before = File::open(&path).unwrap();
        let new = NewFile::open(&path).unwrap();
        new.writer().unwrap().write_all(b"half").unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "old");
        drop(new);
        assert_eq!((fs::read_to_string(&path).unwrap(), entries()), ("old".to_owned(), 1));
        NewFile::open(&path).unwrap().keep_text("new").unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "new");
        // A reader with the old file open still reads the old text: it was not overwritten.
        assert_eq!(io::read_to_string(before).unwrap(), "old");
        assert_eq!(entries(), 1);
        let missing = NewFile::open(&folder.path().join("none/a.toml")).unwrap_err().to_string();
        assert!(missing.ends_with("/none: create it") && missing.contains(": there is no folder "), "{missing}");
        assert!(NewFile::open(folder.path()).is_err());
        assert_eq!(entries(), 1);
    }

    #[test]
    fn what_is_beside_its_place_takes_it_as_well() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.toml");
        fs::write(&path, "a long old text").unwrap();
        let at = |place| NewFile { path: path.clone(), place };
        at(Place::Beside(beside(folder.path()).unwrap(), path.clone())).keep_text("beside").unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "beside");
        let old = OpenOptions::new().write(true).open(&path).unwrap();
        at(Place::Over(tempfile().unwrap(), old)).keep_text("over").unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "over");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[cfg(unix)]
    #[test]
    fn a_link_stays_a_link_and_a_file_keeps_its_mode() {
        use std::os::unix::fs::{PermissionsExt as _, symlink};
        let folder = tempfile::tempdir().unwrap();
        let [path, link] = ["a.toml", "link"].map(|name| folder.path().join(name));
        symlink("a.toml", &link).unwrap();
        NewFile::open(&link).unwrap().keep_text("new").unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "new");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
        NewFile::open(&link).unwrap().keep_text("newer").unwrap();
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o640);
        assert_eq!(fs::read_to_string(&path).unwrap(), "newer");
    }
}
