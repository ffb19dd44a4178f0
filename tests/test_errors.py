"""The sentences of errors speak one dialect: the argument in backticks, what is expected, what was found, what to do.

    `alpha` must be a finite number above 0 and below 1, found 1
    `names` has 3 entries, expected 4, one for each variable
    `batches` is empty: give at least one batch

What reads files speaks of parts of a file instead of arguments (`READERS`), and its caller puts the file's name first.
"""

import ast
import re

from test_layers import PATHS, nodes

# rooms and modules that read what is saved, or what is typed in a shell
READERS = (
    "pcircuit/io/",
    "pcircuit/kernels/engine.py",
    "hld/tables/files/",
    "hld/apps/command/",
    "hld/testing/sequential.py",
    "hld/laws/",
    "hld/references/kept_rows.py",
    "hld/features/linear_maps.py",
    "hld/features/odd_rows.py",
    "hld/features/row_scores.py",
    "hld/features/row_vectors.py",
    "hld/tables/schemas/columns.py",
    "hld/tables/schemas/schema.py",
    "hld/tables/schemas/counts.py",
    "hld/answers/profile.py",
    "hld/tables/values.py",
    "hld/testing/summaries/",
    "hld/testing/conditional/conditional_test.py",
    "hld/references/group_statistics.py",
    "hld/references/groups.py",
    "hld/references/stretches.py",
    "hld/apps/serve/",
    "hld/dask/",
    "hld/sql/",
    "hld/testing/planning/",
    "hld/detector/audit.py",
    "hld/detector/two_sample.py",
    "hld/apps/export/",
    "hld/detector/file.py",
    "hld/detector/options.py",
)
ADVICE = re.compile(
    r"\bmust\b|\bexpected\b|\bfound\b|\bneeds?\b|: |; |\bonly\b|, so |, for which |, \{\}$"
)


def text(node):
    """What a message says, {} for what is filled in; None if it is made elsewhere."""
    if isinstance(node, ast.Constant):
        return node.value if isinstance(node.value, str) else None
    if isinstance(node, ast.JoinedStr):
        return "".join(
            part.value if isinstance(part, ast.Constant) else "{}" for part in node.values
        )
    if isinstance(node, ast.BinOp):
        return (text(node.left) or "{}") + (text(node.right) or "{}")
    return None


SENTENCES = [
    (path, node.lineno, text(node.exc.args[0]))
    for path in PATHS
    for node in nodes(path)
    if isinstance(node, ast.Raise)
    and isinstance(node.exc, ast.Call)
    and node.exc.args
    and ast.unparse(node.exc.func) in ("ValueError", "TypeError")
    and text(node.exc.args[0])
]
OF_ARGUMENTS = [row for row in SENTENCES if not row[0].as_posix().startswith(READERS)]


def where(rows):
    return [f"{path}:{line}: {said}" for path, line, said in rows]


def test_they_are_one_sentence_without_a_full_stop():
    wrong = re.compile(r"\n|\.$|\. [A-Z]|; expected|^[A-Z][a-z]")
    assert where(row for row in SENTENCES if wrong.search(row[2])) == []


def test_they_name_the_argument_first():
    # a name in backticks, or a place that the caller fills in
    assert where(row for row in OF_ARGUMENTS if not re.match(r"`[\w.{}]+`|\{\}", row[2])) == []


def test_they_say_what_is_expected_or_what_to_do():
    assert where(row for row in OF_ARGUMENTS if not ADVICE.search(row[2])) == []
