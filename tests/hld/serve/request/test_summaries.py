"""Bodies that are summaries of batches: one or many, as JSON or bytes."""
import hld


def test_summaries_of_many_workers_are_added_up(client, shop):
    detector = hld.load(shop["orders"])
    parts = [detector.summarize(shop["moved"][:100]), detector.summarize(shop["moved"][100:])]
    expected = detector.test(sum(parts))
    many = "[" + ",".join(part.to_json() for part in parts) + "]"
    for body, kind in ((many, "application/json"), (sum(parts).to_json(), "application/json"),
                       (sum(parts).to_bytes(), "application/octet-stream")):
        status, answer = client.json("POST", "/v1/summaries", body, kind)
        assert (status, answer["pvalue"], answer["num_samples"]) == (200, expected.pvalue, 300)
    damaged = bytearray(parts[0].to_bytes())
    damaged[40] ^= 1
    other = hld.load(shop["other"]).summarize(shop["calm"]).to_json()
    twice = many.replace('"num_rows"', '"num_rows": 7, "num_rows"', 1)
    for body, kind, field in ((b"[]", "application/json", "body"), (twice, "application/json", "body"),
                              (bytes(damaged), "application/octet-stream", "body"),
                              (b"[" * 9000, "application/json", "body"), (other, "application/json", "body"),
                              (many, "text/csv", "content-type")):
        status, answer = client.json("POST", "/v1/summaries", body, kind)
        assert (status, answer["error"]["field"]) == (415 if kind == "text/csv" else 400, field)
