// SPDX-License-Identifier: Apache-2.0
/** An event refers to the claim as the write before it left it: what the event is about can be seen in that version. */
import { expect, it } from 'vitest';
import { aClaim, aClass, aCondition, aVolume } from '../testing/builders.ts';
import { aResizer, type Fixture, type FixtureOptions } from '../testing/resizer-fixture.ts';
import type { Claim } from './claim.ts';

const [expand, modify] = ['ControllerExpandVolume', 'ControllerModifyVolume'] as const;
const wanted = aClaim({ spec: '1Gi', wantedClass: 'gold' });
const unwanted = aClaim({
  spec: '1Gi',
  modifyStatus: { status: 'Infeasible', targetVolumeAttributesClassName: 'gold' },
  conditions: [aCondition('ModifyingVolume')],
});
const isSlow = (method: string) => (r: Fixture) =>
  void r.driver.faults.add({ method, action: { kind: 'delay', ms: 5_000 } });

/** Reason and version of each event, in order. */
const eventsOf = (r: Fixture): readonly (readonly string[])[] =>
  r.server.requests
    .filter(({ verb, resource }) => verb === 'create' && resource === 'events')
    .map(({ body }) => body as { readonly reason: string; readonly involvedObject: Claim['metadata'] })
    .map(({ reason, involvedObject }) => [reason, involvedObject?.resourceVersion ?? '']);

interface Case extends Pick<FixtureOptions, 'node'> {
  readonly reason: string;
  readonly given: string;
  readonly claim?: Claim;
  readonly prepare?: (r: Fixture) => void;
}

it.each<Case>([
  { reason: 'Resizing', given: 'an expansion that has begun', prepare: isSlow(expand) },
  { reason: 'FileSystemResizeRequired', given: 'an expansion that waits for the node' },
  { reason: 'VolumeResizeSuccessful', given: 'an expansion that is complete', node: [] },
  { reason: 'VolumeResizeFailed', given: 'a size that is refused', prepare: (r) => r.failCalls('Internal') },
  { reason: 'VolumeModify', given: 'a modification that has begun', claim: wanted, prepare: isSlow(modify) },
  { reason: 'VolumeModifySuccessful', given: 'a modification that is complete', claim: wanted },
  {
    reason: 'VolumeModifyFailed',
    given: 'a class that is refused',
    claim: wanted,
    prepare: (r) => r.failCalls('Internal', { method: modify }),
  },
  {
    reason: 'VolumeModifyFailed',
    given: 'a class that does not exist',
    claim: aClaim({ spec: '1Gi', wantedClass: 'missing' }),
  },
  { reason: 'VolumeModifyCanceled', given: 'a modification that is cancelled', claim: unwanted },
])(
  'given $given, then the event $reason refers to the version of the claim that was written last',
  async ({ reason, claim = aClaim(), prepare, node }) => {
    const r = await aResizer({
      events: 'written',
      seed: [aVolume(), aClass()],
      ...(node === undefined ? {} : { node }),
    });
    prepare?.(r);
    const { resourceVersion: seeded } = r.server.seed(claim).metadata ?? {};
    await r.settle();
    const { resourceVersion: written } = r.claim()?.metadata ?? {};
    expect(written).not.toBe(seeded);
    expect(eventsOf(r).at(-1)).toEqual([reason, written]);
    await r.clock.advance(5_000);
    await r.stop();
  },
);
