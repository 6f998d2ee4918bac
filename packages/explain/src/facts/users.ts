// SPDX-License-Identifier: Apache-2.0
/** The pods that use a claim. Of the pods of a namespace only these are kept, and of them what the rows read. */
import { type PersistentVolumeClaim, type Pod, pods } from '@csi-sidecars/runtime';
import type { Reader, Reading } from '../cluster/reader.ts';
import { claimNamesOf, createdMs, nameOf } from './objects.ts';

/** Newest first. */
export async function usersOf(reader: Reader, claim: PersistentVolumeClaim): Promise<Reading<readonly Pod[]>> {
  const { namespace } = claim.metadata ?? {};
  const read = await reader.list<Pod>(pods, { namespace, keep: withoutRest, keptAs: 'users' }, 'who uses it');
  if (read.kind !== 'found') return read;
  const users = read.value.filter((pod) => claimNamesOf(pod).includes(nameOf(claim)));
  return { kind: 'found', value: users.toSorted((left, right) => (createdMs(right) ?? 0) - (createdMs(left) ?? 0)) };
}

/** Pods without volumes of claims are not kept; a list of thousands of pods takes little memory then. */
function withoutRest(pod: Pod): Pod | undefined {
  if (claimNamesOf(pod).length === 0) return undefined;
  const { metadata = {}, spec, status } = pod;
  const { name, namespace, uid, creationTimestamp, deletionTimestamp, deletionGracePeriodSeconds } = metadata;
  return {
    metadata: { name, namespace, uid, creationTimestamp, deletionTimestamp, deletionGracePeriodSeconds } as NonNullable<
      Pod['metadata']
    >,
    ...(spec !== undefined && { spec: { ...spec, containers: [] } }),
    ...(status !== undefined && { status }),
  };
}
