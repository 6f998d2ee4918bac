// SPDX-License-Identifier: Apache-2.0
/** What claims and PersistentVolumes show during and after an expansion. */
import type { PersistentVolumeClaim } from '@csi-sidecars/runtime';
import { describe, expect, it } from 'vitest';
import { aClaim, aCondition, type ClaimOptions, aVolume, sizeOf } from '../../testing/builders.ts';
import { aResizer, type Fixture, type FixtureOptions } from '../../testing/resizer-fixture.ts';

const old = '2025-01-01T00:00:00Z';
const foreign = aCondition('ModifyingVolume', { lastProbeTime: old });
const inProgress = 'ControllerResizeInProgress';
const repeated: ClaimOptions = { alloc: '2Gi', rstatus: inProgress };
const types = (r: Fixture): readonly string[] => (r.claim()?.status?.conditions ?? []).map(({ type }) => type);
const condition = (r: Fixture, type: string) => r.claim()?.status?.conditions?.find((it) => it.type === type);

/** The PersistentVolume is there; then the driver is prepared, and the claim comes. */
async function given(claim: PersistentVolumeClaim, prepare: (r: Fixture) => void, options: FixtureOptions = {}) {
  const r = await aResizer({ seed: [aVolume()], ...options });
  prepare(r);
  r.server.seed(claim);
  await r.settle();
  return r;
}
const answers = (bytes: string) => (r: Fixture) =>
  void r.driver.faults.add({
    method: 'ControllerExpandVolume',
    action: { kind: 'answer', set: { capacity_bytes: bytes } },
  });

describe('resize statuses', () => {
  it('[resizer#51, 52] given one of another resource, then it survives both results', async () => {
    for (const node of [['EXPAND_VOLUME' as const], []]) {
      const claim = aClaim();
      const allocatedResourceStatuses = { 'example.com/x': 'ControllerResizeInfeasible' };
      const r = await aResizer({
        node,
        seed: [{ ...claim, status: { ...claim.status, allocatedResourceStatuses } } as never, aVolume()],
      });
      const storage = node.length > 0 ? { storage: 'NodeResizePending' } : {};
      expect(r.claim()?.status?.allocatedResourceStatuses).toEqual({ ...allocatedResourceStatuses, ...storage });
      await r.stop();
    }
  });

  it('[resizer#53] given an infeasible size, then the claim says so', async () => {
    const r = await given(aClaim(), (it) => it.failCalls('OutOfRange'));
    expect(r.claim()?.status?.allocatedResourceStatuses).toEqual({ storage: 'ControllerResizeInfeasible' });
    await r.stop();
  });
});

describe('conditions', () => {
  it('[resizer#54, 58] given another size, then all resize conditions go but Resizing, and those of others stay', async () => {
    const conditions = [
      aCondition('ControllerResizeError'),
      foreign,
      aCondition('NodeResizeError'),
      aCondition('FileSystemResizePending'),
    ];
    const r = await aResizer({ seed: [aClaim({ conditions }), aVolume()] });
    expect(types(r)).toEqual(['ModifyingVolume', 'Resizing', 'FileSystemResizePending']);
    expect(condition(r, 'ModifyingVolume')).toEqual(foreign);
    await r.stop();
  });

  it('[resizer#55] given repeated attempts that the claim shows, then each one writes, which changes nothing, P5', async () => {
    const conditions = [aCondition('Resizing'), aCondition('ControllerResizeError', { message: 'old' })];
    const r = await given(aClaim({ ...repeated, conditions }), (it) => it.failCalls('Aborted', { times: 9 }));
    const version = r.claim()?.metadata?.resourceVersion;
    await r.clock.advance(60_000);
    const confirmed = 'patch persistentvolumeclaims/status team/data 200';
    expect([r.writes(), r.calls().length > 3]).toEqual([r.calls().map(() => confirmed), true]);
    expect(r.claim()?.metadata?.resourceVersion).toBe(version);
    expect([types(r), condition(r, 'Resizing')?.lastTransitionTime]).toEqual([
      ['Resizing', 'ControllerResizeError'],
      old,
    ]);
    await r.stop();
  });

  it('given a condition that was set to False, then it is set again, at a new time', async () => {
    const conditions = [aCondition('Resizing', { status: 'False' })];
    const r = await given(aClaim({ ...repeated, conditions }), (it) => it.failCalls('Aborted'));
    const { status, lastTransitionTime } = condition(r, 'Resizing') ?? {};
    expect([r.writes().length, status, lastTransitionTime === old]).toEqual([1, 'True', false]);
    await r.stop();
  });

  it('[resizer#56] given a success after an error, then three conditions stand together', async () => {
    const r = await given(aClaim(), (it) => it.failCalls('Internal'));
    expect(types(r)).toEqual(['Resizing', 'ControllerResizeError']);
    await r.clock.advance(1_150);
    expect(types(r)).toEqual(['Resizing', 'ControllerResizeError', 'FileSystemResizePending']);
    await r.stop();
  });

  it('[resizer#57] given a success after an error and no node, then none is left', async () => {
    const r = await given(aClaim(), (it) => it.failCalls('Internal'), { node: [] });
    await r.clock.advance(1_150);
    expect(types(r)).toEqual([]);
    await r.stop();
  });

  it('[resizer#59, 60] given a refusal, then the error comes after those of others, or replaces the last one in its place', async () => {
    const conditions = [foreign, aCondition('ControllerResizeError', { message: 'old' }), aCondition('Unused')];
    const r = await given(aClaim({ ...repeated, conditions }), (it) => it.failCalls('Internal'));
    expect(types(r)).toEqual(['ModifyingVolume', 'ControllerResizeError', 'Unused', 'Resizing']);
    expect(condition(r, 'ControllerResizeError')).toEqual({
      type: 'ControllerResizeError',
      status: 'True',
      message: 'failed to expand pvc with rpc error: code = Internal desc = no',
      lastProbeTime: null,
      lastTransitionTime: old,
    });
    await r.stop();
    const s = await given(aClaim({ conditions: [foreign] }), (it) => it.failCalls('Internal'));
    expect(types(s)).toEqual(['ModifyingVolume', 'Resizing', 'ControllerResizeError']);
    await s.stop();
  });
});

describe('sizes', () => {
  it('[resizer#64] given a larger answer, then both show it, the request stays allocated, and no call follows', async () => {
    const r = await given(aClaim({ spec: '2G' }), answers('2147483648'), { node: [] });
    expect([r.volume()?.spec?.capacity, r.claim()?.status]).toEqual([
      { storage: '2Gi' },
      { phase: 'Bound', capacity: { storage: '2Gi' }, allocatedResources: { storage: '2G' } },
    ]);
    await r.clock.advance(3_600_000);
    expect(r.calls().length).toBe(1);
    await r.stop();
  });

  it('[resizer#65] given growth that is too little, then it is recorded once, and an event comes with each retry, P11', async () => {
    const r = await given(aClaim(), answers('1610612736'), { node: [] });
    expect([r.writes().length, r.claim()?.status?.capacity]).toEqual([3, { storage: '1536Mi' }]);
    await r.clock.advance(8_000);
    // The retries mark the attempt, and nothing else.
    expect([r.writes().length, r.calls().length]).toEqual([6, 4]);
    expect(r.events.filter((line) => !line.startsWith('Normal Resizing'))).toEqual(
      Array.from(
        { length: 4 },
        () =>
          'Warning VolumeResizeFailed team/data: resize volume "pv1" by resizer "test.csi.example.com" failed: the driver answered with a capacity of 1536Mi, which is less than the requested 2Gi',
      ),
    );
    await r.stop();
  });

  it.each(['0', '1073741824'])(
    '[resizer#66] given an answer of %s, then an event and the backoff, and no write beside the marks, P11',
    async (bytes) => {
      const r = await given(aClaim(), answers(bytes));
      await r.clock.advance(8_000);
      expect([r.writes().length, r.calls().length]).toEqual([4, 4]);
      expect([r.volume()?.spec?.capacity, r.claim()?.status?.capacity]).toEqual([
        { storage: '1Gi' },
        { storage: '1Gi' },
      ]);
      await r.stop();
    },
  );

  it.each([
    { expansion: 'controller' as const, written: '1953125Ki' },
    { expansion: 'trivial' as const, written: '2G' },
  ])('[resizer#67] given 2G and expansion by $expansion, then $written is written', async ({ expansion, written }) => {
    const r = await given(aClaim({ spec: '2G' }), answers('2000000000'), { expansion });
    expect(r.volume()?.spec?.capacity).toEqual({ storage: written });
    await r.stop();
  });

  it('[resizer#68] given a PersistentVolume that shows the size in another text, then it is not written', async () => {
    const seed = [aVolume({ cap: '2048Mi' }), aClaim(repeated)];
    const r = await aResizer({ node: [], seed });
    expect(r.writes()).toEqual(Array.from({ length: 2 }, () => 'patch persistentvolumeclaims/status team/data 200'));
    expect(sizeOf(r.claim()?.status?.capacity?.['storage'] ?? '')).toEqual(sizeOf('2Gi'));
    await r.stop();
  });
});
