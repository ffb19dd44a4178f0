"""An Airflow DAG that tests a day's table before it is used: a shift skips what comes after, an error fails."""

import datetime

from airflow import DAG
from airflow.providers.standard.operators.bash import BashOperator

MODEL, FOLDER = "/var/lib/hld/orders.hld", "/data/orders"

with DAG(
    "orders_drift",
    start_date=datetime.datetime(2026, 1, 1),
    schedule="@daily",
    catchup=False,
    params={"model": MODEL, "folder": FOLDER},
) as dag:
    # exit status 1, shift found, marks the task as skipped; 2, an error, fails it and is tried again
    test = BashOperator(
        task_id="test_distribution",
        retries=2,
        skip_on_exit_code=1,
        bash_command="hld test {{ params.model }} {{ params.folder }}/{{ ds }}.csv --alpha 0.001 "
        "--report {{ params.folder }}/{{ ds }}.html",
    )
    use = BashOperator(
        task_id="use_the_table", bash_command="echo {{ params.folder }}/{{ ds }}.csv is as learned"
    )
    test >> use
