// SPDX-License-Identifier: Apache-2.0
/** Which claims get an event, when, and what becomes of events that are not written, in virtual time. */
import { type PersistentVolumeClaim, persistentVolumeClaims, type Transport } from '@csi-sidecars/runtime';
import type { Fault, FaultRule } from '@csi-sidecars/runtime/testing';
import { describe, expect, it } from 'vitest';
import { aClaim, aPopulator, claimOf, foreignKind, validKind } from '../testing/builders.ts';
import { aValidator, type FixtureOptions } from '../testing/validator-fixture.ts';
import { clusterRules } from './rbac.ts';
import { patienceMs } from './warning.ts';

const eventsMeet = (fault: Fault, times = Infinity): FaultRule => ({
  when: ({ verb, resource }) => verb === 'create' && resource === 'events',
  fault,
  times,
});
const namespaceTerminating = {
  kind: 'Status',
  apiVersion: 'v1',
  status: 'Failure',
  reason: 'Forbidden',
  code: 403,
  message: 'being terminated',
  details: { causes: [{ reason: 'NamespaceTerminating', message: 'gone soon' }] },
};
const labelled =
  (value: string) =>
  (claim: PersistentVolumeClaim): PersistentVolumeClaim => ({
    ...claim,
    metadata: { ...claim.metadata, labels: { value } },
  });
const aClaimOfUnknownKind = (options: FixtureOptions = {}) => aValidator({ seed: [claimOf(foreignKind)], ...options });

describe('the event', () => {
  it('[data-source-validator#DW3] given a claim of an unknown kind, then the event has the fields of upstream, and the kind in an annotation', async () => {
    const it = await aClaimOfUnknownKind();
    await it.pass(2_000);
    const [event] = it.events();
    expect(event).toMatchObject({
      metadata: {
        namespace: 'team',
        annotations: { 'volume-data-source-validator/source-kind': 'Foreign.example.com' },
      },
      involvedObject: {
        apiVersion: 'v1',
        kind: 'PersistentVolumeClaim',
        namespace: 'team',
        name: 'data',
        uid: 'uid-of-data',
        resourceVersion: expect.stringMatching(/^\d+$/) as string,
      },
      type: 'Warning',
      reason: 'UnrecognizedDataSourceKind',
      message: 'The datasource for this PVC does not match any registered VolumePopulator',
      source: { component: 'volume-data-source-validator' },
      count: 1,
    });
    expect(it.logger.lines.map(({ facts }) => facts['dataSourceKind'])).toContain('Foreign.example.com');
  });

  it('[data-source-validator#DW3] given a kind of a megabyte, then the annotation is short enough for the API server', async () => {
    const it = await aValidator({ seed: [claimOf({ group: 'example.com', kind: 'x'.repeat(1_000_000) })] });
    await it.pass(2_000);
    expect(it.events().map(({ metadata }) => metadata.annotations)).toEqual([
      { 'volume-data-source-validator/source-kind': 'x'.repeat(256) },
    ]);
  });

  it('[data-source-validator#12] given a Bound claim of an unknown kind, when it changes or the process starts again, then it is counted and gets no event', async () => {
    const it = await aValidator({ seed: [claimOf(foreignKind, { phase: 'Bound' })] });
    await it.changeClaim(labelled('a'));
    await it.pass(2_000);
    expect([it.counted(), it.warned(), it.unknown()]).toEqual([{ invalid: 2 }, [], 1]);
    expect(it.logger.lines.map(({ facts }) => facts['row'])).not.toContain('DW1');
    const next = await aValidator({ cluster: it.crash() });
    await next.pass(2_000);
    expect([next.counted(), next.warned()]).toEqual([{ invalid: 1 }, []]);
  });

  it('[data-source-validator#12] given a Pending claim of an unknown kind, when the process starts again, then it gets an event again', async () => {
    const it = await aClaimOfUnknownKind();
    await it.pass(2_000);
    const next = await aValidator({ cluster: it.crash() });
    await next.pass(2_000);
    expect(next.warned()).toEqual(['data x1', 'data x1']);
  });

  it('[data-source-validator#DW1] given a claim that is bound within the second, then it gets no event', async () => {
    const it = await aClaimOfUnknownKind();
    await it.pass(500);
    await it.changeClaim((claim) => ({ ...claim, status: { phase: 'Bound' } }));
    await it.pass(2_000);
    expect(it.warned()).toEqual([]);
  });

  it('[data-source-validator#13] given a claim that is being deleted, then it is counted and gets no event', async () => {
    const it = await aValidator({ seed: [claimOf(foreignKind, { isDeleting: true })] });
    await it.pass(2_000);
    expect([it.counted(), it.warned()]).toEqual([{ invalid: 1 }, []]);
  });

  it('[data-source-validator#14] given 40 changes in a minute, then one event with a count of at most 25, and each change is counted', async () => {
    const it = await aClaimOfUnknownKind();
    await it.pass(2_000);
    for (let change = 1; change <= 39; change += 1) {
      await it.changeClaim(labelled(`${change}`));
      await it.pass(1_500, 500);
    }
    expect([it.counted(), it.warned()]).toEqual([{ invalid: 40 }, ['data x25']]);
  });

  it('[data-source-validator#16] given a claim that is deleted and made again under its name, then there is a second event, of the new UID', async () => {
    const it = await aClaimOfUnknownKind();
    await it.pass(2_000);
    await it.removeClaim();
    await it.add(claimOf(foreignKind, { uid: 'second' }));
    await it.pass(2_000);
    expect(it.events().map(({ involvedObject }) => involvedObject.uid)).toEqual(['uid-of-data', 'second']);
  });
});

describe('a registry that changes', () => {
  it('[data-source-validator#9, 16] given a claim that is made again under its name, then its second begins again', async () => {
    const it = await aValidator({ seed: [claimOf(validKind)] });
    await it.pass(2_000);
    it.server.objects.remove(persistentVolumeClaims, { namespace: 'team', name: 'data' });
    await it.add(claimOf(validKind, { uid: 'second' }));
    await it.pass(500);
    await it.add(aPopulator());
    await it.pass(2_000);
    expect(it.events().map(({ involvedObject }) => involvedObject.uid)).toEqual(['uid-of-data']);
  });

  it('[data-source-validator#9] given a populator that comes within a second after the claim, then there is no event', async () => {
    const it = await aValidator();
    await it.add(claimOf(validKind));
    await it.pass(900);
    await it.add(aPopulator());
    await it.pass(5_000);
    expect([it.counted(), it.warned(), it.unknown()]).toEqual([{ invalid: 1, populator: 1 }, [], 0]);
  });

  it('[data-source-validator#9] given a populator that comes later, then the event stays, and the claim is registered without a change of it', async () => {
    const it = await aValidator();
    await it.add(claimOf(validKind));
    await it.pass(1_500);
    await it.add(aPopulator());
    await it.pass(2_000);
    expect([it.counted(), it.warned(), it.unknown()]).toEqual([{ invalid: 1, populator: 1 }, ['data x1'], 0]);
  });

  it('[data-source-validator#9] given no populator, then the event is there two seconds after the claim', async () => {
    const it = await aValidator();
    await it.add(claimOf(validKind));
    await it.pass(900);
    expect(it.warned()).toEqual([]);
    await it.pass(1_100);
    expect(it.warned()).toEqual(['data x1']);
  });

  it('[data-source-validator#10] given a populator that is deleted, then Pending claims of its kind get an event, and no others are looked at', async () => {
    const bound = claimOf(validKind, { name: 'bound', phase: 'Bound' });
    const it = await aValidator({
      seed: [aPopulator(), claimOf(validKind), bound, aClaim(undefined, { name: 'empty' })],
    });
    await it.pass(2_000);
    const before = it.counted();
    await it.removePopulator();
    await it.pass(2_000);
    expect([before, it.counted()]).toEqual([
      { empty: 1, populator: 2 },
      { empty: 1, populator: 2, invalid: 1 },
    ]);
    expect(it.warned()).toEqual(['data x1']);
  });

  it('[data-source-validator#10] given a populator that registers another kind from now on, then claims of both kinds are looked at', async () => {
    const it = await aValidator({
      seed: [aPopulator(), claimOf(validKind, { name: 'old' }), claimOf(foreignKind, { name: 'new' })],
    });
    await it.pass(2_000);
    await it.changePopulator((populator) => ({ ...populator, sourceKind: foreignKind }));
    await it.pass(2_000);
    expect([it.counted(), it.warned()]).toEqual([{ populator: 2, invalid: 2 }, ['new x1', 'old x1']]);
  });
});

describe('an event that is not written', () => {
  it('[data-source-validator#20] given an account that may not create events, then the claim is not tried again', async () => {
    const it = await aClaimOfUnknownKind({
      rules: clusterRules.filter(({ resources }) => !resources.includes('events')),
    });
    await it.pass(60_000, 1_000);
    expect([it.writes(), it.counted()]).toEqual([['create events team/ 403'], { invalid: 1 }]);
  });

  it('[data-source-validator#21] given a namespace that is being deleted, then the claim is not tried again', async () => {
    const terminating: Transport = async () => ({
      status: 403,
      headers: { 'content-type': 'application/json' },
      body: (async function* () {
        yield Buffer.from(JSON.stringify(namespaceTerminating));
      })(),
    });
    const it = await aClaimOfUnknownKind({ eventsTo: terminating });
    await it.pass(60_000, 1_000);
    expect(it.logger.lines.filter(({ kind }) => kind === 'error')).toEqual([]);
    const tries = it.logger.lines.filter(({ facts }) => facts['row'] === 'DW3');
    expect(tries.map(({ facts }) => facts['action'])).toEqual(['report', 'conclude']);
  });

  it('[data-source-validator#DW4] given an API server that does not answer for minutes, then the event is there when it answers again', async () => {
    const broken: Fault = { kind: 'break', point: 'before', failure: 'refused' };
    const it = await aClaimOfUnknownKind({ faults: [eventsMeet(broken, 12)] });
    await it.pass(5_000, 1_000);
    expect(it.warned()).toEqual([]);
    await it.pass(120_000, 1_000);
    expect(it.events().length).toBe(1);
    expect(it.counted()).toEqual({ invalid: 1 });
  });

  it('[data-source-validator#DW4] given an API server that answers twice with 500, then the event is there later', async () => {
    const fault: Fault = { kind: 'status', point: 'before', code: 500, reason: 'InternalError' };
    const it = await aClaimOfUnknownKind({ faults: [eventsMeet(fault, 2)] });
    await it.pass(5_000, 1_000);
    expect(it.events().map(({ involvedObject }) => involvedObject.name)).toEqual(['data']);
  });

  it('[data-source-validator#DW4] given an API server that refuses all events, then those of all claims together are tried again at most ten times a second after the first hundred', async () => {
    const fault: Fault = { kind: 'status', point: 'before', code: 500, reason: 'InternalError' };
    let tried = 0;
    const count = 300;
    const it = await aValidator({
      seed: Array.from({ length: count }, (_, index) => claimOf(foreignKind, { name: `claim-${index}` })),
      faults: [{ ...eventsMeet(fault), when: (request) => eventsMeet(fault).when(request) && (tried += 1) > 0 }],
    });
    await it.pass(patienceMs + 10_000, 100);
    expect(tried).toBe(count + 100 + 10 * 10);
  });

  it('[data-source-validator#26] given more claims of unknown kinds than the recorder has room for, then each gets its event in the end, at the rate of the client, and no claim is counted later for that', async () => {
    const count = 10_000;
    const seed = Array.from({ length: count }, (_, index) => claimOf(foreignKind, { name: `claim-${index}` }));
    const it = await aValidator({
      seed: [...seed, aClaim(undefined, { name: 'empty' })],
      limit: { qps: 1_000, burst: 100 },
    });
    await it.pass(3_000, 1_000);
    expect(it.counted()).toEqual({ empty: 1, invalid: count });
    // The first second is that of patience.
    expect(it.events().length).toBeGreaterThan(1_500);
    expect(it.events().length).toBeLessThan(2_200);
    await it.pass(12_000, 1_000);
    expect(new Set(it.events().map(({ involvedObject }) => involvedObject.name)).size).toBe(count);
    expect([it.events().length, it.unknown()]).toEqual([count, count]);
    expect(it.logger.lines.filter(({ kind }) => kind === 'error')).toEqual([]);
  }, 120_000);
});
