// SPDX-License-Identifier: Apache-2.0
/** The save loop's queue and log lines, and what the end of its runs leaves in memory. */
import { persistentVolumes, storageClasses } from '@csi-sidecars/runtime';
import type { FaultRule } from '@csi-sidecars/runtime/testing';
import { expect, it } from 'vitest';
import { aClaim, aClass, aVolume, driverName } from '../../testing/builders.ts';
import { pinned } from '../../testing/claim-states.ts';
import { loopAlone } from '../../testing/loop-alone.ts';
import { aProvisioner, type Fixture } from '../../testing/provisioner-fixture.ts';
import { uidOf } from '../claim/claim.ts';
import type { ClaimMemory, Saving } from '../claim/memory.ts';
import { provisioningFinalizer } from '../names.ts';
import { saveLoop } from './loop.ts';

const name = 'pvc-uid-data';
const success = `Normal ProvisioningSucceeded team/data: Successfully provisioned volume ${name}`;
const isCreate = ({ verb, resource }: { readonly verb: string; readonly resource?: string }): boolean =>
  verb === 'create' && resource === 'persistentvolumes';
const internal = { kind: 'status', point: 'before', code: 500, reason: 'InternalError' } as const;

/** The API server refuses this number of PersistentVolumes. */
function refuse(p: Fixture, times: number, fault: object = internal): void {
  p.faults.push({ when: isCreate, fault: { ...internal, ...fault }, times });
}

async function unsaved(times: number): Promise<Fixture> {
  const p = await aProvisioner({ seed: [aClass()] });
  refuse(p, times);
  p.server.seed(aClaim());
  await p.settle();
  return p;
}
const isProtected = (p: Fixture): boolean =>
  p.claim()?.metadata?.finalizers?.includes(provisioningFinalizer(driverName)) === true;
const adds = (p: Fixture): number | undefined => p.metrics.value('workqueue_adds_total', { name: 'unsavedpvs' });

it('given five volumes that wait to be saved, then four saves run at a time', async () => {
  const p = await aProvisioner({ seed: [aClass()] });
  const claims = ['a', 'b', 'c', 'd', 'e'];
  refuse(p, claims.length);
  let hanging = 0;
  p.faults.push({
    when: (target) => {
      if (!isCreate(target)) return false;
      hanging += 1;
      return true;
    },
    fault: { kind: 'hang', point: 'before' },
    times: 99,
  });
  for (const claim of claims) p.server.seed(aClaim({ name: claim }));
  await p.settle();
  await p.clock.advance(20_000);
  expect([p.driver.volumes().length, hanging, adds(p)]).toEqual([5, 4, 5]);
});

it('given a background save that fails, then it is logged with the name of the PersistentVolume, and counted in the queue of upstream’s name', async () => {
  const p = await unsaved(2);
  await p.clock.advance(100);
  const lines = p.logger.lines.filter(({ message }) => message === 'Retrying saving volume');
  expect(lines).toMatchObject([{ kind: 'error', facts: { queue: 'unsavedpvs', PV: name, failures: 2 } }]);
  expect(adds(p)).toBe(2);
});

it('given a volume that was saved, when its name is woken once more, then nothing is sent', async () => {
  const p = await unsaved(1);
  await p.clock.advance(100);
  const before = p.server.requests.length;
  await p.stop();
  expect([p.events.includes(success), p.server.requests.length]).toEqual([true, before]);
});

it('given a claim that is not deleted, when its saves fail for an hour, then it is not given up after its deletion for that', async () => {
  const p = await unsaved(999);
  await p.clock.advance(3_600_000);
  p.deleteClaim();
  await p.settle();
  expect(isProtected(p)).toBe(true);
});

it('given a deleted claim whose saves fail, when they have failed for five minutes, then the claim is given up, and the volume is still saved later', async () => {
  const p = await unsaved(999);
  p.deleteClaim();
  await p.clock.advance(240_000);
  expect(isProtected(p)).toBe(true);
  await p.clock.advance(120_000);
  expect([p.claim(), p.volume()]).toEqual([undefined, undefined]);
  p.faults.splice(0);
  await p.clock.advance(1_000_000);
  expect(p.volume()?.spec?.csi?.volumeHandle).toBe(p.driver.volumes()[0]?.id);
});

it('given a claim without our finalizer, when its volume is saved in the background, then the next run of the claim begins without memory', async () => {
  const p = await aProvisioner({ seed: [aClass()], settings: { provisioningProtection: 'off' } });
  refuse(p, 2);
  p.server.seed(aClaim());
  await p.settle();
  await p.clock.advance(100);
  expect([p.writes(), p.events.includes(success)]).toEqual([[`create persistentvolumes ${name} 201`], true]);
  // The claim loop decides by the claim again: without its PersistentVolume it is provisioned once more.
  p.server.objects.remove(persistentVolumes, { name });
  p.changeClaim((claim) => ({
    ...claim,
    metadata: { ...claim.metadata, annotations: { ...claim.metadata?.annotations, again: 'yes' } },
  }));
  await p.settle();
  expect(p.writes()).toEqual([`create persistentvolumes ${name} 201`, `create persistentvolumes ${name} 201`]);
});

it('given the API server refuses the record in the background, when the claim loop takes over, then the driver gets the same request after the backoff', async () => {
  const p = await unsaved(1);
  refuse(p, 1, { code: 403, reason: 'Forbidden' });
  await p.clock.advance(500);
  expect(p.calls()).toHaveLength(1);
  p.changeClaim((claim) => claim);
  await p.clock.advance(1_000);
  const [first, second] = p.requests('CreateVolume');
  expect(second).toEqual(first);
});

it('given the API server refuses the record in the background and the class is gone, when the claim loop takes over, then the driver gets the request that it had', async () => {
  const p = await unsaved(1);
  refuse(p, 1, { code: 403, reason: 'Forbidden' });
  await p.clock.advance(500);
  p.server.objects.remove(storageClasses, { name: 'fast' });
  await p.clock.advance(2_000);
  const [first, second] = p.requests('CreateVolume');
  expect(second).toEqual(first);
  expect(p.volume()?.spec?.csi?.volumeHandle).toBe(p.driver.volumes()[0]?.id);
});

it('[provisioner#226] given a record that was made without an answer, when the next try is refused while the watch is silent, then the claim loop reads it, and CreateVolume is not repeated', async () => {
  const p = await aProvisioner({ seed: [aClass()] });
  const isWatch: FaultRule['when'] = ({ verb, resource }) => verb === 'watch' && resource === 'persistentvolumes';
  p.faults.push({ when: isWatch, fault: { kind: 'lag', ms: 3_600_000 }, times: 99 });
  p.server.endWatches('broken');
  await p.clock.advance(30_000);
  p.faults.push({ when: isCreate, fault: { kind: 'break', point: 'after', failure: 'reset' } });
  refuse(p, 99, { code: 403, reason: 'Forbidden' });
  p.server.seed(aClaim());
  await p.clock.advance(60_000);
  expect([p.calls(), p.claim()?.metadata?.name, isProtected(p)]).toEqual([[`CreateVolume ${name} OK`], 'data', false]);
  expect(p.writes()).toEqual([
    `create persistentvolumes ${name} 201`,
    'update persistentvolumeclaims team/data 200',
    'update persistentvolumeclaims team/data 200',
  ]);
});

it.each<{
  readonly given: string;
  readonly meanwhile: (memory: ClaimMemory, saving: Saving) => void;
  readonly answers: readonly string[];
}>([
  { given: 'nothing', meanwhile: () => undefined, answers: ['final', 'open'] },
  {
    given: 'another answer',
    meanwhile: (memory, it) => memory.set({ ...it, deletion: { seenMs: 0, answers: ['open', 'final'] } }),
    answers: ['open', 'final', 'open'],
  },
  {
    given: 'that the record is built again',
    meanwhile: (memory, { volume: _volume, ...it }) => memory.set({ ...it, kind: 'pinned' }),
    answers: ['final', 'open'],
  },
])(
  'given a deleted claim whose record is being saved, and the claim loop learns $given meanwhile, when the save fails, then it counts beside what is known by then',
  async ({ meanwhile, answers }) => {
    const claim = aClaim({ protection: 'on', deleting: 'yes' });
    const volume = aVolume({ phase: 'Pending' });
    const saving: Saving = { kind: 'saving', claim, pinned, volume, deletion: { seenMs: 0, answers: ['final'] } };
    const l = await loopAlone(saveLoop, { seed: [claim], entry: saving });
    l.faults.push({ when: isCreate, fault: { kind: 'delay', ms: 1_000 } });
    l.faults.push({ when: isCreate, fault: internal });
    l.deps.saves.wake(name);
    await l.settle();
    meanwhile(l.deps.memory, saving);
    await l.clock.advance(1_000);
    expect(l.deps.memory.get(uidOf(claim))).toMatchObject({ deletion: { answers } });
    await l.stop();
  },
);
