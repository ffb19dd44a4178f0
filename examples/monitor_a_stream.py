"""Watch a stream and look after every row: an alarm that may be asked at any moment and stays honest.

Repeating a test after every row would raise a false alarm sooner or later; the monitor's probability of ever raising
one is at most alpha.
"""

import pathlib
import tempfile

import hld
import pcircuit

sensors = [4] * 6  # six sensors with four levels each
usual = pcircuit.rat_spn(sensors, num_units=4, depth=2, rng=0)
broken = pcircuit.rat_spn(sensors, num_units=4, depth=2, rng=1)

monitor = hld.Monitor(usual, alpha=0.01)
for hour in range(20):
    print(f"hour {hour:2}:", monitor.update(pcircuit.sample(usual, 50, rng=hour)))

# the process may stop and go on elsewhere: the state is one file
with tempfile.TemporaryDirectory() as folder:
    path = pathlib.Path(folder, "stream.monitor")
    monitor.save(path)
    monitor = hld.Monitor.load(path, usual)

for hour in range(20, 24):
    result = monitor.update(pcircuit.sample(broken, 50, rng=hour))
    print(f"hour {hour:2}:", result)
    if result.alarm:
        break
