// SPDX-License-Identifier: Apache-2.0
/** What meets a claim while its volume is made, and the source that the volume is made from. */
import type { Fault } from '@csi-sidecars/runtime/testing';
import type { World } from '../world.ts';
import { adminKinds } from './admins.ts';
import { kind, type Kinds } from './kind.ts';
import { afterwards, claimOf, isAsked, readyContent, when } from './moments.ts';
import { killAll, podOf } from './more-faults.ts';
import { doLater, doNow, meet, withBoundClaim } from './more-users.ts';
import { claims, snapshots } from './users.ts';

const selectedNode = 'volume.kubernetes.io/selected-node';

const unreachable: Fault = { kind: 'break', point: 'before', failure: 'refused' };

function onceAsked(world: World, claim: number, act: () => void): void {
  when(world, () => isAsked(world, claim) || undefined, act);
}

export const volumeKinds: Kinds = {
  /** Another node is selected for a pod while its volume is made. What binds claims may be late. */
  nodeDrainsInCall: kind({
    weight: 4,
    draw: (dice) => ({
      claim: dice.below(claims),
      trouble: dice.pick(['slow', 'slow', 'timesOut', 'openAfter']),
      ms: dice.pick([20, 500, 5_000]),
      bindMs: dice.pick([0, 1_000, 8_000]),
    }),
    act: (world, { claim, trouble, ms, bindMs }) => {
      const { network, schedule } = world;
      meet(world, 'CreateVolume', trouble);
      doNow(world, 'createClaim', { claim, class: 'late', attributes: '' });
      doNow(world, 'createPod', { claim, pod: 0 });
      const selected = (): string | undefined => claimOf(world, claim)?.metadata?.annotations?.[selectedNode];
      when(world, selected, (name) => {
        const untilMs = schedule.elapsedMs + 30_000;
        network.lag({ untilMs, who: 'kube-controller-manager', resource: 'persistentvolumes', ms: bindMs });
        const node = Number(name.split('-').at(-1));
        afterwards(world, ms, () => adminKinds['nodeDrains']!.act(world, { node, ms: 30_000 }));
      });
    },
  }),
  /** Claim and snapshot go during a restore, and so does the provisioner, which starts again while it cannot reach the API server. */
  restoreIsForgotten: kind({
    weight: 4,
    draw: (dice) => ({
      claim: dice.below(claims),
      snapshot: dice.below(snapshots),
      trouble: dice.pick(['slow', 'timesOut', 'openBefore']),
      ms: dice.pick([0, 500, 3_000]),
      awayMs: dice.pick([0, 2_000, 5_000, 15_000]),
    }),
    act: (world, { claim, snapshot, trouble, ms, awayMs }) => {
      const { network, schedule } = world;
      const restored = (claim + 1) % claims;
      withBoundClaim(world, claim, () => {
        doNow(world, 'createSnapshot', { snapshot, claim, class: '' });
        when(
          world,
          () => readyContent(world, snapshot),
          () => {
            meet(world, 'CreateVolume', trouble);
            doNow(world, 'restoreClaim', { claim: restored, snapshot });
            onceAsked(world, restored, () => {
              const who = podOf(world, 'csi-provisioner');
              afterwards(world, ms, () => {
                network.open({ untilMs: schedule.elapsedMs + awayMs, who, what: '*', chance: 1, fault: unreachable });
                killAll(world, 'csi-provisioner');
                doNow(world, 'deleteClaim', { claim: restored });
                doNow(world, 'deleteSnapshot', { snapshot });
              });
            });
          },
        );
      });
    },
  }),
  /** A claim is deleted during its call, and its watch is late. */
  claimDiesUnseen: kind({
    weight: 4,
    draw: (dice) => ({
      claim: dice.below(claims),
      trouble: dice.pick(['none', 'openAfter', 'openBefore', 'connectionBreaks']),
      ms: dice.pick([0, 20, 200]),
      lagMs: dice.pick([3_000, 15_000]),
    }),
    act: (world, { claim, trouble, ms, lagMs }) => {
      const { network, schedule } = world;
      meet(world, 'CreateVolume', trouble);
      doNow(world, 'createClaim', { claim, class: 'fast', attributes: '' });
      onceAsked(world, claim, () => {
        const who = podOf(world, 'csi-provisioner');
        network.lag({ untilMs: schedule.elapsedMs + lagMs, who, resource: 'persistentvolumeclaims', ms: lagMs });
        doLater(world, [ms, 'deleteClaim'], { claim });
      });
    },
  }),
  /** A claim and its pod are deleted during a call that finds no room, and the watch of claims is late. */
  claimDiesWithoutRoom: kind({
    weight: 4,
    draw: (dice) => ({
      claim: dice.below(claims),
      ms: dice.pick([0, 200]),
      callMs: dice.pick([1_000, 3_000]),
      lagMs: dice.pick([5_000, 15_000]),
    }),
    act: (world, { claim, ms, callMs, lagMs }) => {
      const { network, schedule, drivers } = world;
      doNow(world, 'createClaim', { claim, class: 'late', attributes: '' });
      when(
        world,
        () => claimOf(world, claim)?.metadata?.uid,
        (uid) => {
          // A driver that may have made the volume does not report that there is no room for it.
          if (isAsked(world, claim)) return;
          const call = { method: 'CreateVolume', volume: `pvc-${uid}`, at: 'before', times: 1 } as const;
          drivers[0].model.faults.add({ ...call, action: { kind: 'delay', ms: callMs } });
          drivers[0].model.faults.add({ ...call, action: { kind: 'fail', code: 'ResourceExhausted' } });
          doNow(world, 'createPod', { claim, pod: 0 });
          onceAsked(world, claim, () => {
            const who = podOf(world, 'csi-provisioner');
            network.lag({ untilMs: schedule.elapsedMs + lagMs, who, resource: 'persistentvolumeclaims', ms: lagMs });
            doLater(world, [ms, 'deleteClaim'], { claim });
            doLater(world, [ms, 'deletePod'], { claim, pod: 0 });
          });
        },
      );
    },
  }),
  /** A claim is deleted after its first clone. Another clone is under way, or waits for a pod. */
  sourceDiesBeforeClone: kind({
    weight: 4,
    draw: (dice) => ({
      claim: claims + dice.below(4),
      class: dice.pick(['fast', 'late', 'late']),
      trouble: dice.pick(['none', 'slow', 'openBefore']),
      then: dice.pick(['nothing', 'createPod', 'deleteClaim']),
      ms: dice.pick([500, 10_000, 40_000]),
    }),
    act: (world, { claim: from, class: storageClass, trouble, then, ms }) => {
      const [first, second] = [from + 4, from + 8];
      withBoundClaim(world, from, () => {
        doNow(world, 'cloneClaim', { claim: first, from, class: 'fast' });
        when(
          world,
          () => claimOf(world, first)?.spec?.volumeName,
          () => {
            meet(world, 'CreateVolume', trouble);
            doNow(world, 'cloneClaim', { claim: second, from, class: storageClass });
            doLater(world, [100, 'deleteClaim'], { claim: from });
            if (then !== 'nothing') doLater(world, [ms, then], { claim: second, pod: 0 });
          },
        );
      });
    },
  }),
};
