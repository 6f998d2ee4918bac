// SPDX-License-Identifier: Apache-2.0
/** What a new process does with what it finds. Every single crash point is in `packages/world/src/crash-points`. */
import { expect, it } from 'vitest';
import { aClaim, aCondition, aPod, aVolume, type ClaimOptions } from '../../testing/builders.ts';
import { aResizer, type Fixture, gib } from '../../testing/resizer-fixture.ts';
import { annotations } from '../names.ts';

const [two, four] = [`${2n * gib}`, `${4n * gib}`];
const inProgress: ClaimOptions = { spec: '2Gi', alloc: '4Gi', rstatus: 'ControllerResizeInProgress' };
const sizeOf = (r: Fixture) => [r.claim()?.status?.capacity?.['storage'], r.volume()?.spec?.capacity?.['storage']];

it.each([
  { id: '[resizer#136]', crash: 'before /csi.v1.Controller/ControllerExpandVolume', first: 0 },
  { id: '[resizer#137]', crash: 'after /csi.v1.Controller/ControllerExpandVolume', first: 1 },
  { id: '[resizer#138]', crash: 'after PATCH /api/v1/persistentvolumes/pv1', first: 1 },
])(
  '$id given a crash $crash and a lowered request, then the same size is requested again',
  async ({ crash, first }) => {
    const before = await aResizer({
      node: [],
      seed: [aVolume(), aClaim({ spec: '4Gi' })],
      interrupt: (operation, moment) => (`${moment} ${operation}` === crash ? 'crash' : undefined),
    });
    expect([before.sizes().length, before.claim()?.status?.allocatedResourceStatuses]).toEqual([
      first,
      { storage: 'ControllerResizeInProgress' },
    ]);
    before.ask('2Gi');
    const after = await aResizer({ cluster: before.crash() });
    expect([after.sizes().slice(first), sizeOf(after)]).toEqual([[four], ['4Gi', '4Gi']]);
    await after.stop();
  },
);

it('[resizer#136] given a cache that still shows an expansion that has ended, when the process starts, then no call, and the claim stays as it is', async () => {
  const shown = { alloc: '2Gi', rstatus: 'ControllerResizeInProgress', conditions: [aCondition('Resizing')] };
  const isWatch = ({ verb, resource }: { verb: string; resource: string }): boolean =>
    verb === 'watch' && resource === 'persistentvolumeclaims';
  const r = await aResizer({
    seed: [aVolume({ cap: '2Gi' }), aClaim(shown)],
    faults: [{ when: isWatch, fault: { kind: 'lag', ms: 60_000 }, times: 99 }],
  });
  const ended = { phase: 'Bound', capacity: { storage: '2Gi' }, allocatedResources: { storage: '2Gi' } };
  r.changeClaim((claim) => ({ ...claim, status: ended }));
  await r.clock.advance(600_000);
  expect([r.calls(), r.claim()?.status]).toEqual([[], ended]);
  await r.stop();
});

it('[resizer#139] given a claim that waits for its node, then nothing', async () => {
  const r = await aResizer({ seed: [aVolume({ cap: '2Gi' }), aClaim({ alloc: '2Gi', rstatus: 'NodeResizePending' })] });
  expect([r.writes(), r.calls()]).toEqual([[], []]);
  await r.stop();
});

it('[resizer#140] given an infeasible size, then one call, and then it is held back', async () => {
  const r = await aResizer({ seed: [aVolume()] });
  r.failCalls('OutOfRange', { times: 9 });
  r.server.seed(aClaim({ alloc: '2Gi', rstatus: 'ControllerResizeInfeasible' }));
  await r.clock.advance(200_000);
  expect(r.calls().length).toBe(1);
  await r.stop();
});

it('[resizer#141] given a refused size and a lowered request, then the old size once more, and then the request', async () => {
  const r = await aResizer({ seed: [aVolume()], node: [] });
  r.failCalls('Internal');
  r.server.seed(aClaim(inProgress));
  await r.clock.advance(1_150);
  expect(r.sizes()).toEqual([four, two]);
  await r.stop();
});

it('[resizer#142] given a volume in use, then one call, and then it is held back', async () => {
  const r = await aResizer({ seed: [aVolume(), aPod()] });
  r.failCalls('FailedPrecondition', { times: 9 });
  r.server.seed(aClaim({ alloc: '2Gi', rstatus: 'ControllerResizeInProgress' }));
  await r.clock.advance(8_000);
  expect(r.calls().length).toBe(1);
  await r.stop();
});

it('given a crash at every point of the removal of a recorded size, then it is gone', async () => {
  for (const moment of ['before', 'after'] as const) {
    const recorded = aVolume({ cap: '2Gi', annotations: { [annotations.preResizeCapacity]: '1Gi' } });
    const first = await aResizer({
      seed: [aClaim({ cap: '2Gi' }), recorded],
      interrupt: (_, at) => (at === moment ? 'crash' : undefined),
    });
    const next = await aResizer({ cluster: first.crash() });
    expect(next.volume()!.metadata?.annotations).toBeUndefined();
    await next.stop();
  }
});
