// SPDX-License-Identifier: Apache-2.0
/** What coincides with a call that is under way: a refusal, a leader that stands still, a process whose first lists come late. */
import { type PersistentVolumeClaim, persistentVolumeClaims } from '@csi-sidecars/runtime';
import type { Args } from '../story.ts';
import type { World } from '../world.ts';
import { nodeName } from '../names.ts';
import { adminKinds } from './admins.ts';
import { kind, type Kinds } from './kind.ts';
import { callerOf, claimOf } from './moments.ts';
import { startAgain } from './more-faults.ts';
import { callOf, doLater, doNow, meet, replaceLater, troubleNames, withClaim } from './more-users.ts';
import { claims, patchClaim, snapshots } from './users.ts';

/** What users want next, while the call for the first is under way. */
const changesOfMind: Readonly<Record<string, readonly [then: string, args: Args]>> = {
  growClaim: ['growClaim', { gib: 5 }],
  modifyClaim: ['modifyClaim', { class: 'silver' }],
  createPod: ['deletePod', {}],
  createSnapshot: ['deleteSnapshot', {}],
};
const wishes = ['growClaim', ...Object.keys(changesOfMind)];

const argsOf = (what: string, claim: number, snapshot: number): Args => ({
  claim,
  snapshot,
  class: what === 'modifyClaim' ? 'gold' : '',
  pod: 0,
  gib: 3,
});

/** As long as it takes to be ready, usually. */
const readyMs = 1_500;

export const growthKinds: Kinds = {
  /** The storage refuses a size and has room for it later; the resizer is replaced, and the user asks for less meanwhile. */
  growsTooFar: kind({
    weight: 4,
    draw: (dice) => ({
      claim: dice.below(claims),
      trouble: dice.pick(troubleNames),
      restartMs: dice.pick([1_000, 3_000]),
      ms: dice.pick([5_000, 9_000, 15_000]),
    }),
    act: (world, { claim, trouble, restartMs, ms }) => {
      withClaim(world, claim, () => {
        const refusal = { kind: 'fail', code: 'OutOfRange' } as const;
        world.drivers[0].model.faults.add({ method: 'ControllerExpandVolume', times: 1, action: refusal });
        meet(world, 'ControllerExpandVolume', trouble);
        doNow(world, 'growClaim', { claim, gib: 5 });
        doLater(world, [ms, 'growClaim'], { claim, gib: 3 });
        replaceLater(world, restartMs, 'growClaim');
      });
    },
  }),
  /**
   * The leader of a call is replaced, and something of it comes late: it stands still for longer than its lease, or it dies and the writes
   * that it sent last are still queued.
   */
  leaderIsLate: kind({
    weight: 5,
    draw: (dice) => ({
      claim: dice.below(claims),
      snapshot: dice.below(snapshots),
      what: dice.pick(wishes),
      how: dice.pick(['standsStill', 'dies']),
      ms: dice.pick([25_000, 40_000]),
    }),
    act: (world, { claim, snapshot, what, how, ms }) => {
      const method = callOf[what]![0];
      const [then, changed] = changesOfMind[what]!;
      withClaim(world, claim, () => {
        meet(world, method, 'slow');
        doNow(world, what, argsOf(what, claim, snapshot));
        world.users.post(() => {
          const leader = callerOf(world, method);
          if (leader === undefined || world.network.isOver()) return;
          if (how === 'standsStill') return leader.suspend(ms);
          const untilMs = world.schedule.elapsedMs + 10_000;
          world.network.open({ untilMs, who: leader.name, what: 'patch *', chance: 1, fault: { kind: 'delay', ms } });
          world.users.post(() => leader.kill('crash'), 10_000);
        }, 1_000);
        doLater(world, [1_500, then], { ...argsOf(then, claim, snapshot), ...changed });
      });
    },
  }),
  /** A process starts in or after a call of the one before, and what is wanted changes before its first lists arrive. */
  startsAfterCall: kind({
    weight: 5,
    draw: (dice) => ({
      claim: dice.below(claims),
      snapshot: dice.below(snapshots),
      what: dice.pick(wishes),
      callMs: dice.pick([500, 3_000]),
      ms: dice.pick([400, 700, 4_000]),
      lagMs: dice.pick([3_000, 15_000]),
    }),
    act: (world, { claim, snapshot, what, callMs, ms, lagMs }) => {
      const [method, program] = callOf[what]!;
      const [then, changed] = changesOfMind[what]!;
      withClaim(world, claim, () => {
        const delay = { kind: 'delay', ms: callMs } as const;
        world.drivers[0].model.faults.add({ method, at: 'during', times: 1, action: delay });
        doNow(world, what, argsOf(what, claim, snapshot));
        const meanwhile = (): void => doNow(world, then, { ...argsOf(then, claim, snapshot), ...changed });
        world.users.post(() => startAgain(world, { program, lagMs, meanwhile }), ms);
      });
    },
  }),
  /** A claim that is restored from a snapshot ends before its volume is recorded, by its user or with the process, and then the snapshot. */
  restoreEndsEarly: kind({
    weight: 5,
    draw: (dice) => ({
      claim: dice.below(claims / 2),
      to: claims / 2 + dice.below(claims / 2),
      snapshot: dice.below(snapshots),
      trouble: dice.pick(['slow', 'timesOut', 'answersLate', 'openThenFinal']),
      how: dice.pick(['claim', 'process', 'both', 'both', 'both']),
      ms: dice.pick([300, 3_000]),
    }),
    act: (world, { claim, to, snapshot, trouble, how, ms }) => {
      withClaim(world, claim, () => {
        doNow(world, 'createSnapshot', { snapshot, claim, class: '' });
        world.users.post(() => {
          if (world.network.isOver()) return;
          meet(world, 'CreateVolume', trouble);
          doNow(world, 'restoreClaim', { claim: to, snapshot });
          if (how !== 'process') doLater(world, [ms, 'deleteClaim'], { claim: to });
          if (how !== 'claim') world.users.post(() => callerOf(world, 'CreateVolume')?.kill('crash'), ms);
          doLater(world, [ms + 5_000, 'deleteSnapshot'], { snapshot });
        }, world.story.shape.snapshotMs + readyMs);
      });
    },
  }),
  /** Node deployment: a node goes down when the outcome of a call on it is open, and the scheduler selects another one for the claim. */
  nodeGoesInCall: kind({
    weight: 4,
    draw: (dice) => ({
      claim: dice.below(claims),
      trouble: dice.pick(['openAfter', 'openBefore', 'timesOut', 'answersLate']),
      ms: dice.pick([5_000, 20_000]),
    }),
    act: (world, { claim, trouble, ms }) => {
      const { shape } = world.story;
      if (shape.deployment !== 'nodes') return;
      meet(world, 'CreateVolume', trouble);
      doNow(world, 'createClaim', { claim, class: 'late', attributes: '' });
      doNow(world, 'createPod', { claim, pod: 0 });
      world.users.post(() => {
        const pod = callerOf(world, 'CreateVolume')?.name.split('#')[0] ?? '';
        const node = Number(/-on-(\d+)$/.exec(pod)?.[1] ?? -1);
        const own = claimOf(world, claim);
        // The story has one storage for all nodes, so that no volume may be made twice: neither this one, nor that of another claim of the node.
        const areKept = own !== undefined && [own, ...askedFor(world, pod)].every(isKept);
        if (node < 0 || !areKept || world.network.isOver()) return;
        const container = world.installation.containers.find(({ name }) => name === pod);
        container?.scaleTo(0);
        world.users.post(() => container?.scaleTo(1), ms);
        adminKinds['nodeVanishes']?.act(world, { node, ms });
        const other = { 'volume.kubernetes.io/selected-node': nodeName((node + 1) % shape.nodes) };
        patchClaim(world, `claim-${claim}`, { metadata: { annotations: other } });
      }, 700);
    },
  }),
};

const isKept = ({ metadata }: PersistentVolumeClaim): boolean =>
  metadata?.finalizers?.some((each) => each.startsWith('provisioning-protection')) === true;

/** Claims without a volume for which a process of the pod has called the driver. */
function askedFor({ drivers: [main], sim }: World, pod: string): readonly PersistentVolumeClaim[] {
  const calls = main.model.calls.filter(({ peer }) => peer.startsWith(`${pod}#`));
  const names = new Set(calls.map(({ request }) => ('name' in request ? request.name : undefined)));
  return sim.server.objects
    .list(persistentVolumeClaims)
    .filter(({ metadata, spec }) => (spec?.volumeName ?? '') === '' && names.has(`pvc-${metadata?.uid}`));
}
