"""What compilation costs: every kernel with its signatures, and the seconds that Numba takes for them.

    python -m benchmarks.bench_compile [--all]

In a fresh folder the kernels that learning and testing need are compiled one after the other (with
``--all`` also those of exact moments and of the monitor).  "Own" are the seconds of the kernel itself, without those of
the kernels that it calls, which are compiled first; "code" is the machine code that the cache holds.  CPU time, so that
a busy machine gives the same table.
"""

from __future__ import annotations

import os
import sys
import tempfile
import time


def main() -> None:
    """Print a Markdown table."""
    with tempfile.TemporaryDirectory() as folder:
        os.environ |= {"NUMBA_CACHE_DIR": folder, "PCIRCUIT_ENGINE": "numba"}
        started = time.process_time()
        from numba.core import event

        import hld
        import pcircuit

        from .measure import machine

        imported = time.process_time() - started
        event.Listener.register(Seconds)  # an abstract class, known only now
        listener = Seconds(event)
        event.register("numba:compile", listener)
        pcircuit.warm_up()
        if "--all" in sys.argv:
            circuit = pcircuit.rat_spn([2] * 4, num_units=2, depth=2, rng=0)
            pcircuit.exact_moments(circuit).operator() @ [1.0] * circuit.num_nodes
            hld.Monitor(circuit).update([0] * 4)
        print(
            f"{machine()}\n\n| kernel | signatures | own s | with callees s |\n| :--- | ---: | ---: | ---: |"
        )
        for name, (count, own, total) in sorted(
            listener.found.items(), key=lambda item: -item[1][1]
        ):
            print(f"| {name} | {count} | {own:.2f} | {total:.2f} |")
        print(
            f"| together, {len(listener.found)} kernels | {sum(c for c, _, _ in listener.found.values())} | "
            f"{sum(own for _, own, _ in listener.found.values()):.2f} | |\n\n"
            f"Importing Numba and the packages: {imported:.2f} s."
        )


class Seconds:
    """Listener of Numba's compilation events: {kernel: [signatures, own seconds, seconds with callees]}."""

    def __init__(self, event):
        self.found: dict = {}
        self._start, self._open = event.EventStatus.START, []

    def notify(self, event):
        """Receive an event: the beginning or the end of a compilation."""
        if event.status == self._start:
            self._open.append([time.process_time(), 0.0])
            return
        began, of_callees = self._open.pop()
        taken = time.process_time() - began
        if self._open:
            self._open[-1][1] += taken
        function = event.data["dispatcher"].py_func
        row = self.found.setdefault(f"{function.__module__}.{function.__name__}", [0, 0.0, 0.0])
        for i, value in enumerate((1, taken - of_callees, taken)):
            row[i] += value


if __name__ == "__main__":
    main()
