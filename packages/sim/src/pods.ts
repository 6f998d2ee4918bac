// SPDX-License-Identifier: Apache-2.0
/** The volumes that pods use. Pure. */
import { toObjectKey, type ObjectKey, type Pod } from '@csi-sidecars/runtime';

/** One volume of a pod that refers to a claim. */
export interface ClaimUse {
  readonly key: ObjectKey;
  readonly readOnly: boolean;
}

/** Includes generic ephemeral volumes. */
export function claimUsesOf(pod: Pod): readonly ClaimUse[] {
  const { name: podName = '', namespace } = pod.metadata ?? {};
  return (pod.spec?.volumes ?? []).flatMap(({ name, persistentVolumeClaim, ephemeral }) => {
    if (persistentVolumeClaim !== undefined) {
      const { claimName, readOnly = false } = persistentVolumeClaim;
      return [{ key: toObjectKey(namespace, claimName), readOnly }];
    }
    return ephemeral === undefined ? [] : [{ key: toObjectKey(namespace, `${podName}-${name}`), readOnly: false }];
  });
}

export function claimKeysOf(pod: Pod): readonly ObjectKey[] {
  return claimUsesOf(pod).map(({ key }) => key);
}

export function isFinished(pod: Pod): boolean {
  return pod.status?.phase === 'Succeeded' || pod.status?.phase === 'Failed';
}

/** No container of the pod runs any more: it has finished, or it is being deleted and its containers have ended. */
export function isTerminated(pod: Pod): boolean {
  const { containerStatuses = [], initContainerStatuses = [] } = pod.status ?? {};
  const isRunning = [...containerStatuses, ...initContainerStatuses].some(
    ({ state }) => state?.terminated === undefined && state?.waiting === undefined,
  );
  return isFinished(pod) || (pod.metadata?.deletionTimestamp !== undefined && !isRunning);
}

/** Empty until the pod is scheduled. */
export function nodeOf(pod: Pod): string {
  return pod.spec?.nodeName ?? '';
}
