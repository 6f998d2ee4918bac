// SPDX-License-Identifier: Apache-2.0
/** What is written to an object that changed after it was read: the API server refuses the first patch. */
import { isConflict, type KubeObject, type ObjectRef, type Resource, TransportError } from '@csi-sidecars/runtime';
import { failureAtStop, FakeClock, silentApi } from '@csi-sidecars/runtime/testing';
import { there } from '@csi-sidecars/test-driver/testing';
import {
  snapshotAnnotations,
  snapshotFinalizers,
  type VolumeSnapshot,
  type VolumeSnapshotContent,
  volumeSnapshotContents,
  volumeSnapshots,
} from '@csi-sidecars/volume';
import { describe, expect, it } from 'vitest';
import { anApiServer, type ApiServerSetting, noCache } from '../testing/api-server.ts';
import { aContent, aSnapshot, aStaticContent, aStaticSnapshot, withoutClass } from '../testing/builders.ts';
import { singleMark } from './content-mark.ts';
import {
  bindContent,
  deleteObject,
  markContent,
  prepareObject,
  readAgain,
  readObject,
  removeFinalizers,
  saveError,
  saveStatusOf,
  type Writing,
} from './writes.ts';

interface Setting<T extends KubeObject> {
  /** As it was read. */
  readonly known: T;
  readonly writing: Writing<T>;
  /** As by a user or another controller. */
  readonly change: (how: (object: T) => T) => void;
  readonly vanish: () => void;
  readonly stored: () => T | undefined;
  /** `patch 409`, `get 200` */
  readonly requests: () => readonly string[];
  readonly end: ApiServerSetting['end'];
}

function aSetting<T extends KubeObject>(resource: Resource<T>, object: T): Setting<T> {
  const { server, ports, requests, end } = anApiServer();
  const known = server.seed<T>(object);
  const ref: ObjectRef = { namespace: known.metadata?.namespace, name: known.metadata?.name ?? '' };
  return {
    known,
    writing: { ...ports, cache: noCache, resource, signal: new AbortController().signal },
    change: (how) => void server.objects.change(resource, ref, how),
    vanish: () => server.objects.remove(resource, ref),
    stored: () => server.objects.get(resource, ref),
    requests: () => requests().map((line) => line.replace(/ .* /, ' ')),
    end,
  };
}

const aSnapshotSetting = (snapshot = aSnapshot()): Setting<VolumeSnapshot> => aSetting(volumeSnapshots, snapshot);
const aContentSetting = (content = aContent()): Setting<VolumeSnapshotContent> =>
  aSetting(volumeSnapshotContents, content);
const refusedOnce = ['patch 409', 'get 200'];
const deletionBegan = <T extends KubeObject>(object: T): T => ({
  ...object,
  metadata: { ...object.metadata, deletionTimestamp: '2026-01-01T00:00:00Z', finalizers: ['test.io/held'] },
});

describe('finalizers and class of a snapshot', () => {
  const wanted = { finalizers: [snapshotFinalizers.bound], spec: { volumeSnapshotClassName: 'gold' } };

  it('given a class that a user set meanwhile, when it is prepared, then the class stays and only the finalizer is added', async () => {
    const { known, writing, change, stored, requests, end } = aSnapshotSetting(withoutClass(aSnapshot()));
    change((snapshot) => ({ ...snapshot, spec: { ...snapshot.spec, volumeSnapshotClassName: 'silver' } }));
    await end(prepareObject(writing, known, wanted));
    expect(requests()).toEqual([...refusedOnce, 'patch 200']);
    expect(stored()?.spec?.volumeSnapshotClassName).toBe('silver');
    expect(stored()?.metadata?.finalizers).toEqual([snapshotFinalizers.bound]);
  });

  it('given a deletion that began meanwhile, when it is prepared, then nothing is written', async () => {
    const { known, writing, change, stored, requests, end } = aSnapshotSetting(withoutClass(aSnapshot()));
    change(deletionBegan);
    const reply = await end(prepareObject(writing, known, wanted));
    expect(requests()).toEqual(refusedOnce);
    expect(reply).toEqual(stored());
  });

  it('given both are there, when it is prepared, then nothing is requested', async () => {
    const { known, writing, requests, end } = aSnapshotSetting(
      aSnapshot({ metadata: { finalizers: [snapshotFinalizers.bound] } }),
    );
    await end(prepareObject(writing, known, wanted));
    expect(requests()).toEqual([]);
  });
});

describe('the binding of a content', () => {
  const owner = aStaticSnapshot();
  const bind = ({ writing, known, end }: Setting<VolumeSnapshotContent>) =>
    end(
      bindContent(writing, known, {
        owner,
        referenceOf: ({ spec }) => spec?.volumeSnapshotRef,
        finalizer: snapshotFinalizers.content,
        spec: { volumeSnapshotRef: { uid: owner.metadata?.uid } },
      }),
    );

  it('given a content that was bound meanwhile to another snapshot of the same name, then nothing is written', async () => {
    const setting = aContentSetting(aStaticContent());
    setting.change((content) => ({
      ...content,
      spec: { ...content.spec, volumeSnapshotRef: { ...content.spec?.volumeSnapshotRef, uid: 'another' } },
    }));
    const reply = await bind(setting);
    expect(setting.requests()).toEqual(refusedOnce);
    expect(reply.spec?.volumeSnapshotRef?.uid).toBe('another');
  });

  it('given a deletion that began meanwhile, then it is bound and gets no finalizer', async () => {
    const setting = aContentSetting(aStaticContent());
    setting.change(deletionBegan);
    await bind(setting);
    expect(setting.stored()?.spec?.volumeSnapshotRef?.uid).toBe(owner.metadata?.uid);
    expect(setting.stored()?.metadata?.finalizers).toEqual(['test.io/held']);
  });
});

describe('the status', () => {
  const bound = { field: 'boundVolumeSnapshotContentName', name: 'content' };

  it('given another replica that saved the readiness meanwhile, then only what is missing is written', async () => {
    const { known, writing, change, requests, end } = aSnapshotSetting();
    const status = {
      boundVolumeSnapshotContentName: 'content',
      readyToUse: true,
      creationTime: '2026-01-01T00:00:00Z',
    };
    change((snapshot) => ({ ...snapshot, status }));
    const facts = { readyToUse: true, creationTime: status.creationTime, restoreSize: 1n };
    const reply = await end(saveStatusOf(writing, known, { facts, bound }));
    expect(requests()).toEqual([...refusedOnce, 'patch 200']);
    expect(reply).toMatchObject({ status: { readyToUse: true, restoreSize: '1' } });
  });

  const isReadyByNow = { boundVolumeSnapshotContentName: 'content', readyToUse: true };

  it('given another replica that saved the readiness meanwhile, and a content that the cache still shows as failing, then the snapshot stays ready', async () => {
    const { known, writing, change, stored, requests, end } = aSnapshotSetting();
    change((snapshot) => ({ ...snapshot, status: isReadyByNow }));
    const facts = { readyToUse: false, error: { message: 'no', time: '2026-01-01T00:00:00Z' } };
    await end(saveStatusOf(writing, known, { facts, bound }));
    expect(requests()).toEqual(refusedOnce);
    expect(stored()?.status).toEqual(isReadyByNow);
  });

  it.each(['notReady', 'kept'] as const)(
    'given another replica that saved the readiness meanwhile, when a problem is saved that leaves it %s, then the snapshot stays ready, and no event is recorded',
    async (readiness) => {
      const { known, writing, change, stored, requests, end } = aSnapshotSetting();
      change((snapshot) => ({ ...snapshot, status: isReadyByNow }));
      const recorded: unknown[] = [];
      const events = { record: (...event: unknown[]) => void recorded.push(event), flush: async () => undefined };
      const problem = { reason: 'Failed', message: 'no', readiness } as const;
      await end(saveError(writing, known, { problem, events }));
      expect(requests()).toEqual(refusedOnce);
      expect(stored()?.status).toEqual(isReadyByNow);
      expect(recorded).toEqual([]);
    },
  );

  it('given the same error, saved by another replica meanwhile, when it is saved, then it is not written again, and the event is recorded', async () => {
    const { known, writing, change, requests, end } = aSnapshotSetting();
    change((snapshot) => ({ ...snapshot, status: { error: { message: 'no', time: '2026-01-01T00:00:00Z' } } }));
    const recorded: unknown[] = [];
    const events = {
      record: (_object: KubeObject, event: unknown) => void recorded.push(event),
      flush: async () => undefined,
    };
    const problem = { reason: 'Failed', message: 'no', readiness: 'kept' } as const;
    await end(saveError(writing, known, { problem, events }));
    expect(requests()).toEqual(refusedOnce);
    expect(recorded).toEqual([{ type: 'Warning', reason: 'Failed', message: 'no' }]);
  });
});

const isOfSnap = ({ spec }: VolumeSnapshotContent): boolean => spec?.volumeSnapshotRef?.uid === 'uid-of-snap';
const ofIts = { mark: singleMark, isIts: isOfSnap };
const ofAnother = (content: VolumeSnapshotContent): VolumeSnapshotContent => ({
  ...content,
  spec: { ...content.spec, volumeSnapshotRef: { namespace: 'team', name: 'other', uid: 'uid-of-other' } },
});

describe('the deletion', () => {
  const key = snapshotAnnotations.beingDeleted;

  it('given a content that was marked meanwhile, then it is not marked again', async () => {
    const { known, writing, change, stored, requests, end } = aContentSetting();
    change((content) => ({ ...content, metadata: { ...content.metadata, annotations: { [key]: 'true' } } }));
    expect(await end(markContent(writing, known, ofIts))).toEqual(stored());
    expect(requests()).toEqual(refusedOnce);
  });

  it('given a content that another snapshot got meanwhile, then it is not marked, and what it is now is the reply', async () => {
    const { known, writing, change, stored, requests, end } = aContentSetting();
    change(ofAnother);
    expect(await end(markContent(writing, known, ofIts))).toEqual(stored());
    expect(there(stored()).metadata?.annotations).toBeUndefined();
    expect(requests()).toEqual(refusedOnce);
  });

  it('given other annotations, when it is marked, then they stay', async () => {
    const { known, writing, stored, end } = aContentSetting(aContent({ metadata: { annotations: { a: 'b' } } }));
    await end(markContent(writing, known, ofIts));
    expect(stored()?.metadata?.annotations).toEqual({ a: 'b', [key]: 'yes' });
  });

  it.each([
    {
      what: 'a content without its finalizer',
      metadata: { finalizers: ['a.io/b'] },
      then: ['a.io/b', snapshotFinalizers.content],
    },
    {
      what: 'a content that was marked without its finalizer',
      metadata: { finalizers: [], annotations: { [key]: 'yes' } },
      then: [snapshotFinalizers.content],
    },
    {
      what: 'a content that is being deleted without its finalizer',
      metadata: { finalizers: ['a.io/b'], deletionTimestamp: '2026-01-01T00:00:00Z' },
      then: ['a.io/b'],
    },
  ])('given $what, when it is marked, then its finalizers are $then', async ({ metadata, then }) => {
    const { known, writing, stored, requests, end } = aContentSetting(aContent({ metadata }));
    await end(markContent(writing, known, ofIts));
    expect(stored()?.metadata).toMatchObject({ annotations: { [key]: 'yes' }, finalizers: then });
    expect(requests()).toEqual(['patch 200']);
  });

  it('given an object that is gone, when it is marked or released, then that is done', async () => {
    const { known, writing, vanish, requests, end } = aContentSetting();
    vanish();
    expect(await end(markContent(writing, known, ofIts))).toEqual(known);
    await end(removeFinalizers(writing, known, [snapshotFinalizers.content]));
    expect(requests()).toEqual(['patch 404', 'patch 404']);
  });

  it('given a finalizer that another controller added meanwhile, when ours is removed, then the other stays', async () => {
    const { known, writing, change, stored, end } = aContentSetting();
    change((content) => ({
      ...content,
      metadata: { ...content.metadata, finalizers: ['test.io/late', snapshotFinalizers.content] },
    }));
    await end(removeFinalizers(writing, known, [snapshotFinalizers.content]));
    expect(stored()?.metadata?.finalizers).toEqual(['test.io/late']);
  });

  it('given none of ours, when finalizers are removed, then nothing is requested', async () => {
    const { known, writing, requests, end } = aContentSetting(aContent({ metadata: { finalizers: ['a.io/b'] } }));
    await end(removeFinalizers(writing, known, [snapshotFinalizers.content]));
    expect(requests()).toEqual([]);
  });

  it('given a later object with the name, when the earlier one is deleted, then the later one stays, and the earlier one is gone', async () => {
    const { known, writing, stored, requests, end } = aContentSetting();
    const earlier = { ...known, metadata: { ...known.metadata, uid: 'earlier' } };
    expect(await end(deleteObject(writing, earlier, isOfSnap))).toBeUndefined();
    expect(there(stored()).metadata?.deletionTimestamp).toBeUndefined();
    expect(requests()).toEqual(['delete 409', 'get 200']);
  });

  it('given a content that changed meanwhile, when it is deleted, then it is read again and deleted', async () => {
    const { known, writing, change, stored, requests, end } = aContentSetting();
    change((content) => ({ ...content, status: { readyToUse: true } }));
    expect(await end(deleteObject(writing, known, isOfSnap))).toEqual(stored());
    expect(stored()?.metadata?.deletionTimestamp).toBeDefined();
    expect(requests()).toEqual(['delete 409', 'get 200', 'delete 200']);
  });

  it('given a content that another snapshot got meanwhile, when it is deleted, then it stays, and what it is now is the reply', async () => {
    const { known, writing, change, stored, requests, end } = aContentSetting();
    change(ofAnother);
    expect(await end(deleteObject(writing, known, isOfSnap))).toEqual(stored());
    expect(there(stored()).metadata?.deletionTimestamp).toBeUndefined();
    expect(requests()).toEqual(['delete 409', 'get 200']);
  });

  it('given a content that changes all the time, when it is deleted, then it fails with the last conflict', async () => {
    const { known, writing, end } = aContentSetting();
    const old = { ...known, metadata: { ...known.metadata, resourceVersion: '0' } };
    const client = { ...writing.client, get: () => Promise.resolve(old) } as typeof writing.client;
    await expect(end(deleteObject({ ...writing, client }, old, isOfSnap))).rejects.toSatisfy(isConflict);
  });

  it('given a finalizer, when it is deleted, then the object that is held is the reply; given it is gone, then none', async () => {
    const { known, writing, stored, vanish, end } = aContentSetting();
    expect(await end(deleteObject(writing, known, isOfSnap))).toEqual(stored());
    vanish();
    expect(await end(deleteObject(writing, known, isOfSnap))).toBeUndefined();
  });
});

describe('what the cache learns', () => {
  it('given a content that the cache lacks, when it is read from the API server, then the cache has it from then on', async () => {
    const { known, writing, end } = aContentSetting();
    const remembered: unknown[] = [];
    const cache = { remember: (object: unknown) => void remembered.push(object), doubt: () => undefined };
    expect(await end(readObject({ ...writing, cache }, known.metadata ?? {}))).toEqual(known);
    expect(await end(readObject({ ...writing, cache }, { name: 'other' }))).toBeUndefined();
    expect(remembered).toEqual([known]);
  });

  it('given a snapshot that was created again under its name, when the earlier one is read again, then it is gone', async () => {
    const { known, writing, end } = aSnapshotSetting();
    expect(await end(readAgain(writing, known))).toEqual(known);
    const earlier = { ...known, metadata: { ...known.metadata, uid: 'earlier' } };
    expect(await end(readAgain(writing, earlier))).toBeUndefined();
  });

  it('given a content that another snapshot got meanwhile, when it is to be deleted, then the cache has what was read', async () => {
    const { known, writing, change, stored, end } = aContentSetting();
    change(ofAnother);
    const remembered: unknown[] = [];
    const cache = { remember: (object: unknown) => void remembered.push(object), doubt: () => undefined };
    await end(deleteObject({ ...writing, cache }, known, isOfSnap));
    expect(remembered).toEqual([stored()]);
  });

  it('given a deletion without an answer, then the content is in doubt; given one that ends it, then the cache hides it', async () => {
    const { known, writing, end } = aContentSetting(aContent({ metadata: { finalizers: [] } }));
    const seen: unknown[] = [];
    const cache = {
      remember: ({ metadata }: VolumeSnapshotContent) => void seen.push(metadata?.deletionTimestamp),
      doubt: (object: VolumeSnapshotContent) => void seen.push(object),
    };
    const lost = new TransportError('reset', 'connection reset');
    const client = { ...writing.client, delete: () => Promise.reject(lost) };
    await expect(end(deleteObject({ ...writing, cache, client }, known, isOfSnap))).rejects.toBe(lost);
    expect(await end(deleteObject({ ...writing, cache }, known, isOfSnap))).toBeUndefined();
    expect(seen).toEqual([known, expect.any(String)]);
  });

  it('given a content with a finalizer, when it is deleted, then the cache shows its deletion at once', async () => {
    const { known, writing, stored, end } = aContentSetting();
    const remembered: unknown[] = [];
    const cache = { remember: (object: unknown) => void remembered.push(object), doubt: () => undefined };
    await end(deleteObject({ ...writing, cache }, known, isOfSnap));
    expect(stored()?.metadata?.deletionTimestamp).toBeDefined();
    expect(remembered).toEqual([stored()]);
  });
});

it('given an API server that is silent, when the process must stop during a write, then the request is cancelled', async () => {
  const { known, writing } = aContentSetting();
  const clock = new FakeClock();
  const { client, requests } = silentApi(clock);
  const failure = await failureAtStop(
    (signal) => markContent({ ...writing, client, clock, signal }, known, ofIts),
    clock,
  );
  expect(requests.length).toBe(1);
  expect(failure).toMatchObject({ failure: 'aborted' });
});
