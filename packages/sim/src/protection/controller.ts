// SPDX-License-Identifier: Apache-2.0
/**
 * The protection finalizers of kube-controller-manager: a volume that is being deleted is released when it is not bound any more, a
 * claim when no scheduled pod that is still running uses it. As upstream, the pods are listed before a claim is released, because one that was
 * scheduled a moment ago may not be in the cache yet. An object that a release has removed is not hidden: a restored backup may bring it back.
 */
import {
  done,
  persistentVolumeClaims,
  persistentVolumes,
  pods,
  type ObjectKey,
  type Outcome,
  type PersistentVolume,
  type PersistentVolumeClaim,
  type Pod,
} from '@csi-sidecars/runtime';
import { claimKeysOf, isFinished } from '../pods.ts';
import { claimProtection, volumeProtection } from '../annotations.ts';
import { createLoop, enqueueFor, ownKey, type SimController, type SimDeps } from '../loop/loop.ts';

export type ProtectionAction = 'none' | 'add' | 'remove';

export function decideProtection(
  object: PersistentVolume | PersistentVolumeClaim,
  finalizer: string,
  use: 'used' | 'unused',
): ProtectionAction {
  const held = object.metadata?.finalizers?.includes(finalizer) === true;
  if (object.metadata?.deletionTimestamp === undefined) return held ? 'none' : 'add';
  return held && use === 'unused' ? 'remove' : 'none';
}

export function createVolumeProtection(deps: SimDeps): SimController {
  const { client, informers } = deps;
  const volumes = informers.informer({ resource: persistentVolumes });
  const loop = createLoop(deps, { name: 'pv-protection', informers: [volumes], reconcile });
  volumes.addHandler(enqueueFor(loop, ownKey));

  async function reconcile(key: ObjectKey, signal: AbortSignal): Promise<Outcome> {
    const volume = volumes.lister.get(key);
    if (volume === undefined) return done;
    const use = volume.status?.phase === 'Bound' ? 'used' : 'unused';
    const action = decideProtection(volume, volumeProtection, use);
    if (action === 'none') return done;
    const stored = await client.update(persistentVolumes, changed(volume, volumeProtection, action), { signal });
    if (action === 'add') volumes.remember(stored);
    return done;
  }
  return loop;
}

export function createClaimProtection(deps: SimDeps): SimController {
  const { client, informers } = deps;
  const claims = informers.informer({ resource: persistentVolumeClaims });
  const users = informers.informer({ resource: pods, indexers: { claim: claimKeysOf } });
  const loop = createLoop(deps, { name: 'pvc-protection', informers: [claims, users], reconcile });
  claims.addHandler(enqueueFor(loop, ownKey));
  users.addHandler(enqueueFor(loop, (pod) => claimKeysOf(pod)));

  async function reconcile(key: ObjectKey, signal: AbortSignal): Promise<Outcome> {
    const claim = claims.lister.get(key);
    if (claim === undefined) return done;
    const use = users.lister.byIndex('claim', key).some(isUsing) ? 'used' : 'unused';
    const action = decideProtection(claim, claimProtection, use);
    if (action === 'none' || (action === 'remove' && (await isUsedNow(key, claim, signal)))) return done;
    const stored = await client.update(persistentVolumeClaims, changed(claim, claimProtection, action), { signal });
    if (action === 'add') claims.remember(stored);
    return done;
  }

  async function isUsedNow(key: ObjectKey, { metadata }: PersistentVolumeClaim, signal: AbortSignal): Promise<boolean> {
    const { items } = await client.list(pods, { namespace: metadata?.namespace }, { signal });
    return items.some((pod) => isUsing(pod) && claimKeysOf(pod).includes(key));
  }
  return loop;
}

function isUsing(pod: Pod): boolean {
  return !isFinished(pod) && (pod.spec?.nodeName ?? '') !== '';
}

function changed<T extends PersistentVolume | PersistentVolumeClaim>(
  object: T,
  finalizer: string,
  action: 'add' | 'remove',
): T {
  const rest = (object.metadata?.finalizers ?? []).filter((each) => each !== finalizer);
  const finalizers = action === 'add' ? [...rest, finalizer] : rest;
  return { ...object, metadata: { ...object.metadata, finalizers } };
}
