// SPDX-License-Identifier: Apache-2.0
import { faultOn, there } from '@csi-sidecars/test-driver/testing';
import { volumeSnapshotContents } from '@csi-sidecars/volume';
import { describe, expect, it } from 'vitest';
import {
  aClass,
  aContent,
  asked,
  aSecret,
  beingCreated,
  intent,
  deletionSecret,
  driverName,
  snapshotUid,
} from '../../testing/builders.ts';
import { aSnapshotter, type Fixture, type FixtureOptions, forbidden, gib } from '../../testing/snapshotter-fixture.ts';

const on = 'patch volumesnapshotcontents content 200';
const status = 'patch volumesnapshotcontents/status content 200';
const off = on;
const called = `CreateSnapshot snapshot-${snapshotUid} OK`;

/** One message on the content: reason, then the text without upstream's prefix. */
const failure = (s: Fixture): string | undefined => s.content()?.status?.error?.message;

/** Nothing was written but the failure, and the driver was not called. */
function expectNoAttempt(s: Fixture, message: string): void {
  expect(failure(s)).toBe(message);
  expect(s.writes()).toEqual([status]);
  expect(s.calls()).toEqual([]);
  expect(there(s.content()).metadata?.annotations?.[Object.keys(beingCreated)[0]!]).toBeUndefined();
}

async function taken(options: FixtureOptions = {}, prepare?: (s: Fixture) => void): Promise<Fixture> {
  const s = await aSnapshotter({ ...options, seed: [aClass()] });
  prepare?.(s);
  for (const object of options.seed ?? [aContent()]) s.server.seed(object);
  await s.settle();
  return s;
}

describe('a driver that is ready with its first answer', () => {
  it('[csi-snapshotter#1] given no status, when the snapshot is taken, then intent, status, intent withdrawn, one call, no read and no event', async () => {
    const s = await aSnapshotter();
    expect(s.writes()).toEqual([on, status, off]);
    expect(s.calls()).toEqual([called]);
    expect(s.server.requests.filter(({ verb }) => verb === 'get')).toEqual([]);
    expect(s.events).toEqual([]);
    expect(s.bodies()).toEqual([
      {
        metadata: { ...intent, uid: 'uid-of-content', resourceVersion: expect.any(String) },
      },
      {
        status: {
          snapshotHandle: 'snapshot-4',
          readyToUse: true,
          creationTime: 1_767_225_600_000_000_000n,
          restoreSize: Number(gib),
        },
        metadata: { uid: 'uid-of-content', resourceVersion: expect.any(String) },
      },
      {
        metadata: {
          annotations: { [Object.keys(beingCreated)[0]!]: null },
          labels: { [Object.keys(beingCreated)[0]!]: null },
          uid: 'uid-of-content',
          resourceVersion: expect.any(String),
        },
      },
    ]);
    await s.clock.advance(3_600_000);
    expect(s.calls()).toEqual([called]);
    await s.stop();
  });

  it('[csi-snapshotter#10] given an empty status, when the first attempt fails, then it counts as a check, not as a creation', async () => {
    const s = await taken({ seed: [aContent({ status: {} })] }, (it) => it.failCalls('Internal'));
    expect(s.events).toEqual([
      `Warning SnapshotContentCheckandUpdateFailed content: Failed to check and update snapshot content: failed to take snapshot of the volume volume-1: "rpc error: code = Internal desc = no"`,
    ]);
    await s.stop();
  });

  it('[csi-snapshotter#7] [csi-spec#4] given size 0 and a group in the answer, when it is recorded, then there is no restore size and no group', async () => {
    const answer = { snapshot: { size_bytes: '0', group_snapshot_id: 'g' } };
    const s = await taken({}, (it) => it.answer('CreateSnapshot', answer));
    expect(s.content()?.status).toEqual({
      snapshotHandle: 'snapshot-4',
      readyToUse: true,
      creationTime: expect.anything(),
    });
    await s.stop();
  });

  it.each(['-1', '0'])('given size %s in the answer, then there is no restore size', async (size_bytes) => {
    const s = await taken({}, (it) => it.answer('CreateSnapshot', { snapshot: { size_bytes } }));
    expect(there(s.content()?.status)).not.toHaveProperty('restoreSize');
    await s.stop();
  });

  it('given size 1 in the answer, then that is the restore size', async () => {
    const s = await taken({}, (it) => it.answer('CreateSnapshot', { snapshot: { size_bytes: '1' } }));
    expect(s.content()?.status?.restoreSize).toBe(1);
    await s.stop();
  });

  it('given a size above 2^53 and a time in nanoseconds, when they are recorded, then no digit is lost', async () => {
    const s = await taken({}, (it) =>
      it.answer('CreateSnapshot', {
        snapshot: { size_bytes: '9007199254740993', creation_time: { seconds: '1767225601', nanos: 123_456_789 } },
      }),
    );
    expect(s.content()?.status).toEqual({
      snapshotHandle: 'snapshot-4',
      readyToUse: true,
      creationTime: 1_767_225_601_123_456_789n,
      restoreSize: 9_007_199_254_740_993n,
    });
    await s.stop();
  });

  it.each([
    { id: '[csi-snapshotter#8]', given: 'no time', creation_time: null },
    { id: '', given: 'a time that no int64 holds', creation_time: { seconds: '99999999999', nanos: 0 } },
  ])(
    '$id given $given in the answer, when it is recorded, then now is the creation time [P7]',
    async ({ creation_time }) => {
      const s = await taken({}, (it) =>
        it.driver.faults.add({
          method: 'CreateSnapshot',
          action:
            creation_time === null
              ? { kind: 'answer', unset: ['snapshot.creation_time'] }
              : { kind: 'answer', set: { snapshot: { creation_time } } },
        }),
      );
      expect(s.content()?.status?.creationTime).toBe(1_767_225_600_000_000_000n);
      expect(s.content()?.status?.readyToUse).toBe(true);
      await s.stop();
    },
  );
});

describe('a driver that is not ready at once', () => {
  it('[csi-snapshotter#2] [csi-snapshotter#3] [csi-snapshotter#4] given a snapshot that takes 5 s, when it is polled, then the status is written twice', async () => {
    const s = await aSnapshotter({ model: { snapshotProcessingMs: 5_000 } });
    expect(s.content()?.status).toEqual({
      snapshotHandle: 'snapshot-4',
      readyToUse: false,
      creationTime: 1_767_225_600_000_000_000n,
      restoreSize: Number(gib),
    });
    expect(s.writes()).toEqual([on, status, off]);
    await s.clock.advance(1_200);
    // Nothing changed: the intent only.
    expect(s.writes()).toEqual([on, status, off, on, off]);
    await s.clock.advance(8_000);
    expect(s.content()?.status?.readyToUse).toBe(true);
    expect(s.writes().filter((it) => it === status).length).toBe(2);
    const calls = s.calls().length;
    await s.clock.advance(600_000);
    expect(s.calls().length).toBe(calls);
    expect(s.events).toEqual([]);
    await s.stop();
  });

  it('[P2] given a snapshot that is never ready, when 15 minutes pass, then the calls follow the backoff', async () => {
    const s = await aSnapshotter({ model: { snapshotProcessingMs: 1e9 } });
    const at: number[] = [];
    const startMs = s.clock.nowMs();
    for (let second = 0; second < 600; second++) {
      await s.clock.advance(1_000);
      if (s.calls().length > at.length + 1) at.push(Math.round((s.clock.nowMs() - startMs) / 1_000));
    }
    expect(at.length).toBe(9);
    expect(at.slice(0, 5).map((seconds, index) => seconds - (2 ** (index + 1) - 1))).toEqual([
      expect.toBeOneOf([0, 1]),
      expect.toBeOneOf([0, 1]),
      expect.toBeOneOf([0, 1, 2]),
      expect.toBeOneOf([0, 1, 2]),
      expect.toBeOneOf([0, 1, 2, 3, 4]),
    ]);
    await s.stop();
  });

  it('[csi-snapshotter#5] [csi-snapshotter#6] given another id and another size in a later answer, then the first ones stay', async () => {
    const s = await aSnapshotter({ model: { snapshotProcessingMs: 500 } });
    s.answer('CreateSnapshot', { snapshot: { snapshot_id: 'another', size_bytes: '5' } });
    await s.clock.advance(2_000);
    expect(s.content()?.status).toMatchObject({
      snapshotHandle: 'snapshot-4',
      restoreSize: Number(gib),
      readyToUse: true,
    });
    await s.stop();
  });

  it('[P1] given a watch that lags behind the backoff, when a retry meets an old copy, then polling goes on', async () => {
    const s = await aSnapshotter({
      model: { snapshotProcessingMs: 20_000 },
      faults: [
        {
          when: ({ verb, resource }) => verb === 'watch' && resource === 'volumesnapshotcontents',
          fault: { kind: 'lag', ms: 30_000 },
          times: 9,
        },
      ],
    });
    await s.clock.advance(100_000);
    expect(s.content()?.status?.readyToUse).toBe(true);
    // Each run began with what the one before had written.
    expect(s.writes().filter((it) => it.endsWith(' 409'))).toEqual([]);
    await s.stop();
  });
});

describe('an odd answer', () => {
  it('[csi-snapshotter#9] given an answer without a snapshot, when it comes, then it is an error, and the intent stays [P6]', async () => {
    const s = await taken({}, (it) =>
      it.driver.faults.add({ method: 'CreateSnapshot', times: 1, action: { kind: 'answer', unset: ['snapshot'] } }),
    );
    expect(failure(s)).toBe(
      'Failed to create snapshot: failed to take snapshot of the volume volume-1: "the answer to CreateSnapshot has no snapshot"',
    );
    expect(s.content()?.metadata?.annotations).toEqual(beingCreated);
    await s.clock.advance(1_200);
    expect(s.content()?.status).toMatchObject({ snapshotHandle: 'snapshot-4', readyToUse: true });
    expect([s.content()?.metadata?.annotations ?? {}, s.content()?.metadata?.labels ?? {}]).toEqual([{}, {}]);
    await s.stop();
  });

  it('given an answer with an empty id, when it comes, then no handle is written, and the intent stays', async () => {
    const s = await taken({}, (it) => it.answer('CreateSnapshot', { snapshot: { snapshot_id: '' } }, 1));
    expect(s.content()?.status).toEqual({ readyToUse: false, error: expect.anything() });
    expect(failure(s)).toContain('the answer to CreateSnapshot has a snapshot without an id');
    expect(s.content()?.metadata?.annotations).toEqual(beingCreated);
    await s.stop();
  });
});

describe('what is refused before the call', () => {
  it('[csi-snapshotter#11] given no class, when the snapshot is to be taken, then there is an error, no intent and no call', async () => {
    const s = await taken({ seed: [aContent({ className: null })] });
    expectNoAttempt(
      s,
      'Failed to create snapshot: failed to get input parameters to create snapshot for content content: "failed to take snapshot content without a snapshot class"',
    );
    await s.clock.advance(1_200);
    expect(failure(s)).toMatch(/^Failed to check and update snapshot content: failed to get input/);
    await s.stop();
  });

  it('[csi-snapshotter#12] given a class that does not exist, when it appears, then the snapshot is taken at once', async () => {
    const s = await aSnapshotter({ seed: [aContent({ className: 'later' })] });
    expectNoAttempt(
      s,
      'Failed to create snapshot: failed to get input parameters to create snapshot for content content: "volumesnapshotclass.snapshot.storage.k8s.io \\"later\\" not found"',
    );
    s.server.seed(aClass({ metadata: { name: 'later', uid: 'uid-of-later' } }));
    await s.settle();
    expect(s.content()?.status).toMatchObject({ readyToUse: true });
    expect(there(s.content()?.status)).not.toHaveProperty('error');
    await s.stop();
  });

  it.each([
    {
      id: '[csi-snapshotter#13]',
      given: 'a class of another driver',
      content: aContent(),
      found: aClass({ driver: 'other' }),
    },
    { id: '[csi-snapshotter#14]', given: 'another driver', content: aContent({ driver: 'other' }), found: aClass() },
    { id: '', given: 'no source', content: aContent({ volume: null }), found: aClass() },
  ])('$id given a content of $given, then nothing is written or called', async ({ content, found }) => {
    const s = await aSnapshotter({ seed: [found, content] });
    await s.clock.advance(3_600_000);
    expect([s.writes(), s.calls(), s.events]).toEqual([[], [], []]);
    await s.stop();
  });

  it.each([
    {
      given: '[csi-snapshotter#15] given an unknown reserved parameter',
      seed: [aContent(), aClass({ parameters: { 'csi.storage.k8s.io/x': 'y' } })],
      error:
        'failed to remove CSI Parameters of prefixed keys: found unknown parameter key "csi.storage.k8s.io/x" with reserved namespace csi.storage.k8s.io/',
    },
    {
      given: '[csi-snapshotter#23] given a content that is not bound',
      seed: [aContent({ refUid: '' }), aClass()],
      error:
        'failed to take snapshot of the volume volume-1: "cannot create snapshot. Snapshot content content not bound to a snapshot"',
    },
  ])('$given, then an error before the intent and no call, and the content can be deleted [P5]', async (facts) => {
    const s = await aSnapshotter({ seed: facts.seed });
    expectNoAttempt(s, `Failed to create snapshot: ${facts.error}`);
    s.changeContent(asked);
    await s.settle();
    expect([s.content(), s.calls()]).toEqual([undefined, []]);
    await s.stop();
  });
});

describe('parameters', () => {
  it('[csi-snapshotter#16] [csi-snapshotter#17] given parameters for us and for the driver, then the driver gets its own', async () => {
    const parameters = {
      'csi.storage.k8s.io/snapshotter-secret-name': 'key',
      'csi.storage.k8s.io/snapshotter-secret-namespace': 'vault',
      'csi.storage.k8s.io/snapshotter-list-secret-name': 'key',
      'csi.storage.k8s.io/snapshotter-list-secret-namespace': 'vault',
      'snapshot.storage.kubernetes.io/x': '1',
      csiFoo: '2',
    };
    const s = await aSnapshotter({ seed: [aContent(), aClass({ parameters })] });
    expect(s.requests('CreateSnapshot')).toMatchObject([
      { parameters: { 'snapshot.storage.kubernetes.io/x': '1', csiFoo: '2' }, secrets: {} },
    ]);
    await s.stop();
  });

  it('[csi-snapshotter#18] given --extra-create-metadata, then the driver gets the three names as well', async () => {
    const s = await aSnapshotter({
      settings: { extraCreateMetadata: true },
      seed: [aContent(), aClass({ parameters: { 'csi.storage.k8s.io/snapshotter-secret-name': 'x' } })],
    });
    expect(s.requests('CreateSnapshot')[0]?.['parameters']).toEqual({
      'csi.storage.k8s.io/volumesnapshot/name': 'snap',
      'csi.storage.k8s.io/volumesnapshot/namespace': 'team',
      'csi.storage.k8s.io/volumesnapshotcontent/name': 'content',
    });
    await s.stop();
  });

  it.each([
    { id: '[csi-snapshotter#42]', prefix: 'snapshot', uuidLength: 8, name: 'snapshot-11111111' },
    { id: '[csi-snapshotter#43]', prefix: '/ü %', uuidLength: -1, name: `/ü %-${snapshotUid}` },
    { id: '', prefix: 'snapshot', uuidLength: 32, name: 'snapshot-11111111222233334444555555555555' },
  ])(
    '$id given prefix $prefix and length $uuidLength, then the snapshot is called $name',
    async ({ name, ...snapshotNames }) => {
      const s = await aSnapshotter({ settings: { snapshotNames } });
      expect(s.requests('CreateSnapshot')).toMatchObject([{ name, source_volume_id: 'volume-1' }]);
      await s.stop();
    },
  );
});

describe('secrets', () => {
  it('[csi-snapshotter#19] given annotations that name a secret, then the driver gets it', async () => {
    const s = await aSnapshotter({ seed: [aContent({ annotations: deletionSecret }), aClass(), aSecret()] });
    expect(s.requests('CreateSnapshot')).toMatchObject([{ secrets: { user: 'me' } }]);
    expect(s.content()?.metadata?.annotations).toEqual(deletionSecret);
    await s.stop();
  });

  it.each([
    { given: 'does not exist', secrets: [], faults: [] },
    { given: 'cannot be read', secrets: [aSecret()], faults: [faultOn('get secrets', forbidden)] },
  ])(
    '[csi-snapshotter#20] given a secret that $given, then an error before the intent, and no call',
    async ({ secrets, faults }) => {
      const seed = [aContent({ annotations: deletionSecret }), aClass(), ...secrets];
      const s = await aSnapshotter({ seed, faults });
      expectNoAttempt(
        s,
        'Failed to create snapshot: failed to get input parameters to create snapshot for content content: "cannot get credentials for snapshot content \\"content\\""',
      );
      await s.stop();
    },
  );

  it('[csi-snapshotter#21] given two empty annotations, then an error before the intent, and no call', async () => {
    const empty = Object.fromEntries(Object.keys(deletionSecret).map((name) => [name, '']));
    const s = await aSnapshotter({ seed: [aContent({ annotations: empty }), aClass()] });
    expectNoAttempt(
      s,
      'Failed to create snapshot: failed to get input parameters to create snapshot for content content: "cannot retrieve secrets for snapshot content \\"content\\", err: secret name or namespace not specified"',
    );
    await s.stop();
  });

  it('[csi-snapshotter#21, C10] given one empty annotation of the two, then an error, and no call', async () => {
    const [, ...rest] = Object.keys(deletionSecret);
    const half = { ...deletionSecret, ...Object.fromEntries(rest.map((name) => [name, ''])) };
    const s = await aSnapshotter({ seed: [aContent({ annotations: half }), aClass()] });
    expect(failure(s)).toContain('secret name or namespace not specified');
    expect(s.calls()).toEqual([]);
    await s.stop();
  });

  it.each(Object.entries(deletionSecret))(
    '[csi-snapshotter#22] given the annotation %s alone, then the call has no secrets',
    async (...only) => {
      const s = await aSnapshotter({ seed: [aContent({ annotations: Object.fromEntries([only]) }), aClass()] });
      expect(s.requests('CreateSnapshot')).toMatchObject([{ secrets: {} }]);
      expect(s.content()?.status?.readyToUse).toBe(true);
      await s.stop();
    },
  );
});

describe('a restart', () => {
  const statusOfReady = { snapshotHandle: 'snapshot-4', readyToUse: true };

  it('[csi-snapshotter#39] given the intent and no status, when the process starts, then it calls at once and withdraws the intent', async () => {
    const s = await aSnapshotter({ seed: [aContent(intent), aClass()] });
    expect(s.writes()).toEqual([status, off]);
    expect(s.calls()).toEqual([called]);
    expect([s.content()?.metadata?.annotations ?? {}, s.content()?.metadata?.labels ?? {}]).toEqual([{}, {}]);
    await s.stop();
  });

  it('[csi-snapshotter#39] given a cache that still shows the intent of a content that is gone, when the process starts, then it takes no snapshot', async () => {
    const isWatch = ({ verb, resource }: { verb: string; resource: string }): boolean =>
      verb === 'watch' && resource === 'volumesnapshotcontents';
    const s = await aSnapshotter({
      seed: [aContent(intent), aClass()],
      faults: [{ when: isWatch, fault: { kind: 'lag', ms: 60_000 } }],
    });
    s.server.objects.remove(volumeSnapshotContents, { name: 'content' });
    await s.clock.advance(200_000);
    expect([s.calls(), s.driver.snapshots(), s.events]).toEqual([[], [], []]);
    await s.stop();
  });

  it('[csi-snapshotter#40] given the intent and a ready snapshot, when the process starts, then it withdraws the intent without a call', async () => {
    const s = await aSnapshotter({ seed: [aContent({ ...intent, status: statusOfReady }), aClass()] });
    expect([s.writes(), s.calls()]).toEqual([[off], []]);
    await s.stop();
  });

  it('[csi-snapshotter#41] given a ready snapshot, when the process starts and at each resync, then it neither writes nor calls', async () => {
    const s = await aSnapshotter({ seed: [aContent({ status: statusOfReady }), aClass()] });
    await s.clock.advance(3_600_000);
    expect([s.writes(), s.calls()]).toEqual([[], []]);
    await s.stop();
  });
});

it('[P3] given an annotation that another controller added meanwhile, when the intent is written, then it stays', async () => {
  const s = await aSnapshotter({ seed: [aClass()] });
  s.fault('patch volumesnapshotcontents', { kind: 'delay', ms: 100 });
  s.server.seed(aContent());
  await s.settle();
  s.changeContent((it) => ({ ...it, metadata: { ...it.metadata, annotations: { foreign: 'x' } } }));
  await s.clock.advance(200);
  expect(s.content()?.metadata?.annotations).toEqual({ foreign: 'x' });
  expect(s.content()?.status?.readyToUse).toBe(true);
  expect(s.calls()).toEqual([called]);
  await s.stop();
});

it(`given the driver ${driverName} and two hundred contents, when it starts, then each snapshot is taken once`, async () => {
  const contents = Array.from({ length: 200 }, (_, at) =>
    aContent({ name: `c${at}`, refUid: `00000000-0000-0000-0000-${String(at).padStart(12, '0')}` }),
  );
  const s = await aSnapshotter({ seed: [aClass(), ...contents] });
  for (let turn = 0; turn < 40; turn++) await s.settle();
  expect(s.calls().length).toBe(200);
  expect(s.driver.snapshots().length).toBe(200);
  await s.stop();
});
