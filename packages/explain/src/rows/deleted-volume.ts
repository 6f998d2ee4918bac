// SPDX-License-Identifier: Apache-2.0
/** Rows X72 and X76 to X81: a PersistentVolume or a VolumeAttachment that is being deleted. */
import { nodes, type PersistentVolume, persistentVolumeClaims, type VolumeAttachment } from '@csi-sidecars/runtime';
import { valueOf } from '../cluster/reader.ts';
import { retryOf } from '../facts/events.ts';
import { createdMs, deletedMs, nameOf, objectName } from '../facts/objects.ts';
import { attachmentsOf, type VolumeFacts, volumeFactsOf } from '../facts/volume.ts';
import type { Risk, Since, Verdict } from '../verdict.ts';
import { attachFailureOf } from './attaching.ts';
import {
  byItself,
  change,
  type Context,
  describe,
  onChange,
  personAfter,
  recordedFailure,
  verdictOf,
} from './context.ts';
import { deletedOf, shared, whole } from './deleting.ts';

const minuteMs = 60_000;

export async function deletedVolume(context: Context, volume: PersistentVolume): Promise<Verdict> {
  const deleted = deletedOf('PersistentVolume', volume);
  const [first] = deleted.finalizers;
  const facts = volumeFactsOf(volume);
  if (first?.kind === 'pvProtection')
    return await whole(context, deleted, await protectedVolume(context, volume, deleted.since));
  const general = shared(deleted);
  if (general !== undefined) return await whole(context, deleted, general);
  if (first?.kind === 'attacher')
    return await whole(context, deleted, await stillAttached(context, volume, deleted.since));
  return await whole(context, deleted, await toBeDeleted(context, volume, { facts, since: deleted.since }));
}

async function protectedVolume(
  { reader }: Context,
  volume: PersistentVolume,
  since: Since | undefined,
): Promise<Verdict> {
  const { namespace = '', name = '' } = volume.spec?.claimRef ?? {};
  const read =
    name === '' ? undefined : await reader.get(persistentVolumeClaims, { namespace, name }, 'whether its claim exists');
  const isBound = read === undefined ? false : read.kind !== 'absent';
  const sentence = isBound
    ? `claim ${namespace}/${name} is bound to it`
    : 'it is not bound any more: kube-controller-manager takes its finalizer off';
  return verdictOf(['X72', isBound ? 4 : 3, isBound ? 'user' : 'kube-controller-manager', 'protect'], sentence, {
    since,
    changes: isBound ? [change('delete the claim', { kind: 'PersistentVolumeClaim', namespace, name })] : [],
    retry: isBound ? onChange('when the claim is gone') : byItself('kube-controller-manager goes on by itself'),
    next: isBound ? describe('pvc', name, namespace) : describe('pv', nameOf(volume)),
  });
}

async function stillAttached(
  { reader, options }: Context,
  volume: PersistentVolume,
  since: Since | undefined,
): Promise<Verdict> {
  const all = options.isDeep ? await attachmentsOf(reader, nameOf(volume), true) : undefined;
  const left = all === undefined ? undefined : valueOf(all);
  const sentence =
    left === undefined
      ? 'VolumeAttachments of it are left, or csi-attacher takes its finalizer off; which is not known without --deep'
      : left.length === 0
        ? 'no VolumeAttachment is left: csi-attacher takes its finalizer off'
        : `VolumeAttachment ${nameOf(left[0]!)} on ${left[0]!.spec.nodeName} is left`;
  return verdictOf(['X79', left === undefined ? 5 : 3, 'csi-attacher', 'detach'], sentence, {
    since,
    retry: byItself('csi-attacher goes on by itself'),
    next: describe('pv', nameOf(volume)),
  });
}

interface VolumeEnd {
  readonly facts: VolumeFacts | undefined;
  readonly since: Since | undefined;
}

/** Rows X76 to X78, also of a volume that is released and not being deleted: X89. */
export async function toBeDeleted(
  context: Context,
  volume: PersistentVolume,
  { facts, since }: VolumeEnd,
): Promise<Verdict> {
  const policy = volume.spec?.persistentVolumeReclaimPolicy ?? 'Retain';
  const next = describe('pv', nameOf(volume));
  const handle = facts?.handle ?? nameOf(volume);
  const risk: Risk =
    policy === 'Delete'
      ? {
          level: 'certain',
          of: 'leak',
          ifYou: 'removeFinalizer',
          sentence: `Removing the finalizer leaves volume ${handle} in the backend`,
        }
      : {
          level: 'possible',
          of: 'loss',
          ifYou: 'removeFinalizer',
          sentence: `The handle ${handle} is only in this object: note it first`,
        };
  if (policy === 'Retain') {
    return verdictOf(
      ['X78', 3, 'csi-provisioner', 'forget'],
      'the policy keeps the volume: csi-provisioner takes its finalizer off',
      { since, risk, next, retry: byItself('csi-provisioner goes on by itself') },
    );
  }
  const failure = await recordedFailure(context, objectName('PersistentVolume', volume), ['VolumeFailedDelete']);
  if (failure !== undefined) {
    const dependent =
      failure.code === 9 || /snapshot/i.test(failure.text) ? '; snapshots of it may have to go first' : '';
    const times = failure.count === 1 ? 'once' : `${failure.count} times`;
    return verdictOf(
      ['X77', failure.count >= 10 ? 4 : 3, failure.count >= 10 ? 'storage' : 'driver', 'delete'],
      `DeleteVolume has failed ${times}${dependent}`,
      {
        since: failure.firstMs === undefined ? since : { atMs: failure.firstMs },
        failure,
        risk,
        next,
        retry: retryOf(failure),
        changes:
          dependent === ''
            ? [change('what the message names in the storage system')]
            : [change('delete the snapshots of the volume, in all namespaces')],
      },
    );
  }
  const left = context.options.isDeep
    ? valueOf(await attachmentsOf(context.reader, nameOf(volume), true))?.[0]
    : undefined;
  if (left !== undefined) {
    const verdict = await attachmentEnd(context, left);
    return {
      ...verdict,
      row: 'X76',
      stage: 'detach',
      risk,
      sentence: `VolumeAttachment ${nameOf(left)} is left: ${verdict.sentence}`,
    };
  }
  return verdictOf(
    ['X76', 3, 'csi-provisioner', 'delete'],
    'csi-provisioner deletes the volume; it waits while a VolumeAttachment of it is left (V10)',
    { since, risk, next, retry: byItself('csi-provisioner goes on by itself') },
  );
}

/** A VolumeAttachment that is being deleted: rows X80 and X81. */
export async function deletedAttachment(context: Context, attachment: VolumeAttachment): Promise<Verdict> {
  const deleted = deletedOf('VolumeAttachment', attachment);
  return await whole(context, deleted, shared(deleted) ?? (await attachmentEnd(context, attachment)));
}

async function attachmentEnd(context: Context, attachment: VolumeAttachment): Promise<Verdict> {
  const { nodeName: node } = attachment.spec;
  const sinceMs = deletedMs(attachment) ?? createdMs(attachment);
  const since = sinceMs === undefined ? undefined : { atMs: sinceMs };
  const next = describe('volumeattachment', nameOf(attachment));
  const read = await context.reader.get(nodes, { name: node }, `whether node ${node} exists`);
  const isGone = read.kind === 'absent';
  const risk: Risk = isGone
    ? {
        level: 'none',
        of: undefined,
        ifYou: undefined,
        sentence: `The node is gone; an attachment in the backend may be left if the finalizer is removed`,
      }
    : {
        level: 'possible',
        of: 'corruption',
        ifYou: 'removeFinalizer',
        sentence: 'Removing the finalizer: the node may still write',
      };
  const failure = attachFailureOf(attachment, 'detachError');
  if (failure === undefined) {
    return verdictOf(
      ['X81', 3, 'csi-attacher', 'detach'],
      `csi-attacher detaches the volume from ${node}; its queue and its open calls cannot be seen from outside`,
      { since, risk, next, node, retry: byItself('csi-attacher goes on by itself') },
    );
  }
  const row = /node/i.test(failure.text) && isGone ? 'D7' : 'D8';
  return verdictOf(
    ['X80', personAfter(context, sinceMs, 10 * minuteMs), 'driver', 'detach'],
    `the driver cannot detach the volume from ${node}${isGone ? ', a node that is gone' : ''} (row ${row} of csi-attacher)`,
    {
      since,
      risk,
      node,
      failure,
      next,
      retry: byItself('csi-attacher tries again after its backoff, of five minutes at most'),
      changes: [change('what the message names in the storage system')],
    },
  );
}
