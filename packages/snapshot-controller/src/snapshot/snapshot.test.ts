// SPDX-License-Identifier: Apache-2.0
import { snapshotFinalizers } from '@csi-sidecars/volume';
import { expect, it } from 'vitest';
import { aSnapshot } from '../../testing/builders.ts';
import { aController } from '../../testing/controller-fixture.ts';
import { contentNameFor, originOf } from './snapshot.ts';

const expected = 'snapcontent-uid-of-snap';
const bound = { boundVolumeSnapshotContentName: 'other' };

it.each([
  {
    given: 'a status that names a content, and readiness',
    options: { status: { ...bound, readyToUse: true } },
    then: 'other',
  },
  { given: 'such a status and a deletion', options: { status: bound, deleting: 'yes' }, then: 'other' },
  { given: 'such a status alone', options: { status: bound }, then: expected },
  { given: 'a deletion, and no name in the status', options: { deleting: 'yes' }, then: expected },
] as const)('given a dynamic snapshot with $given, then its content is looked for as $then', ({ options, then }) => {
  expect(contentNameFor(aSnapshot(options))).toBe(then);
});

const digest = 'a1'.repeat(32);
it.each([
  { given: 'a digest in its name, as its group makes it', name: `snapshot-${digest}`, then: `snapcontent-${digest}` },
  { given: 'a name of its own', name: 'snap', then: 'snapcontent-uid' },
  { given: 'a name that begins as that of a member', name: 'snapshot-of-today', then: 'snapcontent-uid' },
])('given a member without a status, and with $given, then its content is looked for as $then', ({ name, then }) => {
  const metadata = { finalizers: [snapshotFinalizers.inGroup] };
  expect(contentNameFor(aSnapshot({ name, uid: 'uid', metadata }))).toBe(then);
});

it('given a member that was orphaned, which only its finalizer shows, then it is not taken for a dynamic snapshot, of which another snapshot would be taken', async () => {
  const finalizers = [snapshotFinalizers.inGroup, snapshotFinalizers.asSource];
  const orphan = aSnapshot({
    metadata: { finalizers },
    status: { boundVolumeSnapshotContentName: 'snapcontent-of-member', readyToUse: false },
  });
  expect(originOf(orphan)).toBe('member');
  const it = await aController({ with: [orphan] });
  await it.clock.advance(60_000);
  expect(it.writes()).toEqual([]);
  await it.stop();
});
