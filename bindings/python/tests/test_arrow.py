"""Tables are read by what speaks Arrow's PyCapsule interface: the same values by each of its readers."""

import dovetail
import pytest

RESULT = dovetail.simulate("middlebox", ["fifo", "drfq"], overrides={"duration": "20ms"}, records=True)
PACKETS = len(RESULT.records)
LONGEST = max(value for value in RESULT.records["link_end_ns"] if value is not None)


def test_pandas_reads_tables() -> None:
    pandas = pytest.importorskip("pandas", minversion="3")
    for table in (RESULT.summary, RESULT.records):
        frame = pandas.DataFrame.from_arrow(table)
        assert list(frame.columns) == table.columns and len(frame) == len(table)
    assert list(pandas.DataFrame.from_arrow(RESULT.summary)["policy"]) == ["fifo", "drfq"]
    assert pandas.DataFrame.from_arrow(RESULT.records)["link_end_ns"].max() == LONGEST


def test_duckdb_reads_tables() -> None:
    duckdb = pytest.importorskip("duckdb")
    summary, records = RESULT.summary, RESULT.records
    # DuckDB finds them by the names of variables.
    assert duckdb.sql("SELECT policy FROM summary ORDER BY sent, policy").fetchall()
    counted = duckdb.sql("SELECT count(*), max(link_end_ns) FROM records").fetchall()[0]
    assert counted == (PACKETS, LONGEST)
    assert len(summary) == 2 and len(records) == PACKETS


def test_polars_and_pyarrow_read_tables() -> None:
    polars, pyarrow = pytest.importorskip("polars"), pytest.importorskip("pyarrow")
    assert polars.DataFrame(RESULT.records)["link_end_ns"].max() == LONGEST
    assert pyarrow.table(RESULT.records).num_rows == PACKETS
    assert pyarrow.table(RESULT.summary).column_names == RESULT.summary.columns
