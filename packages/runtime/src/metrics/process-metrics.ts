// SPDX-License-Identifier: Apache-2.0
/** The process families that dashboards of the original sidecars use; `go_*` has no counterpart here. */
import { readdirSync, readFileSync } from 'node:fs';
import type { Metrics } from './metrics.ts';

export function registerProcessMetrics(metrics: Metrics, startTimeMs: number): void {
  const number = (type: 'counter' | 'gauge', [name, help]: readonly [string, string], read: Read): void => {
    metrics[type]({
      name,
      help,
      collect: () => {
        const value = read();
        return value === undefined ? [] : [{ labels: {}, value }];
      },
    });
  };
  const gauge = (name: string, help: string, read: Read): void => number('gauge', [name, help], read);
  registerStartTime(metrics, startTimeMs);
  number('counter', ['process_cpu_seconds_total', 'Total user and system CPU time spent in seconds.'], () => {
    const { user, system } = process.cpuUsage();
    return (user + system) / 1e6;
  });
  gauge('process_resident_memory_bytes', 'Resident memory size in bytes.', () => process.memoryUsage.rss());
  gauge('process_virtual_memory_bytes', 'Virtual memory size in bytes.', () => memoryOf('VmSize'));
  gauge('process_anonymous_memory_bytes', 'Resident memory that no file backs, in bytes.', () => memoryOf('RssAnon'));
  gauge('process_open_fds', 'Number of open file descriptors.', () =>
    quietly(() => readdirSync('/proc/self/fd').length),
  );
  gauge('process_max_fds', 'Maximum number of open file descriptors.', () =>
    numberIn('/proc/self/limits', /^Max open files +(\d+)/m),
  );
  gauge('nodejs_heap_used_bytes', 'JavaScript heap in use, in bytes.', () => process.memoryUsage().heapUsed);
}

export function registerStartTime(metrics: Metrics, startTimeMs: number): void {
  metrics.gauge({
    name: 'process_start_time_seconds',
    help: '[ALPHA] Start time of the process since unix epoch in seconds.',
    collect: () => [{ labels: {}, value: startTimeMs / 1_000 }],
  });
}

type Read = () => number | undefined;

function memoryOf(name: string): number | undefined {
  const kibibytes = numberIn('/proc/self/status', new RegExp(`^${name}:\\s+(\\d+) kB$`, 'm'));
  return kibibytes === undefined ? undefined : kibibytes * 1024;
}

function numberIn(path: string, pattern: RegExp): number | undefined {
  const found = quietly(() => pattern.exec(readFileSync(path, 'utf8'))?.[1]);
  return found === undefined ? undefined : Number(found);
}

/** Other systems have no /proc, so they do not have this family. */
function quietly<T>(read: () => T): T | undefined {
  try {
    return read();
  } catch {
    return undefined;
  }
}
