// SPDX-License-Identifier: Apache-2.0
/** What pods say about their volumes. Pure. */
import { toObjectKey, type ObjectKey, type Pod } from '@csi-sidecars/runtime';

/** One volume of a pod that is a claim. */
export interface ClaimUse {
  readonly key: ObjectKey;
  readonly readOnly: boolean;
}

/** Generic ephemeral volumes included. */
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

/** Nothing of it runs any more: finished, or on its way out without a container that runs. */
export function isTerminated(pod: Pod): boolean {
  const { containerStatuses = [], initContainerStatuses = [] } = pod.status ?? {};
  const isRunning = [...containerStatuses, ...initContainerStatuses].some(
    ({ state }) => state?.terminated === undefined && state?.waiting === undefined,
  );
  return isFinished(pod) || (pod.metadata?.deletionTimestamp !== undefined && !isRunning);
}

/** Empty while the pod is not scheduled. */
export function nodeOf(pod: Pod): string {
  return pod.spec?.nodeName ?? '';
}
