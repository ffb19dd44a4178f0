"""Requests that mean no good, byte by byte: for the tests of the service, and for its benchmark."""

import socket


def raw(address, data, *, seconds=5.0, close=False):
    """What a service says to bytes; b"" if it hangs up."""
    host, port = address[len("http://") :].strip("/").split(":")
    with socket.create_connection((host, int(port)), timeout=seconds) as line:
        try:
            line.sendall(data)
            if close:
                line.shutdown(socket.SHUT_WR)
            return line.recv(4096)
        except (ConnectionError, TimeoutError):
            return b""


def request(body, kind, length=None, method="POST", path="/v1/test", more=""):
    """A request byte by byte."""
    length = len(body) if length is None else length
    return (
        f"{method} {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: {kind}\r\nConnection: close\r\n{more}"
        f"Content-Length: {length}\r\n\r\n"
    ).encode() + body


def hostile(chance, forms):
    """A request that is broken in a chance way."""
    body, kind = forms[chance.choice(sorted(forms))]
    way = chance.randrange(10)
    if way == 0:  # cut
        return request(body[: chance.randrange(len(body))], kind)
    if way == 1:  # some bytes changed
        changed = bytearray(body)
        for _ in range(chance.randrange(1, 20)):
            changed[chance.randrange(len(changed))] = chance.randrange(256)
        return request(bytes(changed), kind)
    if way == 2:  # another type than it says
        return request(body, forms[chance.choice(sorted(forms))][1])
    if way == 3:  # huge, by its head
        return request(body, kind, length=chance.choice([10**6, 10**12, 10**30]))
    if way == 4:  # not HTTP
        return chance.randbytes(chance.randrange(1, 3000))
    if way == 5:  # a piece repeated
        at = chance.randrange(len(body))
        return request(body[:at] * 3 + body[at:], kind)
    if way == 6:  # a path, a method, a parameter
        path = "/" + "".join(
            chance.choice("./%ae2f?&=;\\v1testmodel") for _ in range(chance.randrange(60))
        )
        return request(
            body, kind, method=chance.choice(["GET", "POST", "PUT", "X" * 50]), path=path
        )
    if way == 7:  # a head that is too long, or says two things
        return request(
            body,
            kind,
            more=chance.choice(
                [
                    "A: " + "b" * 40_000 + "\r\n",
                    "Transfer-Encoding: chunked\r\n",
                    "Content-Length: 5\r\n",
                    "Host: two\r\n",
                    "Expect: 100\r\n",
                ]
            ),
        )
    if way == 8:  # deep or odd JSON
        return request(
            chance.choice(
                [
                    b'{"rows":' + b"[" * 9000,
                    b'{"rows":[' + b'{"a":1},' * 900,
                    b'{"rows":[{"a":1e999}]}',
                    b'{"columns":{"income":[' + b"9" * 5000 + b"]}}",
                    b'{"rows":[{}]}',
                    b"\xff\xfe",
                    b'{"rows":[{"\\ud800":1}]}',
                    b'{"columns":{"income":["\\ud800"]}}',
                ]
            ),
            "application/json",
        )
    return request(chance.randbytes(chance.randrange(3000)), kind)
