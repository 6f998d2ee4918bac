// SPDX-License-Identifier: Apache-2.0
/** `npm run bench -- NAME [options]`: runs one measurement by name; without a name, lists them. */
import { benches } from './benches.ts';
import { runSideBySide } from './side-by-side/run.ts';

/** What has no upstream on a control plane beside it is a program of its own. */
const others: Readonly<Record<string, { readonly what: string; readonly run: () => Promise<unknown> }>> = {
  audit: {
    what: 'the latency of a loop while an audit lists and compares 50,000 volumes',
    run: () => import('./latency/audit.ts'),
  },
  'data-source-validator': {
    what: 'volume-data-source-validator beside upstream’s (UPSTREAM_BIN=<folder>)',
    run: () => import('./claims/data-source-validator.ts'),
  },
  'debug-explain': {
    what: 'the latency of a loop while 200 requests at once ask /debug/explain',
    run: () => import('./latency/questions.ts'),
  },
  explain: {
    what: 'what csi-sidecars explain asks of the API server, in a small cluster and in a large one',
    run: () => import('./explain/main.ts'),
  },
  'health-monitor': {
    what: 'csi-external-health-monitor-controller beside upstream’s (UPSTREAM_BIN=<folder>)',
    run: () => import('./claims/health-monitor.ts'),
  },
  informers: {
    what: 'our informers beside those of client-node and the watch of Pepr (FLUENT_CLIENT=<folder of kubernetes-fluent-client>)',
    run: () => import('./informers/main.ts'),
  },
  'memory-limits': {
    what: 'how the images start in small memory limits, warm and from a cold page cache (as root)',
    run: () => import('./memory-limits/main.ts'),
  },
  'node-programs': {
    what: 'csi-node-driver-registrar and livenessprobe beside upstream’s, and in one process (UPSTREAM_BIN=<folder>)',
    run: () => import('./node-programs/main.ts'),
  },
  runtime: {
    what: 'what the client runtime costs: memory, sync, events, work queue',
    run: () => import('./runtime/main.ts'),
  },
  'snapshot-metadata': {
    what: 'csi-snapshot-metadata beside upstream’s: streams, callers that do not read, bad tokens (UPSTREAM_BIN=<folder>)',
    run: () => import('./metadata/main.ts'),
  },
  traces: {
    what: 'what traces of runs cost: CPU time, memory, allocation',
    run: () => import('./traces/main.ts'),
  },
};

const [name = '', ...args] = process.argv.splice(2, 1).concat(process.argv.slice(2));
if (Object.hasOwn(benches, name)) {
  process.exitCode = await runSideBySide(name, benches[name]!, args);
} else if (Object.hasOwn(others, name)) {
  await others[name]!.run();
} else {
  const all = Object.entries({ ...benches, ...others }).toSorted(([a], [b]) => (a < b ? -1 : 1));
  for (const [each, { what }] of all) console.log(`npm run bench -- ${each.padEnd(13)} ${what}`);
  process.exitCode = name === '' ? 0 : 2;
}
