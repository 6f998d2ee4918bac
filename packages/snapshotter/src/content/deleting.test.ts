// SPDX-License-Identifier: Apache-2.0
import { stringifyJson } from '@csi-sidecars/runtime';
import { volumeSnapshotClasses, type VolumeSnapshotContent, volumeSnapshotContents } from '@csi-sidecars/volume';
import { describe, expect, it } from 'vitest';
import { aClass, aContent, asked, aSecret, beingCreated, deletionSecret, intent } from '../../testing/builders.ts';
import {
  aSnapshotter,
  conflict,
  type Fixture,
  type FixtureOptions,
  forbidden,
} from '../../testing/snapshotter-fixture.ts';

const object = 'patch volumesnapshotcontents';
const status = `${object}/status`;
const full = {
  snapshotHandle: 'snapshot-4',
  readyToUse: true,
  creationTime: 1_767_225_600_000_000_000n,
  restoreSize: 5,
};

interface Options extends FixtureOptions {
  readonly content?: Parameters<typeof aContent>[0];
  readonly prepare?: (s: Fixture) => void;
}

/** The driver has `snapshot-4`; then the content appears, as one that is to be deleted. */
async function deleting({ content, prepare, seed = [aClass()], ...options }: Options = {}): Promise<Fixture> {
  const s = await aSnapshotter({ ...options, seed });
  const request = { name: 'taken before', source_volume_id: 'volume-1' };
  await s.driver.channel().call('/csi.v1.Controller/CreateSnapshot', request, { timeoutMs: 1_000 });
  s.driver.forgetCalls();
  prepare?.(s);
  s.server.seed(aContent({ status: full, deleting: 'asked', ...content }));
  await s.settle();
  return s;
}

const expectDeleted = (s: Fixture): void =>
  expect([s.content(), s.driver.snapshots(), s.events]).toEqual([undefined, [], []]);
const expectKept = (s: Fixture): void => {
  expect(s.content()).toBeUndefined();
  expect(s.calls()).toEqual([]);
  expect(s.writes()).toEqual([`${object} content 200`]);
};

describe('a content that is to be deleted', () => {
  it('[csi-snapshotter#58] given policy Delete, then one call and two writes, and no read', async () => {
    const s = await deleting();
    expectDeleted(s);
    expect(s.requests('DeleteSnapshot')).toEqual([{ snapshot_id: 'snapshot-4', secrets: {} }]);
    expect(s.writes()).toEqual([`${status} content 200`, `${object} content 200`]);
    expect(s.server.requests.filter(({ verb }) => verb === 'get')).toEqual([]);
    expect(s.bodies()[0]).toMatchObject({
      status: { snapshotHandle: null, readyToUse: null, creationTime: null, restoreSize: null },
    });
    await s.stop();
  });

  it.each([{ policy: 'Delete', calls: 1 } as const, { policy: 'Retain', calls: 0 } as const])(
    '[csi-snapshotter#13, 61] given a class of another driver under the name of its class, and policy $policy, then it goes as without any class',
    async ({ policy, calls }) => {
      const s = await deleting({ seed: [aClass({ driver: 'other' })], content: { policy } });
      expect(s.content()).toBeUndefined();
      expect(s.requests('DeleteSnapshot').length).toBe(calls);
      await s.stop();
    },
  );

  it('[csi-snapshotter#59] given policy Retain, then the finalizer goes, and nothing else happens', async () => {
    const s = await deleting({ content: { policy: 'Retain' } });
    expectKept(s);
    expect(s.driver.snapshots().length).toBe(1);
    await s.stop();
  });

  it('[csi-snapshotter#60] given pre-provisioned contents of both policies, then the same', async () => {
    const gone = await deleting({ content: { handle: 'snapshot-4' } });
    expectDeleted(gone);
    await gone.stop();
    const kept = await deleting({ content: { handle: 'snapshot-4', policy: 'Retain' } });
    expectKept(kept);
    await kept.stop();
  });

  it.each([
    { given: 'no class', className: null, seed: [] },
    { given: 'a class that is gone', className: 'gold', seed: [] },
  ])('[csi-snapshotter#61] given $given, then it is deleted all the same', async ({ className, seed }) => {
    const s = await deleting({ content: { className }, seed });
    expectDeleted(s);
    await s.stop();
  });

  it('[csi-snapshotter#62] given annotations that name a missing secret, then no call until it is back', async () => {
    const s = await deleting({ content: { annotations: deletionSecret } });
    expect(s.events).toEqual(['Warning SnapshotDeleteError content: Failed to get snapshot credentials']);
    await s.clock.advance(1_200);
    expect(s.events.length).toBe(2);
    expect([s.calls(), s.writes()]).toEqual([[], []]);
    s.server.seed(aSecret());
    await s.clock.advance(2_300);
    expect(s.content()).toBeUndefined();
    expect(s.requests('DeleteSnapshot')).toMatchObject([{ secrets: { user: 'me' } }]);
    await s.stop();
  });

  it('[csi-snapshotter#59] given a policy that becomes Retain while the secret is read, then the snapshot stays', async () => {
    const s = await deleting({
      content: { annotations: deletionSecret },
      seed: [aClass(), aSecret()],
      prepare: (it) => it.fault('get secrets', { kind: 'delay', ms: 5_000 }),
    });
    s.changeContent((it) => ({ ...it, spec: { ...it.spec, deletionPolicy: 'Retain' } }));
    await s.clock.advance(10_000);
    expect([s.content(), s.calls(), s.driver.snapshots().length]).toEqual([undefined, [], 1]);
    await s.stop();
  });

  it('given annotations with an empty value, then the same event and no call', async () => {
    const empty = Object.fromEntries(Object.keys(deletionSecret).map((name) => [name, '']));
    const s = await deleting({ content: { annotations: empty } });
    expect(s.events).toEqual(['Warning SnapshotDeleteError content: Failed to get snapshot credentials']);
    expect(s.calls()).toEqual([]);
    await s.stop();
  });

  it('[csi-snapshotter#63] given a class with a missing secret and no annotations, then it is deleted without secrets', async () => {
    const parameters = {
      'csi.storage.k8s.io/snapshotter-secret-name': 'gone',
      'csi.storage.k8s.io/snapshotter-secret-namespace': 'vault',
    };
    const s = await deleting({ seed: [aClass({ parameters })] });
    expectDeleted(s);
    await s.stop();
  });

  it.each([
    { id: '[csi-snapshotter#64]', code: 'Internal' as const },
    { id: '[csi-snapshotter#65]', code: 'NotFound' as const },
  ])(
    '$id given the driver answers $code, then an event with the cause, and nothing is written [P14]',
    async ({ code }) => {
      const s = await deleting({ prepare: (it) => it.failCalls(code, { method: 'DeleteSnapshot', times: 2 }) });
      const event = `Warning SnapshotDeleteError content: Failed to delete snapshot: rpc error: code = ${code} desc = no`;
      expect(s.events).toEqual([event]);
      expect([s.writes(), s.content()?.status]).toEqual([[], full]);
      await s.clock.advance(1_200);
      expect(s.events).toEqual([event, event]);
      await s.clock.advance(2_300);
      expect(s.content()).toBeUndefined();
      await s.stop();
    },
  );

  it('[csi-snapshotter#66] given a pre-provisioned content without a handle in its status, then the finalizer goes without a call', async () => {
    const s = await deleting({ content: { handle: 'snapshot-4', status: { readyToUse: false } } });
    expectKept(s);
    await s.stop();
  });

  it('[csi-snapshotter#67] given a snapshot of a group, then the finalizer goes without a call', async () => {
    const s = await deleting({ content: { status: { ...full, volumeGroupSnapshotHandle: 'g' } } });
    expectKept(s);
    await s.stop();
  });

  it('[csi-snapshotter#70] given an unbound pre-provisioned content without the annotation, then its snapshot is deleted', async () => {
    const s = await deleting({ content: { handle: 'snapshot-4', refUid: '', deleting: 'direct' } });
    expectDeleted(s);
    await s.stop();
  });

  it('[csi-snapshotter#79] given finalizers of others, then they stay, and the snapshot is deleted once', async () => {
    const finalizers = ['a/b', ...(aContent().metadata?.finalizers ?? []), 'c/d'];
    const s = await deleting({ content: { finalizers } });
    expect(s.content()?.metadata?.finalizers).toEqual(['a/b', 'c/d']);
    expect(s.content()?.status).toEqual({});
    await s.clock.advance(3_600_000);
    expect(s.calls().length).toBe(1);
    await s.stop();
  });

  it('[csi-snapshotter#80] given a content without the finalizer, then it is not written', async () => {
    const s = await deleting({ content: { finalizers: ['a/b'], policy: 'Retain' } });
    expect([s.writes(), s.calls()]).toEqual([[], []]);
    await s.stop();
  });

  it.each<{ given: string; before: Parameters<typeof aContent>[0]; after: Partial<VolumeSnapshotContent> }>([
    { given: 'a policy that becomes Delete', before: { policy: 'Retain' }, after: { spec: aContent().spec! } },
    {
      given: 'a handle that a former leader wrote',
      before: { status: { readyToUse: false } },
      after: { status: full },
    },
  ])(
    '[csi-snapshotter#58] given $given before the finalizer goes, then the content stays until its snapshot is deleted',
    async ({ before, after }) => {
      const s = await deleting({
        content: before,
        prepare: (it) => {
          it.fault(object, { kind: 'delay', ms: 100 });
          it.failCalls('Internal', { method: 'DeleteSnapshot', times: 2 });
        },
      });
      s.changeContent((it) => ({ ...it, ...after }));
      await s.clock.advance(300);
      expect(s.events).toHaveLength(2);
      expect(s.content()?.metadata?.finalizers).toHaveLength(1);
      await s.clock.advance(5_000);
      expect([s.content(), s.driver.snapshots(), s.events.length]).toEqual([undefined, [], 2]);
      await s.stop();
    },
  );

  it('[csi-snapshotter#71] given an intent that the cache does not show, then the content stays until its call is answered', async () => {
    const s = await deleting({
      content: { status: { readyToUse: false } },
      prepare: (it) => it.fault(object, { kind: 'delay', ms: 100 }),
    });
    s.failCalls('Aborted');
    s.changeContent((it) => ({
      ...it,
      metadata: { ...it.metadata, annotations: { ...it.metadata?.annotations, ...beingCreated } },
    }));
    await s.clock.advance(300);
    expect(s.content()?.metadata?.finalizers).toHaveLength(1);
    await s.clock.advance(5_000);
    expect(s.calls().map((it) => it.split(' ')[0])).toEqual(['CreateSnapshot', 'CreateSnapshot', 'DeleteSnapshot']);
    expect(s.content()).toBeUndefined();
    await s.stop();
  });

  it('[csi-snapshotter#5] given the intent, and a driver that answers another id than the status has, then that snapshot is deleted', async () => {
    const status = { snapshotHandle: 'gone', readyToUse: false };
    const s = await aSnapshotter({ seed: [aClass(), aContent({ ...intent, status, deleting: 'asked' })] });
    expectDeleted(s);
    expect(s.requests('DeleteSnapshot')).toEqual([{ snapshot_id: 'snapshot-4', secrets: {} }]);
    await s.stop();
  });

  it('[P4] given a finalizer that another controller added meanwhile, then it stays', async () => {
    const s = await deleting({
      content: { policy: 'Retain' },
      prepare: (it) => it.fault(object, { kind: 'delay', ms: 100 }),
    });
    s.changeContent((it) => ({
      ...it,
      metadata: { ...it.metadata, finalizers: ['new/one', ...(it.metadata?.finalizers ?? [])] },
    }));
    await s.clock.advance(300);
    expect(s.content()?.metadata?.finalizers).toEqual(['new/one']);
    await s.stop();
  });
});

describe('what fails after the snapshot is deleted', () => {
  it('[csi-snapshotter#77] given a conflict when the status is cleared, then it is cleared in place, without a second call', async () => {
    const s = await deleting({ prepare: (it) => it.fault(status, conflict, 2) });
    await s.clock.advance(100);
    expectDeleted(s);
    expect(s.calls().length).toBe(1);
    await s.stop();
  });

  it('given the status cannot be cleared, then an event, and the call is repeated', async () => {
    const s = await deleting({ prepare: (it) => it.fault(status, forbidden) });
    expect(s.events).toEqual(['Warning SnapshotDeleteError content: Failed to clear content status']);
    await s.clock.advance(1_200);
    expect([s.content(), s.calls().length]).toEqual([undefined, 2]);
    await s.stop();
  });

  it('[csi-snapshotter#78] given the finalizer cannot be removed, then that is retried without a second call', async () => {
    const s = await deleting({ prepare: (it) => it.fault(object, forbidden) });
    expect(s.content()?.status).toEqual({});
    await s.clock.advance(1_200);
    expect([s.content(), s.calls().length, s.events]).toEqual([undefined, 1, []]);
    await s.stop();
  });
});

describe('a deletion that is not asked for completely', () => {
  it('[csi-snapshotter#68] given a deletion timestamp only, then a ready snapshot stays, and goes when the annotation comes', async () => {
    const s = await deleting({ content: { deleting: 'direct' } });
    await s.clock.advance(1_000_000);
    expect([s.writes(), s.calls()]).toEqual([[], []]);
    s.changeContent(asked);
    await s.settle();
    expectDeleted(s);
    await s.stop();
  });

  it('[csi-snapshotter#68] given a deletion timestamp only, then a snapshot that is not ready is polled, and goes when the annotation comes', async () => {
    const s = await deleting({
      content: { deleting: 'direct', status: { ...full, readyToUse: false } },
      model: { snapshotProcessingMs: 1e9 },
    });
    await s.clock.advance(4_000);
    expect(s.calls().map((it) => it.split(' ')[0])).toEqual(Array.from({ length: 3 }, () => 'CreateSnapshot'));
    s.driver.forgetCalls();
    s.changeContent(asked);
    await s.settle();
    expect(s.calls().map((it) => it.split(' ')[0])).toEqual(['DeleteSnapshot']);
    expect(s.content()).toBeUndefined();
    await s.stop();
  });

  it('[csi-snapshotter#68] given a deletion timestamp only, then a pre-provisioned snapshot that is bound stays, and goes when the annotation comes', async () => {
    const s = await deleting({ content: { handle: 'snapshot-4', deleting: 'direct' } });
    await s.clock.advance(1_000_000);
    expect([s.writes(), s.calls(), s.driver.snapshots().length]).toEqual([[], [], 1]);
    s.changeContent(asked);
    await s.settle();
    expectDeleted(s);
    await s.stop();
  });

  it('[csi-snapshotter#69] given the annotation without a deletion timestamp, then nothing happens', async () => {
    const annotated = await aSnapshotter({
      seed: [aClass(), aContent({ status: full, annotations: asked(aContent()).metadata?.annotations ?? {} })],
    });
    await annotated.clock.advance(1_000_000);
    expect([annotated.writes(), annotated.calls()]).toEqual([[], []]);
    await annotated.stop();
  });

  it('[csi-snapshotter#71] given an open call, then the creation goes on before anything is deleted', async () => {
    const s = await deleting({ content: { annotations: beingCreated, status: { readyToUse: false } } });
    expect(s.calls().map((it) => it.split(' ')[0])).toEqual(['CreateSnapshot', 'DeleteSnapshot']);
    expect(s.content()).toBeUndefined();
    await s.stop();
  });
});

it('[csi-snapshotter#71, 74] given an open call, when its repetition fails for good, then the finalizer goes at once', async () => {
  const s = await deleting({
    content: { annotations: beingCreated, status: { readyToUse: false } },
    prepare: (it) => it.failCalls('Internal'),
  });
  await s.clock.advance(10);
  expect(s.calls()).toEqual([expect.stringMatching(/^CreateSnapshot .* Internal$/)]);
  expect(s.content()).toBeUndefined();
  await s.stop();
});

describe('a deletion that is asked for during the call', () => {
  /** The driver is slow; the user deletes the content in the meantime. */
  async function meanwhile(
    options: FixtureOptions,
    prepare?: (s: Fixture) => unknown,
    change: (content: VolumeSnapshotContent) => VolumeSnapshotContent = asked,
  ): Promise<Fixture> {
    const s = await aSnapshotter({ ...options, seed: [aClass()] });
    s.driver.faults.add({ method: 'CreateSnapshot', times: 1, action: { kind: 'delay', ms: 5_000 } });
    prepare?.(s);
    s.server.seed(aContent());
    await s.clock.advance(1_000);
    s.changeContent(change);
    await s.settle();
    expect(s.calls().filter((it) => it.startsWith('DeleteSnapshot'))).toEqual([]);
    return s;
  }

  /** As upstream's snapshot-controller, which writes all annotations from a copy that is older than the intent. */
  const withoutIntent = (content: VolumeSnapshotContent): VolumeSnapshotContent =>
    asked({ ...content, metadata: { ...content.metadata, annotations: {} } });

  /** The deletion makes the first write after the call meet a conflict. */
  const stored = (s: Fixture): readonly string[] => s.writes().filter((it) => it.endsWith(' 200'));

  it.each([
    { id: '[csi-snapshotter#72]', given: 'ready', snapshotProcessingMs: 0 },
    { id: '[csi-snapshotter#73]', given: 'not ready', snapshotProcessingMs: 1e9 },
  ])(
    '$id given the answer is $given, then it is recorded, and the snapshot is deleted at once',
    async ({ snapshotProcessingMs }) => {
      const s = await meanwhile({ model: { snapshotProcessingMs } });
      await s.clock.advance(4_100);
      expectDeleted(s);
      expect(s.calls().map((it) => it.split(' ')[0])).toEqual(['CreateSnapshot', 'DeleteSnapshot']);
      // Intent; status, intent withdrawn; status cleared, finalizer off.
      expect(stored(s)).toEqual([object, status, object, status, object].map((it) => `${it} content 200`));
      await s.stop();
    },
  );

  it('[csi-snapshotter#74] given a final error, then it is shown, and the finalizer goes without a call', async () => {
    const s = await meanwhile({}, (it) => it.failCalls('Internal'));
    await s.clock.advance(4_100);
    expect(s.content()).toBeUndefined();
    expect(s.calls()).toHaveLength(1);
    expect(s.events).toHaveLength(1);
    // Intent; intent withdrawn, error; finalizer off.
    expect(stored(s)).toEqual([object, object, status, object].map((it) => `${it} content 200`));
    await s.stop();
  });

  it('[csi-snapshotter#75] given errors that are not final, then the creation is repeated until it is known', async () => {
    const s = await meanwhile({}, (it) => it.failCalls('Aborted', { times: 5 }));
    await s.clock.advance(20_000);
    expect(s.content()?.metadata?.finalizers).toHaveLength(1);
    await s.clock.advance(100_000);
    expect([s.content(), s.driver.snapshots()]).toEqual([undefined, []]);
    expect(s.calls().map((it) => it.split(' ')[0])).toEqual([
      ...Array.from({ length: 6 }, () => 'CreateSnapshot'),
      'DeleteSnapshot',
    ]);
    await s.stop();
  });

  it.each<{ given: string; prepare: (s: Fixture) => unknown }>([
    { given: 'refusals that are not final', prepare: (s) => s.failCalls('Aborted', { times: 3 }) },
    {
      given: 'a call whose answer is lost',
      prepare: (s) =>
        s.driver.faults.add({ method: 'CreateSnapshot', times: 1, at: 'after', action: { kind: 'hang' } }),
    },
    {
      given: 'an answer without a snapshot',
      prepare: (s) =>
        s.driver.faults.add({ method: 'CreateSnapshot', times: 1, action: { kind: 'answer', unset: ['snapshot'] } }),
    },
    { given: 'a status that cannot be written', prepare: (s) => s.fault(status, forbidden) },
  ])(
    '[csi-snapshotter#75] given $given, and a program that removes the intent, then it is written again, and no snapshot is left',
    async ({ prepare }) => {
      const s = await meanwhile({}, prepare, withoutIntent);
      await s.clock.advance(200_000);
      expect([s.content(), s.driver.snapshots()]).toEqual([undefined, []]);
      expect(s.bodies().filter((body) => stringifyJson(body).includes('"yes"'))).toHaveLength(2);
      expect(s.calls().at(-1)).toMatch(/^DeleteSnapshot/);
      await s.stop();
    },
  );

  it.each([0, 3_000])(
    '[csi-snapshotter#72] given a status whose write is not acknowledged, when the snapshot is ready after %i ms, then it is deleted once',
    async (snapshotProcessingMs) => {
      const s = await meanwhile({ model: { snapshotProcessingMs } }, (it) =>
        it.fault(status, { kind: 'break', point: 'after', failure: 'reset' }),
      );
      await s.clock.advance(100_000);
      expect([s.content(), s.driver.snapshots()]).toEqual([undefined, []]);
      expect(s.requests('DeleteSnapshot')).toHaveLength(1);
      expect(s.calls().at(-1)).toMatch(/^DeleteSnapshot/);
      await s.stop();
    },
  );

  it('[csi-snapshotter#75] given an intent that is removed during the last call of a process, then the next one finds it', async () => {
    const s = await meanwhile({}, (it) => it.failCalls('Aborted'), withoutIntent);
    const stopped = s.stop();
    await s.clock.advance(4_500);
    await stopped;
    expect(s.calls()).toHaveLength(1);
    expect(s.content()?.metadata?.annotations).toMatchObject(beingCreated);
    const next = await aSnapshotter({ cluster: s });
    await next.clock.advance(10_000);
    expect([next.content(), next.driver.snapshots()]).toEqual([undefined, []]);
    await next.stop();
  });

  it('[csi-snapshotter#78] given an answer that was recorded without a confirmation, when the finalizer cannot be taken off after the deletion, then the snapshot is not taken again', async () => {
    const s = await meanwhile(
      {},
      (it) => {
        it.fault(status, { kind: 'break', point: 'after', failure: 'reset' });
        it.fault(status, forbidden);
      },
      withoutIntent,
    );
    // The intent that was removed, then the finalizer.
    s.fault(object, forbidden, 2);
    await s.clock.advance(100_000);
    expect([s.content(), s.driver.snapshots()]).toEqual([undefined, []]);
    expect(s.calls().map((it) => it.split(' ')[0])).toEqual(['CreateSnapshot', 'DeleteSnapshot']);
    await s.stop();
  });

  it('[csi-snapshotter#73] given an answer that is not ready, and a program that removes the intent, then the snapshot is deleted without another CreateSnapshot', async () => {
    const s = await meanwhile({ model: { snapshotProcessingMs: 1e9 } }, undefined, withoutIntent);
    await s.clock.advance(100_000);
    expect([s.content(), s.driver.snapshots()]).toEqual([undefined, []]);
    expect(s.calls().map((it) => it.split(' ')[0])).toEqual(['CreateSnapshot', 'DeleteSnapshot']);
    await s.stop();
  });

  it.each([
    { given: 'an open call', removed: undefined },
    { given: 'an open call that waits for its class', removed: 'gold' },
  ])(
    '[csi-snapshotter#75] given $given, when a program asks for the deletion and removes the intent, then its snapshot is deleted',
    async ({ removed }) => {
      const s = await aSnapshotter({ seed: [aClass()] });
      // The driver takes the snapshot, and its answer is lost.
      s.driver.faults.add({ method: 'CreateSnapshot', times: 1, at: 'after', action: { kind: 'hang' } });
      s.server.seed(aContent());
      await s.clock.advance(60_100);
      if (removed !== undefined) s.server.objects.remove(volumeSnapshotClasses, { name: removed });
      await s.clock.advance(removed === undefined ? 500 : 2_000);
      expect([s.calls().length, s.driver.snapshots().length]).toEqual([1, 1]);
      s.changeContent(withoutIntent);
      await s.settle();
      if (removed !== undefined) s.server.seed(aClass());
      await s.clock.advance(100_000);
      expect([s.content(), s.driver.snapshots()]).toEqual([undefined, []]);
      await s.stop();
    },
  );

  it('[csi-snapshotter#74] given a final error, and a program that removes the intent, then the finalizer goes without a call', async () => {
    const s = await meanwhile({}, (it) => it.failCalls('Internal'), withoutIntent);
    await s.clock.advance(4_100);
    expect([s.content(), s.calls().length]).toEqual([undefined, 1]);
    await s.stop();
  });

  it('[csi-snapshotter#75] given an intent that was removed, and a class that is gone, then the intent is back before anything else', async () => {
    const s = await meanwhile({}, (it) => it.failCalls('Aborted'), withoutIntent);
    s.server.objects.remove(volumeSnapshotClasses, { name: 'gold' });
    await s.clock.advance(100_000);
    expect(s.content()?.metadata?.annotations).toMatchObject(beingCreated);
    expect(s.content()?.status?.error?.message).toContain('not found');
    await s.stop();
  });

  it('given an open call for a content that is gone, then another one of its name is worked on for itself', async () => {
    const s = await meanwhile({}, (it) => it.failCalls('Aborted'), withoutIntent);
    s.server.objects.remove(volumeSnapshotContents, { name: 'content' });
    await s.clock.advance(100);
    s.server.seed(aContent({ uid: 'another', deleting: 'asked' }));
    await s.clock.advance(100_000);
    expect([s.content(), s.calls().length]).toEqual([undefined, 1]);
    await s.stop();
  });

  it('[csi-snapshotter#76] given the intent and a class that was deleted, then an error, and the deletion goes on when the class is back', async () => {
    const s = await aSnapshotter({ seed: [aContent({ annotations: beingCreated, deleting: 'asked' })] });
    await s.clock.advance(100_000);
    expect([s.calls(), s.content()?.status?.error?.message]).toEqual([
      [],
      expect.stringContaining('volumesnapshotclass.snapshot.storage.k8s.io \\"gold\\" not found'),
    ]);
    s.server.seed(aClass());
    await s.settle();
    expect([s.content(), s.driver.snapshots()]).toEqual([undefined, []]);
    await s.stop();
  });
});

it('given a deletion that is asked for before the intent is written, then no snapshot is taken', async () => {
  const s = await aSnapshotter({ seed: [aClass()] });
  s.fault(object, { kind: 'delay', ms: 100 });
  s.server.seed(aContent());
  await s.settle();
  s.changeContent(asked);
  await s.clock.advance(300);
  expect([s.content(), s.calls(), s.events]).toEqual([undefined, [], []]);
  await s.stop();
});

it('[csi-snapshotter#81] given a content that vanishes during the call, then an event, and the next run ends', async () => {
  const s = await aSnapshotter({ seed: [aClass()] });
  s.driver.faults.add({ method: 'CreateSnapshot', times: 1, action: { kind: 'delay', ms: 5_000 } });
  s.server.seed(aContent({ finalizers: [] }));
  await s.clock.advance(1_000);
  s.server.objects.remove(volumeSnapshotContents, { name: 'content' });
  await s.clock.advance(60_000);
  // No run has thrown.
  await s.settle();
  expect(s.events.length).toBe(1);
  expect(s.calls().length).toBe(1);
  await s.stop();
});

it('[csi-snapshotter#82] given a content that was deleted while the process was down, then there is nothing to do', async () => {
  const first = await aSnapshotter({ seed: [aClass(), aContent({ status: full })] });
  const cluster = first.crash();
  cluster.server.objects.remove(volumeSnapshotContents, { name: 'content' });
  const next = await aSnapshotter({ cluster });
  await next.clock.advance(1_000_000);
  expect([next.calls(), next.writes(), next.events]).toEqual([[], [], []]);
  await next.stop();
});
