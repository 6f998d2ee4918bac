// SPDX-License-Identifier: Apache-2.0
/** The content loop. */
import type { KubeObject } from '@csi-sidecars/runtime';
import { there } from '@csi-sidecars/test-driver/testing';
import {
  snapshotAnnotations,
  snapshotFinalizers as finalizers,
  volumeGroupSnapshotContents,
  volumeSnapshotContents,
} from '@csi-sidecars/volume';
import { expect, it } from 'vitest';
import { aContent, aGroupContent, aSnapshot } from '../../testing/builders.ts';
import { aController, forbidden } from '../../testing/controller-fixture.ts';
import { aControllerOf } from '../../testing/decided.ts';
import { groupContentKind, singleContentKind } from './kinds.ts';

const name = 'snapcontent-uid-of-snap';
const goingSnapshot = aSnapshot({
  metadata: { finalizers: [finalizers.asSource], deletionTimestamp: '2026-01-01T00:00:00Z' },
});
const bare = aContent({ metadata: { finalizers: [] } });
const text = 'Exactly one of VolumeHandle and SnapshotHandle should be specified';

it('[snapshot-controller#116, C4, C5] given a bound content without its finalizer and without its snapshot, then the finalizer is all that is written', async () => {
  const it = await aController({ with: [bare] });
  await it.clock.advance(900_000);
  expect(it.writes()).toEqual([`patch volumesnapshotcontents ${name} 200`]);
  expect(it.content()?.metadata?.finalizers).toEqual([finalizers.content]);
  expect(there(it.content()).metadata?.annotations).toBeUndefined();
  await it.stop();
});

it('[snapshot-controller#114] given that it cannot be written, then it is tried again', async () => {
  const it = await aController({
    with: [bare],
    faults: [{ when: ({ verb }) => verb === 'patch', fault: forbidden }],
  });
  expect(it.content()?.metadata?.finalizers).toEqual([]);
  await it.clock.advance(2_000);
  expect(it.content()?.metadata?.finalizers).toEqual([finalizers.content]);
  await it.stop();
});

it.each([
  {
    id: '[snapshot-controller#C1]',
    row: 'C1',
    resource: volumeSnapshotContents,
    queue: singleContentKind.queueName,
    content: bare,
  },
  {
    id: '[snapshot-controller#K1]',
    row: 'K1',
    resource: volumeGroupSnapshotContents,
    queue: groupContentKind.queueName,
    content: aGroupContent({ metadata: { finalizers: [] } }),
  },
])(
  '$id given a content that is gone before its finalizer is tried again, then nothing is asked or written for it',
  async ({ row, resource, queue, content }) => {
    const it = await aControllerOf(queue, {
      with: [content],
      faults: [{ when: ({ verb }) => verb === 'patch', fault: forbidden, times: 1 }],
    });
    const before = it.server.requests.length;
    await it.vanish<KubeObject>(resource, { name: content.metadata?.name ?? '' });
    await it.clock.advance(60_000);
    expect(it.decided().at(-1)).toBe(`${content.metadata?.name} ${row}`);
    expect(it.server.requests.slice(before).filter(({ verb }) => verb !== 'watch')).toEqual([]);
    await it.stop();
  },
);

it('[snapshot-controller#115] given other finalizers, then ours comes last', async () => {
  const it = await aController({ with: [aContent({ metadata: { finalizers: ['z.io/a'] } })] });
  expect(it.content()?.metadata?.finalizers).toEqual(['z.io/a', finalizers.content]);
  await it.stop();
});

it('given a content that is being deleted, then it gets no finalizer', async () => {
  const it = await aController({ with: [aContent({ deleting: 'yes', metadata: { finalizers: ['z.io/a'] } })] });
  expect(it.writes()).toEqual([]);
  await it.stop();
});

it('given a content whose deletion begins while the finalizer is written, then it gets none, and nothing fails', async () => {
  const it = await aController();
  it.fault('patch volumesnapshotcontents', { kind: 'delay', ms: 1_000 });
  await it.add(aContent({ metadata: { finalizers: ['a.io/b'] } }));
  await it.remove(volumeSnapshotContents, { name });
  await it.clock.advance(5_000);
  expect(it.content()?.metadata?.finalizers).toEqual(['a.io/b']);
  expect(it.logger.lines.filter(({ message }) => message.includes('will retry'))).toEqual([]);
  await it.stop();
});

it.each([
  { given: 'no handle', source: {} },
  { given: 'both handles', source: { volumeHandle: 'a', snapshotHandle: 'b' } },
])(
  '[snapshot-controller#18, C2] given $given, then an event at each attempt, and nothing is written',
  async ({ source }) => {
    const it = await aController({ with: [aContent({ metadata: { finalizers: [] }, spec: { source } })] });
    await it.clock.advance(2_000);
    expect(it.events).toEqual([
      `Warning ContentValidationError ${name}: ${text}`,
      `Warning ContentValidationError ${name}: ${text}`,
    ]);
    expect(it.writes()).toEqual([]);
    await it.stop();
  },
);

it('[snapshot-controller#117] given the UID of an older snapshot of that name, then the content is left alone', async () => {
  const content = aContent({ of: aSnapshot({ uid: 'older' }) });
  const it = await aController({ with: [goingSnapshot, content] });
  expect(it.content('snapcontent-older')).toMatchObject(content);
  expect(it.writes().filter((line) => line.includes('contents'))).toEqual([]);
  await it.stop();
});

it('[snapshot-controller#118, D7] given a snapshot that is being deleted, then its content is marked, and a failure is tried again', async () => {
  const it = await aController({
    with: [
      aSnapshot({ metadata: { finalizers: [finalizers.bound], deletionTimestamp: '2026-01-01T00:00:00Z' } }),
      aContent(),
    ],
    faults: [
      { when: ({ verb, resource }) => verb === 'patch' && resource === 'volumesnapshotcontents', fault: forbidden },
    ],
  });
  expect(there(it.content()).metadata?.annotations).toBeUndefined();
  await it.clock.advance(2_000);
  expect(it.content()?.metadata?.annotations).toEqual({ [snapshotAnnotations.beingDeleted]: 'yes' });
  await it.stop();
});

it('[snapshot-controller#119] given a snapshot that is being deleted and a content without UID, then the content is not touched', async () => {
  const content = aContent({ spec: { volumeSnapshotRef: { name: 'snap', namespace: 'team' } } });
  const it = await aController({ with: [goingSnapshot, content] });
  expect(it.writes().filter((line) => line.includes('contents'))).toEqual([]);
  await it.stop();
});

it.each([
  { given: 'no spec', object: { spec: undefined as never } },
  { given: 'no reference', object: { spec: { source: { volumeHandle: 'x' } } } },
])('[snapshot-controller#S7] [P22] given a content with $given, then nothing crashes', async ({ object }) => {
  const it = await aController({ with: [{ ...aContent({ metadata: { finalizers: [] } }), ...object }, aSnapshot()] });
  expect(it.writes().filter((line) => line.startsWith('patch volumesnapshotcontents'))).toEqual([]);
  await it.stop();
});
