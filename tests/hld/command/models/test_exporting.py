"""`hld export`: the files that the library writes, and what is not written."""

import pytest
from command_line import amounts

import hld
from hld.export.c_source import c_source


def test_the_command_writes_the_c_that_the_library_writes(run, folder):
    status, out, err = run("export", "model.hld", "--c", "alone.c")
    content = (folder / "alone.c").read_text(encoding="ascii")
    assert (status, err, content) == (0, "", c_source(hld.load(folder / "model.hld")))
    assert out == f"wrote alone.c: {len(content):,} bytes\n"


def test_the_command_writes_both_files(run, folder):
    pytest.importorskip("onnx")
    from hld.export.onnx_graph import onnx_model

    status, out, err = run("export", "model.hld", "--c", "m.c", "--onnx", "m.onnx")
    detector, content = hld.load(folder / "model.hld"), (folder / "m.onnx").read_bytes()
    assert (status, err) == (0, "")
    assert content == onnx_model(detector).SerializeToString()
    assert (folder / "m.c").read_text(encoding="ascii") == c_source(detector)
    assert out.splitlines()[1] == f"wrote m.onnx: {len(content):,} bytes"


def test_nothing_to_write_is_an_error(run):
    assert run("export", "model.hld") == (
        2,
        "",
        "hld: error: nothing to write: give --c FILE.c, --onnx FILE.onnx, or both\n",
    )


def test_what_is_not_exported_is_said_with_the_option_of_the_shell(run_here, tmp_path):
    hld.HLDDetector(num_latents=2, num_epochs=3, rng=0).fit(amounts(200, 0)).save(
        tmp_path / "m.hld"
    )
    status, _, err = run_here("export", "m.hld", "--c", "m.c")
    assert status == 2
    assert "--metric likelihoods" in err


@pytest.mark.parametrize("other", ["same", "./same", "link"])
def test_two_outputs_of_one_name_are_refused_before_the_work(run, folder, other):
    """The graph had replaced the C, and both were said to be written."""
    (folder / "link").unlink(missing_ok=True)
    (folder / "link").symlink_to("same")
    for argv in (
        ("export", "absent.hld", "--c", "same", "--onnx", other),
        ("sample", "absent.hld", "-n", "3", "-o", "same", "--report", other),
    ):
        (folder / "same").write_text("as it was")
        status, out, err = run(*argv)
        assert (status, out) == (2, "")
        assert err == (
            f"hld: error: '{other}' is to be written twice, expected a file for each "
            "output: one would replace the other\n"
        )
        assert (folder / "same").read_text() == "as it was"


@pytest.mark.parametrize("option", ["--c", "--onnx"])
def test_the_model_is_not_replaced_by_its_export(run, folder, option):
    model = (folder / "model.hld").read_bytes()
    status, out, err = run("export", "model.hld", option, "model.hld")
    assert (status, out, (folder / "model.hld").read_bytes()) == (2, "", model)
    assert "'model.hld' is read by this command, expected another file to write" in err
