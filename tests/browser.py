"""A headless Chromium that does what a person does: pages opened, keys pressed, what is on the screen read.

The browser is spoken to in its own protocol (Chrome DevTools Protocol), JSON messages that end with a zero byte, over
two pipes that it finds as its descriptors 3 and 4; no driver and no port are needed.
"""

import contextlib
import json
import os
import select
import shutil
import subprocess
import sys
import time

CHROMIUM = (
    shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
)
# gives the pipes the numbers that the browser looks at, then becomes the browser
HAND_OVER = """
import fcntl, os, sys
read, write = (fcntl.fcntl(int(fd), fcntl.F_DUPFD, 50) for fd in sys.argv[1:3])
os.dup2(read, 3), os.dup2(write, 4)
os.execv(sys.argv[3], sys.argv[3:])
"""
KEYS = {"Tab": 9, "Enter": 13, " ": 32}


class Page:
    """One page of a running browser."""

    def __init__(self, write, read):
        self._write, self._read, self._rest, self._count, self.events = write, read, b"", 0, []
        target = self.send("Target.createTarget", url="about:blank")["targetId"]
        self._session = self.send("Target.attachToTarget", targetId=target, flatten=True)[
            "sessionId"
        ]
        for part in ("Page", "Runtime", "Network", "Accessibility", "DOM", "Log"):
            self.send(f"{part}.enable")

    _session = None

    def send(self, method, **parameters):
        """Call a method of the protocol; its result."""
        self._count += 1
        message = {"id": self._count, "method": method, "params": parameters}
        if self._session:
            message["sessionId"] = self._session
        os.write(self._write, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._next()
            if answer.get("id") == self._count:
                assert "error" not in answer, (method, answer["error"])
                return answer["result"]
            self.events.append(answer)

    def open(self, address):
        """Go to a page."""
        self.send("Page.navigate", url=address)
        self.until("document.readyState === 'complete'")

    def run(self, script):
        """The value of an expression in the page."""
        found = self.send(
            "Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True
        )
        assert "exceptionDetails" not in found, found
        return found["result"].get("value")

    def until(self, script, seconds=30):
        """Wait for an expression to be true."""
        end = time.monotonic() + seconds
        while not self.run(f"!!({script})"):
            assert time.monotonic() < end, (
                f"{script} did not become true: {self.run('document.body.innerText')}"
            )
            time.sleep(0.02)

    def press(self, key):
        """Press a key."""
        code = KEYS[key]
        text = {"Enter": "\r", " ": " "}.get(key)
        for kind in ("keyDown", "keyUp"):
            more = {"text": text} if text and kind == "keyDown" else {}
            self.send(
                "Input.dispatchKeyEvent",
                type=kind,
                key=key,
                code=key,
                windowsVirtualKeyCode=code,
                **more,
            )

    def write(self, text):
        """Type a text into what has the focus."""
        self.send("Input.insertText", text=text)

    def requests(self):
        """Addresses that the page has asked for."""
        self.run("1")
        return [
            event["params"]["request"]["url"]
            for event in self.events
            if event.get("method") == "Network.requestWillBeSent"
        ]

    def complaints(self):
        """What the browser had to complain of: errors, broken policies."""
        self.run("1")
        return [
            event["params"]
            for event in self.events
            if event.get("method") in ("Log.entryAdded", "Runtime.exceptionThrown")
        ]

    def spoken(self):
        """What a screen reader is told: (role, name) of everything on the page."""
        nodes = self.send("Accessibility.getFullAXTree")["nodes"]
        return [
            (node["role"]["value"], node.get("name", {}).get("value", ""))
            for node in nodes
            if not node["ignored"]
        ]

    def _next(self):
        """The next message."""
        while b"\0" not in self._rest:
            assert select.select([self._read], [], [], 60)[0], "the browser does not answer"
            part = os.read(self._read, 2**16)
            assert part, "the browser has ended"
            self._rest += part
        message, _, self._rest = self._rest.partition(b"\0")
        return json.loads(message)


@contextlib.contextmanager
def browser(folder, *, width=1000, dark=False):
    """A page of a browser of its own, which ends with the block."""
    (theirs_in, write), (read, theirs_out) = os.pipe(), os.pipe()
    command = [
        sys.executable,
        "-S",
        "-c",
        HAND_OVER,
        str(theirs_in),
        str(theirs_out),
        CHROMIUM,
        "--headless",
        "--no-sandbox",
        "--disable-gpu",
        "--disable-dev-shm-usage",
        "--remote-debugging-pipe",
        f"--user-data-dir={folder}",
        f"--window-size={width},900",
        "--no-first-run",
        "about:blank",
    ]
    with subprocess.Popen(
        command,
        pass_fds=(theirs_in, theirs_out),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    ) as run:
        try:
            os.close(theirs_in)
            os.close(theirs_out)
            page = Page(write, read)
            page.send(
                "Emulation.setEmulatedMedia",
                features=[{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}],
            )
            yield page
        finally:
            run.kill()
            os.close(write)
            os.close(read)
