// SPDX-License-Identifier: Apache-2.0
/**
 * What `csi-sidecars explain` asks of a real API server, and what it needs itself, in a small cluster and in a large one. It ends by itself:
 * creating objects has a time limit, and how many there were is in the table. It asserts only that every answer has the row that it must have.
 */
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { applyRbac, extraRules, findProgram, kubeconfigOf, onInterrupt } from '@csi-sidecars/e2e';
import { explainRules } from '@csi-sidecars/explain';
import { machine, rewriteSection } from '../page.ts';
import { openBenchCluster, type BenchCluster } from '../side-by-side/bench-cluster.ts';
import { median } from '../side-by-side/measures.ts';
import { table } from '../side-by-side/report.ts';
import { type Asked, ask, type Asking } from './ask.ts';
import { claimsOfNode, fill } from './fill.ts';
import { awayMs, openSlowDoor, type SlowDoor } from './slow-door.ts';
import { createSubjects, storage, type Subject, subjects } from './subjects.ts';

const small = 1_000;
const rounds = 5;

const { values: options } = parseArgs({
  args: process.argv.slice(2),
  options: { claims: { type: 'string', default: '50000' }, minutes: { type: 'string', default: '6' } },
});

/** What was measured of one subject among so many claims of others. */
interface Measured {
  readonly claims: number;
  readonly asked: readonly Asked[];
  readonly objects: number;
  readonly awayTookMs: number;
}

await using stack = new AsyncDisposableStack();
const signal = onInterrupt();
const cluster = await openBenchCluster({ name: 'explain', env: process.env, signal }, stack);
await cluster.controlPlane.components.get('kube-controller-manager')?.stop();
await createSubjects(cluster);
const { near, away, door } = await prepare(cluster);

const measured = new Map<Subject, Measured[]>(subjects.map((subject) => [subject, []]));
const untilMs = cluster.clock.monotonicMs() + Number(options.minutes) * 60_000;
let claims = 0;
for (const to of [small, Number(options.claims)]) {
  const began = cluster.clock.monotonicMs();
  const from = claims;
  claims = await fill(cluster, { from, to, untilMs });
  const seconds = (cluster.clock.monotonicMs() - began) / 1000;
  console.log(`${claims} claims of others: ${Math.round((claims - from) / seconds)} more each second`);
  // etcd and the API server are busy with what was created for a while.
  await cluster.clock.sleep(30_000, signal);
  for (const subject of subjects) measured.get(subject)!.push(await measure(subject, claims));
}

const text = table(['', ...subjects.flatMap(({ what }) => [what, '', ''])], rowsOf());
console.log(text);
const nodeCount = Math.ceil(claims / claimsOfNode);
const setting = [
  `Kubernetes ${cluster.kubernetes}; Node.js ${process.version}; machine ${machine}.`,
  `Of others: ${small} claims, and then ${claims}, each with a PersistentVolume, a VolumeAttachment and two events, and ${nodeCount} nodes with a CSINode.`,
  `Medians of ${rounds} calls.`,
].join(' ');
rewriteSection('explain', `${setting}\n\n${text}`);

interface Prepared {
  readonly near: Asking;
  readonly away: Asking;
  readonly door: SlowDoor;
}

async function prepare({ api, clock, controlPlane, scratch }: BenchCluster): Promise<Prepared> {
  const account = { namespace: storage, name: 'explain' };
  const rules = explainRules.map(({ apiGroups, resources, verbs }) => ({ apiGroups, resources, verbs }));
  await applyRbac(api, [
    { apiVersion: 'v1', kind: 'ServiceAccount', metadata: account },
    ...extraRules(account, 'command', rules),
  ]);
  const opened = stack.use(await openSlowDoor(controlPlane.admin, clock));
  const { command, args } = findProgram('csi-sidecars', { ...process.env, UPSTREAM_BIN: '' });
  const askingAt = async (name: string, server?: string): Promise<Asking> => {
    const folder = join(scratch, name);
    const kubeconfig = await kubeconfigOf(controlPlane, { account, name, folder, server });
    return { clock, command, args, kubeconfig };
  };
  return { near: await askingAt('near'), away: await askingAt('away', opened.url), door: opened };
}

async function measure(subject: Subject, claims: number): Promise<Measured> {
  // The first call reads the program from the disk.
  await ask(near, subject);
  const asked: Asked[] = [];
  for (let round = 0; round < rounds; round += 1) asked.push(await ask(near, subject));
  door.takeObjects();
  const tookMs = [(await ask(away, subject)).tookMs];
  const objects = door.takeObjects();
  while (tookMs.length < rounds) tookMs.push((await ask(away, subject)).tookMs);
  return { claims, asked, objects, awayTookMs: median(tookMs) };
}

function rowsOf(): readonly (readonly string[])[] {
  const of = (one: (measured: Measured) => number): ((measured: Measured) => number) => one;
  const middle = (one: (asked: Asked) => number) => of(({ asked }) => median(asked.map(one)));
  const row = (title: string, value: (measured: Measured) => number, unit: string): readonly string[] => [
    title,
    ...subjects.flatMap((subject) => {
      const [before, after] = measured.get(subject)!.map(value);
      const shown = (number = 0): string => `${number.toFixed(0)}${unit}`;
      return [shown(before), shown(after), ((after ?? 0) / (before ?? 1)).toFixed(2)];
    }),
  ];
  return [
    row('claims of others', ({ claims: count }) => count, ''),
    row(
      'requests',
      middle(({ requests }) => requests),
      '',
    ),
    row('objects', ({ objects }) => objects, ''),
    row(
      'bytes, decoded',
      middle(({ bytes }) => bytes / 1024),
      ' KiB',
    ),
    row(
      'time, whole process',
      middle(({ tookMs }) => tookMs),
      ' ms',
    ),
    row(`time at ${awayMs} ms a request`, ({ awayTookMs }) => awayTookMs, ' ms'),
    row(
      'highest RSS',
      middle(({ peakKiB }) => peakKiB / 1024),
      ' MiB',
    ),
  ];
}
