// SPDX-License-Identifier: Apache-2.0
import { ApiError, type ApiClient, createInformerFactory, type Informer, toObjectKey } from '@csi-sidecars/runtime';
import {
  FakeClock,
  recordingLogger,
  ScriptedBody,
  ScriptedCollection,
  seededRandom,
  settle,
} from '@csi-sidecars/runtime/testing';
import { there } from '@csi-sidecars/test-driver/testing';
import type { VolumeSnapshotContent } from '@csi-sidecars/volume';
import { describe, expect, it } from 'vitest';
import { aClass, aContent, aGroupClass, aGroupContent, driverName } from '../testing/builders.ts';
import { aSnapshotter } from '../testing/snapshotter-fixture.ts';
import { snapshotKind } from './content/kind.ts';
import { groupSnapshotKind } from './group-content/kind.ts';
import { watchesOf } from './watched.ts';

const options = { driverName, resyncMs: 0, nodeName: undefined };
const single = watchesOf(snapshotKind, options);
const audited = watchesOf(snapshotKind, { ...options, audit: 'on', topology: 'on' });
const groups = watchesOf(groupSnapshotKind, options);
const more = {
  managedFields: [],
  ownerReferences: [],
  creationTimestamp: '2026-01-01T00:00:00Z',
  resourceVersion: '7',
  generation: 3,
};
const kept = { resourceVersion: '7', generation: 3 };

describe('what is kept', () => {
  it('given contents of this driver, then everything but managed fields and owners, and their age for an audit only; of another, nothing', () => {
    const content = aContent({
      annotations: { a: 'b' },
      labels: { c: 'd' },
      status: { readyToUse: true },
      deleting: 'asked',
    });
    const { metadata, spec, status } = content;
    const whole = { ...content, metadata: { ...metadata, ...more } };
    expect(single.contents.transform?.apply(whole)).toEqual({ metadata: { ...metadata, ...kept }, spec, status });
    const { creationTimestamp } = more;
    expect(audited.contents.transform?.apply(whole)?.metadata).toEqual({ ...metadata, ...kept, creationTimestamp });
    expect(there(single.contents.transform).apply(aContent({ driver: 'other' }))).toBeUndefined();
    expect(there(single.contents.transform).apply({ metadata: { name: 'odd' } })).toBeUndefined();
    expect(groups.contents.transform?.apply(aGroupContent())).toMatchObject({ spec: aGroupContent().spec });
    expect(there(groups.contents.transform).apply(aGroupContent({ driver: 'other' }))).toBeUndefined();
  });

  it('given a content without a status, then it has none; given an empty one, then it is empty', () => {
    expect(there(single.contents.transform?.apply(aContent()))).not.toHaveProperty('status');
    expect(single.contents.transform?.apply(aContent({ status: {} }))?.status).toEqual({});
  });

  it('given classes, then the driver of each, and of ours the parameters, and the topologies with the gate', () => {
    const apply = single.classes.transform?.apply;
    const parameters = { a: 'b' };
    const metadata = { name: 'gold', uid: 'uid-of-gold' };
    expect(apply?.(aClass({ parameters }))).toEqual({ metadata, driver: driverName, parameters });
    expect(apply?.(aClass({ parameters, driver: 'other' }))).toEqual({ metadata, driver: 'other' });
    const zoned = aClass({ parameters, allowedTopologies: [] });
    expect(apply?.(zoned)).toEqual({ metadata, driver: driverName, parameters });
    expect(audited.classes.transform?.apply(zoned)).toEqual({ ...apply?.(zoned), allowedTopologies: [] });
    expect(groups.classes.transform?.apply(aGroupClass({ parameters }))).toMatchObject({ parameters });
  });

  it('given an audit and the gate of topologies, then no cache is shared with those that keep less', () => {
    const ids = [single, audited].flatMap(({ contents, classes }) => [contents.transform?.id, classes.transform?.id]);
    expect(new Set(ids).size).toBe(4);
  });

  it('given contents, then they are found by their class', () => {
    const index = single.contents.indexers?.['class'];
    expect([index?.(aContent()), index?.(aContent({ className: null }))]).toEqual([['gold'], []]);
  });
});

describe('distributed snapshotting', () => {
  it('[csi-snapshotter#127] given --node-deployment, then the contents of this node are worked on, and classes of all nodes count [P9]', async () => {
    const labels = { 'snapshot.storage.kubernetes.io/managed-by': 'node-1' };
    const elsewhere = { 'snapshot.storage.kubernetes.io/managed-by': 'node-2' };
    const uid = (digit: string): string => `0000000${digit}-0000-0000-0000-000000000000`;
    const s = await aSnapshotter({
      settings: { nodeName: 'node-1' },
      seed: [
        aClass(),
        aGroupClass(),
        aContent({ name: 'here', labels, refUid: uid('1') }),
        aContent({ name: 'there', labels: elsewhere, refUid: uid('2') }),
        aContent({ name: 'anywhere', refUid: uid('3') }),
        aGroupContent({ name: 'group-here', labels }),
        aGroupContent({ name: 'group-there', labels: elsewhere }),
      ],
    });
    const ready = (name: string): boolean | undefined => (s.content(name) ?? s.group(name))?.status?.readyToUse;
    expect(['here', 'there', 'anywhere', 'group-here', 'group-there'].map(ready)).toEqual([
      true,
      undefined,
      undefined,
      true,
      undefined,
    ]);
    const selectors = s.server.requests.flatMap(({ path, resource }) =>
      path.includes('labelSelector') ? [resource] : [],
    );
    expect(new Set(selectors)).toEqual(new Set(['volumesnapshotcontents', 'volumegroupsnapshotcontents']));
    await s.stop();
  });
});

describe('the cache of contents', () => {
  const key = toObjectKey(undefined, 'content');
  const at = (resourceVersion: string, labels: Readonly<Record<string, string>>): VolumeSnapshotContent => {
    const content = aContent({ labels });
    return { ...content, metadata: { ...content.metadata, resourceVersion } };
  };

  /** The initial list is one content at version 2. */
  async function cached(): Promise<{
    readonly informer: Informer<VolumeSnapshotContent>;
    readonly api: ScriptedCollection;
    readonly body: ScriptedBody;
    readonly clock: FakeClock;
    readonly stop: () => Promise<void>;
  }> {
    const clock = new FakeClock();
    const api = new ScriptedCollection(clock);
    const body = new ScriptedBody().event('ADDED', at('2', { at: '2' })).bookmark('2', 'end');
    api.answers(body);
    const client = api as unknown as ApiClient;
    const factory = createInformerFactory({ client, clock, random: seededRandom(1), logger: recordingLogger() });
    const informer = factory.informer(single.contents);
    const stopper = new AbortController();
    const running = factory.start(stopper.signal);
    await settle();
    return {
      informer,
      api,
      body,
      clock,
      stop: async () => {
        stopper.abort();
        await factory.shutdown();
        await running;
      },
    };
  }
  const labelOf = (informer: Informer<VolumeSnapshotContent>): unknown =>
    informer.lister.get(key)?.metadata?.labels?.['at'];

  it('[csi-snapshotter#119] given an own write at version 10, when the watch brings version 9, then the own write is shown', async () => {
    const { informer, body, stop } = await cached();
    informer.remember(at('10', { at: '10' }));
    body.event('MODIFIED', at('9', { at: '9' }));
    await settle();
    expect(labelOf(informer)).toBe('10');
    body.event('MODIFIED', at('100', { at: '100' }));
    await settle();
    expect(labelOf(informer)).toBe('100');
    await stop();
  });

  it('[csi-snapshotter#120] given a version that is no number, then what the watch brings is shown', async () => {
    const { informer, body, stop } = await cached();
    informer.remember(at('10', { at: '10' }));
    body.event('MODIFIED', at('x1', { at: 'x1' }));
    await settle();
    expect(labelOf(informer)).toBe('x1');
    await stop();
  });

  it('[csi-snapshotter#121] given a deletion that the watch missed, then the next list reports it', async () => {
    const { informer, api, body, clock, stop } = await cached();
    const gone: string[] = [];
    informer.addHandler({ delete: ({ object, observed }) => gone.push(`${object.metadata?.name} ${observed}`) });
    await settle();
    api.answers(new ScriptedBody().bookmark('30', 'end'));
    body.refuse(new ApiError({ status: 410, reason: 'Expired', message: 'too old' }));
    await clock.advance(60_000);
    await settle();
    expect([gone, informer.lister.size]).toEqual([['content false'], 0]);
    await stop();
  });

  it('[csi-snapshotter#122] given an object of another shape, then it is not kept, and the watch goes on', async () => {
    const { informer, body, stop } = await cached();
    body.event('ADDED', { apiVersion: 'v1', kind: 'Secret', metadata: { name: 'odd', resourceVersion: '3' } });
    body.event('MODIFIED', at('4', { at: '4' }));
    await settle();
    expect([informer.lister.size, labelOf(informer)]).toEqual([1, '4']);
    await stop();
  });

  it('[csi-snapshotter#123] given an API server that refuses every request, then what is known stays', async () => {
    const { informer, api, body, clock, stop } = await cached();
    const refusal = new ApiError({ status: 500, reason: 'InternalError', message: 'no' });
    api.answers(...Array.from({ length: 9 }, () => refusal));
    body.end();
    await clock.advance(30_000);
    expect([informer.lister.size, labelOf(informer)]).toEqual([1, '2']);
    await stop();
  });
});
