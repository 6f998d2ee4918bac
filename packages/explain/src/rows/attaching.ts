// SPDX-License-Identifier: Apache-2.0
/** Rows X46 to X54: the volume is to be attached to the node of a pod. Undefined: it is attached. */
import { csiNodes, type VolumeAttachment, volumeAttachments } from '@csi-sidecars/runtime';
import { driverOn } from '@csi-sidecars/volume';
import { leaderOf } from '../actors/leader.ts';
import { valueOf } from '../cluster/reader.ts';
import { codeIn } from '../facts/events.ts';
import { createdMs, isBeingDeleted, nameOf, objectName, timeOf } from '../facts/objects.ts';
import { attachmentOn, isForOneNode } from '../facts/volume.ts';
import type { Failure, Verdict } from '../verdict.ts';
import { blocked, elsewhereAttached, type Mounting } from './attached-elsewhere.ts';
import {
  byItself,
  change,
  type Context,
  describe,
  getYaml,
  onChange,
  personAfter,
  sinceCreated,
  sinceDeleted,
  verdictOf,
} from './context.ts';

export type AttachState =
  | { readonly kind: 'attached'; readonly attachment: VolumeAttachment }
  | { readonly kind: 'waiting'; readonly verdict: Verdict };

const minuteMs = 60_000;

export async function attaching(context: Context, mounting: Mounting): Promise<AttachState> {
  const { node, facts } = mounting;
  const read = await attachmentOn(context.reader, facts, node);
  if (read.kind === 'unknown') {
    return waiting(
      verdictOf(['X51', 5, 'csi-attacher', 'attach'], `it is not known whether the volume is attached to ${node}`, {
        node,
      }),
    );
  }
  if (read.kind === 'absent') return waiting(await withoutAttachment(context, mounting));
  if (isBeingDeleted(read.value)) {
    return waiting(
      verdictOf(
        ['X48', 3, 'csi-attacher', 'attach'],
        `the volume is being detached from ${node}, and is attached again after that`,
        { node, since: sinceDeleted(read.value), next: describe('volumeattachment', nameOf(read.value)) },
      ),
    );
  }
  if (read.value.status?.attached === true) return { kind: 'attached', attachment: read.value };
  return waiting(await pendingAttachment(context, read.value));
}

function waiting(verdict: Verdict): AttachState {
  return { kind: 'waiting', verdict };
}

/** A VolumeAttachment that is not attached: rows X50 to X54. */
export async function pendingAttachment(context: Context, attachment: VolumeAttachment): Promise<Verdict> {
  const { reader } = context;
  const { nodeName: node, attacher: driver } = attachment.spec;
  const next = describe('volumeattachment', nameOf(attachment));
  const ageMs = reader.nowMs() - (createdMs(attachment) ?? reader.nowMs());
  const failure = attachFailureOf(attachment, 'attachError');
  const workedOn = objectName('VolumeAttachment', attachment);
  const shared = { node, next, workedOn, since: sinceCreated(attachment) };
  if (failure === undefined) {
    if (ageMs < minuteMs)
      return verdictOf(['X50', 3, 'csi-attacher', 'attach'], `csi-attacher attaches the volume to ${node}`, {
        ...shared,
        retry: byItself('csi-attacher goes on by itself'),
      });
    return verdictOf(
      ['X51', 3, 'csi-attacher', 'attach'],
      `csi-attacher waits or works: its queue and its open calls cannot be seen from outside`,
      { ...shared, retry: byItself('csi-attacher goes on by itself') },
    );
  }
  const retry = byItself('csi-attacher tries again after its backoff, of five minutes at most');
  if (failure.code === 8) {
    return verdictOf(['X52', 4, 'administrator', 'attach'], await fullNode(context, node, driver), {
      ...shared,
      failure,
      retry,
      changes: [change('move pods with volumes of this driver to other nodes', { kind: 'Node', name: node })],
      findings: ['node-4'],
    });
  }
  // Without a code it is csi-attacher's own: a driver may name the ids of nodes for other reasons.
  if (failure.code === undefined && /CSINode|node ?id/i.test(failure.text)) {
    return verdictOf(['X53', 4, 'kubelet', 'node id'], `the driver is not registered on ${node}`, {
      ...shared,
      failure,
      thenActor: 'administrator',
      retry: onChange('when the driver is registered on the node'),
      changes: [change('the pod of the driver on the node', { kind: 'CSINode', name: node }, 'spec.drivers')],
      findings: ['node-1'],
      next: getYaml('csinode', node),
    });
  }
  const exit = personAfter(context, createdMs(attachment), 10 * minuteMs);
  return verdictOf(
    ['X54', exit, exit === 4 ? 'administrator' : 'driver', 'attach'],
    `the driver cannot attach the volume to ${node}`,
    { ...shared, failure, retry },
  );
}

/** `errorCode` is written by attachers that know the field; the text has the code anyway. */
export function attachFailureOf(
  attachment: VolumeAttachment,
  field: 'attachError' | 'detachError',
): Failure | undefined {
  const error = attachment.status?.[field];
  if (error === undefined) return undefined;
  const text = error.message ?? '';
  const code = (error as { readonly errorCode?: number }).errorCode ?? codeIn(text);
  const atMs = timeOf(error.time);
  return {
    text,
    code,
    atMs,
    firstMs: undefined,
    count: 1,
    reason: undefined,
    source: 'csi-attacher',
    object: objectName('VolumeAttachment', attachment),
  };
}

async function fullNode({ reader, options }: Context, node: string, driver: string): Promise<string> {
  const read = valueOf(await reader.get(csiNodes, { name: node }, `how many volumes ${node} can have`));
  const limit = read === undefined ? undefined : driverOn(read, driver)?.allocatable?.count;
  const most = limit === undefined || limit === null ? 'a number that is not known' : String(limit);
  if (!options.isDeep)
    return `node ${node} can have ${most} volumes of ${driver}; how many it has is not known without --deep`;
  const keep = (each: VolumeAttachment): VolumeAttachment | undefined =>
    each.spec.nodeName === node && each.spec.attacher === driver && each.status?.attached === true ? each : undefined;
  const all = valueOf(
    await reader.list(
      volumeAttachments,
      { most: 100, keep, keptAs: `${node} ${driver}` },
      `how many volumes ${node} has`,
    ),
  );
  return `node ${node} can have ${most} volumes of ${driver}, and has ${all === undefined ? 'a number that is not known' : all.length}`;
}

async function withoutAttachment(context: Context, mounting: Mounting): Promise<Verdict> {
  const { reader } = context;
  const { node, volume, facts, pod } = mounting;
  const next = describe('pod', nameOf(pod), pod.metadata?.namespace);
  const since = sinceCreated(pod);
  if (isForOneNode(volume)) {
    const elsewhere = await elsewhereAttached(context, mounting);
    if (elsewhere !== undefined) return await blocked(context, mounting, elsewhere);
  }
  const exit = personAfter(context, createdMs(pod), 2 * minuteMs);
  if (exit === 4) {
    const leader = await leaderOf(reader, {
      program: 'csi-attacher',
      driver: facts.driver,
      namespace: context.options.driverNamespace,
    });
    if (leader.kind === 'none') {
      return verdictOf(
        ['X49', 4, 'administrator', 'attach'],
        `CSIDriver ${facts.driver} says that volumes are attached, and no csi-attacher was found`,
        {
          node,
          since,
          next: getYaml('csidriver', facts.driver),
          changes: [
            change(
              'install csi-attacher, or make the CSIDriver again with attachRequired: false',
              { kind: 'CSIDriver', name: facts.driver },
              'spec.attachRequired',
            ),
          ],
          retry: onChange('when csi-attacher runs'),
          findings: ['driver-2'],
        },
      );
    }
  }
  return verdictOf(
    ['X49', 3, 'kube-controller-manager', 'attach'],
    `kube-controller-manager has not made a VolumeAttachment for ${node} yet`,
    { node, since, next, retry: byItself('kube-controller-manager goes on by itself') },
  );
}
