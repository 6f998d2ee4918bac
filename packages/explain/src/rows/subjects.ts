// SPDX-License-Identifier: Apache-2.0
/** From the object that was asked for to its verdict: which rows apply, and which driver it is about. */
import {
  type Event,
  events,
  type KubeObject,
  type PersistentVolume,
  persistentVolumeClaims,
  pods,
  type VolumeAttachment,
} from '@csi-sidecars/runtime';
import {
  type VolumeGroupSnapshot,
  type VolumeSnapshot,
  type VolumeSnapshotContent,
  volumeSnapshotContents,
} from '@csi-sidecars/volume';
import { valueOf } from '../cluster/reader.ts';
import type { Subject } from '../command/subject.ts';
import { lastMs } from '../facts/events.ts';
import { isBeingDeleted, nameOf, objectName } from '../facts/objects.ts';
import { volumeFactsOf } from '../facts/volume.ts';
import type { Verdict, VerdictExit } from '../verdict.ts';
import { pendingAttachment } from './attaching.ts';
import { deletionTrack, judgeClaim, notCsi } from './claims.ts';
import { change, type Context, describe, onChange, sinceCreated, verdictOf } from './context.ts';
import { deletedAttachment, deletedVolume, toBeDeleted } from './deleted-volume.ts';
import { type Judged, type Track, withActor } from './judged.ts';
import { judgePod } from './pods.ts';
import { contentVerdict, deletedContent } from './snapshot-contents.ts';
import { groupVerdict, snapshotVerdict } from './snapshots.ts';

export async function judge(context: Context, { kind }: Subject, object: KubeObject): Promise<Judged> {
  switch (kind) {
    case 'Pod':
      // Each of its volumes has an actor.
      return await judgePod(context, object);
    case 'PersistentVolumeClaim':
      return await withActor(context, await judgeClaim(context, object));
    case 'PersistentVolume':
      return await withActor(context, await judgeVolume(context, object));
    case 'VolumeAttachment':
      return await withActor(context, await judgeAttachment(context, object as VolumeAttachment));
    case 'VolumeSnapshot':
      return await withActor(context, await judgeSnapshot(context, object));
    case 'VolumeGroupSnapshot':
      return await withActor(context, await judgeGroup(context, object));
    case 'VolumeSnapshotContent':
      return await withActor(context, await judgeContent(context, object));
  }
}

async function judgeVolume(context: Context, volume: PersistentVolume): Promise<Judged> {
  const facts = volumeFactsOf(volume);
  const driver = facts?.driver;
  if (isBeingDeleted(volume)) return { verdict: await deletedVolume(context, volume), driver, track: deletionTrack };
  const track: Track = { stages: [{ id: 'bind' }, { id: 'attach' }, { id: 'stage' }, { id: 'use' }] };
  if (facts === undefined) return { verdict: notCsi(volume), driver, track };
  const { phase } = volume.status ?? {};
  if (phase === 'Released' || phase === 'Failed') {
    const isKept = volume.spec?.persistentVolumeReclaimPolicy === 'Retain';
    const since = sinceCreated(volume);
    if (isKept) {
      const { namespace = '', name = '' } = volume.spec?.claimRef ?? {};
      const again =
        name === ''
          ? undefined
          : await context.reader.get(
              persistentVolumeClaims,
              { namespace, name },
              'whether a claim has the name of its claim',
            );
      const other = again?.kind === 'found' ? `; the claim ${namespace}/${name} that there is now is another one` : '';
      return {
        verdict: verdictOf(
          ['X88', 0, 'administrator', undefined],
          `released, and kept on purpose: its policy is Retain${other}`,
        ),
        driver,
        track: { stages: [{ id: 'release' }] },
      };
    }
    const end = await toBeDeleted(context, volume, { facts, since });
    return { verdict: { ...end, row: end.row === 'X76' ? 'X89' : end.row }, driver, track: deletionTrack };
  }
  const { namespace = '', name = '' } = volume.spec?.claimRef ?? {};
  if (name === '')
    return { verdict: verdictOf(['X40', 0, 'nobody', undefined], 'no claim is bound to it'), driver, track };
  const claim = await context.reader.get(persistentVolumeClaims, { namespace, name }, 'who uses the volume');
  if (claim.kind !== 'found') {
    const exit: VerdictExit = claim.kind === 'absent' ? 3 : 5;
    return {
      verdict: verdictOf(
        ['X30', exit, 'kube-controller-manager', 'bind'],
        claim.kind === 'absent'
          ? `its claim ${namespace}/${name} is gone: kube-controller-manager releases it`
          : `its claim ${namespace}/${name} cannot be read`,
        { next: describe('pv', nameOf(volume)) },
      ),
      driver,
      track,
    };
  }
  const judged = await judgeClaim(context, claim.value);
  return {
    ...judged,
    track: {
      stages: judged.track.stages.filter(
        ({ id }) => id !== 'class' && id !== 'schedule' && id !== 'source' && id !== 'provision' && id !== 'record',
      ),
    },
  };
}

async function judgeAttachment(context: Context, attachment: VolumeAttachment): Promise<Judged> {
  const driver = attachment.spec.attacher;
  if (isBeingDeleted(attachment))
    return {
      verdict: await deletedAttachment(context, attachment),
      driver,
      track: { stages: [{ id: 'detach' }, { id: 'finalizer' }, { id: 'forget' }] },
    };
  const track: Track = { stages: [{ id: 'exists' }, { id: 'node id' }, { id: 'attach' }, { id: 'status' }] };
  if (attachment.status?.attached === true)
    return {
      verdict: verdictOf(['X41', 0, 'nobody', undefined], `the volume is attached to ${attachment.spec.nodeName}`),
      driver,
      track,
    };
  return { verdict: await pendingAttachment(context, attachment), driver, track };
}

const snapshotTrack: Track = {
  stages: [{ id: 'class' }, { id: 'content' }, { id: 'create' }, { id: 'ready' }, { id: 'status' }],
};
const snapshotEnd: Track = {
  stages: [{ id: 'source free' }, { id: 'content gone' }, { id: 'delete' }, { id: 'finalizer' }],
};

async function judgeSnapshot(context: Context, snapshot: VolumeSnapshot): Promise<Judged> {
  const verdict = await snapshotVerdict(context, snapshot);
  const name = snapshot.status?.boundVolumeSnapshotContentName ?? `snapcontent-${snapshot.metadata?.uid}`;
  const content = valueOf(await context.reader.get(volumeSnapshotContents, { name }, 'what the driver has of it'));
  return { verdict, driver: content?.spec?.driver, track: isBeingDeleted(snapshot) ? snapshotEnd : snapshotTrack };
}

async function judgeGroup(context: Context, snapshot: VolumeGroupSnapshot): Promise<Judged> {
  const verdict = await groupVerdict(context, snapshot);
  const track = isBeingDeleted(snapshot)
    ? snapshotEnd
    : { stages: [...snapshotTrack.stages, { id: 'members' as const }] };
  return { verdict, driver: undefined, track };
}

async function judgeContent(context: Context, content: VolumeSnapshotContent): Promise<Judged> {
  const driver = content.spec?.driver;
  if (isBeingDeleted(content)) return { verdict: await deletedContent(context, content), driver, track: snapshotEnd };
  return { verdict: contentVerdict(content), driver, track: { stages: snapshotTrack.stages.slice(2, 4) } };
}

const recentMs = 3_600_000;

/** Rows X1 and X2: there is no such object. */
export async function absent({ reader, options }: Context, subject: Subject): Promise<Verdict> {
  const { kind, namespace, name } = subject;
  const where = namespace === undefined ? name : `${namespace}/${name}`;
  const other =
    kind === 'Pod'
      ? { label: 'claim', resource: persistentVolumeClaims }
      : kind === 'PersistentVolumeClaim'
        ? { label: 'pod', resource: pods }
        : undefined;
  const read =
    other === undefined
      ? undefined
      : await reader.get<KubeObject>(other.resource, { namespace, name }, `whether a ${other.label} has that name`);
  if (read?.kind === 'found' && other !== undefined) {
    return verdictOf(
      ['X2', 6, 'nobody', undefined],
      `${kind} ${where} does not exist; a ${other.label} of that name does`,
      { related: [{ ...objectName(other.resource.kind, read.value), why: 'has that name' }] },
    );
  }
  const query = { namespace: namespace ?? 'default', fieldSelector: `involvedObject.name=${name}`, most: 1, size: 200 };
  const recorded = options.hasEvents
    ? (valueOf(await reader.list<Event>(events, query, 'what events say about it')) ?? [])
    : [];
  const newest = recorded
    .filter((event) => event.involvedObject.kind === kind && reader.nowMs() - (lastMs(event) ?? 0) <= recentMs)
    .toSorted((left, right) => (lastMs(left) ?? 0) - (lastMs(right) ?? 0))
    .at(-1);
  const last = newest === undefined ? '' : `; its newest event: ${newest.reason ?? ''}: ${newest.message ?? ''}`;
  return verdictOf(['X1', 6, 'nobody', undefined], `${kind} ${where} does not exist${last}`);
}

/** Row X100: the API server does not serve the kind. */
export function unserved({ kind, resource }: Subject): Verdict {
  return verdictOf(
    ['X100', 4, 'administrator', 'class'],
    `the API server does not serve ${kind} of ${resource.group}/${resource.version}: its CRDs are missing, or have other versions`,
    {
      changes: [
        change('install the CRDs', { kind: 'CustomResourceDefinition', name: `${resource.plural}.${resource.group}` }),
      ],
      retry: onChange('when the CRDs are installed'),
      findings: ['crd-1'],
      next: {
        argv: ['kubectl', 'get', 'crd', `${resource.plural}.${resource.group}`],
        sentence: 'whether the CRD is there',
      },
    },
  );
}
