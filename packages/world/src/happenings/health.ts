// SPDX-License-Identifier: Apache-2.0
/** What makes volumes sick and well again, and what meets csi-external-health-monitor-controller meanwhile. */
import { persistentVolumeClaims, persistentVolumes, type PersistentVolumeClaim } from '@csi-sidecars/runtime';
import type { Fault, ScheduledProcess } from '@csi-sidecars/runtime/testing';
import type { FaultRule } from '@csi-sidecars/test-driver';
import { driverName, namespace } from '../names.ts';
import { lastMs } from '../invariants/healthy.ts';
import { byHand, sicknesses } from '../sicknesses.ts';
import type { World } from '../world.ts';
import { answers } from './faults.ts';
import { kind, type Kinds } from './kind.ts';
import { afterwards, claimOf } from './moments.ts';
import { podOf } from './more-faults.ts';
import { doNow, withBoundClaim } from './more-users.ts';
import { claims, tried } from './users.ts';

const names = Object.keys(sicknesses);
const sick = names.filter((name) => name !== 'none');

/** The volume of the claim has this from now on. Does nothing while the driver is down. */
function fall(world: World, claim: PersistentVolumeClaim | undefined, sickness: string): void {
  const { sim, schedule, record, drivers } = world;
  const { control } = drivers[0].model;
  const { csi } = sim.server.objects.get(persistentVolumes, { name: claim?.spec?.volumeName ?? '' })?.spec ?? {};
  if (csi?.driver !== driverName) return;
  const { reported, shown } = sicknesses[sickness]!;
  const set = async (): Promise<void> => {
    await control.setHealth(csi.volumeHandle, reported);
    const sinceMs = record.sick.get(csi.volumeHandle) ?? schedule.elapsedMs;
    if (shown.length > 0) record.sick.set(csi.volumeHandle, sinceMs);
    else if (record.sick.has(csi.volumeHandle)) record.sick.set(csi.volumeHandle, undefined);
  };
  set().catch(() => undefined);
}

/** What the write of health meets, beside what others meet. */
const faults: Readonly<Record<string, Fault>> = { ...answers, late: { kind: 'delay', ms: 1_000 } };

interface Turn {
  readonly claim: number;
  readonly process: ScheduledProcess;
  readonly next: string;
}

/** What happens when a write of health is on its way. */
const turns: Readonly<Record<string, (world: World, turn: Turn) => void>> = {
  nothing: () => undefined,
  changes: (world, { claim, next }) => fall(world, claimOf(world, claim), next),
  processDies: (_world, { process }) => process.kill('crash during a write of health'),
  processStandsStill: (_world, { process }) => process.suspend(25_000),
  claimGoes: (world, { claim }) => doNow(world, 'deleteClaim', { claim }),
  claimIsMadeAgain: (world, { claim }) => {
    doNow(world, 'deleteClaim', { claim });
    for (const ms of [50, 500]) {
      afterwards(world, ms, () => doNow(world, 'createClaim', { claim, class: 'fast', attributes: '' }));
    }
  },
};

/** What drivers with a defect answer. Nothing of it is said in the next cycle. */
const lies: Readonly<Record<string, readonly [method: string, action: FaultRule['action']]>> = {
  emptyList: ['List', { kind: 'answer', set: { entries: [] } }],
  listOfStrangers: [
    'List',
    {
      kind: 'answer',
      set: { entries: ['', 'nowhere'].map((id) => ({ volume_id: id, health_statuses: sicknesses['away']!.reported })) },
    },
  ],
  listOfAnother: [
    'List',
    { kind: 'answer', set: { entries: [{ volume_id: 'volume-1', health_statuses: sicknesses['away']!.reported }] } },
  ],
  listGoesOn: ['List', { kind: 'answer', set: { next_token: '0' } }],
  noHealth: ['Get', { kind: 'answer', unset: ['volume_health'] }],
  anotherVolume: ['Get', { kind: 'answer', set: { volume_health: { volume_id: 'nowhere', health_statuses: [] } } }],
};

export const healthKinds: Kinds = {
  healthChanges: kind({
    weight: 12,
    draw: (dice) => ({ claim: dice.below(claims), sickness: dice.pick([...names, 'none', 'none']) }),
    act: (world, { claim, sickness }) => fall(world, claimOf(world, claim), sickness),
  }),
  /** A claim shows a health, and another one is written. */
  healthIsWritten: kind({
    weight: 14,
    draw: (dice) => ({
      claim: dice.below(claims),
      sickness: dice.pick(sick),
      fault: dice.pick(Object.keys(faults)),
      turn: dice.pick(Object.keys(turns)),
      next: dice.pick([...sick, 'none', 'none', 'none']),
      times: 1 + dice.below(2),
    }),
    act: (world, { claim, sickness, fault, turn, next, times }) => {
      withBoundClaim(world, claim, () => {
        fall(world, claimOf(world, claim), sickness);
        world.network.open({
          untilMs: world.schedule.elapsedMs + 40_000,
          who: podOf(world, 'csi-external-health-monitor-controller'),
          what: 'patch persistentvolumeclaims/status',
          chance: 1,
          times,
          fault: faults[fault]!,
          onStrike: (process) => turns[turn]!(world, { claim, process, next }),
        });
      });
    },
  }),
  /** While a claim has shown its health for so long that it may not lose it any more. */
  driverLies: kind({
    weight: 6,
    draw: (dice) => ({
      claim: dice.below(claims),
      sickness: dice.pick(sick),
      lie: dice.pick(Object.keys(lies)),
      times: 1 + dice.below(3),
    }),
    act: (world, { claim, sickness, lie, times }) => {
      const [method, action] = lies[lie]!;
      withBoundClaim(world, claim, () => {
        fall(world, claimOf(world, claim), sickness);
        afterwards(world, lastMs + 25_000, () => {
          world.record.sick.set('volume-1', world.record.sick.get('volume-1'));
          world.drivers[0].model.faults.add({ method: `Controller${method}VolumeHealth`, times, action });
        });
      });
    },
  }),
  healthIsNotAnswered: kind({
    weight: 6,
    draw: (dice) => ({
      method: dice.pick(['List', 'Get']),
      code: dice.pick(['Aborted', 'Internal', 'NotFound', 'ResourceExhausted', 'Unavailable', 'drop']),
      ms: dice.pick([0, 0, 3_000, 20_000]),
      times: 1 + dice.below(3),
    }),
    act: ({ drivers: [main] }, { method, code, ms, times }) => {
      const rule = { method: `Controller${method}VolumeHealth`, times };
      if (ms > 0) main.model.faults.add({ ...rule, action: { kind: 'delay', ms } });
      else if (code === 'drop') main.model.faults.add({ ...rule, action: { kind: 'drop' } });
      else main.model.faults.add({ ...rule, action: { kind: 'fail', code } } as FaultRule);
    },
  }),
  /** A person, or the monitor of another driver, writes the health of a claim. */
  healthIsEdited: kind({
    weight: 5,
    draw: (dice) => ({ claim: dice.below(claims) }),
    act: (world, { claim }) => {
      const { metadata, status } = claimOf(world, claim) ?? {};
      const { name = '', uid = '' } = metadata ?? {};
      if (status?.phase !== 'Bound') return;
      const target = { resource: persistentVolumeClaims, ref: { namespace, name } };
      const body = { metadata: { uid }, status: { healthStatus: { healthConditions: byHand } } };
      const write = async (): Promise<void> => {
        await world.client.patch(target, { type: 'merge', body }, { subresource: 'status' });
        world.record.healthByHand.add(uid);
      };
      void tried(write());
    },
  }),
};
