"""Bodies that are summaries of batches: one or many, as JSON or bytes."""

import numpy as np
import pytest

import hld
from hld.serve.refusals import Refusal
from hld.serve.request import summaries
from hld.serve.request.summaries import FORMS, read_summary, summary_form


def test_summaries_of_many_workers_are_added_up(client, shop):
    detector = hld.load(shop["orders"])
    parts = [detector.summarize(shop["moved"][:100]), detector.summarize(shop["moved"][100:])]
    expected = detector.test(sum(parts))
    many = "[" + ",".join(part.to_json() for part in parts) + "]"
    for body, kind in (
        (many, "application/json"),
        (sum(parts).to_json(), "application/json"),
        (sum(parts).to_bytes(), "application/octet-stream"),
    ):
        status, answer = client.json("POST", "/v1/summaries", body, kind)
        assert (status, answer["pvalue"], answer["num_samples"]) == (200, expected.pvalue, 300)
    damaged = bytearray(parts[0].to_bytes())
    damaged[40] ^= 1
    other = hld.load(shop["other"]).summarize(shop["calm"]).to_json()
    twice = many.replace('"num_rows"', '"num_rows": 7, "num_rows"', 1)
    for body, kind, field in (
        (b"[]", "application/json", "body"),
        (twice, "application/json", "body"),
        (bytes(damaged), "application/octet-stream", "body"),
        (b"[" * 9000, "application/json", "body"),
        (other, "application/json", "body"),
        (many, "text/csv", "content-type"),
    ):
        status, answer = client.json("POST", "/v1/summaries", body, kind)
        assert (status, answer["error"]["field"]) == (415 if kind == "text/csv" else 400, field)


@pytest.fixture(scope="module")
def parts():
    """Summaries of three parts of a table, and of the whole."""
    rows = np.random.default_rng(0).integers(0, 3, size=(60, 2))
    detector = hld.HLDDetector(num_latents=2, num_epochs=2, num_resamples=99).fit(rows)
    return [
        detector.summarize(rows[at])
        for at in (slice(0, 10), slice(10, 11), slice(11, 60), slice(0, 60))
    ]


def joined(parts):
    return ("[" + ", ".join(part.to_json() for part in parts) + "]").encode()


def test_the_sum_of_an_array_is_the_summary_of_all_rows(parts, monkeypatch):
    monkeypatch.setattr(summaries, "MOST", 3)  # as many as that are allowed
    *some, whole = parts
    found = read_summary(joined(some), "json")
    assert found.num_rows == 60
    np.testing.assert_allclose(found.means, whole.means, rtol=1e-12)
    for body in (
        joined([whole]),
        whole.to_json().encode(),
        b"\xef\xbb\xbf" + whole.to_json().encode(),
        b"\xef\xbb\xbf " + joined([whole]),
    ):
        assert read_summary(body, "json").to_bytes() == whole.to_bytes()
    assert read_summary(whole.to_bytes(), "bytes").to_json() == whole.to_json()


@pytest.mark.parametrize(
    ("body", "words"),
    [
        (b"", "Expecting value"),
        (b"[]", "the array has 0 summaries, expected 1 to 3"),
        (b"[1, 2, 3, 4]", "has 4 summaries"),
        (b"[null]", "the summary must be one JSON object"),
        (b"7", "the summary must be one JSON object"),
        (b"\xff", "it is not text in UTF-8"),
        ("[]".encode("utf-16"), "it is not text in UTF-8"),
        (b"[" * 5000, "it is nested too deeply"),
        (b'[{"a": 1, "a": 2}]', "'a'"),
        (b'["\\ud800"]', "half a character"),
    ],
)
def test_what_is_no_summary_is_refused(body, words, monkeypatch):
    """In UTF-16 an array had been read and a single summary not; with a byte order mark, too."""
    monkeypatch.setattr(summaries, "MOST", 3)
    with pytest.raises(Refusal) as refused:
        read_summary(body, "json")
    assert (refused.value.status, refused.value.field) == (400, "body")
    assert words in refused.value.message


def test_summaries_that_do_not_fit_together_or_are_too_many_are_refused(parts, monkeypatch):
    rows = np.random.default_rng(1).integers(0, 3, size=(60, 3))
    other = hld.HLDDetector(num_latents=2, num_epochs=2, num_resamples=99).fit(rows).summarize(rows)
    with pytest.raises(Refusal, match=r"is a summary for the model [0-9a-f]*, expected"):
        read_summary(joined([parts[0], other]), "json")
    with pytest.raises(Refusal, match="not a summary of a batch") as refused:
        read_summary(parts[0].to_bytes()[:-1], "bytes")
    assert refused.value.status == 400
    monkeypatch.setattr(summaries, "MOST_NUMBERS", 10)
    with pytest.raises(Refusal, match="expected at most 10") as refused:
        read_summary(b"[" + b"1," * 20 + b"1]", "json")
    assert refused.value.status == 413


def test_forms_are_known_by_their_media_type():
    assert {summary_form(media.upper() + " ; charset=utf-8") for media in FORMS} == {
        "json",
        "bytes",
    }
    for kind in ("", "text/csv", "application/jsonl"):
        with pytest.raises(
            Refusal, match=f"the body is {kind or 'of no type'}, expected one of"
        ) as refused:
            summary_form(kind)
        assert (refused.value.status, refused.value.field) == (415, "content-type")
