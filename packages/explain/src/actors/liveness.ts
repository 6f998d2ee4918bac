// SPDX-License-Identifier: Apache-2.0
/**
 * Rows X5 to X7: a verdict that waits for a program is replaced if the program does not live. It is asked only of verdicts that wait, so that
 * a healthy subject costs no request about its actors.
 */
import { leases, nodes } from '@csi-sidecars/runtime';
import type { Reader } from '../cluster/reader.ts';
import { kubectl } from '../command/printable.ts';
import { isOfCluster, isProgram, type Liveness, type NextCommand, type Program, type Verdict } from '../verdict.ts';
import { type Leader, leaderOf } from './leader.ts';
import { stateOf } from './leases.ts';
import { containerFactsOf, leaseNameOf } from './programs.ts';

export interface ActorPlaces {
  readonly driver: string | undefined;
  readonly driverNamespace: string;
  readonly snapshotControllerNamespace: string;
}

export async function withLiveness(reader: Reader, verdict: Verdict, places: ActorPlaces): Promise<Verdict> {
  const { actor, exit, node } = verdict;
  if (exit === 0) return verdict;
  if (isProgram(actor)) return await ofProgram(reader, { verdict, program: actor }, places);
  if (actor === 'kube-controller-manager' || actor === 'kube-scheduler')
    return await ofControlPlane(reader, verdict, actor);
  if (actor === 'kubelet' && node !== undefined) return await ofKubelet(reader, verdict, node);
  return verdict;
}

async function ofProgram(
  reader: Reader,
  { verdict, program }: { readonly verdict: Verdict; readonly program: Program },
  places: ActorPlaces,
): Promise<Verdict> {
  const { driver, driverNamespace, snapshotControllerNamespace } = places;
  if (driver === undefined && !isOfCluster(program)) return verdict;
  const namespace = isOfCluster(program) ? snapshotControllerNamespace : driverNamespace;
  const leader = await leaderOf(reader, { program, driver: driver ?? '', namespace });
  const of = isOfCluster(program) ? program : `${program} of ${driver}`;
  return judged(verdict, { leader, program, of, driver });
}

interface Judged {
  readonly leader: Leader;
  readonly program: Program;
  readonly of: string;
  readonly driver: string | undefined;
}

function judged(verdict: Verdict, { leader, program, of, driver }: Judged): Verdict {
  const lease = leaseNameOf(program, driver ?? '');
  const findings = [...(verdict.findings ?? []), ...('findings' in leader ? leader.findings : [])];
  switch (leader.kind) {
    case 'lives':
      return {
        ...verdict,
        findings,
        liveness: {
          alive: 'yes',
          because: leader.because,
          pod: leader.holder,
          namespace: leader.namespace,
          lease,
          ...containerFactsOf(leader.pod, program),
        },
      };
    case 'unknown': {
      const liveness: Liveness = { alive: 'unknown', because: leader.because };
      // Nothing shows that the program exists, and nothing shows that it does not.
      const isOpen = !leader.isSearched && leader.because === 'workloads cannot be listed' && verdict.exit === 3;
      return isOpen
        ? {
            ...verdict,
            row: 'X6',
            exit: 5,
            liveness,
            findings,
            sentence: `no Lease of ${of} was found, and workloads cannot be listed`,
          }
        : { ...verdict, liveness, findings };
    }
    case 'dead': {
      const pod = kubectl(['get', 'pods', '-n'], [leader.namespace]);
      return {
        ...verdict,
        row: 'X5',
        exit: 4,
        actor: 'administrator',
        thenActor: program,
        sentence: `nobody leads ${of}: ${leader.because}`,
        since: leader.untilMs === undefined ? verdict.since : { atMs: leader.untilMs },
        retry: { will: 'onChange', because: `when a replica of ${program} runs` },
        changes: [{ what: `start ${of}`, object: undefined, field: undefined }],
        next: pod && { argv: pod, sentence: `the pods beside the Lease of ${program}` },
        findings,
        liveness: { alive: 'no', because: leader.because, pod: leader.holder, namespace: leader.namespace, lease },
      };
    }
    case 'restarting': {
      const { namespace, holder } = leader;
      const argv = kubectl(['describe', 'pod'], [holder], ['-n', namespace]);
      return {
        ...verdict,
        row: 'X7',
        exit: 4,
        actor: 'administrator',
        thenActor: program,
        sentence: `${of} does not stay up: ${leader.because}`,
        retry: { will: 'onChange', because: `when ${program} stays up` },
        changes: [
          { what: 'what ends the container', object: { kind: 'Pod', namespace, name: holder }, field: undefined },
        ],
        next: argv && { argv, sentence: 'why the container ended' },
        findings: [...findings, leader.because.includes('exit code 137') ? 'pod-2' : 'pod-1'],
        liveness: {
          alive: 'no',
          because: leader.because,
          pod: holder,
          namespace,
          lease,
          ...containerFactsOf(leader.pod, program),
        },
      };
    }
    case 'none':
      return {
        ...verdict,
        row: 'X6',
        exit: 4,
        actor: 'administrator',
        thenActor: program,
        sentence: `no ${of} was found: no Lease, and no workload that runs it`,
        retry: { will: 'onChange', because: `when ${program} is installed` },
        changes: [{ what: `install ${of}`, object: undefined, field: undefined }],
        next: verdict.row === 'X73' ? leftovers(driver) : anywhere(program),
        findings,
        liveness: { alive: 'no', because: 'no Lease and no workload' },
      };
  }
}

function leftovers(driver: string | undefined): NextCommand | undefined {
  const argv = ['csi-sidecars', 'leftovers', '--driver', driver ?? ''];
  return kubectl([], [driver]) && { argv, sentence: 'what a provisioner has left, and what of it can be removed' };
}

function anywhere(program: Program): NextCommand {
  const argv = ['kubectl', 'get', 'deployments,statefulsets,daemonsets', '--all-namespaces', '-o', 'wide'];
  return { argv, sentence: `workloads whose images could be ${program}` };
}

async function ofControlPlane(
  reader: Reader,
  verdict: Verdict,
  actor: 'kube-controller-manager' | 'kube-scheduler',
): Promise<Verdict> {
  const read = await reader.get(leases, { namespace: 'kube-system', name: actor }, `whether ${actor} is alive`);
  const assumed: Liveness = { alive: 'unknown', because: 'its Lease cannot be read: it is assumed to be alive' };
  if (read.kind !== 'found') return { ...verdict, liveness: assumed };
  const state = await stateOf(reader, read.value);
  if (state.kind === 'live') return { ...verdict, liveness: { alive: 'yes', because: 'its Lease is renewed' } };
  if (state.kind === 'unknown') return { ...verdict, liveness: { alive: 'unknown', because: state.because } };
  const because = state.kind === 'stale' ? 'its Lease is not renewed' : 'its Lease was released';
  return {
    ...verdict,
    row: 'X5',
    exit: 4,
    actor: 'administrator',
    thenActor: actor,
    sentence: `${actor} does not lead: ${because}`,
    liveness: { alive: 'no', because },
    findings: [...(verdict.findings ?? []), 'lease-1'],
    next: { argv: ['kubectl', 'get', 'lease', '-n', 'kube-system', actor, '-o', 'yaml'], sentence: 'who held it last' },
  };
}

async function ofKubelet(reader: Reader, verdict: Verdict, node: string): Promise<Verdict> {
  const read = await reader.get(nodes, { name: node }, `whether node ${node} is alive`);
  if (read.kind === 'unknown') return verdict;
  const ready = read.kind === 'found' ? read.value.status?.conditions?.find(({ type }) => type === 'Ready') : undefined;
  if (ready?.status === 'True') return { ...verdict, liveness: { alive: 'yes', because: `node ${node} is Ready` } };
  const because = read.kind === 'absent' ? `node ${node} does not exist` : `node ${node} is not Ready`;
  const argv = kubectl(['describe', 'node'], [node]);
  return {
    ...verdict,
    row: 'X5',
    exit: 4,
    actor: 'administrator',
    thenActor: 'kubelet',
    sentence: because,
    liveness: { alive: 'no', because },
    next: argv && { argv, sentence: 'why the node is not ready' },
  };
}
