// SPDX-License-Identifier: Apache-2.0
/** Rows X40 to X58: a bound claim and the pods that use it. */
import {
  csiDrivers,
  nodes,
  type PersistentVolume,
  type PersistentVolumeClaim,
  type Pod,
  type VolumeAttachment,
} from '@csi-sidecars/runtime';
import { selectsNode } from '@csi-sidecars/volume';
import { nodePluginOf } from '../actors/node-plugin.ts';
import { valueOf } from '../cluster/reader.ts';
import { kubectl } from '../command/printable.ts';
import { eventsOf, lastMs } from '../facts/events.ts';
import { createdMs, hasEnded, isBeingDeleted, nameOf, objectName } from '../facts/objects.ts';
import { usersOf } from '../facts/users.ts';
import { isAttachRequired, type VolumeFacts } from '../facts/volume.ts';
import { type NextCommand, type Verdict, worst } from '../verdict.ts';
import type { Mounting } from './attached-elsewhere.ts';
import { attaching } from './attaching.ts';
import {
  byItself,
  change,
  type Context,
  describe,
  personAfter,
  podsOf,
  recordedFailure,
  sinceCreated,
  verdictOf,
} from './context.ts';
import { mountReasons, type OnNode, registration } from './registering.ts';

const minuteMs = 60_000;
const mostPods = 8;

export interface BoundClaim {
  readonly claim: PersistentVolumeClaim;
  readonly volume: PersistentVolume;
  readonly facts: VolumeFacts;
}

export async function mounted(context: Context, { claim, volume, facts }: BoundClaim): Promise<Verdict> {
  const read = await usersOf(context.reader, claim);
  if (read.kind !== 'found') {
    return verdictOf(['X40', 5, 'other', 'use'], 'the claim is bound; it is not known which pods use it', {
      next: podsOf(claim.metadata?.namespace),
    });
  }
  const pods = read.value.filter((pod) => !hasEnded(pod));
  if (pods.length === 0) return verdictOf(['X40', 0, 'nobody', undefined], 'the claim is bound, and no pod uses it');
  const staying = pods.filter((pod) => !isBeingDeleted(pod));
  if (staying.length === 0) {
    return verdictOf(['X41', 0, 'nobody', undefined], `pod ${nameOf(pods[0]!)} still uses the volume, and is ending`);
  }
  // Those that wait come first.
  const ordered = staying.toSorted((left, right) => Number(isRunning(left)) - Number(isRunning(right)));
  const verdicts: Verdict[] = [];
  for (const pod of ordered.slice(0, mostPods))
    verdicts.push(await ofPod(context, { pod, volume, facts, users: read.value }));
  return worst(verdicts)!;
}

function isRunning({ status }: Pod): boolean {
  return status?.phase === 'Running';
}

/** The volume of a pod, from the scheduler to the mount. */
export async function ofPod(context: Context, asked: Omit<Mounting, 'node'>): Promise<Verdict> {
  const { pod, volume, facts } = asked;
  const node = pod.spec?.nodeName ?? '';
  if (node === '') return await unscheduled(context, pod, volume);
  if (isRunning(pod))
    return verdictOf(['X41', 0, 'nobody', undefined], `pod ${nameOf(pod)} uses the volume on ${node} and runs`);
  const unregistered = await registration(context, { pod, node, driver: facts.driver });
  if (unregistered !== undefined) return unregistered;
  const mustAttach = (await isAttachRequired(context.reader, facts.driver)) ?? true;
  if (!mustAttach) return await staging(context, { pod, node, driver: facts.driver, attachment: undefined });
  const state = await attaching(context, { ...asked, node });
  return state.kind === 'waiting'
    ? state.verdict
    : await staging(context, { pod, node, driver: facts.driver, attachment: state.attachment });
}

async function unscheduled(context: Context, pod: Pod, volume: PersistentVolume): Promise<Verdict> {
  const failure = await recordedFailure(context, objectName('Pod', pod), ['FailedScheduling']);
  const isConflict = failure !== undefined && /volume node affinity conflict/.test(failure.text);
  const sentence =
    failure === undefined ? `pod ${nameOf(pod)} is not scheduled yet` : `pod ${nameOf(pod)} is not scheduled`;
  const shared = {
    failure,
    since: sinceCreated(pod),
    next: describe('pod', nameOf(pod), pod.metadata?.namespace),
    retry: byItself('kube-scheduler tries again when the cluster changes'),
  };
  if (!isConflict)
    return verdictOf(['X42', failure === undefined ? 3 : 4, 'kube-scheduler', 'schedule'], sentence, shared);
  const where = await reachable(context, volume);
  return verdictOf(
    ['X42', 4, 'kube-scheduler', 'schedule'],
    `${sentence}: no node that it fits can reach the volume${where}`,
    {
      ...shared,
      thenActor: 'user',
      changes: [change('what binds the pod to other nodes', objectName('Pod', pod), 'spec.affinity')],
    },
  );
}

async function reachable({ reader }: Context, volume: PersistentVolume): Promise<string> {
  const terms = volume.spec?.nodeAffinity?.required?.nodeSelectorTerms;
  if (terms === undefined) return '';
  const all = valueOf(await reader.list(nodes, { most: 2 }, 'which nodes can reach the volume'));
  const names =
    all?.filter((node) => selectsNode(terms, { name: nameOf(node), labels: node.metadata?.labels })).map(nameOf) ?? [];
  if (all === undefined) return '';
  return names.length === 0
    ? '; no node can reach it'
    : `; ${names.slice(0, 5).join(', ')}${names.length > 5 ? ` and ${names.length - 5} more` : ''} can`;
}

export interface Staging extends OnNode {
  readonly attachment: VolumeAttachment | undefined;
}

const startedReasons = new Set(['PodInitializing', 'ContainerCreating']);

/** Rows X55 to X58: kubelet mounts the volume and starts the containers. */
export async function staging(context: Context, { pod, node, driver, attachment }: Staging): Promise<Verdict> {
  const { reader } = context;
  const failure = await recordedFailure(context, objectName('Pod', pod), mountReasons.slice(0, 2));
  const attachedMs = await attachedSince(context, pod, attachment);
  const since = attachedMs === undefined ? undefined : { atMs: attachedMs };
  const name = nameOf(pod);
  const namespace = pod.metadata?.namespace;
  if (failure !== undefined) {
    const firstMs = failure.firstMs ?? attachedMs;
    const exit = personAfter(context, firstMs, 5 * minuteMs);
    return verdictOf(
      ['X55', exit, exit === 4 ? 'driver' : 'kubelet', 'stage'],
      `kubelet cannot mount the volume on ${node}; no object records more than its event`,
      {
        node,
        failure,
        thenActor: exit === 4 ? 'administrator' : 'driver',
        since: firstMs === undefined ? undefined : { atMs: firstMs },
        retry: byItself('kubelet tries again, within two minutes and two seconds'),
        changes: [change(`what the driver reports on ${node}`, { kind: 'Node', name: node })],
        next: (await driverLog(context, { driver, node })) ?? describe('pod', name, namespace),
      },
    );
  }
  const elsewhere = await notStorage(context, pod);
  if (elsewhere !== undefined)
    return verdictOf(['X58', 0, 'kubelet', undefined], `the volumes are ready; pod ${name} waits for ${elsewhere}`);
  const waitsMs = attachedMs === undefined ? 0 : reader.nowMs() - attachedMs;
  const shared = { node, since, next: describe('pod', name, namespace), retry: byItself('kubelet goes on by itself') };
  const { fsGroup, fsGroupChangePolicy } = pod.spec?.securityContext ?? {};
  if (
    fsGroup !== undefined &&
    fsGroupChangePolicy !== 'OnRootMismatch' &&
    waitsMs > minuteMs &&
    (await changesOwnership(context, driver))
  ) {
    return verdictOf(
      ['X56', 3, 'kubelet', 'use'],
      `kubelet changes the group of every file to ${fsGroup}; that takes long with many files`,
      {
        ...shared,
        changes: [
          change(
            'fsGroupChangePolicy: OnRootMismatch, which does that once',
            objectName('Pod', pod),
            'spec.securityContext.fsGroupChangePolicy',
          ),
        ],
      },
    );
  }
  if (waitsMs <= 2 * minuteMs)
    return verdictOf(['X57', 3, 'kubelet', 'stage'], `kubelet mounts the volume on ${node}`, shared);
  return verdictOf(
    ['X57', 5, 'kubelet', 'stage'],
    `kubelet has not started pod ${name}, and no object records why: look on node ${node}`,
    {
      ...shared,
      next: (await driverLog(context, { driver, node })) ?? shared.next,
    },
  );
}

async function attachedSince(
  { reader, options }: Context,
  pod: Pod,
  attachment: VolumeAttachment | undefined,
): Promise<number | undefined> {
  const events = options.hasEvents ? await eventsOf(reader, objectName('Pod', pod)) : [];
  const recorded = events
    .filter(({ reason }) => reason === 'SuccessfulAttachVolume' || reason === 'Scheduled')
    .map(lastMs)
    .filter((ms) => ms !== undefined);
  return recorded.length > 0 ? Math.max(...recorded) : ((attachment && createdMs(attachment)) ?? createdMs(pod));
}

/** What the pod waits for once its volumes are ready; undefined: that is not known to be the case. */
async function notStorage(context: Context, pod: Pod): Promise<string | undefined> {
  const { initContainerStatuses = [], containerStatuses = [], conditions = [] } = pod.status ?? {};
  const all = [...initContainerStatuses, ...containerStatuses];
  const waiting = all.find(
    ({ state }) => state?.waiting !== undefined && !startedReasons.has(state.waiting.reason ?? ''),
  );
  if (waiting !== undefined)
    return `container ${waiting.name}: ${waiting.state?.waiting?.reason ?? 'a reason that is not known'}`;
  const sandbox = await recordedFailure(context, objectName('Pod', pod), ['FailedCreatePodSandBox']);
  if (sandbox !== undefined) return 'its sandbox';
  const init = initContainerStatuses.find(({ state }) => state?.running !== undefined);
  if (init !== undefined) return `init container ${init.name}`;
  const isStarting = conditions.some(({ type, status }) => type === 'PodReadyToStartContainers' && status === 'True');
  return isStarting ? 'its containers to start' : undefined;
}

async function changesOwnership({ reader }: Context, driver: string): Promise<boolean> {
  const read = valueOf(await reader.get(csiDrivers, { name: driver }, 'whether kubelet changes the owner of files'));
  return read?.spec.fsGroupPolicy !== 'None';
}

async function driverLog(
  { reader }: Context,
  { driver, node }: Pick<OnNode, 'driver' | 'node'>,
): Promise<NextCommand | undefined> {
  const plugin = await nodePluginOf(reader, driver, node);
  if (plugin.kind !== 'ready' && plugin.kind !== 'notReady') return undefined;
  const { namespace = '', name = '' } = plugin.pod.metadata ?? {};
  const container = plugin.pod.spec?.containers.find(
    ({ name: each, image = '' }) => !/registrar|liveness/.test(`${each} ${image}`),
  )?.name;
  const argv = kubectl(['logs', '-n'], [namespace, name], container === undefined ? [] : ['-c', container]);
  return argv && { argv, sentence: `what the driver reports on ${node}` };
}
