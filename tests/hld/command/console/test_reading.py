"""Options for reading a table: lists of names, separators, what is not read, and options that give the same again."""
import warnings

import pytest
from command_line import amounts

import hld
from hld.command.console import reading as command


@pytest.mark.parametrize(("text", "names"), [("a,b", ["a", "b"]), ("a, b", ["a", "b"]),
                                             ('"a,b",c', ["a,b", "c"])])
def test_lists_of_names(text, names):
    """Commas separate, quotes keep."""
    assert command.names(text) == names


@pytest.mark.parametrize(("options", "unread"), [
    (("--drop", "amount"), "'amount'"), (("--columns", "k"), "'amount'"), (("--drop", "more"), None),
    (("--columns", "k,amount"), None), ((), None)])
@pytest.mark.parametrize("command", [("test", "m.hld", "t.csv"), ("explain", "m.hld", "t.csv"),
                                     ("summarize", "m.hld", "t.csv", "-o", "s.json")])
def test_columns_of_the_model_that_are_not_read_are_told(run_here, tmp_path, command, options, unread):
    """They count as missing, and so are an alarm, where whoever drops them wants them not to be tested."""
    table = amounts(200, 1)
    table["more"] = ["x", "y"] * 100
    hld.HLDDetector(num_latents=2, num_epochs=3, rng=0).fit(amounts(200, 0)).save(tmp_path / "m.hld")
    table.to_csv(tmp_path / "t.csv", index=False)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        assert run_here(*command, *options)[0] in (0, 1)
    said = [str(one.message) for one in caught if "not read" in str(one.message)]
    assert said == ([] if unread is None else [
        f"columns of the model that are not read count as missing in all rows: {unread}; to test the others alone, "
        "fit a model without them"])
