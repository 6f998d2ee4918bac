// SPDX-License-Identifier: Apache-2.0
/**
 * The API server dies at the answer to each write of each flow, once before and once after its commit, and is away for a while. Soon after
 * its return csi-snapshotter goes on with the contents, or a user deletes what the flow is about. In the end nothing is stuck, and a
 * deletion leaves nothing behind.
 */
import type { KubeObject, Resource } from '@csi-sidecars/runtime';
import { persistentVolumeClaims } from '@csi-sidecars/runtime';
import { type Flow, livesOf, timesLost, writesWithoutOutage } from '@csi-sidecars/test-driver/testing';
import {
  memberNamesOf,
  snapshotFinalizers as finalizers,
  volumeGroupSnapshotContents,
  volumeGroupSnapshots,
  volumeSnapshotContents,
  volumeSnapshots,
} from '@csi-sidecars/volume';
import { expect, it } from 'vitest';
import {
  aClaim,
  aClass,
  aGroup,
  aGroupClass,
  aSnapshot,
  aStaticContent,
  aStaticGroup,
  aStaticGroupContent,
  aStaticSnapshot,
  aVolume,
} from '../testing/builders.ts';
import { aController, type Fixture } from '../testing/controller-fixture.ts';
import { type Content, isBound, playSidecar } from '../testing/play-sidecar.ts';

interface Story {
  readonly seed: readonly KubeObject[];
  readonly wanted: KubeObject;
  /** What takes `wanted` with it when it is deleted. Default: that itself. */
  readonly deleted?: KubeObject;
  /** Contents that stay after a deletion. */
  readonly retained?: readonly string[];
  /** Contents that stay after an early deletion, because they were not bound yet. */
  readonly unbound?: readonly string[];
  readonly writes: string;
}

const everything: readonly Resource[] = [
  volumeSnapshots,
  volumeSnapshotContents,
  volumeGroupSnapshots,
  volumeGroupSnapshotContents,
];

function seen(it: Fixture, { kind, metadata: { namespace, name = '' } = {} }: KubeObject) {
  const resource = (kind === 'VolumeSnapshot' ? volumeSnapshots : volumeGroupSnapshots) as unknown as Resource;
  const current = (): Content | undefined => it.get(resource, { namespace, name });
  return {
    current,
    remove: () => {
      if (current() !== undefined) it.server.objects.delete(resource, { namespace, name });
    },
  };
}

/** What is left, a claim if it has our finalizer. */
function leftIn(it: Fixture): readonly string[] {
  const objects = everything.flatMap((kind) =>
    it.server.objects.list(kind).map((object) => {
      const { name = '', deletionTimestamp } = object.metadata ?? {};
      const facts = [isBound(object) ? 'bound' : '', deletionTimestamp === undefined ? '' : 'being deleted'];
      return [name, ...facts.filter((fact) => fact !== '')].join(', ');
    }),
  );
  const claims = it.server.objects
    .list(persistentVolumeClaims)
    .filter(({ metadata }) => metadata?.finalizers?.includes(finalizers.claim) === true)
    .map(({ metadata }) => `finalizer on claim ${metadata?.name}`);
  return [...objects, ...claims];
}

function aFlow(flow: string, { seed, wanted, deleted = wanted, writes, ...story }: Story): Flow<Fixture> {
  const { retained = [], unbound = retained } = story;
  const early = (left: readonly string[]): readonly object[] => [{ isReady: 'gone', left }];
  return {
    flow,
    world: () => aController({ seed }),
    begin: (it, isAway) => {
      const tick = (): void => {
        if (!isAway()) playSidecar(it);
        it.clock.timer(10_000, tick);
      };
      tick();
      it.server.seed(wanted);
    },
    live: async (it) => {
      await it.clock.advance(200_000);
      const current = seen(it, wanted).current();
      const isReady = current === undefined ? 'gone' : current.status?.readyToUse;
      seen(it, deleted).remove();
      await it.clock.advance(400_000);
      return { isReady, left: leftIn(it) };
    },
    ends: [[{ isReady: true, left: retained }]],
    others: {
      'csi-snapshotter': { acts: playSidecar },
      'a user who deletes it': {
        acts: (it) => seen(it, deleted).remove(),
        ends: [[{ isReady: true, left: retained }], early(retained), early(unbound), early([])],
      },
    },
    writes,
  };
}

const labels = { app: 'db' };
const staticSnapshot = aFlow('a static snapshot', {
  seed: [aStaticContent()],
  wanted: aStaticSnapshot(),
  unbound: ['content'],
  writes: 'S10 patch, S15 patch, S16 patch/status, S16 patch/status, D6 patch, D7 delete, D9 patch',
});
const staticGroup = aFlow('a static group', {
  seed: [aGroupClass(), aStaticGroupContent()],
  wanted: aStaticGroup(),
  unbound: ['content'],
  writes: 'G10 patch, G14 patch, G16 patch/status, G16 patch/status, X5 patch, X6 delete, X8 patch',
});
const dynamic = aFlow('', { seed: [aClaim(), aVolume()], wanted: aSnapshot(), writes: '' });
const withoutClass: Flow<Fixture> = {
  ...dynamic,
  flow: 'a snapshot whose class comes late',
  live: async (it) => {
    await it.clock.advance(60_000);
    return it.snapshot()?.status?.error === undefined ? 'no error' : 'an error';
  },
  after: async (it) => {
    await it.add(aClass());
    return await dynamic.live(it);
  },
  ends: [['an error', { isReady: true, left: [] }]],
  others: {
    'a user who makes the class': {
      acts: (it) => void it.add(aClass()),
      ends: [['no error', { isReady: true, left: [] }]],
    },
  },
  writes: 'S4 patch/status',
};

interface Unprepared {
  readonly resource: unknown;
  readonly content: KubeObject;
  readonly finalizer: string;
  readonly writes: string;
}

/** A content that is there before its snapshot or group, which comes when the outage is over. */
function withoutFinalizer(
  flow: string,
  later: Flow<Fixture>,
  { content, finalizer, writes, ...more }: Unprepared,
): Flow<Fixture> {
  const resource = more.resource as Resource;
  const prepared = { isPrepared: true };
  return {
    ...later,
    flow,
    world: () => aController({ seed: [aGroupClass()] }),
    begin: (it) => it.server.seed(content),
    live: async (it) => {
      await it.clock.advance(100_000);
      return { isPrepared: it.get(resource, { name: 'content' })?.metadata?.finalizers?.includes(finalizer) };
    },
    after: async (it) => {
      await later.begin(it, () => false);
      return await later.live(it);
    },
    ends: [[prepared, { isReady: true, left: [] }]],
    others: {
      'another replica': {
        acts: (it) =>
          it.server.objects.change(resource, { name: 'content' }, ({ metadata, ...rest }) => ({
            ...rest,
            metadata: { ...metadata, finalizers: [finalizer] },
          })),
      },
    },
    writes,
  };
}

const log = aClaim({ name: 'log', metadata: { labels }, spec: { volumeName: 'pv2' } });
const dynamicWrites = 'S10 patch, S12 update, S12 create, S16 patch/status, S16 patch/status, S18 update, D6 patch';
const begun = memberNamesOf('uid-of-group', 'handle-1');
const begunElsewhere = aFlow('a group of one that another program has begun', {
  seed: [
    aClaim({ metadata: { labels } }),
    aVolume(),
    aGroupClass(),
    // Made before its snapshot, so without its UID.
    aStaticContent({
      name: begun.content,
      spec: {
        source: { snapshotHandle: 'of-handle-1' },
        volumeSnapshotRef: { name: begun.snapshot, namespace: 'team' },
      },
    }),
  ],
  wanted: aGroup(),
  unbound: [begun.content],
  writes:
    'G10 patch, G11 create, G16 patch/status, G15 create, G15 patch, G15 patch/status, S16 patch/status, G15 patch/status, S16 patch/status, G16 patch/status',
});
const retained = aFlow('the deletion of a snapshot that is retained', {
  seed: [aClaim(), aVolume(), aClass('gold', { deletionPolicy: 'Retain' })],
  wanted: aSnapshot(),
  retained: ['snapcontent-uid-of-snap, bound'],
  writes: 'D6 patch, D9 patch',
});
const flows: readonly Flow<Fixture>[] = [
  {
    ...begunElsewhere,
    live: async (it) => {
      await it.clock.advance(200_000);
      return it.group()?.status?.readyToUse ?? 'gone';
    },
    after: begunElsewhere.live,
    ends: [[true, { isReady: true, left: [] }]],
    others: {
      'csi-snapshotter': { acts: playSidecar },
      'a user who deletes it': {
        acts: (it) => seen(it, aGroup()).remove(),
        ends: [[], [begun.content]].map((left) => ['gone', { isReady: 'gone', left }]),
      },
    },
  },
  aFlow('a dynamic snapshot', {
    seed: [aClaim(), aVolume(), aClass()],
    wanted: aSnapshot(),
    writes: `${dynamicWrites}, D7 delete, D9 patch`,
  }),
  {
    ...retained,
    // Up to here it does not differ from another dynamic snapshot.
    world: async () => {
      const it = await retained.world();
      await retained.begin(it, () => false);
      await it.clock.advance(200_000);
      return it;
    },
    begin: () => undefined,
  },
  staticSnapshot,
  aFlow('a group of two', {
    seed: [
      aClaim({ metadata: { labels } }),
      aVolume(),
      log,
      aVolume({ name: 'pv2', claim: log, handle: 'handle-2' }),
      aGroupClass(),
    ],
    wanted: aGroup(),
    writes:
      'G10 patch, G11 create, G16 patch/status, G15 create, G15 create, G15 patch/status, S16 patch/status, G15 patch/status, G15 create, S16 patch/status, G15 create, G15 patch/status, S16 patch/status, G15 patch/status, S16 patch/status, G16 patch/status, X5 patch, X6 delete, X7 delete, X7 delete, X8 patch, D6 patch, D6 patch, D7 delete, D7 delete, D9 patch, D9 patch',
  }),
  staticGroup,
  withoutFinalizer('a content that lacks its finalizer', staticSnapshot, {
    resource: volumeSnapshotContents,
    content: aStaticContent({ spec: { volumeSnapshotRef: { name: 'snap', namespace: 'team', uid: 'uid-of-snap' } } }),
    finalizer: finalizers.content,
    writes: 'C5 patch',
  }),
  withoutFinalizer('a content of a group that lacks its finalizer', staticGroup, {
    resource: volumeGroupSnapshotContents,
    content: aStaticGroupContent({
      spec: { volumeGroupSnapshotRef: { name: 'group', namespace: 'team', uid: 'uid-of-group' } },
    }),
    finalizer: finalizers.groupContent,
    writes: 'K5 patch',
  }),
  aFlow('a member of a static group', {
    seed: [
      aGroupClass(),
      aStaticGroupContent({
        metadata: { finalizers: [finalizers.groupContent] },
        status: { readyToUse: true, volumeGroupSnapshotHandle: 'g1' },
        spec: { volumeGroupSnapshotRef: { name: 'group', namespace: 'team', uid: 'uid-of-group' } },
      }),
      aStaticGroup({ status: { boundVolumeGroupSnapshotContentName: 'content', readyToUse: true } }),
      aStaticContent({
        name: 'content',
        status: { readyToUse: true, snapshotHandle: 's1', volumeGroupSnapshotHandle: 'g1' },
      }),
    ],
    wanted: aStaticSnapshot(),
    deleted: aStaticGroup(),
    writes:
      'S10 patch, S15 patch, S16 patch/status, S20 patch, X5 patch, X6 delete, X7 delete, X8 patch, D6 patch, D7 delete, D9 patch',
  }),
  withoutClass,
];

it.each(timesLost(flows))(
  '[snapshot-controller#181] given $flow, and an API server that dies at each write ($lost) and comes back, then nothing ends stuck, and nothing is left behind',
  async (flow) => {
    expect(await livesOf(flow)).toEqual({ writes: flow.writes, wrong: [], count: 0 });
  },
  120_000,
);

it('[snapshot-controller#181] given the table of requests, then each write of it meets an outage', () => {
  expect(writesWithoutOutage('snapshot-controller', flows)).toEqual([]);
});
