// SPDX-License-Identifier: Apache-2.0
/**
 * Plays a story: turbulence; then nothing fails any more, and everything must become settled; then users delete what they have, and nothing
 * may be left.
 */
import {
  events,
  type KubeObject,
  type PersistentVolume,
  persistentVolumeClaims,
  persistentVolumes,
  pods,
  type Resource,
  volumeAttachments,
} from '@csi-sidecars/runtime';
import {
  managedByLabel,
  volumeGroupSnapshotContents,
  volumeGroupSnapshots,
  type VolumeSnapshotContent,
  volumeSnapshotContents,
  volumeSnapshots,
} from '@csi-sidecars/volume';
import { refOf } from './happenings/admins.ts';
import { kindOf } from './happenings/index.ts';
import { tried } from './happenings/users.ts';
import { beginRest, restMs } from './invariants/at-rest.ts';
import { forgetMs, type MemoryWatch } from './invariants/memory.ts';
import { secretsInObjects } from './invariants/in-outputs.ts';
import { otherWrites } from './invariants/only-reports.ts';
import { isAdmitted, isUnsettled } from './invariants/quiet/lookups.ts';
import { unsettled } from './invariants/quiet/unsettled.ts';
import { nodeIdOf, nodeName } from './names.ts';
import type { MoreOfPrograms } from './installation.ts';
import type { Story } from './story.ts';
import { turbulenceMs } from './times.ts';
import { createWorld, type World } from './world.ts';

export interface Ending {
  readonly breaches: readonly string[];
  readonly timeLine: () => string;
  /** Virtual time until everything was gone. */
  readonly elapsedMs: number;
  readonly tasks: number;
  readonly requests: number;
  readonly calls: number;
}

/** Longer than the longest pause between two attempts (5 minutes), twice. */
const patienceMs = 720_000;
/** In a cluster at rest nothing waits for a backoff: what is deleted then needs no second attempt. */
const promptMs = 60_000;
const lookEveryMs = 5_000;

/** `memory`: what live processes remember in the end is a breach, too. */
export async function runStory(story: Story, memory?: MemoryWatch, more?: MoreOfPrograms): Promise<Ending> {
  const world = beginStory(story, more);
  memory?.begin(world);
  const { schedule, installation, timeLine } = world;
  await schedule.advanceTo(story.peaceMs ?? turbulenceMs, world.look);
  makePeace(world);
  const open = story.shape.damage ? [] : await untilSettled(world);
  const repetitions = open.length > 0 ? [] : await watchRest(world);
  const stuck = open.length > 0 ? open : await cleanUp(world);
  const remembered = memory === undefined || stuck.length > 0 ? [] : await watchMemories(world, memory);
  const all = [
    ...world.breaches(),
    ...remembered,
    ...repetitions,
    ...secretsInObjects(world.sim.server),
    ...otherWrites(world.sim.server),
    ...stuck.map((text) => `drains: ${text}`),
  ];
  const promised = story.shape.damage ? all.filter((text) => /^(one-call|secret|drains: (?!leak))/.test(text)) : all;
  const breaches = [...promised, ...installation.defects];
  await stopWorld(world);
  return {
    breaches,
    timeLine: timeLine.text,
    elapsedMs: schedule.elapsedMs,
    tasks: schedule.tasks,
    requests: world.sim.server.requests.length,
    calls: world.drivers.reduce((sum, { model }) => sum + model.calls.length, 0),
  };
}

/** Nothing has happened yet. `stopWorld` ends it. */
export function beginStory(story: Story, more?: MoreOfPrograms): World {
  const world = createWorld(story, more);
  for (const { atMs, kind, args } of story.happenings) {
    world.users.post(() => {
      world.timeLine.note('*', () => `${kind} ${JSON.stringify(args)}`);
      kindOf(kind).act(world, args);
    }, atMs);
  }
  return world;
}

function makePeace({ network, drivers, sim, installation, timeLine }: World): void {
  timeLine.note('*', 'nothing fails any more');
  network.end();
  for (const { model } of drivers) model.faults.clear();
  for (const node of sim.nodes.values()) node.thaw();
  for (const container of installation.containers) container.scaleTo(1);
}

/** What is still open when patience is over. */
async function untilSettled(world: World): Promise<readonly string[]> {
  const { schedule } = world;
  const endMs = schedule.elapsedMs + patienceMs;
  for (;;) {
    await schedule.advanceTo(schedule.elapsedMs + lookEveryMs, world.look);
    labelContents(world);
    annotateContents(world);
    const open = unsettled(world);
    if (open.length === 0 || schedule.elapsedMs >= endMs) return open;
  }
}

async function watchRest(world: World): Promise<readonly string[]> {
  const { schedule } = world;
  const rest = beginRest(world);
  await schedule.advanceTo(schedule.elapsedMs + restMs, world.look);
  return rest.repetitions();
}

async function watchMemories({ schedule }: World, memory: MemoryWatch): Promise<readonly string[]> {
  await schedule.advanceTo(schedule.elapsedMs + forgetMs);
  return memory.left();
}

/** Users delete everything, and the administrator what was retained. Returns what is left. */
async function cleanUp(world: World): Promise<readonly string[]> {
  const { schedule, timeLine, sim } = world;
  timeLine.note('*', 'users delete everything');
  // The outcome of a call may be open for minutes, and so may be what damage has left.
  const isOpen = sim.server.objects.list(persistentVolumeClaims).some(isUnsettled);
  for (const resource of ofUsers) deleteAll(world, resource);
  const endMs = schedule.elapsedMs + (isOpen || world.story.shape.damage ? patienceMs : promptMs);
  for (;;) {
    await schedule.advanceTo(schedule.elapsedMs + lookEveryMs, world.look);
    deleteRetained(world);
    labelContents(world);
    annotateContents(world);
    giveUp(world);
    if (world.story.shape.damage) detachForgotten(world);
    const left = [...leftObjects(world), ...leftInDrivers(world)];
    if (left.length === 0 || schedule.elapsedMs >= endMs) return left;
  }
}

const always = (): boolean => true;
const ofUsers: readonly Resource[] = [pods, volumeGroupSnapshots, volumeSnapshots, persistentVolumeClaims];

function deleteAll(
  { sim, client }: World,
  resource: Resource,
  isMeant: (object: KubeObject) => boolean = always,
): void {
  for (const object of sim.server.objects.list(resource)) {
    const isDeleting = object.metadata?.deletionTimestamp !== undefined;
    if (!isDeleting && isMeant(object)) void tried(client.delete(resource, refOf(object)));
  }
}

function deleteRetained(world: World): void {
  deleteAll(world, persistentVolumes, ({ spec, status }: PersistentVolume) => {
    return spec?.persistentVolumeReclaimPolicy === 'Retain' && status?.phase === 'Released';
  });
  if (world.sim.server.objects.list(volumeSnapshots).length > 0) return;
  // Damage may take a snapshot without its content, which an administrator then deletes whatever its policy is.
  const isMeant = ({ metadata, spec }: VolumeSnapshotContent): boolean =>
    world.story.shape.damage || spec?.deletionPolicy === 'Retain' || isBornLate(world, metadata?.uid);
  deleteAll(world, volumeSnapshotContents, isMeant);
}

const lossOfDamage = /code = (NotFound|AlreadyExists)|volumesnapshotcontents\S* "[^"]+" not found/;

/**
 * An administrator does what the event of a deleted claim says, and gives its volume up: one that went with its PersistentVolume and its source,
 * and one whose source the driver or the API server lacks, or whose name another volume has. That is damage only: a restored backup brings the claim back, and not the source.
 * With `always` csi-provisioner keeps such a claim until a person acts (P9).
 */
function giveUp({ sim, client, record, story }: World): void {
  const { objects } = sim.server;
  for (const { metadata } of objects.list(persistentVolumeClaims)) {
    const { uid = '', namespace, name = '', deletionTimestamp } = metadata ?? {};
    if (deletionTimestamp === undefined) continue;
    const isAsked = objects.list(events).some(({ involvedObject, message = '' }) => {
      const isLost = record.givenUp.has(uid) || (story.shape.damage && lossOfDamage.test(message));
      return isLost && involvedObject.uid === uid && message.includes('to give that volume up');
    });
    const target = { resource: persistentVolumeClaims, ref: { namespace, name } };
    if (isAsked) void tried(client.patch(target, { type: 'merge', body: { metadata: { finalizers: null } } }));
  }
}

/** An administrator detaches what a restored backup does not know any more. */
function detachForgotten({ sim, drivers: [main] }: World): void {
  const { objects } = sim.server;
  const known = new Set(
    objects.list(volumeAttachments).map(({ spec }) => {
      const volume = objects.get(persistentVolumes, { name: spec.source.persistentVolumeName ?? '' });
      return `${volume?.spec?.csi?.volumeHandle} ${nodeIdOf(spec.nodeName)}`;
    }),
  );
  const channel = main.model.channel({ peer: 'administrator' });
  for (const { id, attachments } of main.model.volumes()) {
    for (const { nodeId } of attachments.filter((each) => !known.has(`${id} ${each.nodeId}`))) {
      const request = { volume_id: id, node_id: nodeId, secrets: {} };
      channel
        .call('/csi.v1.Controller/ControllerUnpublishVolume', request, { timeoutMs: 1_000 })
        .catch(() => undefined);
    }
  }
}

const contentKinds: readonly Resource[] = [volumeSnapshotContents, volumeGroupSnapshotContents];

/** An administrator labels the contents that no node had when they were made, as their events say. The storage serves each node. */
function labelContents({ sim, client, story }: World): void {
  if (!story.shape.snapshotsOnNodes) return;
  for (const resource of contentKinds) {
    for (const { metadata } of sim.server.objects.list(resource)) {
      if (metadata?.labels?.[managedByLabel] !== undefined) continue;
      const body = { metadata: { labels: { [managedByLabel]: nodeName(0) } } };
      void tried(client.patch({ resource, ref: { name: metadata?.name ?? '' } }, { type: 'merge', body }));
    }
  }
}

function isBornLate({ drivers }: World, uid = ''): boolean {
  return drivers.some(({ checks }) => checks.bornLate.has(uid));
}

/**
 * An administrator does what the event of a content says that is deleted after its snapshot or group, and has lost its mark: to a writer with
 * an old copy, or to damage; or one that was made after its snapshot. Without those no content may come to that.
 */
function annotateContents(world: World): void {
  const { sim, client, record, story } = world;
  const { objects } = sim.server;
  for (const resource of contentKinds) {
    for (const { metadata } of objects.list(resource)) {
      const mayCome =
        story.shape.damage || record.overwritten.has(metadata?.uid ?? '') || isBornLate(world, metadata?.uid);
      if (!mayCome) continue;
      const said = objects.list(events).find(({ involvedObject, reason }) => {
        return involvedObject.uid === metadata?.uid && reason === 'ContentDeletePending';
      });
      const [, annotation, value] = /kubectl annotate \S+ \S+ ([^=]+)=(\w+);/.exec(said?.message ?? '') ?? [];
      if (annotation === undefined) continue;
      const target = { resource, ref: { name: metadata?.name ?? '' } };
      const body = { metadata: { annotations: { [annotation]: value } } };
      void tried(client.patch(target, { type: 'merge', body }));
    }
  }
}

function leftObjects({ sim }: World): readonly string[] {
  const kinds: readonly Resource[] = [
    ...ofUsers,
    persistentVolumes,
    volumeAttachments,
    volumeSnapshotContents,
    volumeGroupSnapshotContents,
  ];
  return kinds.flatMap((resource) =>
    sim.server.objects.list(resource).map(({ metadata }) => `${resource.kind} ${metadata?.name} is left`),
  );
}

function leftInDrivers(world: World): readonly string[] {
  return world.drivers.flatMap((actor) =>
    [...actor.model.volumes(), ...actor.model.snapshots()]
      .filter((each) => !isAdmitted(world, actor, each))
      .map(({ name }) => `leak: ${name} is left in the driver`),
  );
}

export async function stopWorld({ installation, sim, schedule }: World): Promise<void> {
  for (const container of installation.containers) {
    const process = container.process();
    container.scaleTo(0);
    process?.kill('the story ends');
  }
  const stopped = sim.stop();
  await schedule.advanceTo(schedule.elapsedMs + 60_000);
  await stopped;
}
