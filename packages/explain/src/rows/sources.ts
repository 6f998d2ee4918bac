// SPDX-License-Identifier: Apache-2.0
/** Rows X21 and X22: where the data of a new volume come from. */
import { type SourceKind, volumePopulators } from '@csi-sidecars/data-source-validator';
import { type PersistentVolumeClaim, persistentVolumeClaims, persistentVolumes } from '@csi-sidecars/runtime';
import { snapshotAnnotations, toCsiVolume, volumeSnapshotContents, volumeSnapshots } from '@csi-sidecars/volume';
import { annotationOf, createdMs, nameOf, objectName, provisionerOf } from '../facts/objects.ts';
import { compareSizes } from '../facts/quantities.ts';
import type { Verdict } from '../verdict.ts';
import { byItself, change, type Context, describe, getYaml, onChange, recordedFailure, verdictOf } from './context.ts';

const populatorTimeMs = 300_000;

export async function sourceVerdict(context: Context, claim: PersistentVolumeClaim): Promise<Verdict | undefined> {
  const source = claim.spec?.dataSourceRef ?? claim.spec?.dataSource;
  if (source === undefined || source === null) return undefined;
  const { kind, name } = source;
  // The API server stores null for the core group.
  const group = source.apiGroup ?? '';
  const namespace = claim.spec?.dataSourceRef?.namespace ?? claim.metadata?.namespace ?? '';
  if (kind === 'VolumeSnapshot' && group === volumeSnapshots.group)
    return await fromSnapshot(context, claim, { namespace, name });
  if (kind === 'PersistentVolumeClaim' && group === '') return await fromClaim(context, claim, { namespace, name });
  const sinceMs = createdMs(claim);
  const unknown = await unregistered(context, claim, { group, kind });
  if (unknown !== undefined) return unknown;
  const isLong = sinceMs !== undefined && context.reader.nowMs() - sinceMs > populatorTimeMs;
  return verdictOf(
    ['X21', isLong ? 4 : 3, 'populator', 'source'],
    `a volume populator makes the volume from ${kind} ${name}; csi-provisioner waits for it`,
    {
      thenActor: isLong ? 'administrator' : undefined,
      since: sinceMs === undefined ? undefined : { atMs: sinceMs },
      changes: isLong
        ? [change(`install the populator of ${kind}`, objectName('PersistentVolumeClaim', claim), 'spec.dataSourceRef')]
        : [],
      retry: { will: 'unknown', because: 'the populator is not known' },
      next: describe('pvc', nameOf(claim), claim.metadata?.namespace),
    },
  );
}

/** volume-data-source-validator has written its event, and no populator has come since. */
async function unregistered(
  context: Context,
  claim: PersistentVolumeClaim,
  { group, kind }: SourceKind,
): Promise<Verdict | undefined> {
  const object = objectName('PersistentVolumeClaim', claim);
  const failure = await recordedFailure(context, object, ['UnrecognizedDataSourceKind']);
  if (failure === undefined) return undefined;
  const shown = group === '' ? kind : `${kind}.${group}`;
  const read = await context.reader.list(volumePopulators, {}, `whether a populator registers ${shown}`);
  const isRegistered =
    read.kind === 'found' &&
    read.value.some(({ sourceKind }) => sourceKind?.group === group && sourceKind.kind === kind);
  if (isRegistered) return undefined;
  return verdictOf(
    ['X21', 4, 'administrator', 'source'],
    `no VolumePopulator registers ${shown}: no program is known that makes a volume from it`,
    {
      failure,
      since: failure.firstMs === undefined ? undefined : { atMs: failure.firstMs },
      changes: [
        change(`install the populator of ${shown}, with its VolumePopulator`),
        change('make the claim again with another source', object, 'spec.dataSourceRef'),
      ],
      retry: onChange('when a populator makes the volume'),
      next: { argv: ['kubectl', 'get', 'volumepopulators'], sentence: 'the kinds that are registered' },
    },
  );
}

interface SourceName {
  readonly namespace: string;
  readonly name: string;
}

async function fromSnapshot(
  { reader }: Context,
  claim: PersistentVolumeClaim,
  ref: SourceName,
): Promise<Verdict | undefined> {
  const what = `snapshot ${ref.namespace}/${ref.name}`;
  const read = await reader.get(volumeSnapshots, ref, `whether ${what} is ready`);
  if (read.kind === 'unknown') return undefined;
  if (read.kind === 'absent') return unusable(claim, `${what}, from which the volume is made, does not exist`);
  const { readyToUse, boundVolumeSnapshotContentName: contentName = '', restoreSize } = read.value.status ?? {};
  if (readyToUse !== true) {
    return verdictOf(
      ['X22', 3, 'snapshot-controller', 'source'],
      `${what}, from which the volume is made, is not ready`,
      {
        retry: onChange('when the snapshot is ready'),
        related: [{ ...objectName('VolumeSnapshot', read.value), why: 'the source of the volume' }],
        next: describe('volumesnapshot', ref.name, ref.namespace),
      },
    );
  }
  const content =
    contentName === ''
      ? undefined
      : await reader.get(volumeSnapshotContents, { name: contentName }, `which driver has ${what}`);
  const driver = content?.kind === 'found' ? content.value.spec?.driver : undefined;
  const wanted = provisionerOf(claim);
  if (driver !== undefined && wanted !== undefined && driver !== wanted)
    return unusable(claim, `${what} is of driver ${driver}, and the class of ${wanted}`);
  // With the annotation csi-provisioner decides, and its event says so.
  const isFixed =
    content?.kind === 'found' && annotationOf(content.value, snapshotAnnotations.allowModeChange) === undefined;
  const mode = isFixed ? content.value.spec?.sourceVolumeMode : undefined;
  return mismatch(claim, what, { size: restoreSize, mode });
}

async function fromClaim(
  { reader }: Context,
  claim: PersistentVolumeClaim,
  ref: SourceName,
): Promise<Verdict | undefined> {
  const what = `claim ${ref.namespace}/${ref.name}`;
  const read = await reader.get(persistentVolumeClaims, ref, `whether ${what} is bound`);
  if (read.kind === 'unknown') return undefined;
  if (read.kind === 'absent') return unusable(claim, `${what}, of which the volume is a clone, does not exist`);
  const { status, spec } = read.value;
  if (status?.phase !== 'Bound') {
    return verdictOf(['X22', 3, 'csi-provisioner', 'source'], `${what}, of which the volume is a clone, is not bound`, {
      retry: onChange('when the source is bound'),
      related: [{ ...objectName('PersistentVolumeClaim', read.value), why: 'the source of the volume' }],
      next: describe('pvc', ref.name, ref.namespace),
    });
  }
  const volume = await reader.get(persistentVolumes, { name: spec?.volumeName ?? '' }, `which driver has ${what}`);
  const csi = volume.kind === 'found' ? toCsiVolume(volume.value) : undefined;
  const driver = csi?.kind === 'ok' ? csi.value.csi.driver : undefined;
  const wanted = provisionerOf(claim);
  if (driver !== undefined && wanted !== undefined && driver !== wanted)
    return unusable(claim, `${what} is of driver ${driver}, and the class of ${wanted}`);
  return mismatch(claim, what, { size: status.capacity?.['storage'], mode: spec?.volumeMode ?? 'Filesystem' });
}

function mismatch(
  claim: PersistentVolumeClaim,
  what: string,
  { size, mode }: { readonly size: string | undefined; readonly mode: string | undefined },
): Verdict | undefined {
  const wanted = claim.spec?.resources?.requests?.['storage'];
  if (size !== undefined && wanted !== undefined && compareSizes(wanted, size) < 0)
    return unusable(claim, `${what} has ${size}, and the claim wants only ${wanted}`);
  const wantedMode = claim.spec?.volumeMode ?? 'Filesystem';
  if (mode !== undefined && mode !== wantedMode)
    return unusable(claim, `${what} has mode ${mode}, and the claim wants ${wantedMode}`);
  return undefined;
}

function unusable(claim: PersistentVolumeClaim, why: string): Verdict {
  return verdictOf(['X22', 4, 'user', 'source'], why, {
    changes: [
      change(
        'make the claim again with a source that fits',
        objectName('PersistentVolumeClaim', claim),
        'spec.dataSource',
      ),
    ],
    retry: byItself('csi-provisioner tries again after its backoff'),
    next: getYaml('pvc', nameOf(claim), claim.metadata?.namespace),
  });
}
