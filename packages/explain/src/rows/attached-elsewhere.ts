// SPDX-License-Identifier: Apache-2.0
/** Rows X46 to X48: the volume is attached to another node. */
import { type Node, nodes, type PersistentVolume, type Pod, type VolumeAttachment } from '@csi-sidecars/runtime';
import { valueOf } from '../cluster/reader.ts';
import { deletedMs, hasEnded, isBeingDeleted, nameOf, objectName, timeOf } from '../facts/objects.ts';
import { attachmentOn, attachmentsOf, type VolumeFacts } from '../facts/volume.ts';
import type { Verdict } from '../verdict.ts';
import {
  byItself,
  change,
  type Context,
  describe,
  onChange,
  recordedFailure,
  sinceDeleted,
  verdictOf,
} from './context.ts';

export interface Mounting {
  readonly pod: Pod;
  readonly node: string;
  readonly volume: PersistentVolume;
  readonly facts: VolumeFacts;
  /** All pods that use the claim. */
  readonly users: readonly Pod[];
}

const minuteMs = 60_000;

/** Nodes whose attachment is read by name. */
const mostNodes = 8;

/** The second since Kubernetes 1.37. */
const stillAttached = /^(Multi-Attach error|Waiting for detach) for volume /;

export async function elsewhereAttached(
  context: Context,
  { users, facts, volume, node, pod }: Mounting,
): Promise<VolumeAttachment | undefined> {
  const { reader, options } = context;
  const others = new Set(users.map(({ spec }) => spec?.nodeName ?? '').filter((each) => each !== '' && each !== node));
  for (const other of [...others].slice(0, mostNodes)) {
    const found = valueOf(await attachmentOn(reader, facts, other));
    if (found !== undefined) return found;
  }
  // The pod of a node that is gone may be gone as well. kube-controller-manager records that the volume is still attached.
  const isHeld = await recordedFailure(context, objectName('Pod', pod), ['FailedAttachVolume']);
  if (!options.isDeep && !stillAttached.test(isHeld?.text ?? '')) return undefined;
  const all = valueOf(await attachmentsOf(reader, nameOf(volume), options.isDeep));
  return all?.find(({ spec }) => spec.nodeName !== node);
}

const outOfService = 'node.kubernetes.io/out-of-service';

const forcedAfterMs = 6 * minuteMs;

export async function blocked(
  { reader }: Context,
  { users }: Mounting,
  attachment: VolumeAttachment,
): Promise<Verdict> {
  const other = attachment.spec.nodeName;
  const read = await reader.get(nodes, { name: other }, `whether node ${other} is alive`);
  const isTainted = read.kind === 'found' && read.value.spec?.taints?.some(({ key }) => key === outOfService) === true;
  if (isBeingDeleted(attachment) || isTainted) {
    return verdictOf(['X48', 3, 'csi-attacher', 'attach'], `the volume is being detached from ${other}`, {
      node: other,
      since: isBeingDeleted(attachment) ? sinceDeleted(attachment) : undefined,
      retry: byItself('csi-attacher goes on by itself'),
      next: describe('volumeattachment', nameOf(attachment)),
    });
  }
  if (read.kind === 'unknown') {
    return verdictOf(
      ['X46', 5, 'user', 'attach'],
      `the volume is attached to ${other}, and it is not known whether that node is alive`,
      { node: other, next: describe('volumeattachment', nameOf(attachment)) },
    );
  }
  const ready = readyOf(valueOf(read));
  if (ready?.status !== 'True') return deadNode(reader.nowMs(), other, timeOf(ready?.lastTransitionTime));
  const holder = users.find((pod) => pod.spec?.nodeName === other && !hasEnded(pod));
  if (holder === undefined) {
    return verdictOf(
      ['X48', 3, 'kube-controller-manager', 'attach'],
      `no pod on ${other} uses the volume any more: kube-controller-manager detaches it`,
      {
        next: describe('volumeattachment', nameOf(attachment)),
        retry: byItself('kube-controller-manager goes on by itself'),
      },
    );
  }
  // The time of deletion is that at which the grace period ends.
  const endsMs = deletedMs(holder);
  const isEnding = endsMs !== undefined && reader.nowMs() < endsMs;
  return verdictOf(
    ['X46', isEnding ? 3 : 4, 'user', 'attach'],
    `pod ${nameOf(holder)} on node ${other} ${isEnding ? 'is ending, and still' : endsMs === undefined ? 'still' : 'is being deleted for longer than its grace period, and still'} has the volume`,
    {
      node: other,
      changes: [change('delete that pod, or let both run on one node', objectName('Pod', holder))],
      retry: onChange('when that pod has ended'),
      related: [{ ...objectName('Pod', holder), why: 'has the volume' }],
      next: describe('pod', nameOf(holder), holder.metadata?.namespace),
    },
  );
}

export function readyOf(
  node: Node | undefined,
): NonNullable<NonNullable<Node['status']>['conditions']>[number] | undefined {
  return node?.status?.conditions?.find(({ type }) => type === 'Ready');
}

function deadNode(nowMs: number, node: string, sinceMs: number | undefined): Verdict {
  const minutes = sinceMs === undefined ? undefined : Math.floor((nowMs - sinceMs) / minuteMs);
  const counted =
    minutes === undefined ? 'six minutes after its pods are gone' : `${Math.min(minutes, 6)} of 6 minutes have passed`;
  return verdictOf(
    ['X47', 4, 'administrator', 'attach'],
    `the volume is attached to node ${node}, which is ${sinceMs === undefined ? 'gone' : 'not Ready'}: kube-controller-manager detaches it by force later (${counted}); taint ${outOfService} does so at once, if the node is off`,
    {
      node,
      since: sinceMs === undefined ? undefined : { atMs: sinceMs },
      changes: [
        change(
          `bring the node back; or, once it is off for certain, taint it with ${outOfService}`,
          { kind: 'Node', name: node },
          'spec.taints',
        ),
      ],
      retry: {
        will: 'yes',
        earliestMs: sinceMs,
        latestMs: sinceMs === undefined ? undefined : sinceMs + forcedAfterMs,
        because: 'kube-controller-manager detaches by force',
      },
      risk: {
        level: 'possible',
        of: 'corruption',
        ifYou: 'taint',
        sentence: 'The taint, while the node may still run, lets two nodes write to the volume',
      },
      findings: ['node-6'],
      next: describe('node', node),
    },
  );
}
