// SPDX-License-Identifier: Apache-2.0
/**
 * The rules of the snapshot API that its definitions state in CEL: what can be created, and what can be changed afterwards. Case numbers
 * are those of docs/behaviour/snapshot-api.md.
 */
import assert from 'node:assert/strict';
import { type ApiClient, ignoreNotFound, type KubeObject, type ObjectRef, type Resource } from '@csi-sidecars/runtime';
import {
  volumeGroupSnapshotClasses,
  volumeGroupSnapshotContents,
  volumeGroupSnapshots,
  volumeSnapshotContents,
  volumeSnapshots,
} from '@csi-sidecars/volume';
import { definitions, installSnapshotApi, snapshotDefinitions } from '../snapshot-api/definitions.ts';
import type { ContractCheck, ContractEnv } from './check.ts';
import { refused } from './expectations.ts';

type Body = Readonly<Record<string, unknown>>;
type Kind = 'VolumeSnapshot' | 'VolumeSnapshotContent' | 'VolumeGroupSnapshot' | 'VolumeGroupSnapshotContent';

const resources: Readonly<Record<Kind, Resource>> = {
  VolumeSnapshot: volumeSnapshots,
  VolumeSnapshotContent: volumeSnapshotContents,
  VolumeGroupSnapshot: volumeGroupSnapshots,
  VolumeGroupSnapshotContent: volumeGroupSnapshotContents,
};

/** Undefined: accepted. Otherwise a part of the refusal. */
type Verdict = string | undefined;

interface Creation {
  readonly id: number;
  readonly what: string;
  readonly kind: Kind;
  readonly spec: Body;
  readonly verdict: Verdict;
}

interface Alteration extends Creation {
  /** A merge patch of the spec. Null removes a field. Undefined: only an annotation is added. */
  readonly change: Body | undefined;
}

const claimSource = { source: { persistentVolumeClaimName: 'data' } };
const contentSource = { source: { volumeSnapshotContentName: 'content' } };
const bothSources = { source: { persistentVolumeClaimName: 'data', volumeSnapshotContentName: 'content' } };
const ref = { name: 'daily', namespace: 'team' };
const content = (source: Body, volumeSnapshotRef: Body = ref): Body => ({
  deletionPolicy: 'Delete',
  driver: 'csi.example.com',
  source,
  volumeSnapshotRef,
});
const selector = { matchLabels: { app: 'db' } };
const bySelector = { source: { selector } };
const byContent = { source: { volumeGroupSnapshotContentName: 'content' } };
const groupContent = (source: Body, volumeGroupSnapshotRef: Body = ref): Body => ({
  deletionPolicy: 'Retain',
  driver: 'csi.example.com',
  source,
  volumeGroupSnapshotRef,
});
const handles = { volumeHandles: ['v1', 'v2'] };
const groupHandles = {
  groupSnapshotHandles: { volumeGroupSnapshotHandle: 'g1', volumeSnapshotHandles: ['s1', 's2'] },
};
const otherGroupHandles = {
  groupSnapshotHandles: { volumeGroupSnapshotHandle: 'g2', volumeSnapshotHandles: ['s1', 's2'] },
};

const oneSource = 'exactly one of volumeSnapshotContentName and persistentVolumeClaimName must be set';
const oneHandle = 'exactly one of volumeHandle and snapshotHandle must be set';
const refNames = 'both spec.volumeSnapshotRef.name and spec.volumeSnapshotRef.namespace must be set';
const oneGroupSource = 'exactly one of selector and volumeGroupSnapshotContentName must be set';
const oneGroupHandle = 'exactly one of volumeHandles and groupSnapshotHandles must be set';
const groupRefNames = 'both volumeGroupSnapshotRef.name and volumeGroupSnapshotRef.namespace must be set';
const groupRefFixed = 'volumeGroupSnapshotRef.name and volumeGroupSnapshotRef.namespace are immutable';

type Row = readonly [spec: Body, verdict?: Verdict];

const rowsOf =
  (kind: Kind) =>
  (id: number, what: string, ...[spec, verdict]: Row): Creation => ({ id, what, kind, spec, verdict });
const snapshot = rowsOf('VolumeSnapshot');
const single = rowsOf('VolumeSnapshotContent');
const group = rowsOf('VolumeGroupSnapshot');
const members = rowsOf('VolumeGroupSnapshotContent');
const then = (creation: Creation, change: Body | undefined): Alteration => ({ ...creation, change });

const creations: readonly Creation[] = [
  snapshot(1, 'a claim as source and no class', claimSource),
  snapshot(2, 'a claim as source and a class', { ...claimSource, volumeSnapshotClassName: 'fast' }),
  snapshot(
    3,
    'an empty class',
    { ...claimSource, volumeSnapshotClassName: '' },
    'volumeSnapshotClassName must not be the empty string when set',
  ),
  snapshot(4, 'no source', { source: {} }, oneSource),
  snapshot(5, 'both sources', bothSources, oneSource),
  snapshot(6, 'a content as source', contentSource),
  single(7, 'a volume and a reference', content({ volumeHandle: 'v1' })),
  single(8, 'a snapshot and a reference', content({ snapshotHandle: 's1' })),
  single(9, 'no source', content({}), oneHandle),
  single(9, 'both sources', content({ volumeHandle: 'v1', snapshotHandle: 's1' }), oneHandle),
  single(10, 'a reference without a name', content({ volumeHandle: 'v1' }, { namespace: 'team' }), refNames),
  single(10, 'a reference without a namespace', content({ volumeHandle: 'v1' }, { name: 'daily' }), refNames),
  group(11, 'a selector and no class', bySelector),
  group(11, 'a content and a class', { ...byContent, volumeGroupSnapshotClassName: 'fast' }),
  group(
    12,
    'an empty class',
    { ...bySelector, volumeGroupSnapshotClassName: '' },
    'volumeGroupSnapshotClassName must not be the empty string when set',
  ),
  group(13, 'no source', { source: {} }, oneGroupSource),
  group(13, 'both sources', { source: { selector, volumeGroupSnapshotContentName: 'content' } }, oneGroupSource),
  members(14, 'volumes and a reference', groupContent(handles)),
  members(15, 'no source', groupContent({}), oneGroupHandle),
  members(15, 'both sources', groupContent({ ...handles, ...groupHandles }), oneGroupHandle),
  members(16, 'a reference with a name only', groupContent(handles, { name: 'daily' }), groupRefNames),
  members(16, 'a reference with a namespace only', groupContent(handles, { namespace: 'team' }), groupRefNames),
];

const gone = (field: string): Verdict => `${field} is required once set`;

const alterations: readonly Alteration[] = [
  then(snapshot(17, 'an annotation beside a claim as source', claimSource), undefined),
  then(snapshot(17, 'an annotation beside a content as source', contentSource), undefined),
  then(snapshot(18, 'another claim', claimSource, 'persistentVolumeClaimName is immutable'), {
    source: { persistentVolumeClaimName: 'other' },
  }),
  then(snapshot(19, 'another content', contentSource, 'volumeSnapshotContentName is immutable'), {
    source: { volumeSnapshotContentName: 'other' },
  }),
  then(snapshot(20, 'a content instead of a claim', claimSource, gone('persistentVolumeClaimName')), {
    source: { persistentVolumeClaimName: null, volumeSnapshotContentName: 'content' },
  }),
  then(snapshot(21, 'a claim instead of a content', contentSource, gone('volumeSnapshotContentName')), {
    source: { persistentVolumeClaimName: 'data', volumeSnapshotContentName: null },
  }),
  then(single(22, 'an annotation', content({ volumeHandle: 'v1' })), undefined),
  then(single(23, 'another volume', content({ volumeHandle: 'v1' }), 'volumeHandle is immutable'), {
    source: { volumeHandle: 'v2' },
  }),
  then(single(23, 'another snapshot', content({ snapshotHandle: 's1' }), 'snapshotHandle is immutable'), {
    source: { snapshotHandle: 's2' },
  }),
  then(single(24, 'a snapshot instead of a volume', content({ volumeHandle: 'v1' }), gone('volumeHandle')), {
    source: { volumeHandle: null, snapshotHandle: 's1' },
  }),
  then(single(24, 'a volume instead of a snapshot', content({ snapshotHandle: 's1' }), gone('snapshotHandle')), {
    source: { volumeHandle: 'v1', snapshotHandle: null },
  }),
  then(
    single(
      25,
      'no volume mode any more',
      { ...content({ volumeHandle: 'v1' }), sourceVolumeMode: 'Block' },
      gone('sourceVolumeMode'),
    ),
    { sourceVolumeMode: null },
  ),
  then(group(26, 'another selector', bySelector, 'selector is immutable'), {
    source: { selector: { matchLabels: { app: 'web' } } },
  }),
  then(group(26, 'another content', byContent, 'volumeGroupSnapshotContentName is immutable'), {
    source: { volumeGroupSnapshotContentName: 'other' },
  }),
  then(group(27, 'a content instead of a selector', bySelector, gone('selector')), {
    source: { selector: null, volumeGroupSnapshotContentName: 'content' },
  }),
  then(group(27, 'a selector instead of a content', byContent, gone('volumeGroupSnapshotContentName')), {
    source: { selector, volumeGroupSnapshotContentName: null },
  }),
  then(members(28, 'another deletion policy', groupContent(handles)), { deletionPolicy: 'Delete' }),
  then(
    members(
      29,
      'another class',
      { ...groupContent(handles), volumeGroupSnapshotClassName: 'fast' },
      'volumeGroupSnapshotClassName is immutable once set',
    ),
    { volumeGroupSnapshotClassName: 'slow' },
  ),
  then(members(30, 'another driver', groupContent(handles), 'driver is immutable once set'), {
    driver: 'other.example.com',
  }),
  then(members(31, 'a reference to another name', groupContent(handles), groupRefFixed), {
    volumeGroupSnapshotRef: { name: 'weekly' },
  }),
  then(members(31, 'a reference to another namespace', groupContent(handles), groupRefFixed), {
    volumeGroupSnapshotRef: { namespace: 'other' },
  }),
  then(members(32, 'a first UID of the reference', groupContent(groupHandles)), {
    volumeGroupSnapshotRef: { uid: 'u1' },
  }),
  then(
    members(
      33,
      'another UID of the reference',
      groupContent(handles, { ...ref, uid: 'u1' }),
      'volumeGroupSnapshotRef.uid is immutable once set',
    ),
    { volumeGroupSnapshotRef: { uid: 'u2' } },
  ),
  then(members(34, 'other volumes', groupContent(handles), 'volumeHandles is immutable'), {
    source: { volumeHandles: ['v1'] },
  }),
  then(members(34, 'another group', groupContent(groupHandles), 'groupSnapshotHandles is immutable'), {
    source: otherGroupHandles,
  }),
  then(members(35, 'a group instead of volumes', groupContent(handles), gone('volumeHandles')), {
    source: { volumeHandles: null, ...groupHandles },
  }),
  then(members(35, 'volumes instead of a group', groupContent(groupHandles), gone('groupSnapshotHandles')), {
    source: { ...handles, groupSnapshotHandles: null },
  }),
];

const kindsOf = (kind: Kind): string => `a ${kind}`;

function creationCheck({ id, what, kind, spec, verdict }: Creation): ContractCheck {
  return {
    name: `CEL ${id}: ${kindsOf(kind)} with ${what} is ${verdict === undefined ? 'accepted' : 'refused'}`,
    needs: ['admission'],
    async run(client, env) {
      await installSnapshotApi(client, env);
      const resource = resources[kind];
      const object = anObject(env, { suffix: `cel-${id}`, resource, fields: { spec } });
      await judged(client.create(resource, object, { dryRun: 'All' }), verdict);
    },
  };
}

function alterationCheck({ id, what, kind, spec, change, verdict }: Alteration): ContractCheck {
  return {
    name: `CEL ${id}: a change of ${kindsOf(kind)} to ${what} is ${verdict === undefined ? 'accepted' : 'refused'}`,
    needs: ['admission'],
    async run(client, env) {
      await installSnapshotApi(client, env);
      const resource = resources[kind];
      const body = change === undefined ? { metadata: { annotations: { note: 'seen' } } } : { spec: change };
      const object = anObject(env, { suffix: `cel-${id}`, resource, fields: { spec } });
      await whileStored(client, { object, resource }, (name) =>
        judged(client.patch({ resource, ref: { ...name } }, { type: 'merge', body }, { dryRun: 'All' }), verdict),
      );
    },
  };
}

interface Wanted {
  readonly suffix: string;
  readonly resource: Resource;
  readonly fields: Body;
}

function anObject(env: ContractEnv, { suffix, resource, fields }: Wanted): KubeObject {
  const name = env.name(suffix);
  return { metadata: resource.namespaced ? { name, namespace: env.namespace } : { name }, ...fields };
}

async function whileStored(
  client: ApiClient,
  { object, resource }: { readonly object: KubeObject; readonly resource: Resource },
  check: (ref: ObjectRef) => Promise<void>,
): Promise<void> {
  const { name = '', namespace } = object.metadata ?? {};
  await client.create(resource, object);
  try {
    await check({ name, namespace });
  } finally {
    await client.delete(resource, { name, namespace }).catch(ignoreNotFound);
  }
}

async function judged(request: Promise<unknown>, verdict: Verdict): Promise<void> {
  if (verdict === undefined) return void (await request);
  const error = await refused(request, { status: 422, reason: 'Invalid' });
  assert.ok(error.message.includes(verdict), `${error.message} should include ${verdict}`);
}

const classChanges = [
  { change: { deletionPolicy: 'Retain' }, verdict: 'deletionPolicy is' },
  { change: { parameters: { tier: 'hot' } }, verdict: 'parameters are' },
  { change: { driver: 'other.example.com' }, verdict: 'driver is' },
] as const;

const classCheck: ContractCheck = {
  name: 'CEL 36: a change of the deletion policy, the parameters or the driver of a VolumeGroupSnapshotClass is refused',
  needs: ['admission'],
  async run(client, env) {
    await installSnapshotApi(client, env);
    const resource = volumeGroupSnapshotClasses;
    const fields = { driver: 'csi.example.com', deletionPolicy: 'Delete', parameters: { tier: 'cold' } };
    const object = anObject(env, { suffix: 'cel-36', resource, fields });
    await whileStored(client, { object, resource }, async (name) => {
      for (const { change, verdict } of classChanges) {
        const patch = client.patch({ resource, ref: name }, { type: 'merge', body: change }, { dryRun: 'All' });
        await judged(patch, `${verdict} immutable once set`);
      }
    });
  },
};

export const snapshotRuleChecks: readonly ContractCheck[] = [
  {
    name: 'the definitions of the snapshot API are accepted without a violation, and every served version can be listed',
    async run(client, env) {
      await installSnapshotApi(client, env);
      for (const { metadata } of snapshotDefinitions(['snapshot.storage.k8s.io', 'groupsnapshot.storage.k8s.io'])) {
        const { status } = await client.get(definitions, { name: metadata?.name ?? '' });
        const bad = (status?.conditions ?? []).filter(
          ({ type, status: value }) => (type === 'NonStructuralSchema' && value === 'True') || value === 'False',
        );
        assert.deepEqual(bad, []);
      }
    },
  },
  {
    name: 'a time in nanoseconds and a size above 2^53 come back from a status with every digit',
    async run(client, env) {
      await installSnapshotApi(client, env);
      const resource = volumeSnapshotContents;
      const fields = { spec: content({ volumeHandle: 'v1' }) };
      const object = anObject(env, { suffix: 'digits', resource, fields });
      await whileStored(client, { object, resource }, async (name) => {
        const status = { creationTime: 1_763_836_800_123_456_789n, restoreSize: 9_007_199_254_740_993n };
        const patch = { type: 'merge', body: { status } } as const;
        const stored = await client.patch({ resource, ref: name }, patch, { subresource: 'status' });
        assert.deepEqual(stored.status, status);
        assert.deepEqual((await client.get(resource, name)).status, status);
      });
    },
  },
  ...creations.map(creationCheck),
  ...alterations.map(alterationCheck),
  classCheck,
];
