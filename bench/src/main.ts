// SPDX-License-Identifier: Apache-2.0
/** `npm run bench -- NAME [options]`: runs one measurement by name; without a name, lists them. */
import { fork } from 'node:child_process';

const benches: Readonly<Record<string, { readonly file: string; readonly what: string }>> = {
  'all-in-one': {
    file: './all-in-one/main.ts',
    what: 'four controllers and livenessprobe in one process beside our own and upstream’s separate programs (UPSTREAM_BIN=<folder>)',
  },
  attacher: {
    file: './attacher/main.ts',
    what: 'csi-attacher beside upstream’s, on a real control plane (UPSTREAM_BIN=<folder>)',
  },
  capacity: {
    file: './capacity/main.ts',
    what: 'csi-provisioner beside upstream’s, publishing capacity (UPSTREAM_BIN=<folder>)',
  },
  'memory-limits': {
    file: './memory-limits/main.ts',
    what: 'how the images start in small memory limits, warm and from a cold page cache (as root)',
  },
  'node-programs': {
    file: './node-programs/main.ts',
    what: 'csi-node-driver-registrar and livenessprobe beside upstream’s, and in one process (UPSTREAM_BIN=<folder>)',
  },
  provisioner: {
    file: './provisioner/main.ts',
    what: 'csi-provisioner beside upstream’s, on a real control plane (UPSTREAM_BIN=<folder>, CSI_DRIVER_BIN=<file>)',
  },
  resizer: {
    file: './resizer/main.ts',
    what: 'csi-resizer beside upstream’s, on a real control plane (UPSTREAM_BIN=<folder>)',
  },
  runtime: { file: './runtime/main.ts', what: 'what the client runtime costs: memory, sync, events, work queue' },
  snapshots: {
    file: './snapshots/main.ts',
    what: 'csi-snapshotter and snapshot-controller beside upstream’s, on a real control plane (UPSTREAM_BIN=<folder>)',
  },
  sources: {
    file: './sources/main.ts',
    what: 'csi-provisioner beside upstream’s, with volumes from a snapshot and from a claim (UPSTREAM_BIN=<folder>)',
  },
  topology: {
    file: './topology/main.ts',
    what: 'csi-provisioner beside upstream’s, with topology and as many nodes as claims (UPSTREAM_BIN=<folder>)',
  },
};

const [name = '', ...args] = process.argv.slice(2);
const bench = Object.hasOwn(benches, name) ? benches[name] : undefined;
if (bench === undefined) {
  for (const [each, { what }] of Object.entries(benches)) console.log(`npm run bench -- ${each.padEnd(13)} ${what}`);
  process.exitCode = name === '' ? 0 : 2;
} else {
  const child = fork(new URL(bench.file, import.meta.url), args);
  // A terminal signals both processes: the child stops in order, and this process waits for it.
  for (const signal of ['SIGINT', 'SIGHUP'] as const) process.on(signal, () => undefined);
  process.on('SIGTERM', () => child.kill('SIGTERM'));
  child.on('exit', (code) => (process.exitCode = code ?? 1));
}
