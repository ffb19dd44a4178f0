#!/bin/sh
# A nightly check by exit status.  In the crontab:
#   30 2 * * *  /opt/checks/nightly.sh /var/lib/hld/orders.hld /data/orders/today.csv /var/www/reports
# hld test ends with 0 (no shift found), 1 (shift found) or 2 (error): a shift is news, an error is a broken check.
set -u
model=$1 batch=$2 reports=$3
report="$reports/$(date +%F).html"
verdict=$(hld test "$model" "$batch" --alpha 0.001 --report "$report" 2>&1)
status=$?
case $status in
    0) ;;                                                        # cron is silent where there is nothing to say
    1) printf 'Shift found in %s\n%s\nReport: %s\n' "$batch" "$verdict" "$report" ;;
    *) printf 'The check of %s failed\n%s\n' "$batch" "$verdict" >&2; exit "$status" ;;
esac
