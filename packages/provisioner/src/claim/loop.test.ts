// SPDX-License-Identifier: Apache-2.0
/** What wakes the claim loop, what a run observes a second time, and what the loop forgets with a claim. */
import { type PersistentVolume, persistentVolumes, type StorageClass, storageClasses } from '@csi-sidecars/runtime';
import { describe, expect, it } from 'vitest';
import {
  aClaim,
  aClass,
  aGrant,
  aNode,
  aNodeDeployment,
  aVolume,
  driverName,
  someSettings,
} from '../../testing/builders.ts';
import { aLateClass, aPublisher, asked } from '../../testing/capacity-fixture.ts';
import { loopAlone, type LoopAloneOptions } from '../../testing/loop-alone.ts';
import { pinned } from '../../testing/claim-states.ts';
import { aProvisioner, type Fixture } from '../../testing/provisioner-fixture.ts';
import { copying, fromClaim } from '../../testing/sources.ts';
import { annotations, instanceAnnotation } from '../names.ts';
import { referenceGrants } from '../source/grants.ts';
import { uidOf } from './claim.ts';
import { claimLoop } from './loop.ts';
import type { ClaimRecord } from './memory.ts';
import { withoutProtection } from './protection.ts';

const adds = (p: Fixture): number => p.metrics.value('workqueue_adds_total', { name: 'claims' }) ?? 0;
const isLate = { volumeBindingMode: 'WaitForFirstConsumer' } as const;

/** How many keys the queue gets from this. */
async function added(p: Fixture, act: () => void): Promise<number> {
  const before = adds(p);
  act();
  await p.settle();
  return adds(p) - before;
}

function annotate(p: Fixture, values: Readonly<Record<string, string>>, name?: string): void {
  p.changeClaim(
    (claim) => ({
      ...claim,
      metadata: { ...claim.metadata, annotations: { ...claim.metadata?.annotations, ...values } },
    }),
    name,
  );
}

describe('a claim', () => {
  it('given it appears or its annotations change, then it is woken; given its labels or its status change, then not', async () => {
    const p = await aProvisioner({ seed: [aClass(isLate)] });
    expect(await added(p, () => p.server.seed(aClaim()))).toBe(1);
    expect(await added(p, () => annotate(p, { note: 'x' }))).toBe(1);
    const labels = { a: 'b' };
    expect(await added(p, () => p.changeClaim((c) => ({ ...c, metadata: { ...c.metadata, labels } })))).toBe(0);
    expect(await added(p, () => p.changeClaim((c) => ({ ...c, status: { phase: 'Pending' } })))).toBe(0);
  });

  it('given it is of another driver, or gone, then it is not woken', async () => {
    const p = await aProvisioner({ seed: [aClass(isLate)] });
    const theirs = { annotations: { [annotations.storageProvisioner]: 'other' } };
    expect(await added(p, () => p.server.seed(aClaim(theirs)))).toBe(0);
    expect(await added(p, () => annotate(p, { note: 'x' }))).toBe(0);
    p.server.seed(aClaim({ name: 'ours' }));
    await p.settle();
    expect(await added(p, () => p.deleteClaim('ours'))).toBe(0);
  });

  it('given it is of another driver and has a source, so that it is watched, then it is not woken', async () => {
    const p = await aProvisioner({ controller: copying, seed: [aClass(isLate)] });
    const theirs = aClaim({ annotations: { [annotations.storageProvisioner]: 'other' }, spec: fromClaim });
    expect(await added(p, () => p.server.seed(theirs))).toBe(0);
  });

  it('given the finalizer of another instance is removed, then it is woken; given that of this instance, then not', async () => {
    const woken = async (node: string): Promise<number> => {
      const annotation = { [instanceAnnotation(driverName)]: node };
      const claim = aClaim({ protection: 'on', annotations: { ...aClaim().metadata?.annotations, ...annotation } });
      const settings = { node: aNodeDeployment('n1'), provisioningProtection: 'off' } as const;
      const p = await aProvisioner({ topology: 'on', settings, seed: [aClass(isLate), claim] });
      return await added(p, () => p.changeClaim((it) => withoutProtection(it, driverName)));
    };
    expect([await woken('n2'), await woken('n1')]).toEqual([1, 0]);
  });

  it('given the provisioning finalizer appears, then it is not woken, because this process put it there', async () => {
    const p = await aProvisioner({ seed: [aClass()] });
    p.driver.faults.add({ method: 'CreateVolume', action: { kind: 'fail', code: 'DeadlineExceeded' } });
    expect(await added(p, () => p.server.seed(aClaim()))).toBe(1);
    expect(p.claim()?.metadata?.finalizers).toHaveLength(1);
    expect(p.calls()).toHaveLength(1);
  });

  it('given a deleted claim changes, then its backoff continues; given a live one is deleted, then its next call is made at once', async () => {
    const p = await aProvisioner({ seed: [aClass()] });
    p.driver.faults.add({ method: 'CreateVolume', action: { kind: 'fail', code: 'DeadlineExceeded' } });
    p.server.seed(aClaim());
    await p.clock.advance(100_000);
    const failures = (): readonly unknown[] =>
      p.logger.lines
        .filter(({ message }) => message === 'Retrying syncing claim')
        .map(({ facts }) => facts['failures'])
        .slice(-1);
    p.deleteClaim();
    await p.settle();
    expect(failures()).toEqual([1]);
    await p.clock.advance(10_000);
    const [before] = failures();
    annotate(p, { note: 'x' });
    await p.settle();
    expect(failures()).toEqual([Number(before) + 1]);
  });
});

describe('a class', () => {
  const late = aClass({ ...isLate, metadata: { name: 'slow', uid: 'slow-uid' } });
  const slow = aClaim({ name: 'waits', spec: { storageClassName: 'slow' } });

  it('given it appears, then the claims that name it are woken, and no others', async () => {
    const p = await aProvisioner({ seed: [aClass(isLate), aClaim(), slow] });
    expect(await added(p, () => p.server.seed(late))).toBe(1);
  });

  it('given it changes or goes, then no claim is woken', async () => {
    const p = await aProvisioner({ seed: [late, slow] });
    const change = (storageClass: StorageClass): StorageClass => ({ ...storageClass, allowVolumeExpansion: true });
    expect(await added(p, () => p.server.objects.change(storageClasses, { name: 'slow' }, change))).toBe(0);
    expect(await added(p, () => p.server.objects.delete(storageClasses, { name: 'slow' }))).toBe(0);
  });
});

describe('a PersistentVolume', () => {
  const name = 'pvc-uid-data';

  it('[provisioner#222] given that of a pending claim is deleted, and when it goes, then the claim is woken; given it appears or changes, then not', async () => {
    const p = await aProvisioner({ seed: [aClass(isLate), aClaim()] });
    expect(await added(p, () => p.server.seed(aVolume({ phase: 'Available' })))).toBe(0);
    const status = { phase: 'Bound' };
    expect(await added(p, () => p.server.objects.change(persistentVolumes, { name }, (v) => ({ ...v, status })))).toBe(
      0,
    );
    expect(await added(p, () => p.server.objects.delete(persistentVolumes, { name }))).toBe(1);
    const labels = { a: 'b' };
    const relabel = (v: PersistentVolume): PersistentVolume => ({ ...v, metadata: { ...v.metadata, labels } });
    expect(await added(p, () => p.server.objects.change(persistentVolumes, { name }, relabel))).toBe(0);
    expect(await added(p, () => p.server.objects.remove(persistentVolumes, { name }))).toBe(1);
  });

  it('[provisioner#222] given that of a pending claim is being deleted when the watch brings it first, then the claim is woken', async () => {
    const p = await aProvisioner({ seed: [aClass(isLate), aClaim()] });
    expect(await added(p, () => p.server.seed(aVolume({ phase: 'Available', deleting: 'yes' })))).toBe(1);
  });

  it('[provisioner#222] given that of a claim goes, then the claim is read first if it names no volume; given it is only marked as deleted, then not', async () => {
    /** The finalizer of another instance keeps the claim in the cache. */
    const held = { protection: 'on', annotations: { [instanceAnnotation(driverName)]: 'n2' } } as const;
    const reads = async (spec: object, act: (p: Fixture) => void): Promise<number> => {
      const seed = [aClass(isLate), aClaim({ ...held, spec }), aVolume({ phase: 'Available' })];
      const p = await aProvisioner({ topology: 'on', settings: { node: aNodeDeployment('n1') }, seed });
      const before = p.server.requests.length;
      act(p);
      await p.settle();
      const sent = p.server.requests.slice(before);
      return sent.filter(({ verb, resource }) => verb === 'list' && resource === 'persistentvolumeclaims').length;
    };
    const goes = (p: Fixture): void => p.server.objects.remove(persistentVolumes, { name });
    const isMarked = (p: Fixture): void => p.server.objects.delete(persistentVolumes, { name });
    expect([await reads({}, goes), await reads({ volumeName: name }, goes), await reads({}, isMarked)]).toEqual([
      1, 0, 0,
    ]);
  });

  it('[provisioner#222] given that of a bound claim, of one that is gone or of none goes, then no claim is woken', async () => {
    const p = await aProvisioner({ seed: [aClass(isLate), aClaim({ spec: { volumeName: name } })] });
    const owners = [{ uid: 'uid-data' }, { uid: 'uid-gone' }, {}];
    for (const claimRef of owners) {
      p.server.seed(aVolume({ policy: 'Retain', finalizers: [], spec: { claimRef } }));
      await p.settle();
      expect(await added(p, () => p.server.objects.remove(persistentVolumes, { name }))).toBe(0);
    }
  });
});

it('given a grant appears, then the claims with a source in its namespace are woken, and no others; given it goes, then none', async () => {
  const features = { ...someSettings().features, crossNamespaceVolumeDataSource: true };
  const p = await aProvisioner({ settings: { features }, seed: [aClass(isLate)] });
  const source = { kind: 'PersistentVolumeClaim', name: 'origin' };
  p.server.seed(aClaim());
  p.server.seed(aClaim({ name: 'same', spec: { dataSourceRef: source } }));
  p.server.seed(aClaim({ name: 'elsewhere', spec: { dataSourceRef: { ...source, namespace: 'apps' } } }));
  await p.settle();
  const grant = aGrant('apps', { group: '', kind: 'PersistentVolumeClaim' });
  expect(await added(p, () => p.server.seed(grant))).toBe(1);
  expect(await added(p, () => p.server.objects.remove(referenceGrants, { namespace: 'apps', name: 'grant' }))).toBe(0);
  expect(p.logger.lines.filter(({ kind }) => kind === 'error')).toEqual([]);
});

it('given a claim without an answer, when it leaves the cache, then its retries are logged with its name as before', async () => {
  const p = await aProvisioner({ seed: [aClass()], settings: { provisioningProtection: 'off' } });
  p.driver.faults.add({ method: 'CreateVolume', action: { kind: 'fail', code: 'DeadlineExceeded' } });
  p.server.seed(aClaim());
  await p.clock.advance(2_000);
  const named = (): readonly unknown[] =>
    p.logger.lines.filter(({ message }) => message === 'Retrying syncing claim').map(({ facts }) => facts['PVC']);
  const before = named().length;
  p.deleteClaim();
  await p.clock.advance(60_000);
  expect(p.claim()).toBeUndefined();
  expect([before > 0, named().length > before, new Set(named())]).toEqual([true, true, new Set(['team/data'])]);
});

it('given a claim whose call is open, when it goes, then it counts as one that is not settled', async () => {
  const p = await aProvisioner({ seed: [aClass()], settings: { provisioningProtection: 'off' } });
  const unsettled = () => p.metrics.value('csi_sidecars_provisioning_unsettled_deleted_claims', {}) ?? 0;
  p.driver.faults.add({ method: 'CreateVolume', action: { kind: 'fail', code: 'DeadlineExceeded' } });
  p.server.seed(aClaim());
  await p.settle();
  const before = unsettled();
  p.deleteClaim();
  await p.settle();
  expect([before, unsettled()]).toEqual([0, 1]);
});

it('given a deleted claim that reaches its bound during a call, when the call ends without an answer, then it is given up at once', async () => {
  const p = await aProvisioner({ seed: [aClass()] });
  p.driver.faults.add({ method: 'CreateVolume', times: 1, action: { kind: 'fail', code: 'DeadlineExceeded' } });
  p.driver.faults.add({ method: 'CreateVolume', times: 2, skip: 1, action: { kind: 'fail', code: 'Internal' } });
  p.driver.faults.add({ method: 'CreateVolume', skip: 3, action: { kind: 'delay', ms: 999_000 } });
  p.server.seed(aClaim());
  await p.settle();
  p.deleteClaim();
  await p.settle();
  const calls = (): number => p.calls().length;
  let seconds = 0;
  for (; p.claim() !== undefined && seconds < 400; seconds++) await p.clock.advance(1000);
  // Three answers that were final would need one minute; the last one was none, so it is five.
  expect(
    p.events.some((line) =>
      line.startsWith(`Warning ProvisioningGivenUp team/data: volume pvc-uid-data may exist: CSI driver ${driverName}`),
    ),
  ).toBe(true);
  expect([seconds, calls() > 3]).toEqual([300, true]);
});

it('given a claim is provisioned, then that is logged, and the driver is asked for the capacity of its segment again', async () => {
  const p = await aPublisher({ seed: [aLateClass(), ...aNode('n1', 'a'), ...aNode('n2', 'b')] });
  p.driver.forgetCalls();
  p.server.seed(aClaim({ node: 'n1' }));
  await p.settle();
  expect(p.volume()).toBeDefined();
  expect(asked(p)).toContain('zone=a');
  expect(p.logger.lines).toContainEqual(
    expect.objectContaining({ kind: 'info', level: 4, message: 'Succeeded', facts: expect.anything() as unknown }),
  );
});

it('given a claim has its PersistentVolume already, then that is logged, and the driver is not asked for capacity', async () => {
  const p = await aPublisher({ seed: [aLateClass(), ...aNode('n1', 'a'), aVolume({ phase: 'Available' })] });
  p.driver.forgetCalls();
  p.server.seed(aClaim({ node: 'n1' }));
  await p.settle();
  expect(asked(p)).toEqual([]);
  expect(p.logger.messages()).toContain('PersistentVolume already exists, skipping');
});

describe('the end of a run', () => {
  const uid = uidOf(aClaim());
  const late = aClass(isLate);
  const dying = aClaim({ protection: 'on', deleting: 'yes' });
  const longAgo = { seenMs: -86_400_000, answers: ['open', 'open'] } as const;
  const remembered = (deletion: Extract<ClaimRecord, { kind: 'pinned' }>['deletion']): ClaimRecord => ({
    kind: 'pinned',
    claim: aClaim(),
    pinned,
    deletion,
  });

  it.each<LoopAloneOptions & { readonly given: string; readonly effects: readonly string[] }>([
    {
      given: 'a volume is made',
      seed: [aClass(), aClaim()],
      effects: ['provisioned', 'capacity H2', 'references.release other'],
    },
    {
      given: 'the driver refuses the volume',
      seed: [aClass(), aClaim()],
      fails: 'Internal',
      effects: ['provisionFailed', 'capacity H3', 'references.release failed'],
    },
    {
      given: 'the driver does not answer',
      seed: [aClass(), aClaim()],
      fails: 'DeadlineExceeded',
      effects: ['provisionFailed', 'capacity H3'],
    },
    {
      given: 'the claim has no class',
      seed: [aClaim()],
      effects: ['provisionFailed', 'capacity H4', 'references.release other'],
    },
    {
      given: 'another node is selected',
      node: 'n1',
      seed: [late, aClaim({ node: 'n2' })],
      effects: ['capacity H4', 'ownership.forget', 'references.release other'],
    },
    {
      given: 'a claim waits for a node',
      node: 'n1',
      seed: [late, aClaim()],
      effects: ['capacity H4', 'references.release other'],
    },
    {
      given: 'this node has too little space',
      node: 'n1',
      seed: [aClass(), aClaim()],
      effects: ['capacity H4', 'ownership.end', 'references.release other'],
    },
    {
      given: 'a deleted claim is given up',
      seed: [aClass(), dying],
      entry: remembered(longAgo),
      fails: 'DeadlineExceeded',
      effects: [
        'ownership.forget',
        'provisionFailed',
        'givenUp',
        'capacity H3',
        'references.release failed',
        'ownership.forget',
      ],
    },
  ])(
    'given $given, then it counts, and ends the hold on the source and the wait, as that asks for',
    async (options) => {
      const l = await loopAlone(claimLoop, options);
      expect(l.effects).toEqual(options.effects);
      await l.stop();
    },
  );

  it.each<{
    readonly given: string;
    readonly entry: ClaimRecord;
    readonly fails: 'DeadlineExceeded' | 'InvalidArgument';
  }>([
    { given: 'refused', entry: remembered({ seenMs: 0, answers: [] }), fails: 'InvalidArgument' },
    { given: 'not answered for a day', entry: remembered({ ...longAgo, isGivenUp: true }), fails: 'DeadlineExceeded' },
  ])('given the call of a claim that is gone is $given, then nothing of the claim stays', async ({ entry, fails }) => {
    const l = await loopAlone(claimLoop, { seed: [aClass()], entry, fails });
    l.deps.claims.wake(uid);
    await l.settle();
    expect([l.effects, l.deps.memory.get(uid)]).toEqual([
      ['provisionFailed', 'capacity H3', 'references.release other', 'ownership.forget'],
      undefined,
    ]);
    await l.stop();
  });

  it.each<{ readonly given: string; readonly entry?: ClaimRecord }>([
    { given: 'nothing' },
    { given: 'that no class refused it', entry: { kind: 'settled', claim: aClaim(), refusal: undefined } },
  ])('given a run that throws, and $given is remembered, then the hold ends', async ({ entry }) => {
    const record = (): never => {
      throw new Error('defect');
    };
    const l = await loopAlone(claimLoop, { seed: [aClass(), aClaim()], record, ...(entry && { entry }) });
    const thrown = l.logger.lines.filter(({ message }) => message === 'Reconcile threw, will retry');
    expect([thrown.map((line) => line.kind === 'error' && line.error), l.effects]).toEqual([
      [new Error('defect')],
      ['references.release other'],
    ]);
    await l.stop();
  });
});
