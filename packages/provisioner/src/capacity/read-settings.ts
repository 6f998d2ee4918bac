// SPDX-License-Identifier: Apache-2.0
/** From the flags and the environment to the settings of published capacity. The texts of what is missing are upstream's. */
import { ok, refuse, type Result } from '@csi-sidecars/volume';
import type { ProvisionerValues } from '../flags.ts';
import { managedByOf } from './managed-by.ts';
import { centralManagedBy } from './object.ts';
import type { OwnerQuestion } from './owner.ts';
import type { CapacitySettings } from './settings.ts';

export interface WantedCapacity {
  readonly settings: Omit<CapacitySettings, 'owner'>;
  /** Undefined: the objects have no owner. */
  readonly owner: OwnerQuestion | undefined;
}

/** Undefined if capacity is not published. `nodeName` is that of this instance; undefined in a central deployment. */
export function toWantedCapacity(
  values: ProvisionerValues,
  env: Readonly<Record<string, string | undefined>>,
  nodeName: string | undefined,
): Result<WantedCapacity | undefined> {
  if (!values['enable-capacity']) return ok(undefined);
  const namespace = env['NAMESPACE'] ?? '';
  if (namespace === '') return refuse('need NAMESPACE env variable for CSIStorageCapacity objects');
  const level = values['capacity-ownerref-level'];
  const podName = env['POD_NAME'] ?? '';
  if (level >= 0 && podName === '') {
    return refuse('need POD_NAME env variable to determine CSIStorageCapacity owner');
  }
  return ok({
    settings: {
      namespace,
      managedBy: nodeName === undefined ? centralManagedBy : managedByOf(nodeName),
      threads: values['capacity-threads'],
      pollIntervalMs: values['capacity-poll-interval'],
      immediateBinding: values['capacity-for-immediate-binding'],
    },
    owner: level < 0 ? undefined : { namespace, podName, level },
  });
}
