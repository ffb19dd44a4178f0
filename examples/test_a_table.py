"""Learn the distribution of a table and ask of later batches whether they still follow it."""

import pathlib
import tempfile

import numpy as np
from sklearn.datasets import load_wine

import hld

# 178 wines of three growers, 13 measurements each.  The shop sells those of growers 0 and 1; then come bottles of 2.
wines, grower = load_wine(return_X_y=True, as_frame=True)
known = wines[grower < 2].sample(frac=1, random_state=0)
train, usual, odd = known[:100], known[100:], wines[grower == 2].head(20)

detector = hld.HLDDetector(num_epochs=20).fit(train)
print(detector.test(usual))
result = detector.test(odd)
print(result)

# which measurements tell the bottles apart
found = result.localize()
for variable in np.argsort(found.variable_scores)[::-1][:3]:
    print(f"  {detector.encoder_.names[variable]:<28} {found.variable_scores[variable]:6.1%}")

# several deliveries at once, their p-values adjusted for their number
deliveries = [usual[:10], usual[10:20], odd[:10]]
print(hld.test_batches(detector.test, deliveries))

# one file without rows and without pickle
with tempfile.TemporaryDirectory() as folder:
    path = pathlib.Path(folder, "wines.hld")
    detector.save(path)
    print(f"{path.stat().st_size / 1024:.0f} kB;", hld.load(path).test(odd))
