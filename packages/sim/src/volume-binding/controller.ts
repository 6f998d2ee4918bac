// SPDX-License-Identifier: Apache-2.0
/**
 * The PersistentVolume binder of kube-controller-manager: binds claims and volumes, marks claims for their external
 * provisioner, releases volumes whose claim is gone. Decisions: `claim.ts`, `volume.ts`, `match.ts`; writes: `bind.ts`.
 *
 * Not here: provisioning and deletion of volumes (external), in-tree plugins and their migration.
 */
import {
  done,
  ignoreNotFound,
  persistentVolumeClaims,
  persistentVolumes,
  requeueAfter,
  storageClasses,
  toObjectKey,
  type ObjectKey,
  type Outcome,
  type PersistentVolume,
  type PersistentVolumeClaim,
} from '@csi-sidecars/runtime';
import { bind } from './bind.ts';
import { betaStorageProvisioner, storageProvisioner } from '../annotations.ts';
import { createLoop, enqueueFor, ownKey, type SimController, type SimDeps } from '../loop/loop.ts';
import { decideClaim, type ClaimAction } from './claim.ts';
import { decideVolume, unbound, type VolumeAction } from './volume.ts';
import { findMatch } from './match.ts';

/** As kube-controller-manager, which looks at every claim and volume so often. */
const resyncMs = 15_000;

export function createVolumeBinding(deps: SimDeps): SimController {
  const { client, informers, recorder } = deps;
  const claims = informers.informer({ resource: persistentVolumeClaims });
  const volumes = informers.informer({ resource: persistentVolumes, indexers: { claimRef: claimRefOf } });
  const classes = informers.informer({ resource: storageClasses });
  const all = [claims, volumes, classes];

  const claimLoop = createLoop(deps, { name: 'claim-binding', informers: all, reconcile: reconcileClaim });
  const volumeLoop = createLoop(deps, { name: 'volume-binding', informers: all, reconcile: reconcileVolume });
  claims.addHandler(enqueueFor(claimLoop, ownKey));
  claims.addHandler(enqueueFor(volumeLoop, volumesOfClaim));
  volumes.addHandler(enqueueFor(volumeLoop, ownKey));
  volumes.addHandler(enqueueFor(claimLoop, claimsOfVolume));
  classes.addHandler(enqueueFor(claimLoop, () => waitingClaims().map(toKey)));

  function volumesOfClaim(claim: PersistentVolumeClaim): readonly ObjectKey[] {
    return volumes.lister.byIndex('claimRef', toKey(claim)).map(toKey);
  }

  /** The claim that it refers to. A free volume may match any waiting claim. */
  function claimsOfVolume(volume: PersistentVolume): readonly ObjectKey[] {
    const { name = '', namespace } = volume.spec?.claimRef ?? {};
    return name === '' ? waitingClaims().map(toKey) : [toObjectKey(namespace, name)];
  }

  function waitingClaims(): readonly PersistentVolumeClaim[] {
    return claims.lister.list().filter((claim) => (claim.spec?.volumeName ?? '') === '');
  }

  async function reconcileClaim(key: ObjectKey, signal: AbortSignal): Promise<Outcome> {
    const claim = claims.lister.get(key);
    if (claim === undefined) return done;
    const { volumeName = '', storageClassName = '' } = claim.spec ?? {};
    const storageClass = classes.lister.get(toObjectKey(undefined, storageClassName));
    const action = decideClaim({
      claim,
      storageClass,
      named: volumeName === '' ? undefined : volumes.lister.get(toObjectKey(undefined, volumeName)),
      match: volumeName === '' ? findMatch(claim, candidates(key, storageClass?.volumeBindingMode)) : undefined,
    });
    await performClaim(claim, action, signal);
    return done;
  }

  /** With a first consumer the scheduler chooses the volume; then only a volume that is reserved for the claim matches here. */
  function candidates(key: ObjectKey, bindingMode: string | undefined): readonly PersistentVolume[] {
    const reserved = volumes.lister.byIndex('claimRef', key);
    return bindingMode === 'WaitForFirstConsumer'
      ? reserved
      : [...reserved, ...volumes.lister.byIndex('claimRef', free)];
  }

  async function performClaim(claim: PersistentVolumeClaim, action: ClaimAction, signal: AbortSignal): Promise<void> {
    switch (action.kind) {
      case 'none':
        return;
      case 'waitForConsumer':
        recorder.record(claim, {
          type: 'Normal',
          reason: 'WaitForFirstConsumer',
          message: 'waiting for first consumer to be created before binding',
        });
        return;
      case 'provision':
        return markForProvisioner(claim, action.provisioner, signal);
      case 'lose':
        return lose(claim, action, signal);
      case 'bind': {
        const stored = await bind(client, { claim, volume: action.volume }, { signal });
        volumes.remember(stored.volume);
        claims.remember(stored.claim);
      }
    }
  }

  async function markForProvisioner(
    claim: PersistentVolumeClaim,
    provisioner: string,
    signal: AbortSignal,
  ): Promise<void> {
    const annotations = claim.metadata?.annotations ?? {};
    recorder.record(claim, {
      type: 'Normal',
      reason: 'ExternalProvisioning',
      message: `Waiting for a volume to be created either by the external provisioner '${provisioner}' or manually by the system administrator. If volume creation is delayed, please verify that the provisioner is running and correctly registered.`,
    });
    if (annotations[storageProvisioner] === provisioner) return;
    const marks = { [storageProvisioner]: provisioner, [betaStorageProvisioner]: provisioner };
    const metadata = { ...claim.metadata, annotations: { ...annotations, ...marks } };
    claims.remember(await client.update(persistentVolumeClaims, { ...claim, metadata }, { signal }));
  }

  async function lose(
    claim: PersistentVolumeClaim,
    { reason, message }: Extract<ClaimAction, { kind: 'lose' }>,
    signal: AbortSignal,
  ): Promise<void> {
    if (claim.status?.phase === 'Lost') return;
    const status = { ...claim.status, phase: 'Lost' };
    const lost = await client.update(persistentVolumeClaims, { ...claim, status }, { subresource: 'status', signal });
    claims.remember(lost);
    recorder.record(lost, { type: 'Warning', reason, message });
  }

  async function reconcileVolume(key: ObjectKey, signal: AbortSignal): Promise<Outcome> {
    const volume = volumes.lister.get(key);
    if (volume === undefined) return done;
    const cached = cachedClaimOf(volume);
    const claim = cached ?? (await readClaimOf(volume, signal));
    await performVolume(volume, decideVolume({ volume, claim }), signal);
    // The cache may never show it: the claim may be gone before it is listed.
    return cached === undefined && claim !== undefined ? requeueAfter(resyncMs) : done;
  }

  async function performVolume(volume: PersistentVolume, action: VolumeAction, signal: AbortSignal): Promise<void> {
    switch (action.kind) {
      case 'none':
        return;
      case 'phase':
        return setStatus(volume, { ...volume.status, phase: action.phase }, signal);
      case 'fail':
        await setStatus(volume, { ...volume.status, phase: 'Failed', message: action.message }, signal);
        recorder.record(volume, { type: 'Warning', reason: 'VolumeFailedDelete', message: action.message });
        return;
      case 'unbind':
        volumes.remember(await client.update(persistentVolumes, unbound(volume), { signal }));
    }
  }

  function cachedClaimOf(volume: PersistentVolume): PersistentVolumeClaim | undefined {
    const { name = '', namespace, uid } = volume.spec?.claimRef ?? {};
    const cached = claims.lister.get(toObjectKey(namespace, name));
    return cached?.metadata?.uid === uid ? cached : undefined;
  }

  /** A release cannot be undone, so a claim that is not in the cache is first read from the server. */
  async function readClaimOf(
    volume: PersistentVolume,
    signal: AbortSignal,
  ): Promise<PersistentVolumeClaim | undefined> {
    const { name = '', namespace } = volume.spec?.claimRef ?? {};
    if (name === '') return undefined;
    return await client.get(persistentVolumeClaims, { namespace, name }, { signal }).catch(ignoreNotFound);
  }

  async function setStatus(
    volume: PersistentVolume,
    status: PersistentVolume['status'],
    signal: AbortSignal,
  ): Promise<void> {
    const changed = { ...volume, status } as PersistentVolume;
    volumes.remember(await client.update(persistentVolumes, changed, { subresource: 'status', signal }));
  }

  return {
    async run(signal) {
      await Promise.all([claimLoop.run(signal), volumeLoop.run(signal)]);
    },
  };
}

/** Index value of volumes without a claim. */
const free = '';

function claimRefOf(volume: PersistentVolume): readonly string[] {
  const { name = '', namespace } = volume.spec?.claimRef ?? {};
  return [name === '' ? free : toObjectKey(namespace, name)];
}

function toKey(object: PersistentVolume | PersistentVolumeClaim): ObjectKey {
  return toObjectKey(object.metadata?.namespace, object.metadata?.name ?? '');
}
