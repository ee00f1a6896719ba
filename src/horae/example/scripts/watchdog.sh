#!/bin/sh
# Silent while the machine is healthy. What it prints is the message, so it prints only when something is wrong.
disk_max=${WATCHDOG_DISK_MAX:-90}    # per cent of a file system
memory_min=${WATCHDOG_MEMORY_MIN:-5} # per cent of memory that must be available

df -P / "$HORAE_HOME" | awk -v max="$disk_max" '
  NR > 1 && !seen[$6]++ { used = $5; sub("%", "", used); if (used + 0 > max) printf "disk %s is %s full\n", $6, $5 }'

if [ -r /proc/meminfo ]; then
  awk -v min="$memory_min" '
    /^MemTotal:/ { total = $2 } /^MemAvailable:/ { free = $2 }
    END { if (total && 100 * free / total < min) printf "memory: only %d%% is available\n", 100 * free / total }' /proc/meminfo
fi
