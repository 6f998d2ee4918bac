// SPDX-License-Identifier: Apache-2.0
/** The path of upstream before v2.3.0, with the gate RecoverVolumeExpansionFailure off. */
import { expect, it } from 'vitest';
import { aClaim, aCondition, aVolume } from '../../testing/builders.ts';
import { aResizer, conflict, type Fixture, type FixtureOptions, gib } from '../../testing/resizer-fixture.ts';
import { annotations } from '../names.ts';

const legacy: FixtureOptions = { settings: { features: { recovery: false } } };
const resizing = 'Normal Resizing team/data: External resizer is resizing volume pv1';
const refused =
  'Warning VolumeResizeFailed team/data: resize volume "pv1" by resizer "test.csi.example.com" failed: rpc error: code = OutOfRange desc = no';
const types = (r: Fixture) => (r.claim()?.status?.conditions ?? []).map(({ type }) => type);

it('[resizer#130] given a success and a node, then both events, the record, and one condition', async () => {
  const r = await aResizer({
    ...legacy,
    seed: [aVolume(), aClaim({ conditions: [aCondition('ControllerResizeError')] })],
  });
  expect(r.events).toEqual([
    resizing,
    'Normal FileSystemResizeRequired team/data: Require file system resize of volume on node',
  ]);
  expect([types(r), r.claim()?.status?.allocatedResources, r.claim()?.status?.allocatedResourceStatuses]).toEqual([
    ['FileSystemResizePending'],
    undefined,
    undefined,
  ]);
  expect(r.volume()?.metadata?.annotations).toEqual({ [annotations.preResizeCapacity]: '1Gi' });
  await r.clock.advance(3_600_000);
  expect(r.calls().length).toBe(1);
  await r.stop();
});

it('[resizer#130] given a success and no node, then the size, no condition and no annotation', async () => {
  const r = await aResizer({ ...legacy, node: [] });
  expect([r.claim()?.status, r.claim()?.metadata?.annotations]).toEqual([
    { phase: 'Bound', capacity: { storage: '2Gi' } },
    undefined,
  ]);
  await r.stop();
});

it('[resizer#131, 135] given a refusal, then two events, no error condition, and a retry that nothing holds back', async () => {
  const r = await aResizer({ ...legacy, node: [], seed: [aVolume()] });
  r.failCalls('OutOfRange');
  r.server.seed(aClaim());
  await r.settle();
  expect([r.events, types(r)]).toEqual([[resizing, refused], ['Resizing']]);
  await r.clock.advance(1_150);
  expect(r.claim()?.status?.capacity).toEqual({ storage: '2Gi' });
  await r.stop();
});

it('[resizer#132] given conflicts, then no event but the first, before the call and after it', async () => {
  const r = await aResizer({ ...legacy, node: [], seed: [aVolume()] });
  r.overtake();
  r.faults.push({ when: ({ verb }) => verb === 'patch' && r.calls().length === 1, fault: conflict, times: 2 });
  r.server.seed(aClaim());
  await r.clock.advance(150);
  expect([r.events, r.calls().length]).toEqual([
    [resizing, 'Normal VolumeResizeSuccessful team/data: Resize volume succeeded'],
    1,
  ]);
  await r.stop();
});

it.each([
  { conditions: [], calls: 1 },
  { conditions: [aCondition('FileSystemResizePending')], calls: 0 },
])(
  '[resizer#133] given a PersistentVolume of the size and $conditions, then $calls calls',
  async ({ conditions, calls }) => {
    const r = await aResizer({ ...legacy, seed: [aVolume({ cap: '2Gi' }), aClaim({ conditions })] });
    expect(r.calls().length).toBe(calls);
    await r.stop();
  },
);

it('[resizer#134] given a lowered request, then it is sent', async () => {
  const r = await aResizer({ ...legacy, node: [], seed: [aVolume()] });
  r.failCalls('Aborted');
  r.server.seed(aClaim({ spec: '4Gi' }));
  await r.settle();
  r.ask('2Gi');
  await r.settle();
  expect(r.sizes()).toEqual([`${4n * gib}`, `${2n * gib}`]);
  await r.stop();
});
