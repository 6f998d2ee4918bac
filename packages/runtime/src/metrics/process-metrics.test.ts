// SPDX-License-Identifier: Apache-2.0
import fs from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import { expect, it, onTestFinished, vi } from 'vitest';
import { registerProcessMetrics } from './process-metrics.ts';
import { createRegistry } from './registry.ts';

const status = 'Name:\tnode\nVmPeak:\t    9999 kB\nVmSize:\t    2048 kB\nRssAnon:\t     512 kB\nThreads:\t7\n';
const limits = [
  'Limit                     Soft Limit           Hard Limit           Units     ',
  'Max processes             63431                63431                processes ',
  'Max open files            1024                 524288               files     ',
].join('\n');

/** The page of a process in whose /proc are these files. */
async function pageOf(proc: Readonly<Record<string, string>>, openFiles: readonly string[] | undefined) {
  const { memoryUsage } = process;
  onTestFinished(() => {
    vi.restoreAllMocks();
    syncBuiltinESMExports();
    process.memoryUsage = memoryUsage;
  });
  vi.spyOn(process, 'cpuUsage').mockReturnValue({ user: 1_500_000, system: 250_000 });
  const usage = { ...memoryUsage(), heapUsed: 2_000_003 };
  process.memoryUsage = Object.assign(() => usage, { rss: () => 3_000_001 });
  const known = <T>(found: T | undefined): T => {
    if (found === undefined) throw new Error('ENOENT');
    return found;
  };
  const registry = createRegistry();
  registerProcessMetrics(registry, 1_700_000_000_500);
  vi.spyOn(fs, 'readFileSync').mockImplementation((path) => known(proc[path as string]));
  vi.spyOn(fs, 'readdirSync').mockImplementation(
    (path) => known(path === '/proc/self/fd' ? openFiles : undefined) as never,
  );
  syncBuiltinESMExports();
  return await registry.text();
}

it('given a process of Linux, then the page has its start, CPU time, memory and open files', async () => {
  const text = await pageOf({ '/proc/self/status': status, '/proc/self/limits': limits }, ['0', '1', '2']);
  expect(text.split('\n')).toEqual([
    '# HELP process_start_time_seconds [ALPHA] Start time of the process since unix epoch in seconds.',
    '# TYPE process_start_time_seconds gauge',
    'process_start_time_seconds 1700000000.5',
    '# HELP process_cpu_seconds_total Total user and system CPU time spent in seconds.',
    '# TYPE process_cpu_seconds_total counter',
    'process_cpu_seconds_total 1.75',
    '# HELP process_resident_memory_bytes Resident memory size in bytes.',
    '# TYPE process_resident_memory_bytes gauge',
    'process_resident_memory_bytes 3000001',
    '# HELP process_virtual_memory_bytes Virtual memory size in bytes.',
    '# TYPE process_virtual_memory_bytes gauge',
    'process_virtual_memory_bytes 2097152',
    '# HELP process_anonymous_memory_bytes Resident memory that no file backs, in bytes.',
    '# TYPE process_anonymous_memory_bytes gauge',
    'process_anonymous_memory_bytes 524288',
    '# HELP process_open_fds Number of open file descriptors.',
    '# TYPE process_open_fds gauge',
    'process_open_fds 3',
    '# HELP process_max_fds Maximum number of open file descriptors.',
    '# TYPE process_max_fds gauge',
    'process_max_fds 1024',
    '# HELP nodejs_heap_used_bytes JavaScript heap in use, in bytes.',
    '# TYPE nodejs_heap_used_bytes gauge',
    'nodejs_heap_used_bytes 2000003',
    '',
  ]);
});

it.each([
  ['without /proc', {}],
  ['whose /proc has none of the lines', { '/proc/self/status': 'Name:\tnode\n', '/proc/self/limits': 'Limit\n' }],
])('given a system %s, then the page lacks the families that are read there', async (_, proc) => {
  const text = await pageOf(proc, undefined);
  expect(text.match(/^[a-z]\w+/gm)).toEqual([
    'process_start_time_seconds',
    'process_cpu_seconds_total',
    'process_resident_memory_bytes',
    'nodejs_heap_used_bytes',
  ]);
});
