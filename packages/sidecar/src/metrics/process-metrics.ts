// SPDX-License-Identifier: Apache-2.0
/** The process families that dashboards of the original sidecars use; `go_*` has no counterpart here. */
import { readdirSync, readFileSync } from 'node:fs';
import type { Metrics } from '@csi-sidecars/runtime';

export function registerProcessMetrics(metrics: Metrics, startTimeMs: number): void {
  const gauge = (name: string, help: string, read: () => number | undefined): void => {
    metrics.gauge({
      name,
      help,
      collect: () => {
        const value = read();
        return value === undefined ? [] : [{ labels: {}, value }];
      },
    });
  };
  gauge(
    'process_start_time_seconds',
    '[ALPHA] Start time of the process since unix epoch in seconds.',
    () => startTimeMs / 1_000,
  );
  gauge('process_cpu_seconds_total', 'Total user and system CPU time spent in seconds.', () => {
    const { user, system } = process.cpuUsage();
    return (user + system) / 1e6;
  });
  gauge('process_resident_memory_bytes', 'Resident memory size in bytes.', () => process.memoryUsage.rss());
  gauge('process_anonymous_memory_bytes', 'Resident memory that no file backs, in bytes.', anonymousMemory);
  gauge('process_open_fds', 'Number of open file descriptors.', () =>
    quietly(() => readdirSync('/proc/self/fd').length),
  );
  gauge('nodejs_heap_used_bytes', 'JavaScript heap in use, in bytes.', () => process.memoryUsage().heapUsed);
}

function anonymousMemory(): number | undefined {
  return quietly(() => {
    const kibibytes = /^RssAnon:\s+(\d+) kB$/m.exec(readFileSync('/proc/self/status', 'utf8'))?.[1];
    return kibibytes === undefined ? undefined : Number(kibibytes) * 1024;
  });
}

/** /proc is missing on other systems: then the family is. */
function quietly<T>(read: () => T): T | undefined {
  try {
    return read();
  } catch {
    return undefined;
  }
}
