// SPDX-License-Identifier: Apache-2.0
/** Who leads a program of a driver, and whether it works: its Lease, the pod of the holder, its container. */
import { csiDrivers, type Lease, leases, type Pod, pods, sanitizedName } from '@csi-sidecars/runtime';
import { daemonSets, deployments, statefulSets, type Workload } from '../cluster/kinds.ts';
import { type Reader, valueOf } from '../cluster/reader.ts';
import { nameOf, timeOf } from '../facts/objects.ts';
import { isOfCluster, type Program } from '../verdict.ts';
import { isRenewed, type LeaseState, stateOf } from './leases.ts';
import { containerFactsOf, containerOf, leaseNameOf, namesDriver, runsProgram, sidecarWorkloads } from './programs.ts';

export interface Question {
  readonly program: Program;
  readonly driver: string;
  /** Where to look if Leases may not be listed. Empty: not known. */
  readonly namespace: string;
}

interface Found {
  readonly namespace: string;
  readonly holder: string;
}

export type Leader =
  | (Found & {
      readonly kind: 'lives';
      readonly pod: Pod | undefined;
      readonly because: string;
      readonly findings: readonly string[];
    })
  | (Partial<Found> & {
      readonly kind: 'dead';
      readonly untilMs: number | undefined;
      readonly because: string;
      readonly findings: readonly string[];
    })
  | (Found & { readonly kind: 'restarting'; readonly pod: Pod; readonly because: string })
  | { readonly kind: 'none' }
  | { readonly kind: 'unknown'; readonly because: string; readonly isSearched: boolean };

export async function leaderOf(reader: Reader, question: Question): Promise<Leader> {
  const { program, driver, namespace } = question;
  return await reader.concluded(
    `leader of ${program} ${driver} ${namespace}`,
    async () => (await leaderByLease(reader, question)) ?? (await withoutLease(reader, question)),
  );
}

/** Of the container of the leader, variables expanded. Undefined: not known. */
export async function argumentsOfLeader(reader: Reader, question: Question): Promise<readonly string[] | undefined> {
  const leader = await leaderOf(reader, question);
  return leader.kind === 'lives' ? containerFactsOf(leader.pod, question.program)?.args : undefined;
}

/** What the Leases of the program say; undefined: there is none. */
export async function leaderByLease(reader: Reader, question: Question): Promise<Leader | undefined> {
  const { program, driver } = question;
  const found = await leasesOf(reader, question);
  if (found.kind === 'unknown') return { kind: 'unknown', because: 'Leases cannot be read', isSearched: false };
  if (found.leases.length === 0) return undefined;
  const states = [];
  for (const lease of found.leases) states.push(await stateOf(reader, lease));
  const best =
    states.find(({ kind }) => kind === 'live') ?? states.find(({ kind }) => kind === 'unknown') ?? states[0]!;
  const holder = best.lease.spec?.holderIdentity ?? '';
  const namespace = best.lease.metadata?.namespace ?? '';
  if (
    !isOfCluster(program) &&
    (await isShared(reader, question)) &&
    !(await isHolderOf(reader, { namespace, holder }, driver))
  ) {
    return { kind: 'unknown', because: `drivers share Lease ${nameOf(best.lease)}`, isSearched: true };
  }
  return await byState(reader, { program, state: best }, { namespace, holder });
}

async function byState(
  reader: Reader,
  { program, state }: { readonly program: Program; readonly state: LeaseState },
  found: Found,
): Promise<Leader> {
  const name = `Lease ${found.namespace}/${nameOf(state.lease)}`;
  switch (state.kind) {
    case 'unknown':
      return { kind: 'unknown', because: `${name}: ${state.because}`, isSearched: true };
    case 'released':
      return {
        kind: 'dead',
        untilMs: timeOf(state.lease.spec?.renewTime),
        because: `${name} was released`,
        findings: ['lease-1'],
        namespace: found.namespace,
      };
    case 'stale':
      return {
        kind: 'dead',
        untilMs: state.untilMs,
        because: `${name} was last renewed by ${found.holder}`,
        findings: ['lease-1', 'lease-2'],
        ...found,
      };
    case 'live': {
      const findings = state.behindMs > 5_000 ? ['clock-1'] : [];
      const because =
        state.behindMs > 5_000
          ? `${name} is renewed; the clock of ${found.holder} is ${Math.round(state.behindMs / 1_000)} s behind`
          : `${name} is renewed`;
      return await byPod(reader, { program, lease: state.lease, found, because, findings });
    }
  }
}

interface Live {
  readonly program: Program;
  readonly lease: Lease;
  readonly found: Found;
  readonly because: string;
  readonly findings: readonly string[];
}

async function byPod(reader: Reader, { program, lease, found, because, findings }: Live): Promise<Leader> {
  const read = await reader.get(pods, { namespace: found.namespace, name: found.holder }, `the pod of ${program}`);
  if (read.kind === 'unknown') return { kind: 'lives', pod: undefined, because, findings, ...found };
  if (read.kind === 'found') {
    const restarting = restartsOf(read.value, program, reader.nowMs());
    if (restarting !== undefined) return { kind: 'restarting', pod: read.value, because: restarting, ...found };
    return { kind: 'lives', pod: read.value, because, findings, ...found };
  }
  // A process of a node or of a machine has no pod of that name. A pod that is gone renews no Lease.
  const pauseMs = Math.min(((lease.spec?.leaseDurationSeconds ?? 15) * 1_000) / 3 + 1_000, 10_000);
  const later = await isRenewed(reader, lease, pauseMs);
  if (later === 'silent') {
    return {
      kind: 'dead',
      untilMs: timeOf(lease.spec?.renewTime),
      because: `pod ${found.namespace}/${found.holder}, which holds the Lease, is gone`,
      findings: ['lease-2'],
      ...found,
    };
  }
  return { kind: 'lives', pod: undefined, because, findings: [...findings, 'lease-3'], ...found };
}

const recentMs = 600_000;

/** Undefined: the container runs. */
function restartsOf(pod: Pod, program: Program, nowMs: number): string | undefined {
  const container = containerOf(pod, program);
  const status = pod.status?.containerStatuses?.find(({ name }) => name === container?.name);
  if (container === undefined || status === undefined) return undefined;
  const ended = status.lastState?.terminated ?? status.state?.terminated;
  const isLooping = status.state?.waiting?.reason === 'CrashLoopBackOff';
  const isRecent = ended !== undefined && nowMs - (timeOf(ended.finishedAt) ?? 0) <= recentMs;
  if (!isLooping && !(status.restartCount >= 3 && isRecent)) return undefined;
  const code =
    ended === undefined ? '' : `, exit code ${ended.exitCode}${ended.reason === undefined ? '' : ` (${ended.reason})`}`;
  const limit = ended?.exitCode === 137 ? `, memory limit ${container.resources?.limits?.['memory'] ?? 'none'}` : '';
  const message = ended?.message === undefined ? '' : `: ${ended.message.trim()}`;
  return `container ${container.name} of pod ${nameOf(pod)} has restarted ${status.restartCount} times${code}${limit}${message}`;
}

export type FoundLeases = { readonly kind: 'found'; readonly leases: readonly Lease[] } | { readonly kind: 'unknown' };

export async function leasesOf(reader: Reader, { program, driver, namespace }: Question): Promise<FoundLeases> {
  const name = leaseNameOf(program, driver);
  const notKnown = `whether ${program} is alive`;
  const listed = await reader.list(leases, { fieldSelector: `metadata.name=${name}`, most: 1 }, notKnown);
  if (listed.kind === 'found') return { kind: 'found', leases: listed.value };
  if (namespace === '') return { kind: 'unknown' };
  const read = await reader.get(leases, { namespace, name }, notKnown);
  if (read.kind === 'unknown') return { kind: 'unknown' };
  return { kind: 'found', leases: read.kind === 'absent' ? [] : [read.value] };
}

/** Whether another driver of the cluster has a Lease of the same name: `a.b` and `a-b`. */
async function isShared(reader: Reader, { program, driver }: Question): Promise<boolean> {
  const all = valueOf(await reader.list(csiDrivers, { most: 1 }, 'whether two drivers share a Lease')) ?? [];
  const own = leaseNameOf(program, driver);
  return all.some(
    (other) =>
      nameOf(other) !== driver && sanitizedName(nameOf(other)) !== '' && leaseNameOf(program, nameOf(other)) === own,
  );
}

async function isHolderOf(reader: Reader, { namespace, holder }: Found, driver: string): Promise<boolean> {
  const pod = valueOf(await reader.get(pods, { namespace, name: holder }, `whose Lease ${holder} holds`));
  return pod !== undefined && namesDriver(pod.spec, driver);
}

/** One replica, or node deployment: there is no Lease. Its workload is looked for. */
async function withoutLease(reader: Reader, { program, driver }: Question): Promise<Leader> {
  const notKnown = `whether ${program} is installed`;
  let isComplete = true;
  for (const kind of [deployments, statefulSets, daemonSets]) {
    const read = await reader.list<Workload>(kind, sidecarWorkloads, notKnown);
    const isOwn = ({ spec: { template: { spec } = {} } = {} }: Workload): boolean =>
      runs(spec, program) && (isOfCluster(program) || namesDriver(spec, driver));
    if (read.kind !== 'found') isComplete = false;
    else if (read.value.some(isOwn)) {
      return { kind: 'unknown', because: 'it has no Lease: it is not known whether it works', isSearched: true };
    }
  }
  return isComplete ? { kind: 'none' } : { kind: 'unknown', because: 'workloads cannot be listed', isSearched: false };
}

function runs(spec: Pod['spec'], program: Program): boolean {
  return spec?.containers.some((container) => runsProgram(container, program)) === true;
}
