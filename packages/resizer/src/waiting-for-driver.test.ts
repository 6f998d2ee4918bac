// SPDX-License-Identifier: Apache-2.0
/** A driver that answers Aborted is still working on another call: the log says on which, and for how long. */
import { expect, it } from 'vitest';
import { aClaim, aClass, aVolume } from '../testing/builders.ts';
import { aResizer, type Fixture } from '../testing/resizer-fixture.ts';

const [expand, modify] = ['ControllerExpandVolume', 'ControllerModifyVolume'] as const;
/** The delays before two retries, with jitter. */
const retriesMs = [1_100, 2_200];

/** The volumes that the log names. */
const volumesOf = (r: Fixture): readonly unknown[] =>
  r.logger.lines.map(({ facts }) => facts?.['volumeHandle']).filter((handle) => handle !== undefined);

/** The method that was refused, the one that it waits for, and its age in seconds. */
function waitsOf(r: Fixture): readonly (readonly unknown[])[] {
  return r.logger.lines
    .filter(({ message }) => message === 'The driver is still working on an earlier call for this volume, waiting')
    .map(({ facts }) => [nameOf(facts?.['method']), nameOf(facts?.['earlierMethod']), facts?.['ageSeconds']]);
}

const nameOf = (method: unknown): string => String(method).split('/').at(-1) ?? '';

it.each([
  [expand, aClaim({ spec: '2Gi' })],
  [modify, aClaim({ spec: '1Gi', wantedClass: 'gold' })],
])(
  'given a %s that timed out and is then refused with Aborted, then each wait is logged with the age of the first call',
  async (method, claim) => {
    const r = await aResizer({ node: [], seed: [aVolume(), aClass()] });
    r.failCalls('DeadlineExceeded', { method });
    // A rule counts calls that another one has failed as well.
    r.failCalls('Aborted', { method, times: 3 });
    r.server.seed(claim);
    await r.settle();
    for (const ms of retriesMs) await r.clock.advance(ms);
    expect(waitsOf(r)).toEqual([
      [method, method, 1],
      [method, method, 3],
    ]);
    expect(volumesOf(r)).toEqual(['volume-1', 'volume-1']);
    await r.stop();
  },
);

it('given an expansion that the driver still works on and a modification that it refuses, then the log names the expansion and its age', async () => {
  const r = await aResizer({ node: [], seed: [aVolume(), aClass()], settings: { expandTimeoutMs: 1_000 } });
  r.driver.faults.add({ method: expand, at: 'during', times: 1, action: { kind: 'delay', ms: 30_000 } });
  r.server.seed(aClaim());
  await r.clock.advance(1_000);
  r.changeClaim((it) => ({ ...it, spec: { ...it.spec, volumeAttributesClassName: 'gold' } }));
  await r.settle();
  expect(waitsOf(r)).toEqual([[modify, expand, 1]]);
  await r.clock.advance(60_000);
  const { capacity, currentVolumeAttributesClassName } = r.claim()?.status ?? {};
  expect([capacity?.['storage'], currentVolumeAttributesClassName]).toEqual(['2Gi', 'gold']);
  await r.stop();
});

it('given a call that ended and a later one that is refused with Aborted, then the log knows no earlier call', async () => {
  const r = await aResizer({ node: [] });
  await r.settle();
  r.failCalls('Aborted');
  r.ask('3Gi');
  await r.settle();
  expect(waitsOf(r)).toEqual([[expand, 'unknown', 'unknown']]);
  await r.stop();
});

it.each([
  [expand, aClaim({ spec: '2Gi' }), (r: Fixture) => r.ask('3Gi')],
  [
    modify,
    aClaim({ spec: '1Gi', wantedClass: 'gold' }),
    (r: Fixture) => r.changeClaim((it) => ({ ...it, spec: { ...it.spec, volumeAttributesClassName: 'silver' } })),
  ],
])(
  'given a %s that timed out and then succeeded, when a later one is refused with Aborted, then the log knows no earlier call',
  async (method, claim, change) => {
    const r = await aResizer({ node: [], seed: [aVolume(), aClass(), aClass('silver')] });
    r.failCalls('DeadlineExceeded', { method });
    r.server.seed(claim);
    await r.settle();
    await r.clock.advance(retriesMs[0] ?? 0);
    r.failCalls('Aborted', { method });
    change(r);
    await r.settle();
    expect(waitsOf(r)).toEqual([[method, 'unknown', 'unknown']]);
    await r.stop();
  },
);
