// SPDX-License-Identifier: Apache-2.0
/**
 * Binding in four writes, in this order: the volume's claimRef, the volume's phase, the claim's volumeName, the claim's
 * status. A write that is already done is skipped, so repeating an interrupted binding completes it.
 */
import {
  persistentVolumeClaims,
  persistentVolumes,
  type ApiClient,
  type CallOptions,
  type PersistentVolume,
  type PersistentVolumeClaim,
} from '@csi-sidecars/runtime';
import { bindCompleted, boundByController } from '../annotations.ts';

export interface Pair {
  readonly claim: PersistentVolumeClaim;
  readonly volume: PersistentVolume;
}

/** Resolves with both objects in their final stored state. */
export async function bind(client: ApiClient, pair: Pair, call: CallOptions): Promise<Pair> {
  let { volume, claim } = pair;
  const referring = withClaimRef(pair);
  if (referring !== undefined) volume = await client.update(persistentVolumes, referring, call);
  if (volume.status?.phase !== 'Bound') {
    const status = { ...volume.status, phase: 'Bound' };
    volume = await client.update(persistentVolumes, { ...volume, status }, { ...call, subresource: 'status' });
  }
  const naming = withVolumeName({ volume, claim });
  if (naming !== undefined) claim = await client.update(persistentVolumeClaims, naming, call);
  const settled = withStatus({ volume, claim });
  if (settled !== undefined) {
    claim = await client.update(persistentVolumeClaims, settled, { ...call, subresource: 'status' });
  }
  return { volume, claim };
}

export function withClaimRef({ volume, claim }: Pair): PersistentVolume | undefined {
  const before = volume.spec?.claimRef;
  const { name, namespace, uid, resourceVersion } = claim.metadata ?? {};
  if (before !== undefined && before.uid === uid) return undefined;
  const claimRef = { kind: 'PersistentVolumeClaim', apiVersion: 'v1', name, namespace, uid, resourceVersion };
  // This controller may only remove references that it made.
  const mark = before === undefined ? { [boundByController]: 'yes' } : {};
  const annotations = { ...volume.metadata?.annotations, ...mark };
  return {
    ...volume,
    metadata: { ...volume.metadata, annotations },
    spec: { ...volume.spec, claimRef },
  } as PersistentVolume;
}

export function withVolumeName({ volume, claim }: Pair): PersistentVolumeClaim | undefined {
  const before = claim.metadata?.annotations ?? {};
  const unnamed = (claim.spec?.volumeName ?? '') === '';
  if (!unnamed && before[bindCompleted] !== undefined) return undefined;
  const mark = unnamed ? { [boundByController]: 'yes' } : {};
  const annotations = { ...before, ...mark, [bindCompleted]: 'yes' };
  const spec = { ...claim.spec, volumeName: volume.metadata?.name };
  return { ...claim, metadata: { ...claim.metadata, annotations }, spec } as PersistentVolumeClaim;
}

/** The capacity is written once; later, resizer and kubelet own it. */
export function withStatus({ volume, claim }: Pair): PersistentVolumeClaim | undefined {
  const before = claim.status ?? {};
  if (before.phase === 'Bound' && before.capacity !== undefined) return undefined;
  const attributesClass = volume.spec?.volumeAttributesClassName ?? '';
  const status = {
    ...before,
    phase: 'Bound',
    accessModes: volume.spec?.accessModes,
    capacity: before.capacity ?? volume.spec?.capacity,
    ...(attributesClass === '' || before.currentVolumeAttributesClassName !== undefined
      ? {}
      : { currentVolumeAttributesClassName: attributesClass }),
  };
  return { ...claim, status } as PersistentVolumeClaim;
}
