//! The records of one run.

use std::path::{Path, PathBuf};

use dovetail_sim::records::{Format, Records, path_for};

use crate::{error::Error, files::NewFile};

/// A row for each packet of a run, in a file that appears when the run is over.
pub(crate) struct Recording {
    /// The observer of the run.
    pub(crate) records: Records,
    file: NewFile,
}

impl Recording {
    /// Opens the file of `run` in `folder`; `about` is stored in it if its format supports that.
    pub(crate) fn begin(
        folder: &Path,
        run: &str,
        format: Format,
        resources: &[String],
        about: &[(&str, &str)],
    ) -> Result<Self, Error> {
        let file = NewFile::open(&path_for(folder, run, format))?;
        let records = Records::to(file.writer()?, format, resources, about);
        let records = records.map_err(|error| Error::file("write", file.path(), error))?;
        Ok(Self { records, file })
    }

    /// Completes the file and returns its path.
    pub(crate) fn end(self) -> Result<PathBuf, Error> {
        let Self { records, file } = self;
        let path = file.path().to_owned();
        records.finish().map_err(|error| Error::file("write", &path, error))?;
        file.keep().map(|()| path)
    }
}
