// SPDX-License-Identifier: Apache-2.0
import { describe, expect, it } from 'vitest';
import { isBoundTo, mayBindTo } from './binding.ts';
import { classSecretOf, driverParametersOf } from './class-parameters.ts';
import {
  annotationYes,
  contentNameOf,
  groupContentNameOf,
  managedByLabel,
  memberNamesOf,
  snapshotAnnotations,
  snapshotFinalizers,
  snapshotSecrets,
} from './names.ts';
import { millisToNanoseconds, nanosecondsToTime, toNanoseconds } from './times.ts';

describe('names', () => {
  it('given a UID, then contents are named after it', () => {
    expect([contentNameOf('u1'), groupContentNameOf('u2')]).toEqual(['snapcontent-u1', 'groupsnapcontent-u2']);
  });

  it('given a group and a volume, then the member is named after the SHA-256 of both', () => {
    // echo -n group-1volume-1 | sha256sum
    const digest = 'b73a802eae3cb105fa1cc55367138e8c2c32860b4f6a29a1adf7f7a87c1032bb';
    const names = memberNamesOf('group-1', 'volume-1');
    expect(names).toEqual({ snapshot: `snapshot-${digest}`, content: `snapcontent-${digest}` });
  });
});

describe('names on objects of other programs', () => {
  it('given the finalizers, then they are those that upstream wrote on objects that still exist', () => {
    expect(snapshotFinalizers).toEqual({
      content: 'snapshot.storage.kubernetes.io/volumesnapshotcontent-bound-protection',
      bound: 'snapshot.storage.kubernetes.io/volumesnapshot-bound-protection',
      asSource: 'snapshot.storage.kubernetes.io/volumesnapshot-as-source-protection',
      inGroup: 'snapshot.storage.kubernetes.io/volumesnapshot-in-group-protection',
      restored: 'provisioner.storage.kubernetes.io/volumesnapshot-as-source-protection',
      claim: 'snapshot.storage.kubernetes.io/pvc-as-source-protection',
      groupContent: 'groupsnapshot.storage.kubernetes.io/volumegroupsnapshotcontent-bound-protection',
      groupBound: 'groupsnapshot.storage.kubernetes.io/volumegroupsnapshot-bound-protection',
    });
  });

  it('given the annotations and the label, then they are those by which the programs of upstream know each other', () => {
    expect(snapshotAnnotations).toEqual({
      beingCreated: 'snapshot.storage.kubernetes.io/volumesnapshot-being-created',
      beingDeleted: 'snapshot.storage.kubernetes.io/volumesnapshot-being-deleted',
      groupBeingCreated: 'groupsnapshot.storage.kubernetes.io/volumegroupsnapshot-being-created',
      groupBeingDeleted: 'groupsnapshot.storage.kubernetes.io/volumegroupsnapshot-being-deleted',
      deletionSecretName: 'snapshot.storage.kubernetes.io/deletion-secret-name',
      deletionSecretNamespace: 'snapshot.storage.kubernetes.io/deletion-secret-namespace',
      groupDeletionSecretName: 'groupsnapshot.storage.kubernetes.io/deletion-secret-name',
      groupDeletionSecretNamespace: 'groupsnapshot.storage.kubernetes.io/deletion-secret-namespace',
      allowModeChange: 'snapshot.storage.kubernetes.io/allow-volume-mode-change',
      isDefaultClass: 'snapshot.storage.kubernetes.io/is-default-class',
      isDefaultGroupClass: 'groupsnapshot.storage.kubernetes.io/is-default-class',
      groupHandle: 'groupsnapshot.storage.k8s.io/volumeGroupSnapshotHandle',
    });
    expect([annotationYes, managedByLabel]).toEqual(['yes', 'snapshot.storage.kubernetes.io/managed-by']);
  });

  it('given the secrets of classes, then their keys and their words are those of upstream', () => {
    const keys = (label: string, purpose: string): object => ({
      label,
      name: `csi.storage.k8s.io/${purpose}-secret-name`,
      namespace: `csi.storage.k8s.io/${purpose}-secret-namespace`,
    });
    expect(snapshotSecrets).toEqual({
      snapshotter: keys('Snapshotter', 'snapshotter'),
      list: keys('SnapshotterList', 'snapshotter-list'),
      group: keys('GroupSnapshotter', 'group-snapshotter'),
      groupGet: keys('GroupSnapshotterGet', 'group-snapshotter-get'),
    });
  });
});

describe('binding', () => {
  const snapshot = { metadata: { namespace: 'team', name: 'daily', uid: 'u1' } };
  const exact = { namespace: 'team', name: 'daily', uid: 'u1' };
  it.each([
    { reference: exact, isBound: true, mayBind: true },
    { reference: { ...exact, uid: '' }, isBound: false, mayBind: true },
    { reference: { namespace: 'team', name: 'daily' }, isBound: false, mayBind: true },
    { reference: { ...exact, uid: 'u2' }, isBound: false, mayBind: false },
    { reference: { ...exact, name: 'weekly' }, isBound: false, mayBind: false },
    { reference: { ...exact, namespace: 'other' }, isBound: false, mayBind: false },
    { reference: undefined, isBound: false, mayBind: false },
  ])('given the reference $reference, then bound is $isBound and bindable is $mayBind', (row) => {
    expect([isBoundTo(row.reference, snapshot), mayBindTo(row.reference, snapshot)]).toEqual([
      row.isBound,
      row.mayBind,
    ]);
  });

  it('given an object without a UID, then no reference without a UID is bound to it', () => {
    expect(isBoundTo({ namespace: 'team', name: 'daily' }, { metadata: { namespace: 'team', name: 'daily' } })).toBe(
      false,
    );
  });
});

describe('times', () => {
  it('given a time of a driver, then every nanosecond is kept', () => {
    expect(toNanoseconds({ seconds: '1763836800', nanos: 123_456_789 })).toBe(1_763_836_800_123_456_789n);
    expect(toNanoseconds({ seconds: '-1', nanos: 5 })).toBe(-999_999_995n);
  });

  it('given the first and the last time that the API can store, then every nanosecond is kept', () => {
    const last = 9_223_372_036_854_775_807n;
    expect(toNanoseconds({ seconds: '9223372036', nanos: 854_775_807 })).toBe(last);
    expect(toNanoseconds({ seconds: '-9223372037', nanos: 145_224_193 })).toBe(-last);
  });

  it('given a nanosecond after the last time, or before the first, then there is none', () => {
    expect(toNanoseconds({ seconds: '9223372036', nanos: 854_775_808 })).toBeUndefined();
    expect(toNanoseconds({ seconds: '-9223372037', nanos: 145_224_192 })).toBeUndefined();
  });

  it.each(['9223372037', '-9223372037', '99999999999999'])(
    'given a time of %s seconds, which is no int64 of nanoseconds, then there is none',
    (seconds) => {
      expect(toNanoseconds({ seconds, nanos: 0 })).toBeUndefined();
    },
  );

  it('given milliseconds of a clock, then they become nanoseconds', () => {
    expect(millisToNanoseconds(1_763_836_800_123.75)).toBe(1_763_836_800_123_000_000n);
  });

  it.each([
    { nanoseconds: 1_763_836_800_999_999_999n, time: '2025-11-22T18:40:00Z' },
    { nanoseconds: 0, time: '1970-01-01T00:00:00Z' },
    { nanoseconds: -1n, time: '1969-12-31T23:59:59Z' },
    { nanoseconds: -1_000_000_000n, time: '1969-12-31T23:59:59Z' },
    { nanoseconds: 9_223_372_036_854_775_807n, time: '2262-04-11T23:47:16Z' },
  ])('given $nanoseconds ns, then the time is $time', ({ nanoseconds, time }) => {
    expect(nanosecondsToTime(nanoseconds)).toBe(time);
  });
});

describe('parameters of a class', () => {
  const { name, namespace } = snapshotSecrets.list;
  const tokens = { name: { 'volumesnapshotcontent.name': 'c1' }, namespace: { 'volumesnapshotcontent.name': 'c1' } };

  it('given a pair of templates, then they are resolved', () => {
    const parameters = { [name]: 'of-${volumesnapshotcontent.name}', [namespace]: 'storage' };
    expect(classSecretOf(parameters, snapshotSecrets.list, tokens)).toEqual({
      kind: 'ok',
      value: { name: 'of-c1', namespace: 'storage' },
    });
  });

  it.each([
    { parameters: { a: 'b' }, result: { kind: 'ok', value: undefined } },
    {
      parameters: { [name]: 'a' },
      result: {
        kind: 'error',
        message:
          'failed to get name and namespace template from params: either name and namespace for SnapshotterList secrets specified, Both must be specified',
      },
    },
    {
      parameters: { [name]: 'a', [namespace]: '' },
      result: {
        kind: 'error',
        message:
          'failed to get name and namespace template from params: SnapshotterList secrets specified in parameters but value of either namespace or name is empty',
      },
    },
    {
      parameters: { [name]: '${volumesnapshot.name}', [namespace]: 'a' },
      result: {
        kind: 'error',
        message: 'error resolving value "${volumesnapshot.name}": invalid tokens: ["volumesnapshot.name"]',
      },
    },
  ])('given $parameters, then the secret is $result', ({ parameters, result }) => {
    expect(classSecretOf(parameters, snapshotSecrets.list, tokens)).toEqual(result);
  });

  it('given keys of all secrets, then the driver gets everything else', () => {
    const secrets = Object.values(snapshotSecrets).flatMap((keys) => [keys.name, keys.namespace]);
    expect(secrets).toHaveLength(8);
    const parameters = { ...Object.fromEntries(secrets.map((key) => [key, 'x'])), csiFoo: 'bar', tier: 'cold' };
    expect(driverParametersOf(parameters)).toEqual({ kind: 'ok', value: { csiFoo: 'bar', tier: 'cold' } });
  });

  it('given an unknown reserved key, then it is refused with its name', () => {
    expect(driverParametersOf({ 'csi.storage.k8s.io/nonsense': 'x' })).toEqual({
      kind: 'error',
      message: 'found unknown parameter key "csi.storage.k8s.io/nonsense" with reserved namespace csi.storage.k8s.io/',
    });
  });
});
