// SPDX-License-Identifier: Apache-2.0
/** What administrators do to classes, secrets, contents, nodes and finalizers, and what backups do to the cluster. */
import {
  csiNodes,
  type KubeObject,
  nodes,
  type ObjectMeta,
  type ObjectRef,
  persistentVolumeClaims,
  persistentVolumes,
  pods,
  type Resource,
  secrets,
  storageClasses,
  volumeAttachments,
} from '@csi-sidecars/runtime';
import {
  snapshotAnnotations,
  volumeSnapshotClasses,
  volumeSnapshotContents,
  volumeSnapshots,
} from '@csi-sidecars/volume';
import { driverName, namespace, nodeName } from '../names.ts';
import { turbulenceMs } from '../times.ts';
import { nodeDriverOf, type World } from '../world.ts';
import { kind, type Kinds } from './kind.ts';
import { afterwards } from './moments.ts';
import { tried } from './users.ts';

/** The object is gone for a while. */
function vanish(
  world: World,
  { resource, name }: { readonly resource: Resource; readonly name: string },
  ms: number,
): void {
  const { objects, seed } = world.sim.server;
  const ref = { ...(resource.namespaced ? { namespace } : {}), name };
  const known = objects.get(resource, ref);
  if (known === undefined) return;
  objects.remove(resource, ref);
  world.users.post(() => {
    if (objects.get(resource, ref) === undefined) seed(known);
  }, ms);
}

/** An attachment whose PersistentVolume is in no backup cannot be detached any more, and says so. An administrator lets it go. */
function releaseForgotten(world: World, looks = 30): void {
  const { objects } = world.sim.server;
  for (const { metadata, spec } of objects.list(volumeAttachments)) {
    const isKnown = objects.get(persistentVolumes, { name: spec.source.persistentVolumeName ?? '' }) !== undefined;
    if (metadata?.deletionTimestamp === undefined || isKnown) continue;
    const target = { resource: volumeAttachments, ref: { name: metadata.name ?? '' } };
    void tried(world.client.patch(target, { type: 'merge', body: { metadata: { finalizers: null } } }));
  }
  if (looks > 0) world.users.post(() => releaseForgotten(world, looks - 1), 30_000);
}

const ofAdmins: readonly Resource[] = [storageClasses, volumeSnapshotClasses, secrets];
const touched = [persistentVolumeClaims, persistentVolumes, volumeSnapshots, volumeSnapshotContents] as const;

/** One of the objects there are. */
export function anyOf<T extends KubeObject>(world: World, resource: Resource<T>, number: number): T | undefined {
  const all = world.sim.server.objects.list(resource);
  return all[number % Math.max(all.length, 1)];
}

export function refOf({ metadata = {} }: { readonly metadata?: ObjectMeta }): ObjectRef {
  const { namespace: space, name = '' } = metadata;
  return { ...(space === undefined ? {} : { namespace: space }), name };
}

export const adminKinds: Kinds = {
  touch: kind({
    weight: 6,
    draw: (dice) => ({ kind: dice.below(touched.length), object: dice.below(10), value: dice.below(1_000) }),
    act: (world, args) => {
      const resource = touched[args.kind]! as Resource;
      const object = anyOf(world, resource, args.object);
      if (object === undefined) return;
      const uid = object.metadata?.uid ?? '';
      const annotations = { [`example.com/${args.value}`]: 'yes' };
      const target = { resource, ref: refOf(object) };
      const write = async (): Promise<void> => {
        await world.client.patch(target, { type: 'merge', body: { metadata: { annotations } } });
        world.record.foreign.push({ resource, uid, annotation: `example.com/${args.value}` });
      };
      void tried(write());
    },
  }),
  deleteContent: kind({
    weight: 2,
    draw: (dice) => ({ object: dice.below(10) }),
    act: (world, args) => {
      const content = anyOf(world, volumeSnapshotContents, args.object);
      if (content !== undefined) void tried(world.client.delete(volumeSnapshotContents, refOf(content)));
    },
  }),
  removeFinalizers: kind({
    weight: 4,
    isDamage: true,
    draw: (dice) => ({ kind: dice.pick([0, 1, 3]), object: dice.below(10) }),
    act: (world, args) => {
      // Not of snapshots: who does that has to look after content and claim, too. Nor of what is attached: its detach has no handle then.
      const resource = touched[args.kind]! as Resource;
      const object = anyOf(world, resource, args.object);
      const attached = world.sim.server.objects
        .list(volumeAttachments)
        .map(({ spec }) => spec.source.persistentVolumeName);
      if (object?.metadata?.deletionTimestamp === undefined || attached.includes(object.metadata.name)) return;
      const body = { metadata: { finalizers: null } };
      void tried(world.client.patch({ resource, ref: refOf(object) }, { type: 'merge', body }));
    },
  }),
  classVanishes: kind({
    weight: 2,
    draw: (dice) => ({ class: dice.pick(['fast', 'late']), ms: dice.pick([2_000, 20_000]) }),
    act: (world, args) => vanish(world, { resource: storageClasses, name: args.class }, args.ms),
  }),
  snapshotClassVanishes: kind({
    weight: 1,
    draw: (dice) => ({ class: dice.pick(['daily', 'kept']), ms: dice.pick([2_000, 20_000]) }),
    act: (world, args) => vanish(world, { resource: volumeSnapshotClasses, name: args.class }, args.ms),
  }),
  secondDefaultClass: kind({
    weight: 1,
    draw: (dice) => ({ ms: dice.pick([2_000, 20_000]) }),
    act: (world, { ms }) => {
      const { objects } = world.sim.server;
      const ref = { name: 'kept' };
      const mark = (annotations: Record<string, string>, next?: () => void): void => {
        // The class may have vanished meanwhile; it comes back as it was.
        if (objects.get(volumeSnapshotClasses, ref) === undefined)
          return world.users.post(() => mark(annotations, next), 1_000);
        objects.change(volumeSnapshotClasses, ref, (it) => ({ ...it, metadata: { ...it.metadata, annotations } }));
        next?.();
      };
      // Its end waits for its beginning: there would be two default classes for ever otherwise, and no snapshot without a class is taken then.
      mark({ [snapshotAnnotations.isDefaultClass]: 'true' }, () => world.users.post(() => mark({}), ms));
    },
  }),
  secretVanishes: kind({
    weight: 2,
    draw: (dice) => ({ ms: dice.pick([2_000, 20_000]) }),
    act: (world, { ms }) => vanish(world, { resource: secrets, name: 'login' }, ms),
  }),
  nodeVanishes: kind({
    weight: 2,
    draw: (dice, shape) => ({ node: dice.below(shape.nodes), ms: dice.pick([1_000, 10_000, 30_000]) }),
    act: (world, { node, ms }) => {
      const name = nodeName(node);
      const meant = world.sim.nodes.get(name);
      meant?.freeze();
      vanish(world, { resource: nodes, name: name }, ms);
      vanish(world, { resource: csiNodes, name: name }, ms);
      world.users.post(() => meant?.thaw(), ms);
    },
  }),
  nodeDrains: kind({
    weight: 3,
    draw: (dice, shape) => ({ node: dice.below(shape.nodes), ms: dice.pick([5_000, 30_000]) }),
    act: (world, { node, ms }) => {
      const name = nodeName(node);
      const target = { resource: nodes, ref: { name } };
      const mark = (unschedulable: boolean | null): void =>
        void tried(world.client.patch(target, { type: 'merge', body: { spec: { unschedulable } } }));
      mark(true);
      for (const pod of world.sim.server.objects.list(pods)) {
        if (pod.spec?.nodeName === name) void tried(world.client.delete(pods, refOf(pod)));
      }
      world.users.post(() => mark(null), ms);
    },
  }),
  pluginRestarts: kind({
    weight: 2,
    draw: (dice, shape) => ({ node: dice.below(shape.nodes), ms: dice.pick([500, 10_000]) }),
    act: (world, { node, ms }) => {
      const meant = world.sim.nodes.get(nodeName(node));
      const { signal } = new AbortController();
      const register = (): void => {
        // As kubelet, until the Node is there.
        meant?.register(nodeDriverOf(node, world.story.shape), signal).catch(() => world.users.post(register, 2_000));
      };
      meant?.unregister(driverName, signal).catch(() => undefined);
      world.users.post(register, ms);
    },
  }),
  forceDeletePod: kind({
    weight: 2,
    draw: (dice) => ({ object: dice.below(10) }),
    act: (world, args) => {
      const pod = anyOf(world, pods, args.object);
      if (pod !== undefined) void tried(world.client.delete(pods, refOf(pod), { gracePeriodSeconds: 0 }));
    },
  }),
  /** What upstream's programs do with objects that they read a while ago: all annotations are replaced. */
  staleWrite: kind({
    weight: 3,
    draw: (dice) => ({ kind: dice.below(touched.length), object: dice.below(10), ms: dice.pick([50, 500, 3_000]) }),
    act: (world, args) => {
      const resource = touched[args.kind]! as Resource;
      const object = anyOf(world, resource, args.object);
      if (object === undefined) return;
      world.record.overwritten.add(object.metadata?.uid ?? '');
      world.users.post(() => {
        const value = object.metadata?.annotations ?? {};
        const operations = [{ op: 'add', path: '/metadata/annotations', value }] as const;
        void tried(world.client.patch({ resource, ref: refOf(object) }, { type: 'json', operations }));
      }, args.ms);
    },
  }),
  /** What upstream's csi-attacher does with a PersistentVolume that it read a while ago: all finalizers are replaced. */
  staleFinalizers: kind({
    weight: 3,
    draw: (dice) => ({ object: dice.below(10), ms: dice.pick([50, 500, 3_000]) }),
    act: (world, { object: number, ms }) => {
      const { name = '', uid = '', finalizers = [] } = anyOf(world, persistentVolumes, number)?.metadata ?? {};
      afterwards(world, ms, () => {
        const { metadata } = world.sim.server.objects.get(persistentVolumes, { name }) ?? {};
        if (metadata?.uid !== uid || metadata.deletionTimestamp !== undefined) return;
        world.record.overwritten.add(uid);
        const target = { resource: persistentVolumes, ref: { name } };
        void tried(world.client.patch(target, { type: 'merge', body: { metadata: { finalizers } } }));
      });
    },
  }),
  /** The storage is restored from a backup of its own. */
  driverRolledBack: kind({
    weight: 3,
    isDamage: true,
    draw: (dice) => ({ ms: dice.pick([1_000, 10_000, 40_000]) }),
    act: (world, { ms }) => {
      const [main] = world.drivers;
      const restore = main.model.backup();
      afterwards(world, ms, () => {
        world.timeLine.note(main.name, 'is rolled back');
        main.crash(500);
        restore();
      });
    },
  }),
  driverLosesData: kind({
    weight: 4,
    isDamage: true,
    when: 'late',
    draw: (dice) => ({ volume: dice.below(10) }),
    act: (world, { volume }) => {
      const [main] = world.drivers;
      const all = main.model.volumes();
      const lost = all[volume % Math.max(all.length, 1)];
      if (lost === undefined || lost.attachments.length > 0) return;
      main.crash(500);
      main.model.lose(lost.id);
    },
  }),
  backupRestored: kind({
    weight: 4,
    isDamage: true,
    draw: (dice) => ({ ms: dice.pick([3_000, 20_000, 60_000]) }),
    act: (world, { ms }) => {
      const { server } = world.sim;
      const restore = server.backup();
      // Before users delete what they have.
      const afterMs = Math.min(ms, turbulenceMs - world.schedule.elapsedMs);
      world.users.post(() => {
        world.timeLine.note('*', 'the backup is restored');
        const known = ofAdmins.flatMap((resource) =>
          server.objects.list(resource).map((object) => ({ resource, object })),
        );
        restore();
        // Gone for a while when the backup was made, and back since. An administrator makes it again: what needs it waits for a person otherwise.
        for (const { resource, object } of known) {
          if (server.objects.get(resource, refOf(object)) === undefined) server.seed(object);
        }
        world.users.post(() => releaseForgotten(world), 30_000);
      }, afterMs);
    },
  }),
};
