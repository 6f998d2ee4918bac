// SPDX-License-Identifier: Apache-2.0
import { expect, it } from 'vitest';
import { aSnapshotter } from '../../testing/snapshotter-fixture.ts';

it('[csi-snapshotter#1] given a driver that is ready with its first answer, when a snapshot is taken, then three writes and one call', async () => {
  const s = await aSnapshotter();
  expect(s.writes()).toEqual([
    'patch volumesnapshotcontents content 200',
    'patch volumesnapshotcontents/status content 200',
    'patch volumesnapshotcontents content 200',
  ]);
  expect(s.calls()).toEqual(['CreateSnapshot snapshot-11111111-2222-3333-4444-555555555555 OK']);
  console.log(s.content(), s.events, s.bodies());
  await s.stop();
});
