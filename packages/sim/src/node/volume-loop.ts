// SPDX-License-Identifier: Apache-2.0
/** The volumes of one node, independently of each other: the steps of `volume-steps.ts`, one per run. The key is the volume's name. */
import {
  done,
  keyOf,
  persistentVolumeClaims,
  toObjectKey,
  type ObjectKey,
  type Outcome,
  type PersistentVolume,
  type PersistentVolumeClaim,
  type Pod,
} from '@csi-sidecars/runtime';
import { createLoop, type Loop, type SimDeps } from '../loop/loop.ts';
import { expand, publish, stage, unpublish, unstage, type MountDeps, type MountTarget } from './mount-calls.ts';
import { type ExpansionOfNode, finished, inProgress, infeasible, isInfeasible, needsExpansion } from './expansion.ts';
import { nextStep, type VolumeStep } from './volume-steps.ts';
import { uniqueVolumeName } from '../attach-detach/attachments.ts';
import type { Freezer } from './freezer.ts';
import type { Mount, MountTable } from './mount-table.ts';
import type { NodeView } from './node-view.ts';
import type { Registrations } from './registrations.ts';

export interface VolumeLoopDeps {
  readonly sim: SimDeps;
  readonly mounting: MountDeps;
  readonly view: NodeView;
  readonly table: MountTable;
  readonly registrations: Pick<Registrations, 'get'>;
  readonly freezer: Freezer;
  readonly expansion: ExpansionOfNode;
  /** Called when a mount of a pod was added or removed. */
  readonly mountsChanged: () => void;
  /** Called when the set of volumes in the table changed. */
  readonly useChanged: () => void;
}

const notMounted: Omit<Mount, 'volume'> = { staged: false, published: new Map() };

export function createVolumeLoop(deps: VolumeLoopDeps): Loop {
  const { sim, mounting, view, table, registrations } = deps;
  const { client } = sim;
  const loop = createLoop(sim, {
    name: 'node-volumes',
    informers: view.informers,
    reconcile,
    workers: 8,
    gate: deps.freezer.gate,
  });

  async function reconcile(key: ObjectKey, signal: AbortSignal): Promise<Outcome> {
    const mount = table.get(key) ?? join(key);
    if (mount === undefined) return done;
    const { volume } = mount;
    const users = view.usersOf(key);
    const driver = registrations.get(volume.spec?.csi?.driver ?? '');
    const claim = view.claimOf(volume);
    const step = nextStep({
      published: new Set(mount.published.keys()),
      staged: mount.staged,
      users: [...users.keys()],
      reported: view.node()?.status?.volumesInUse?.includes(uniqueVolumeName(volume)) === true,
      registered: driver !== undefined,
      attached: view.attachmentOf(volume).attached,
      expands: claim !== undefined && needsExpansion(view.volumes.lister.get(key) ?? volume, claim, deps.expansion),
    });
    if (step.kind === 'forget') {
      table.delete(key);
      deps.useChanged();
      return done;
    }
    if (step.kind === 'none' || step.kind === 'wait' || driver === undefined) return done;
    await take(step, {
      target: { driver, volume: view.volumes.lister.get(key) ?? volume, signal },
      mount,
      users,
      claim,
    });
    loop.enqueue(key);
    return done;
  }

  /** A volume that a pod begins to use is added to the table, and so to the report, before anything else happens. */
  function join(key: ObjectKey): Mount | undefined {
    const volume = view.volumes.lister.get(key);
    if (volume === undefined || view.usersOf(key).size === 0) return undefined;
    const mount = { ...notMounted, volume };
    table.set(key, mount);
    deps.useChanged();
    return mount;
  }

  interface Situation {
    readonly target: MountTarget;
    readonly mount: Mount;
    readonly users: ReadonlyMap<string, Pod>;
    readonly claim: PersistentVolumeClaim | undefined;
  }

  async function take(step: VolumeStep, situation: Situation): Promise<void> {
    const { target, mount, users, claim } = situation;
    const { volume } = target;
    const save = (change: Partial<Mount>): void => table.set(keyOf(volume), { ...mount, volume, ...change });
    switch (step.kind) {
      case 'stage':
        await stage(mounting, target, view.attachmentOf(volume).publishContext);
        return save({ staged: true });
      case 'unstage':
        await unstage(mounting, target);
        return save({ staged: false });
      case 'publish': {
        const pod = users.get(step.pod);
        if (pod === undefined) return undefined;
        const path = await publishFor(target, pod);
        save({ published: new Map([...mount.published, [step.pod, path]]) });
        return deps.mountsChanged();
      }
      case 'unpublish': {
        await unpublish(target, mount.published.get(step.pod) ?? '');
        save({ published: new Map([...mount.published].filter(([pod]) => pod !== step.pod)) });
        return deps.mountsChanged();
      }
      case 'expand':
        return claim === undefined ? undefined : expandFor(target, claim, [...mount.published.values()][0] ?? '');
      case 'none':
      case 'wait':
      case 'forget':
        return undefined;
    }
  }

  function publishFor(target: MountTarget, pod: Pod): Promise<string> {
    const mounted = view.volumesOf(pod);
    const name = target.volume.metadata?.name;
    const readOnly =
      mounted !== 'unbound' && mounted.some((each) => each.volume.metadata?.name === name && each.readOnly);
    const { publishContext } = view.attachmentOf(target.volume);
    return publish(mounting, target, { pod, publishContext, readOnly, podInfo: view.podInfoWanted(target.volume) });
  }

  async function expandFor(target: MountTarget, claim: PersistentVolumeClaim, path: string): Promise<void> {
    const { volume, signal } = target;
    const setStatus = async (status: PersistentVolumeClaim['status']): Promise<PersistentVolumeClaim> => {
      const changed = { ...current, status } as PersistentVolumeClaim;
      const stored = await client.update(persistentVolumeClaims, changed, { subresource: 'status', signal });
      view.claims.remember(stored);
      return stored;
    };
    let current = claim;
    const isOld = deps.expansion === 'beforeRecovery';
    if (!isOld) current = await setStatus(inProgress(claim.status));
    try {
      await expand(mounting, target, path);
    } catch (error) {
      if (!isOld && isInfeasible(error)) await setStatus(infeasible((error as Error).message, current.status));
      throw error;
    }
    await setStatus(finished(volume, current.status, deps.expansion));
  }

  return loop;
}

/** The keys of the volumes that a pod uses now. */
export function volumeKeysOf(view: NodeView, pod: Pod): readonly ObjectKey[] {
  const mounted = view.volumesOf(pod);
  return mounted === 'unbound' ? [] : mounted.map(({ volume }) => nameKey(volume));
}

function nameKey(volume: PersistentVolume): ObjectKey {
  return toObjectKey(undefined, volume.metadata?.name ?? '');
}
