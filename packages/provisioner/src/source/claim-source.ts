// SPDX-License-Identifier: Apache-2.0
/** Whether a claim can be cloned from another one: rows D1 to D10 of the page on sources. Pure. */
import type { PersistentVolume, PersistentVolumeClaim, StorageClass } from '@csi-sidecars/runtime';
import { toCsiVolume } from '@csi-sidecars/volume';
import { cloningProtection } from '../names.ts';
import { bytesOf, type Read, refused, type SourceAnswer } from './source-answer.ts';

export interface CloneFacts {
  /** The claim to provision. */
  readonly claim: PersistentVolumeClaim;
  readonly storageClass: StorageClass;
  readonly driverName: string;
  readonly name: string;
  readonly source: Read<PersistentVolumeClaim>;
  readonly volume: Read<PersistentVolume> | 'unread';
}

export function decideClone(facts: CloneFacts): SourceAnswer {
  const { claim, name, source, volume } = facts;
  if (source.kind === 'failed') {
    const namespace = JSON.stringify(claim.metadata?.namespace ?? '');
    return refused('D1', `error getting PVC ${name} (namespace ${namespace}) from api server: ${source.message}`);
  }
  const { metadata, spec, status } = source.object;
  if (status?.phase !== 'Bound') {
    return refused('D2', `the PVC DataSource ${name} must have a status of Bound.  Got ${status?.phase ?? ''}`);
  }
  const isProtected = metadata?.finalizers?.includes(cloningProtection) === true;
  if (metadata?.deletionTimestamp !== undefined && !isProtected) {
    return refused('D3', `the PVC DataSource ${name} is currently being deleted`);
  }
  if (spec?.storageClassName === undefined) {
    return refused('D4', `the source PVC (${name}) storageclass cannot be empty`);
  }
  if (claim.spec?.storageClassName === undefined) {
    return refused('D5', `the requested PVC (${claim.metadata?.name ?? ''}) storageclass cannot be empty`);
  }
  const [requested, size] = [sizeOf(claim), sizeOf(source.object)];
  if (requested < size) {
    const sizes = `requested ${requested} but source is ${size}`;
    return refused(
      'D6',
      `error, new PVC request must be greater than or equal in size to the specified PVC data source, ${sizes}`,
    );
  }
  const volumeName = spec.volumeName ?? '';
  if (volumeName === '') return refused('D7', `volume name is empty in source PVC ${name}`);
  if (volume === 'unread') return { row: 'D8', kind: 'readBacking', name: volumeName };
  const invalid = whyInvalid(facts, { source: source.object, volume });
  if (invalid !== undefined) return refused('D8', `claim in dataSource not bound or invalid: ${invalid}`);
  if (volume.kind === 'failed') throw new Error('a volume that could not be read was taken for a source');
  return (
    otherMode(claim, volume.object) ?? {
      row: 'D10',
      kind: 'usable',
      content: { volume: { volume_id: csiOf(volume.object).volumeHandle } },
      isProtected,
    }
  );
}

function sizeOf({ spec }: PersistentVolumeClaim): bigint {
  return bytesOf(spec?.resources?.requests?.['storage'] ?? '0') ?? 0n;
}

interface Backed {
  readonly source: PersistentVolumeClaim;
  readonly volume: Read<PersistentVolume>;
}

/** Driver and handle; those of an in-tree volume are as the driver that replaced its plugin knows them. Empty if no CSI driver has the volume. */
function csiOf(volume: PersistentVolume): { readonly driver: string; readonly volumeHandle: string } {
  const translated = toCsiVolume(volume);
  return translated.kind === 'ok' ? translated.value.csi : { driver: '', volumeHandle: '' };
}

/** Upstream's event ends before the colon, and only its log says which of these it was. */
function whyInvalid({ storageClass, driverName }: CloneFacts, { source, volume }: Backed): string | undefined {
  const { namespace = '', name = '', uid } = source.metadata ?? {};
  const its = `volume ${source.spec?.volumeName ?? ''} for PVC ${namespace}/${name}`;
  if (volume.kind === 'failed') return `error getting ${its}: ${volume.message}`;
  const { spec, status } = volume.object;
  const csi = csiOf(volume.object);
  if (csi.volumeHandle === '') return `the source ${its} is not a CSI volume`;
  if (csi.driver !== driverName) {
    const className = storageClass.metadata?.name ?? '';
    return `the source ${its} is handled by a different CSI driver than requested by StorageClass ${className}`;
  }
  const owner = spec?.claimRef;
  if (owner === undefined) return `the source ${its} is not bound`;
  if (uid === undefined || owner.uid !== uid || owner.namespace !== namespace || owner.name !== name) {
    return `the source ${its} is bound to a different PVC than requested`;
  }
  if (status?.phase !== 'Bound') {
    return `the source ${its} status is ${JSON.stringify(status?.phase ?? '')}, should instead be "Bound"`;
  }
  return undefined;
}

function otherMode(claim: PersistentVolumeClaim, volume: PersistentVolume): SourceAnswer | undefined {
  const wanted = claim.spec?.volumeMode ?? 'Filesystem';
  const mode = volume.spec?.volumeMode ?? 'Filesystem';
  if (wanted === mode) return undefined;
  return refused(
    'D9',
    `the source PVC and destination PVCs must have the same volume mode for cloning.  Source is ${mode}, but new PVC requested ${wanted}`,
  );
}
