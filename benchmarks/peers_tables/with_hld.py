"""The jobs with hld."""

import hld


def prepare(train):
    return hld.HLDDetector().fit(train)


def detect(model, batch):
    return model.test(batch).reject


def explain(model, batch):
    return [
        column.name for column in model.test(batch).columns if column.adjusted <= 0.05
    ]  # by Holm


def report(model, batch, path):
    from hld.answers.reports import batch_report, write_page

    write_page(batch_report(model, model.test(batch), batch_name="batch"), path)


def segments(model, table, by):
    result = model.test_by(table, by)
    return [
        str(one) for one, is_shifted in zip(result.labels, result.reject, strict=True) if is_shifted
    ]


def stream(train, rows):
    detector = hld.HLDDetector().fit(train[::2])
    return hld.Monitor(detector, reference=train[1::2]).update(rows).alarm_row


def size(model):
    return str(hld.plan(model, 300))


def save(model, path):
    model.save(path)


def load(path):
    return hld.load(path)
