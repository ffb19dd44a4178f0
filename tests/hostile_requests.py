"""Requests and bodies that mean no good, for the tests of the service."""

import itertools
import re
import socket
import string


def raw(address, data, *, seconds=5.0, close=False):
    """What a service says to bytes; b"" if it hangs up."""
    host, port = address[len("http://") :].strip("/").split(":")
    with socket.create_connection((host, int(port)), timeout=seconds) as line:
        try:
            line.sendall(data)
            if close:
                line.shutdown(socket.SHUT_WR)
            return line.recv(4096)
        except OSError:
            return b""


def request(body, kind, length=None, method="POST", path="/v1/test", more=""):
    """A request byte by byte."""
    length = len(body) if length is None else length
    return (
        f"{method} {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: {kind}\r\nConnection: close\r\n{more}"
        f"Content-Length: {length}\r\n\r\n"
    ).encode() + body


def mutated(chance, forms):
    """A body that is broken in a chance way, and the media type that it is sent as."""
    body, kind = forms[chance.choice(sorted(forms))]
    way, at = chance.randrange(9), chance.randrange(len(body))
    if way == 0:  # bits
        changed = bytearray(body)
        for _ in range(chance.randrange(1, 9)):
            changed[chance.randrange(len(changed))] ^= 1 << chance.randrange(8)
        return bytes(changed), kind
    if way == 1:  # bytes
        changed = bytearray(body)
        for _ in range(chance.randrange(1, 20)):
            changed[chance.randrange(len(changed))] = chance.randrange(256)
        return bytes(changed), kind
    if way == 2:  # cut
        return body[:at] + body[at + chance.randrange(40) :] * chance.randrange(2), kind
    if way == 3:  # a piece repeated
        piece = body[at : at + chance.randrange(1, 400)]
        return body[:at] + piece * chance.randrange(2, 200) + body[at:], kind
    if way == 4:  # another encoding
        encoding = chance.choice(["utf-16", "utf-32", "utf-7", "cp037", "latin-1"])
        return body.decode().replace("blue", "bl\u00fc").encode(encoding), kind
    if way == 5:  # deep nesting
        opening = chance.choice([b"[", b'{"a":', b'[{"a":[', b'"', b"("])
        return body[:at] + opening * chance.randrange(1, 20_000) + body[at:], kind
    if way == 6:  # numbers that are long, large or none
        number = chance.choice(
            [b"9" * chance.randrange(1, 9000), b"1e999", b"-0", b"NaN", b"0." + b"1" * 5000, b"1_0"]
        )
        return re.sub(rb"-?\d+\.\d+", lambda _: number, body, count=chance.randrange(1, 9)), kind
    if way == 7:  # many columns
        number = chance.choice([1, 900, 2000, 50_000])
        names = [b"c%d" % i for i in range(number)]
        some = [
            b",".join(names) + b"\n" + b",".join([b"1"] * number),
            b'{"rows": [{' + b",".join(b'"%s": 1' % name for name in names) + b"}]}",
            b'{"columns": {' + b",".join(b'"%s": [1]' % name for name in names) + b"}}",
        ]
        return chance.choice(some), kind
    odd = [
        b"",
        b"\xff\xfe",
        b"null",
        b'{"rows": [{"\\ud800": 1, "income": 2}]}',
        b"\0" * 99,
        b'"' * 99,
    ]
    return chance.choice([*odd, chance.randbytes(chance.randrange(3000))]), kind


def largest(size):
    """Name -> (body, media type) of bodies as large as is allowed, each of as much of something as it can hold."""
    letters = itertools.product(string.ascii_letters.encode(), repeat=4)
    names = [bytes(one) for one in itertools.islice(letters, 900_000)]
    json = {
        "an object of a million names": (b'{"rows":[{', [b'"%s":1,' % one for one in names], b'"a":1}]}'),
        "a million columns": (b'{"columns":{', [b'"%s":[1],' % one for one in names], b'"a":[]}}'),
        "lists": (b'{"rows":[{"q":[', b"[],", b"1]}]}"),
        "lists in lists": (b'{"rows":[{"q":', b"[", b""),
        "objects": (b'{"rows":[', b"{},", b"{}]}"),
        "small numbers": (b'{"columns":{"income":[', b"1,", b"1]}}"),
        "numbers": (b'{"rows":[{"q":[', b"257,", b"1]}]}"),
        "texts": (b'{"columns":{"\xf0\x9f\x98\x80":[', b'"ab",', b"1]}}"),
        "digits": (b'{"columns":{"income":[', b"9", b"]}}"),
        "digits of a fraction": (b'{"columns":{"income":[0.', b"9", b"]}}"),
        "long numbers": (b'{"columns":{"income":[', b"9" * 4000 + b",", b"1]}}"),
        "texts for numbers": (b'{"columns":{"income":[', b'"' + b"x" * 70 + b'",', b"1]}}"),
        "one text": (b'{"rows":[{"colour":"', b"\xc3\xbc", b'"}]}'),
    }  # fmt: skip
    csv = {
        "a column": (b"income\n", b"1\n", b""),
        "a header of a million names": (b"", b"ab,", b""),
        "a row of millions of cells": (b"income\n", b"ab,", b""),
        "semicolons": (b"income;visits\n", b"1,5;", b""),
        "separators": (b"income\n", b"\t", b""),
        "honest rows": (b"colour,visits,income\n", b"red,1,2.5" + b"0" * 70 + b"\n", b""),
        "different cells": (
            b"colour,visits,income\n",
            [b"c%05d,%05d,%05d.5%s\n" % (i, i, i, b"1" * 60) for i in range(99_000)],
            b"",
        ),
        "columns that nobody knows": (
            b"income," + b",".join(names[:900]) + b"\n",
            b",".join([b"1"] * 901) + b"\n",
            b"",
        ),
        "a text": (b'income\n"', b"a", b""),
        "quotes": (b"income\n", b'"a\n', b""),
        "two quotes": (b"colour\n", b'"a""b"\n', b""),
        "empty lines": (b"income\n", b"\n", b""),
    }  # fmt: skip
    for forms, kind in ((json, "application/json"), (csv, "text/csv")):
        for name, (start, unit, end) in forms.items():
            room = size - len(start) - len(end)
            units = unit if isinstance(unit, list) else [unit] * (room // len(unit))
            middle = b"".join(units[: room // len(units[0])])
            yield name, (start + middle + end, kind)


def hostile(chance, forms):
    """A request that is broken in a chance way."""
    body, kind = mutated(chance, forms)
    way = chance.randrange(6)
    if way == 0:  # huge, by its head
        return request(body, kind, length=chance.choice([10**6, 10**12, 10**30]))
    if way == 1:  # not HTTP
        return chance.randbytes(chance.randrange(1, 3000))
    if way == 2:  # a path, a method
        path = "/" + "".join(
            chance.choice("./%ae2f?&=;\\v1testmodel") for _ in range(chance.randrange(60))
        )
        return request(
            body, kind, method=chance.choice(["GET", "POST", "PUT", "X" * 50]), path=path
        )
    if way == 3:  # a head that is too long, or says two things
        more = [
            "A: " + "b" * 40_000 + "\r\n",
            "Transfer-Encoding: chunked\r\n",
            "Content-Length: 5\r\n",
            "Host: two\r\n",
            "Origin: http://two\r\n",
            "Expect: 100\r\n",
        ]
        return request(body, kind, more=chance.choice(more))
    if way == 4:  # a type that is not read
        return request(body, chance.choice(["", "text/html", "application/vnd.apache.parquet"]))
    return request(body, kind)
