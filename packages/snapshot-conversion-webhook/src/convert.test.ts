// SPDX-License-Identifier: Apache-2.0
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { convert, listAnnotation } from './convert.ts';

const group = 'groupsnapshot.storage.k8s.io';
const kind = 'VolumeGroupSnapshotContent';
const [v1, beta2, beta1] = [`${group}/v1`, `${group}/v1beta2`, `${group}/v1beta1`];
const created = 1_763_836_800_123_456_789n;
const members = [
  { volumeHandle: 'v1', snapshotHandle: 's1', creationTime: created, readyToUse: true, restoreSize: 2n ** 60n },
  { snapshotHandle: 's2', volumeHandle: 'v2' },
];
const pairs = [
  { volumeHandle: 'v1', snapshotHandle: 's1' },
  { snapshotHandle: 's2', volumeHandle: 'v2' },
];
const text = `[{"creationTime":${created},"readyToUse":true,"restoreSize":1152921504606846976,"snapshotHandle":"s1","volumeHandle":"v1"},{"snapshotHandle":"s2","volumeHandle":"v2"}]`;
const content = (apiVersion: string, fields: object = {}) => ({ apiVersion, kind, ...fields });
const named = (annotations?: object) => ({ metadata: { name: 'c', uid: 'u', ...(annotations && { annotations }) } });

it('[snapshot-conversion-webhook#1] given an annotation and pairs, then the list is the annotation, and the rest stays', () => {
  const status = { volumeSnapshotHandlePairList: [{ volumeHandle: 'x', snapshotHandle: 'y' }], readyToUse: true };
  const object = content(beta1, { ...named({ [listAnnotation]: text, other: 'kept' }), status });
  expect(convert(object, beta2)).toEqual({
    converted: content(beta2, {
      ...named({ other: 'kept' }),
      status: { readyToUse: true, volumeSnapshotInfoList: members },
    }),
  });
});

it('[snapshot-conversion-webhook#2] given an annotation and no status, then the status has the list and nothing else', () => {
  expect(convert(content(beta1, named({ [listAnnotation]: text })), beta2)).toEqual({
    converted: content(beta2, { ...named({}), status: { volumeSnapshotInfoList: members } }),
  });
});

it.each([
  { from: beta1, to: beta2 },
  { from: beta2, to: beta1 },
])(
  '[snapshot-conversion-webhook#3] given neither annotation nor status, when $from becomes $to, then only the version changes',
  ({ from, to }) => {
    expect(convert(content(from, named()), to)).toEqual({ converted: content(to, named()) });
  },
);

it('[snapshot-conversion-webhook#4] given pairs without an annotation, then they become the list', () => {
  expect(convert(content(beta1, { status: { volumeSnapshotHandlePairList: pairs } }), beta2)).toEqual({
    converted: content(beta2, { status: { volumeSnapshotInfoList: pairs } }),
  });
});

it('given members, when they become v1beta1, then the annotation has all and the pairs have the handles', () => {
  const object = content(beta2, { ...named(), status: { readyToUse: false, volumeSnapshotInfoList: members } });
  expect(convert(object, beta1)).toEqual({
    converted: content(beta1, {
      ...named({ [listAnnotation]: text }),
      status: { readyToUse: false, volumeSnapshotHandlePairList: pairs },
    }),
  });
});

const anyMember = fc.record(
  {
    volumeHandle: fc.string(),
    snapshotHandle: fc.string(),
    creationTime: fc.bigInt({ min: 2n ** 53n, max: 2n ** 63n - 1n }),
    readyToUse: fc.boolean(),
    restoreSize: fc.integer(),
  },
  { requiredKeys: [] },
);

it.each([beta2, v1])(
  '[snapshot-conversion-webhook#5,9] given any members of a %s, when it goes to v1beta1 and back, then it is the same',
  (version) => {
    const someObject = fc.record({
      members: fc.array(anyMember),
      annotations: fc.option(
        fc.dictionary(
          fc.string().filter((key) => key !== '__proto__'),
          fc.string(),
        ),
      ),
    });
    fc.assert(
      fc.property(someObject, ({ members: list, annotations }) => {
        // The annotations that were absent are an empty map afterwards.
        const object = content(version, {
          ...named({ ...annotations }),
          status: { creationTime: '2025-11-22T18:40:00Z', volumeSnapshotInfoList: list },
        });
        const there = convert(object, beta1);
        expect('converted' in there && convert(there.converted, version)).toEqual({ converted: object });
      }),
      { seed: 1, numRuns: 300 },
    );
  },
);

describe('what cannot be converted', () => {
  const notThere =
    /^unable to deserialize annotation "groupsnapshot\.storage\.kubernetes\.io\/volume-snapshot-info-list": /;
  it.each(['{}', 'null', '"text"', '17', '[', '', '[1,]'])(
    '[snapshot-conversion-webhook#7] given the annotation %j, then it is a failure',
    (annotation) => {
      const converted = convert(content(beta1, named({ [listAnnotation]: annotation })), beta2);
      expect('failure' in converted && converted.failure).toMatch(notThere);
    },
  );

  it.each([
    {
      object: content(beta2),
      to: beta2,
      failure: `conversion from a version to itself should not call the webhook: ${beta2}`,
    },
    {
      object: { apiVersion: beta1, kind: 'VolumeGroupSnapshot' },
      to: beta2,
      failure: 'unexpected conversion kind "VolumeGroupSnapshot"',
    },
    { object: { apiVersion: beta1 }, to: beta2, failure: 'unexpected conversion kind ""' },
    {
      object: content(beta1),
      to: `${group}/v2`,
      failure: `unexpected conversion version from "${beta1}" to "${group}/v2"`,
    },
    { object: content('v0'), to: beta2, failure: `unexpected conversion version from "v0" to "${beta2}"` },
    {
      object: content(beta2, { status: { volumeSnapshotInfoList: [{}, 'x'] } }),
      to: beta1,
      failure: 'unexpected content in .status.volumeSnapshotInfoList[1]: expected map',
    },
    {
      object: content(beta2, { status: { volumeSnapshotInfoList: 'x' } }),
      to: beta1,
      failure:
        'unable to traverse for .status.volumeSnapshotInfoList: .status.volumeSnapshotInfoList accessor error: it is of the type string, expected a list',
    },
    {
      object: content(beta1, { status: 'x' }),
      to: beta2,
      failure:
        'unable to traverse for .status.volumeSnapshotHandlePairList: .status.volumeSnapshotHandlePairList accessor error: it is of the type string, expected a list',
    },
    {
      object: content(beta2, { status: [] }),
      to: beta1,
      failure:
        'unable to traverse for .status.volumeSnapshotInfoList: .status.volumeSnapshotInfoList accessor error: it is of the type object, expected a list',
    },
  ])('given $object to $to, then it is a failure', ({ object, to, failure }) => {
    expect(convert(object, to)).toEqual({ failure });
  });

  it.each([null, { volumeSnapshotInfoList: null }])('given the status %j, then there are no members', (status) => {
    expect(convert(content(beta2, { status }), beta1)).toEqual({ converted: content(beta1, { status }) });
  });
});

it('[snapshot-conversion-webhook#10] given v1 and v1beta2, then only the version changes; to v1beta1 both are converted', () => {
  const fields = { ...named(), status: { volumeSnapshotInfoList: members } };
  expect(convert(content(v1, fields), beta2)).toEqual({ converted: content(beta2, fields) });
  expect(convert(content(beta2, fields), v1)).toEqual({ converted: content(v1, fields) });
  expect(convert(content(v1, fields), beta1)).toEqual(convert(content(beta2, fields), beta1));
  expect(convert(content(beta1, named({ [listAnnotation]: text })), v1)).toEqual({
    converted: content(v1, { ...named({}), status: { volumeSnapshotInfoList: members } }),
  });
});

it('given an object, then it is not changed by its conversion', () => {
  const object = content(beta2, { ...named({ a: 'b' }), status: { volumeSnapshotInfoList: members } });
  const copy = structuredClone(object);
  convert(object, beta1);
  expect(object).toEqual(copy);
});
