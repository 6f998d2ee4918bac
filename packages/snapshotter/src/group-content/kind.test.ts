// SPDX-License-Identifier: Apache-2.0
/** What single contents of groups are, and what only the log shows of them. */
import { expect, it } from 'vitest';
import { aGroupContent } from '../../testing/builders.ts';
import { snapshotKind } from '../content/kind.ts';
import { groupSnapshotKind } from './kind.ts';

const handles = { volumeGroupSnapshotHandle: 'g', volumeSnapshotHandles: ['a'] };
const sourceless = { ...aGroupContent(), spec: { ...aGroupContent().spec, source: {} } };

it.each([
  { given: 'one volume', content: aGroupContent({ volumes: ['a'] }), hasSource: true, isThere: false, way: 'create' },
  { given: 'no volume', content: aGroupContent({ volumes: [] }), hasSource: false, isThere: false, way: 'create' },
  { given: 'handles', content: aGroupContent({ handles }), hasSource: true, isThere: true, way: 'query' },
  { given: 'neither', content: sourceless, hasSource: false, isThere: false, way: 'create' },
])(
  'given a source with $given, then it counts as one: $hasSource, it was there before: $isThere, and the way is $way',
  ({ given: _given, content, ...is }) => {
    const { hasSource, isPreProvisioned, wayOf } = groupSnapshotKind;
    const found = { hasSource: hasSource(content), isThere: isPreProvisioned(content), way: wayOf(content) };
    expect(found).toEqual(is);
  },
);

it('given the rows of both kinds, then those of groups have the numbers of contents, without that of members', () => {
  const numbers = Object.entries(snapshotKind.rows).map(([name, row]) => [name, Number(row.slice(1))] as const);
  const expected = numbers.map(([name, number]) => [name, `G${number < 9 ? number : number - 1}`]);
  expect(groupSnapshotKind.rows).toEqual(Object.fromEntries(expected));
});

it('given failures of a group, then their texts are those of upstream', () => {
  const { messages, readCreated } = groupSnapshotKind;
  expect(messages.notDeleted('group', 'no')).toBe('failed to delete group snapshot "group", err: no');
  expect(messages.notUnmarked('group', 'no')).toBe(
    'failed to remove VolumeGroupSnapshotBeingCreated annotation on the groupSnapshotContent group: "no"',
  );
  const message = 'the answer to CreateVolumeGroupSnapshot has no snapshot';
  expect(readCreated({ group_snapshot: null })).toEqual({ kind: 'error', message });
});
