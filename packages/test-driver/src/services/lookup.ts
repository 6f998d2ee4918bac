// SPDX-License-Identifier: Apache-2.0
/** Finds the records that a request names, and their lock keys. */
import type { Driver } from '../core/driver.ts';
import type { StringMap, VolumeRecord } from '../core/records.ts';
import { refuse } from '../core/refusal.ts';
import { sameMap } from '../core/string-map.ts';

export function volumeKey(id: string): string {
  return `volume ${id}`;
}

export function requireVolume({ store }: Driver, id: string): VolumeRecord {
  return store.volumes.ready(id) ?? refuse('NotFound', `volume ${id} does not exist`);
}

/** Keys that Kubernetes and the provisioner add to the driver's. */
const foreignKey = /^(csi\.storage\.k8s\.io|storage\.kubernetes\.io)\//;

/** A volume context must come back unchanged: a caller that loses part of it is refused. */
export function requireContext(volume: VolumeRecord, context: StringMap): void {
  if (sameMap(own(context), own(volume.created.parameters))) return;
  refuse('InvalidArgument', `volume_context is not the one that volume ${volume.id} was created with`);
}

function own(map: StringMap): StringMap {
  return Object.fromEntries(Object.entries(map).filter(([key]) => !foreignKey.test(key)));
}
