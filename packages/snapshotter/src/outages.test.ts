// SPDX-License-Identifier: Apache-2.0
/**
 * The API server dies at the answer to each write of each flow, once before and once after its commit, and is away for a while. Soon
 * after its return somebody else goes on with the content: another replica finishes, a user deletes it, or a stale write removes its
 * annotations. In the end nothing is stuck, and a deletion leaves nothing behind.
 */
import type { KubeObject } from '@csi-sidecars/runtime';
import { type Flow, livesOf, timesLost, writesWithoutOutage } from '@csi-sidecars/test-driver/testing';
import { volumeGroupSnapshotContents, volumeSnapshotContents } from '@csi-sidecars/volume';
import { expect, it } from 'vitest';
import { aClass, aContent, aGroupClass, aGroupContent, asked, snapshotUid } from '../testing/builders.ts';
import { aSnapshotter, type Fixture, type FixtureOptions } from '../testing/snapshotter-fixture.ts';
import type { AnyContent } from './content-types.ts';

type Change = <C extends AnyContent>(content: C) => C;
type Finisher = (s: Fixture) => Promise<void> | void;

interface Kind {
  readonly seed: (deleting?: 'asked') => KubeObject;
  readonly current: (s: Fixture) => AnyContent | undefined;
  readonly change: (s: Fixture, how: Change) => void;
  /** What another replica does. */
  readonly take: Finisher;
  readonly remove: Finisher;
  /** A snapshot of the driver that is older than the flow. */
  readonly takeBefore: Finisher;
  readonly method: string;
  readonly taken: { readonly snapshots: number; readonly groups: number };
}

const timeoutMs = 1_000;
const without = (content: AnyContent): AnyContent => {
  const { annotations: _annotations, labels: _labels, ...metadata } = content.metadata ?? {};
  return { ...content, metadata };
};

const single: Kind = {
  seed: (deleting) =>
    deleting === undefined
      ? aContent()
      : aContent({ deleting, status: { snapshotHandle: 'snapshot-4', readyToUse: true } }),
  current: (s) => s.content(),
  change: (s, how) => {
    if (s.content() !== undefined) s.changeContent(how);
  },
  take: async (s) => {
    const request = { name: `snapshot-${snapshotUid}`, source_volume_id: 'volume-1' };
    const { snapshot } = await s.driver.channel().call('/csi.v1.Controller/CreateSnapshot', request, { timeoutMs });
    single.change(s, (content) => ({
      ...(without(content) as typeof content),
      status: { snapshotHandle: snapshot?.snapshot_id ?? '', readyToUse: true },
    }));
  },
  remove: async (s) => {
    await s.driver.channel().call('/csi.v1.Controller/DeleteSnapshot', { snapshot_id: 'snapshot-4' }, { timeoutMs });
    if (s.content() !== undefined) s.server.objects.remove(volumeSnapshotContents, { name: 'content' });
  },
  takeBefore: async (s) => {
    const request = { name: 'before', source_volume_id: 'volume-1' };
    await s.driver.channel().call('/csi.v1.Controller/CreateSnapshot', request, { timeoutMs });
  },
  method: 'CreateSnapshot',
  taken: { snapshots: 1, groups: 0 },
};

const places = { nodeAffinity: [{ matchLabelExpressions: [{ key: 'zone', values: ['a'] }] }] };

/** With the alpha gate: the other replica records the places too. */
const placed: Kind = {
  ...single,
  take: async (s) => {
    await single.take(s);
    if (s.content() !== undefined) s.changeContent((content) => ({ ...content, spec: { ...content.spec, ...places } }));
  },
};

const members = ['snapshot-5', 'snapshot-6'];
const group: Kind = {
  seed: (deleting) =>
    deleting === undefined
      ? aGroupContent()
      : aGroupContent({
          deleting,
          status: {
            volumeGroupSnapshotHandle: 'group-4',
            readyToUse: true,
            volumeSnapshotInfoList: members.map((snapshotHandle) => ({ snapshotHandle })),
          },
        }),
  current: (s) => s.group(),
  change: (s, how) => {
    if (s.group() !== undefined) s.changeGroup(how);
  },
  take: async (s) => {
    const request = { name: `groupsnapshot-${snapshotUid}`, source_volume_ids: ['volume-1', 'volume-2'] };
    const { group_snapshot: taken } = await s.driver
      .channel()
      .call('/csi.v1.GroupController/CreateVolumeGroupSnapshot', request, { timeoutMs });
    group.change(s, (content) => ({
      ...(without(content) as typeof content),
      status: {
        volumeGroupSnapshotHandle: taken?.group_snapshot_id ?? '',
        readyToUse: true,
        volumeSnapshotInfoList: (taken?.snapshots ?? []).map(({ snapshot_id: snapshotHandle }) => ({ snapshotHandle })),
      },
    }));
  },
  remove: async (s) => {
    const request = { group_snapshot_id: 'group-4', snapshot_ids: members };
    await s.driver.channel().call('/csi.v1.GroupController/DeleteVolumeGroupSnapshot', request, { timeoutMs });
    if (s.group() !== undefined) s.server.objects.remove(volumeGroupSnapshotContents, { name: 'group' });
  },
  takeBefore: async (s) => {
    const request = { name: 'before', source_volume_ids: ['volume-1', 'volume-2'] };
    await s.driver.channel().call('/csi.v1.GroupController/CreateVolumeGroupSnapshot', request, { timeoutMs });
  },
  method: 'CreateVolumeGroupSnapshot',
  taken: { snapshots: 2, groups: 1 },
};

/** By upstream's snapshot-controller, whose copy is older than the intent. */
const forget: Change = (content) => {
  const { annotations: _all, ...metadata } = content.metadata ?? {};
  return { ...content, metadata };
};
const wipe: Change = (content) => asked(forget(content));

const nothing = { content: 'gone', snapshots: 0, groups: 0 };

interface Story {
  readonly kind: Kind;
  readonly options?: FixtureOptions;
  /** What the driver answers to the first call. */
  readonly fails?: 'Internal' | 'Unavailable';
  readonly writes: string;
}

function aFlow(flow: string, { kind, options, writes }: Story): Omit<Flow<Fixture>, 'begin' | 'ends' | 'others'> {
  const shown = (s: Fixture): object => {
    const content = kind.current(s);
    const { annotations, labels } = content?.metadata ?? {};
    const spec: { readonly nodeAffinity?: unknown } & object = { ...content?.spec };
    return {
      ...(kind === placed && content !== undefined ? { nodeAffinity: spec.nodeAffinity } : {}),
      content: content === undefined ? 'gone' : { isReady: content.status?.readyToUse, annotations, labels },
      snapshots: s.driver.snapshots().length,
      groups: s.driver.groups().length,
    };
  };
  const live = async (s: Fixture): Promise<object> => {
    await s.clock.advance(200_000);
    return shown(s);
  };
  return {
    flow,
    writes,
    world: () => aSnapshotter({ ...options, seed: [aClass(), aGroupClass()] }),
    live,
    after: async (s) => {
      kind.change(s, asked);
      return await live(s);
    },
  };
}

function creation(flow: string, story: Story): Flow<Fixture> {
  const { kind, fails } = story;
  const ready = {
    ...(kind === placed ? places : {}),
    content: { isReady: true, annotations: undefined, labels: undefined },
    ...kind.taken,
  };
  const deleted = [[nothing, nothing]];
  return {
    ...aFlow(flow, story),
    begin: (s) => {
      const { method } = kind;
      if (fails !== undefined)
        s.driver.faults.add({ method, times: 1, action: { kind: 'fail', code: fails, message: 'no' } });
      s.server.seed(kind.seed() as never);
      // While the call is open.
      if (fails === 'Unavailable') s.clock.timer(500, () => kind.change(s, forget));
    },
    ends: [[ready, nothing]],
    others: {
      // It tries again when the driver fails.
      'another replica': { acts: async (s) => await Promise.resolve(kind.take(s)).catch(() => kind.take(s)) },
      'a user who deletes it': { acts: (s) => kind.change(s, asked), ends: deleted },
      'a user, and a stale write': { acts: (s) => kind.change(s, wipe), ends: deleted },
    },
  };
}

function deletion(flow: string, story: Story): Flow<Fixture> {
  const { kind } = story;
  return {
    ...aFlow(flow, story),
    begin: async (s) => {
      await kind.takeBefore(s);
      s.server.seed(kind.seed('asked') as never);
    },
    ends: [[nothing, nothing]],
    others: { 'another replica': { acts: kind.remove } },
  };
}

const slow = { options: { model: { snapshotProcessingMs: 3_000 } } };

const flows: readonly Flow<Fixture>[] = [
  creation('the creation of a snapshot', { kind: single, writes: 'C12 patch, C21 patch/status, C22 patch' }),
  creation('the creation of a snapshot that names its places', {
    kind: placed,
    options: { topology: 'on' },
    writes: 'C12 patch, C27 patch, C21 patch/status, C22 patch',
  }),
  creation('the creation of a slow snapshot', {
    kind: single,
    ...slow,
    writes: 'C12 patch, C21 patch/status, C22 patch, C12 patch, C22 patch, C12 patch, C21 patch/status, C22 patch',
  }),
  creation('the creation of a snapshot that the driver refuses once', {
    kind: single,
    fails: 'Internal',
    writes: 'C12 patch, C14 patch, C14 patch/status, C12 patch, C21 patch/status, C22 patch',
  }),
  creation('the creation of a snapshot whose first call stays open', {
    kind: single,
    fails: 'Unavailable',
    writes: 'C12 patch, C15 patch/status, C12 patch, C21 patch/status, C22 patch',
  }),
  deletion('the deletion of a snapshot', { kind: single, writes: 'C6 patch/status, C7 patch' }),
  creation('the creation of a group', { kind: group, writes: 'G11 patch, G20 patch/status, G21 patch' }),
  creation('the creation of a slow group', {
    kind: group,
    ...slow,
    writes: 'G11 patch, G20 patch/status, G21 patch, G11 patch, G21 patch, G11 patch, G20 patch/status, G21 patch',
  }),
  creation('the creation of a group that the driver refuses once', {
    kind: group,
    fails: 'Internal',
    writes: 'G11 patch, G13 patch, G13 patch/status, G11 patch, G20 patch/status, G21 patch',
  }),
  creation('the creation of a group whose first call stays open', {
    kind: group,
    fails: 'Unavailable',
    writes: 'G11 patch, G14 patch/status, G11 patch, G20 patch/status, G21 patch',
  }),
  deletion('the deletion of a group', { kind: group, writes: 'G6 patch/status, G7 patch' }),
];

it.each(timesLost(flows))(
  '[csi-snapshotter#146] given $flow, and an API server that dies at each write ($lost) and comes back, then nothing ends stuck, and a deletion leaves nothing behind',
  async (flow) => {
    expect(await livesOf(flow)).toEqual({ writes: flow.writes, wrong: [], count: 0 });
  },
  60_000,
);

it('[csi-snapshotter#146] given the table of requests, then each write of it meets an outage', () => {
  expect(writesWithoutOutage('csi-snapshotter', flows)).toEqual([]);
});
