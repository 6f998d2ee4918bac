// SPDX-License-Identifier: Apache-2.0
/**
 * Our informers beside those of client-node, and the watch of Pepr (kubernetes-fluent-client, if FLUENT_CLIENT is its folder): the same server, the same
 * objects, the same faults. Writes its section of bench/README.md.
 */
import { type ChildProcess, fork } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { machine, rewriteSection } from '../page.ts';
import { cpuSeconds, memoryOf } from '../side-by-side/process-cost.ts';
import { table } from '../side-by-side/report.ts';
import type { Client, Seen } from './client.ts';
import type { Death, Order, Report } from './server.ts';

const count = 20_000;
const changes = 10_000;
const perSecond = 1_000;
/** The number of objects where watches die: the time of a recovery does not depend on it. */
const few = 200;
/** For how long a change is waited for. Pepr's watch looks again after five minutes. */
const patienceMs = 400_000;

const deaths: Readonly<Record<Death, string>> = {
  silent: 'the connection goes silent',
  broken: 'the connection breaks',
  ended: 'the server ends the watch',
  expired: 'the version is too old (410)',
  refused: 'the connection breaks, and the server answers 500 for 3 s',
};

interface Peer extends AsyncDisposable {
  readonly pid: number;
  readonly seen: () => Promise<Seen>;
}

interface Serving extends AsyncDisposable {
  readonly kubeconfig: string;
  /** Resolves with the version of the last of them. */
  readonly change: (howMany: number) => Promise<number>;
  readonly die: (death: Death) => void;
}

function next<T>(child: ChildProcess): Promise<T> {
  return new Promise((resolve) => child.once('message', (message) => resolve(message as T)));
}

async function ended(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null) return;
  const exit = new Promise((resolve) => child.once('exit', resolve));
  child.kill('SIGKILL');
  await exit;
}

async function startServer(objects: number): Promise<Serving> {
  const folder = mkdtempSync(join(tmpdir(), 'informers-'));
  const child = fork(new URL('./server.ts', import.meta.url), [String(objects), folder]);
  await next<Report>(child);
  const order = (each: Order): void => void child.send(each);
  return {
    kubeconfig: join(folder, 'kubeconfig'),
    change: async (howMany) => {
      const changed = next<Report>(child);
      order({ kind: 'change', count: howMany, perSecond });
      const report = await changed;
      return report.kind === 'changed' ? report.version : 0;
    },
    die: (death) => order({ kind: 'die', death }),
    [Symbol.asyncDispose]: async () => {
      await ended(child);
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

function startClient(client: Client, kubeconfig: string): Peer {
  const child = fork(new URL('./client.ts', import.meta.url), [client, kubeconfig], {
    stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
  });
  return {
    pid: child.pid ?? 0,
    seen: () => {
      const answer = next<Seen>(child);
      child.send('?');
      return answer;
    },
    [Symbol.asyncDispose]: () => ended(child),
  };
}

/** Milliseconds; undefined: not within the patience. */
async function until(test: () => Promise<boolean>): Promise<number | undefined> {
  const startMs = performance.now();
  while (performance.now() - startMs < patienceMs) {
    if (await test()) return performance.now() - startMs;
    await sleep(20);
  }
  return undefined;
}

type Cells = Readonly<Record<string, string>>;
const seconds = (ms: number | undefined): string => (ms === undefined ? 'never' : `${(ms / 1_000).toFixed(1)} s`);
const mib = (value: number): string => `${value.toFixed(0)} MiB`;

async function costOf(client: Client): Promise<Cells> {
  await using server = await startServer(count);
  await using peer = startClient(client, server.kubeconfig);
  const synced = await until(async () => (await peer.seen()).objects === count);
  await sleep(5_000);
  const idle = memoryOf(peer.pid);
  const cpuBefore = cpuSeconds(peer.pid);
  const last = await server.change(changes);
  await until(async () => (await peer.seen()).version === last);
  const cpu = cpuSeconds(peer.pid) - cpuBefore;
  await sleep(5_000);
  return {
    [`start until ${count.toLocaleString('en')} volumes are shown`]: seconds(synced),
    'highest RSS until then': mib(idle.peakMib),
    'RSS, idle': mib(idle.rssMib),
    'CPU time until then': `${cpuBefore.toFixed(1)} s`,
    [`CPU time of ${changes.toLocaleString('en')} changes, ${perSecond.toLocaleString('en')} a second`]: `${cpu.toFixed(1)} s`,
    'RSS, idle afterwards': mib(memoryOf(peer.pid).rssMib),
  };
}

/** From a change of which no open watch reports anything until the client shows it. */
async function recoveryOf(client: Client, death: Death): Promise<Cells> {
  await using server = await startServer(few);
  await using peer = startClient(client, server.kubeconfig);
  await until(async () => (await peer.seen()).objects === few);
  // The watch is open.
  const first = await server.change(10);
  await until(async () => (await peer.seen()).version === first);
  server.die(death);
  await sleep(100);
  const last = await server.change(1);
  return { [deaths[death]]: seconds(await until(async () => (await peer.seen()).version === last)) };
}

const versionIn = (folder: string): string =>
  (JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as { readonly version: string }).version;
const fluentFolder = process.env['FLUENT_CLIENT'];
const nodeClient = join(import.meta.dirname, '../../../node_modules/@kubernetes/client-node');
const clients: Readonly<Partial<Record<Client, string>>> = {
  ours: 'ours',
  'client-node': `client-node ${versionIn(nodeClient)}`,
  ...(fluentFolder === undefined ? {} : { fluent: `kubernetes-fluent-client ${versionIn(fluentFolder)}` }),
};

const wanted = Object.keys(clients) as Client[];
const costs: Cells[] = [];
for (const client of wanted) costs.push(await costOf(client));
// All at once: they wait, and need little.
const recoveries = await Promise.all(
  wanted.map((client) => Promise.all((Object.keys(deaths) as Death[]).map((death) => recoveryOf(client, death)))),
);
const columns = wanted.map((_, at): Cells => Object.assign({}, costs[at], ...(recoveries[at] ?? [])));
const rows = Object.keys(columns[0] ?? {});
const section = `Node.js ${process.version}; ${machine}.\n\n${table(
  ['', ...Object.values(clients)],
  rows.map((row) => [row, ...columns.map((column) => column[row] ?? '')]),
)}`;
console.log(section);
if (!process.argv.includes('--quick')) rewriteSection('informers', section);
