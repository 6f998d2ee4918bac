// SPDX-License-Identifier: Apache-2.0
/** What happens to attachments and PersistentVolumes at a certain point of their lives. */
import { addedFinalizer, persistentVolumes, removedFinalizer, volumeAttachments } from '@csi-sidecars/runtime';
import type { World } from '../world.ts';
import { refOf } from './admins.ts';
import { lostAnswers } from './faults.ts';
import { kind, type Kinds } from './kind.ts';
import { diesInWrite, listsComeLate, podOf } from './more-faults.ts';
import { doNow, meet, withClaim } from './more-users.ts';
import { isAttached, isDeleting, isMarked, onceAttachment, onceVolume } from './moments.ts';
import { claims, tried } from './users.ts';

const hold = 'example.com/hold';

interface DeadConnection {
  readonly what: string;
  readonly how: 'reset' | 'timeout';
  readonly lagMs: number;
}

/** The connection of a process to the API server goes dead during a write: neither its answer arrives, nor for a while what is watched. */
function connectionGoesDead(world: World, program: string, { what, how, lagMs }: DeadConnection): void {
  const { schedule, network } = world;
  network.open({
    untilMs: schedule.elapsedMs + 20_000,
    who: podOf(world, program),
    what,
    chance: 1,
    times: 1,
    fault: lostAnswers[how],
    onStrike: ({ name }) => network.lag({ untilMs: schedule.elapsedMs + lagMs, who: name, resource: '', ms: lagMs }),
  });
}

const program = 'csi-attacher';

const works: Readonly<Record<string, string>> = {
  createPod: 'csi-attacher',
  deletePod: 'csi-attacher',
  deleteClaim: 'csi-provisioner',
  growClaim: 'csi-resizer',
  createSnapshot: 'snapshot-controller',
};

export const attachmentKinds: Kinds = {
  /**
   * The attacher dies while the server queues its last write for an attachment. The list of the next one shows what was before that write, and
   * arrives when the attachment has a successor, whose name is the same if it is on the same node.
   */
  detachEndsUnseen: kind({
    weight: 4,
    draw: (dice) => ({
      claim: dice.below(claims),
      ms: dice.pick([3_000, 5_000]),
      lagMs: dice.pick([10_000, 15_000]),
    }),
    act: (world, { claim, ms, lagMs }) =>
      withClaim(world, claim, () => {
        doNow(world, 'createPod', { claim, pod: 0 });
        onceAttachment(world, { claim, is: isAttached }, () => {
          doNow(world, 'deletePod', { claim, pod: 0 });
          onceAttachment(world, { claim, is: isDeleting }, () => {
            doNow(world, 'createPod', { claim, pod: 1 });
            const before = (): void => listsComeLate(world, { program, resource: 'volumeattachments', lagMs });
            diesInWrite(world, { program, what: 'patch volumeattachments', ms, before });
          });
        });
      }),
  }),
  /**
   * A tool of others keeps an attachment for a while: the attacher has to write its end. The attacher may have died before it wrote that the
   * volume is attached, so that the next one learns from the driver that it is.
   */
  attachmentIsHeld: kind({
    weight: 3,
    draw: (dice) => ({
      claim: dice.below(claims),
      attacher: dice.pick(['attaches', 'dies']),
      what: dice.pick(['patch volumeattachments/status', 'patch volumeattachments']),
      how: dice.pick(['reset', 'timeout'] as const),
      lagMs: dice.pick([0, 5_000]),
      ms: dice.pick([5_000, 40_000]),
    }),
    act: (world, { claim, attacher, what, how, lagMs, ms }) => {
      withClaim(world, claim, () => {
        if (attacher === 'dies') diesInWrite(world, { program, what: 'patch volumeattachments/status', ms: 'lost' });
        doNow(world, 'createPod', { claim, pod: 0 });
        onceAttachment(world, { claim, is: attacher === 'dies' ? isMarked : isAttached }, (attachment) => {
          const target = { resource: volumeAttachments, ref: refOf(attachment) };
          const write = (metadata: object): Promise<unknown> =>
            world.client.patch(target, { type: 'strategic', body: { metadata } });
          void tried(write(addedFinalizer(attachment, hold)));
          doNow(world, 'deletePod', { claim, pod: 0 });
          onceAttachment(world, { claim, is: isDeleting }, () =>
            connectionGoesDead(world, 'csi-attacher', { what, how, lagMs }),
          );
          // Once more: a backup may bring it back.
          for (const afterMs of [ms, 150_000]) {
            world.users.post(() => void tried(write(removedFinalizer(attachment, hold))), afterMs);
          }
        });
      });
    },
  }),
  /** A write waits in a queue of the server while its process dies and the next one begins. */
  writeArrivesLate: kind({
    weight: 4,
    draw: (dice) => ({
      claim: dice.below(claims),
      what: dice.pick(['volumeattachments/status', 'volumeattachments/status', 'volumeattachments']),
      trouble: dice.pick(['timesOut', 'timesOut', 'openBefore', 'none']),
      ms: dice.pick([5_000, 10_000, 14_000, 18_000, 24_000, 30_000]),
    }),
    act: (world, { claim, what, trouble, ms }) => {
      withClaim(world, claim, () => {
        const before = (): void => meet(world, 'ControllerPublishVolume', trouble);
        diesInWrite(world, { program, what: `patch ${what}`, ms, before });
        doNow(world, 'createPod', { claim, pod: 0 });
      });
    },
  }),
  connectionDies: kind({
    weight: 3,
    draw: (dice) => ({
      claim: dice.below(claims),
      work: dice.pick(Object.keys(works)),
      how: dice.pick(['reset', 'timeout'] as const),
      lagMs: dice.pick([2_000, 8_000, 25_000]),
    }),
    act: (world, { claim, work, how, lagMs }) => {
      withClaim(world, claim, () => {
        connectionGoesDead(world, works[work]!, { what: 'patch *', how, lagMs });
        doNow(world, work, { claim, pod: 0, gib: 3, snapshot: claim % 5, class: '' });
      });
    },
  }),
  /** An administrator gives up a volume that was retained. */
  retainedVolumeIsGivenUp: kind({
    weight: 2,
    draw: (dice) => ({
      claim: dice.below(claims),
      how: dice.pick(['reset', 'timeout'] as const),
      lagMs: dice.pick([0, 5_000, 15_000]),
    }),
    act: (world, { claim, how, lagMs }) => {
      doNow(world, 'createClaim', { claim, class: 'kept', attributes: '' });
      onceVolume(world, { claim, phase: 'Bound' }, () => {
        doNow(world, 'deleteClaim', { claim });
        onceVolume(world, { claim, phase: 'Released' }, (volume) => {
          if (volume.spec?.persistentVolumeReclaimPolicy !== 'Retain') return;
          connectionGoesDead(world, 'csi-provisioner', { what: 'delete persistentvolumes', how, lagMs });
          const body = { spec: { persistentVolumeReclaimPolicy: 'Delete' } };
          void tried(world.client.patch({ resource: persistentVolumes, ref: refOf(volume) }, { type: 'merge', body }));
        });
      });
    },
  }),
  /** A request was sent to a server which does not know the object yet. */
  attachmentsAreNotFound: kind({
    weight: 3,
    draw: (dice) => ({
      claim: dice.below(claims),
      work: dice.pick(['createPod', 'deletePod']),
      chance: dice.pick([0.5, 1]),
      ms: dice.pick([500, 5_000]),
    }),
    act: (world, { claim, work, chance, ms }) => {
      const lose = (): void => {
        for (const what of ['patch volumeattachments', 'patch volumeattachments/status']) {
          world.network.open({
            untilMs: world.schedule.elapsedMs + ms,
            who: podOf(world, 'csi-attacher'),
            what,
            chance,
            fault: { kind: 'status', point: 'before', code: 404, reason: 'NotFound' },
          });
        }
      };
      withClaim(world, claim, () => {
        if (work === 'createPod') lose();
        doNow(world, 'createPod', { claim, pod: 0 });
        if (work === 'createPod') return;
        onceAttachment(world, { claim, is: isAttached }, () => {
          doNow(world, 'deletePod', { claim, pod: 0 });
          onceAttachment(world, { claim, is: isDeleting }, lose);
        });
      });
    },
  }),
};
