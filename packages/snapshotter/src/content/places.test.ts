// SPDX-License-Identifier: Apache-2.0
/** Alpha, the gate VolumeSnapshotTopology: where a snapshot has to be usable, and where it can be used. */
import type { CreateSnapshotRequest } from '@csi-sidecars/csi';
import type { Fault, FaultRule } from '@csi-sidecars/runtime/testing';
import { internalError, there } from '@csi-sidecars/test-driver/testing';
import { type TopologySelectorTerm, type VolumeSnapshotContent, volumeSnapshotContents } from '@csi-sidecars/volume';
import { describe, expect, it } from 'vitest';
import { aClass, aContent, asked, memberOf } from '../../testing/builders.ts';
import { aSnapshotter, conflict, type Fixture, type FixtureOptions } from '../../testing/snapshotter-fixture.ts';

const object = 'patch volumesnapshotcontents content 200';
const status = 'patch volumesnapshotcontents/status content 200';
/** The intent, the places, the status, and the intent is withdrawn. */
const recorded = [object, object, status, object];
const unrecorded = [object, status, object];

const terms = (...zones: readonly string[]): readonly TopologySelectorTerm[] =>
  zones.map((zone) => ({ matchLabelExpressions: [{ key: 'zone', values: [zone] }] }));
const inZones = (...zones: readonly string[]): readonly object[] => zones.map((zone) => ({ segments: { zone } }));
const answering = (...topologies: readonly object[]): object => ({ snapshot: { accessible_topology: topologies } });

function placesOf(s: Fixture, name = 'content'): unknown {
  return there(s.content(name)).spec?.nodeAffinity;
}
const requestOf = (s: Fixture, at = 0): CreateSnapshotRequest =>
  (s.requests('CreateSnapshot') as unknown as readonly CreateSnapshotRequest[])[at]!;
const dropped = (s: Fixture): number | undefined =>
  s.metrics.value('csi_sidecars_snapshot_topology_writes_dropped_total');
const droppedLines = (s: Fixture): number =>
  s.logger.lines.filter(({ message }) => message.includes('spec.nodeAffinity')).length;

interface Story extends FixtureOptions {
  readonly content?: VolumeSnapshotContent;
  readonly allowed?: unknown;
  /** `accessible_topology` of the answers to CreateSnapshot. Default: as the driver has it. */
  readonly answered?: readonly object[];
  readonly prepare?: (s: Fixture) => void;
}

/** The gate is on, and the driver is prepared before the content appears. */
async function taken({ content = aContent(), allowed, answered, prepare, ...options }: Story = {}): Promise<Fixture> {
  const found = aClass(allowed === undefined ? {} : { allowedTopologies: allowed as readonly TopologySelectorTerm[] });
  const s = await aSnapshotter({ topology: 'on', ...options, seed: [found] });
  if (answered !== undefined) s.answer('CreateSnapshot', answering(...answered));
  prepare?.(s);
  s.server.seed(content);
  await s.settle();
  return s;
}

describe('the gate is off', () => {
  it('[csi-1.13#1] given a driver that names topologies and a class that asks for some, then nothing is asked for or written, and no line of the log is about it', async () => {
    const s = await aSnapshotter({ seed: [aContent(), aClass({ allowedTopologies: terms('a') })] });
    expect([s.writes(), placesOf(s), s.content()?.status?.readyToUse]).toEqual([unrecorded, undefined, true]);
    expect([requestOf(s).accessibility_requirements ?? null, s.events]).toEqual([null, []]);
    const shown = s.logger.lines.filter((line) => line.kind !== 'info' || line.level <= 5);
    expect(shown.filter(({ message }) => /topolog|affinity/i.test(message))).toEqual([]);
    await s.stop();
  });
});

it('given the gate is off, then topologies that cannot be stored and classes that cannot be read are not looked at', async () => {
  const settings = { snapshotTopology: false };
  const s = await taken({ settings, allowed: 'garbage', answered: [{ segments: { '': 'a' } }] });
  expect([s.writes(), s.content()?.status?.readyToUse, s.events]).toEqual([unrecorded, true, []]);
  await s.stop();
});

describe('what a class asks for', () => {
  it('[csi-1.13#4] given a class with topologies, then all of them are requisite, and preferred in the same order', async () => {
    const allowed = [{ matchLabelExpressions: [{ key: 'zone', values: ['b', 'a'] }] }];
    const s = await taken({ allowed });
    const wanted = [{ segments: { zone: 'b' } }, { segments: { zone: 'a' } }];
    expect(requestOf(s).accessibility_requirements).toEqual({ requisite: wanted, preferred: wanted });
    expect([s.content()?.status?.readyToUse, s.events]).toEqual([true, []]);
    await s.stop();
  });

  it.each([undefined, []])(
    '[csi-1.13#5] given a class whose topologies are %j, then the request has none',
    async (allowed) => {
      const s = await taken({ allowed });
      expect(requestOf(s).accessibility_requirements ?? null).toBe(null);
      expect(s.content()?.status?.readyToUse).toBe(true);
      await s.stop();
    },
  );

  it('[csi-1.13#3] given a driver without the capability, then the request has none, and one Warning says that the class is not honoured', async () => {
    const s = await taken({ topology: 'unsupported', allowed: terms('a'), model: { snapshotProcessingMs: 20_000 } });
    await s.clock.advance(60_000);
    expect(s.requests('CreateSnapshot').length).toBeGreaterThan(2);
    expect(requestOf(s).accessibility_requirements ?? null).toBe(null);
    expect([s.content()?.status?.readyToUse, placesOf(s)]).toEqual([true, undefined]);
    expect(s.events).toEqual([
      'Warning SnapshotTopologyNotHonoured content: allowedTopologies of snapshot class gold are not honoured: CSI driver test.csi.example.com does not report the plugin capability SNAPSHOT_ACCESSIBILITY_CONSTRAINTS',
    ]);
    await s.stop();
  });

  it('[csi-1.13#3] given a driver without the capability that names topologies all the same, then they are not written', async () => {
    const s = await taken({ topology: 'unsupported', answered: inZones('a') });
    expect([s.writes(), placesOf(s)]).toEqual([unrecorded, undefined]);
    await s.stop();
  });

  it.each(['zone-a', [{}], [{ matchLabelExpressions: [{ key: 'zone', values: [] }] }]])(
    'given a class whose topologies are %j, then an error before the intent, and the content can be deleted',
    async (allowed) => {
      const s = await taken({ allowed });
      expect([s.writes(), s.calls()]).toEqual([[status], []]);
      expect(s.content()?.status?.error?.message).toContain('allowedTopologies of snapshot class gold cannot be used');
      s.changeContent(asked);
      await s.settle();
      expect(s.content()).toBe(undefined);
      await s.stop();
    },
  );
});

describe('what the driver answers', () => {
  it('[csi-1.13#6] [csi-snapshotter#C27] given two topologies, then two terms in their order, written before the status', async () => {
    const s = await taken({ answered: inZones('b', 'a') });
    expect([s.writes(), placesOf(s)]).toEqual([recorded, terms('b', 'a')]);
    expect(s.bodies()[1]).toMatchObject({ spec: { nodeAffinity: terms('b', 'a') } });
    expect([s.content()?.metadata?.annotations ?? {}, s.events]).toEqual([{}, []]);
    await s.stop();
  });

  it('[csi-1.13#6] given a volume in zone a, when the model of the driver takes its snapshot, then the content names zone a', async () => {
    const s = await taken();
    expect(placesOf(s)).toEqual(terms('a'));
    await s.stop();
  });

  it('[csi-1.13#7] given equal topologies and one without segments, then one term', async () => {
    const s = await taken({ answered: [...inZones('a'), { segments: {} }, ...inZones('a')] });
    expect(placesOf(s)).toEqual(terms('a'));
    await s.stop();
  });

  it.each([{ answered: [] }, { answered: [{ segments: {} }, {}] }])(
    '[csi-1.13#7] given $answered, then there is no patch',
    async ({ answered }) => {
      const s = await taken({ answered });
      expect([s.writes(), placesOf(s), s.events]).toEqual([unrecorded, undefined, []]);
      await s.stop();
    },
  );

  it('[csi-1.13#8] given ResourceExhausted, then the status and a Warning show it, the call is repeated with the backoff, and the places stay', async () => {
    const before = { ...aContent(), spec: { ...aContent().spec, nodeAffinity: terms('b') } };
    const s = await taken({ content: before, prepare: (it) => it.failCalls('ResourceExhausted', { times: 2 }) });
    expect(s.content()?.status).toMatchObject({
      readyToUse: false,
      error: { message: expect.stringContaining('ResourceExhausted') as string },
    });
    expect([s.writes(), placesOf(s), s.events.length]).toEqual([[object, status], terms('b'), 1]);
    // Not final: the intent stays, and with it the same request.
    expect(Object.keys(s.content()?.metadata?.annotations ?? {})).toHaveLength(1);
    await s.clock.advance(1_200);
    expect(s.requests('CreateSnapshot')).toHaveLength(2);
    await s.clock.advance(2_500);
    expect([s.content()?.status?.readyToUse, placesOf(s)]).toEqual([true, terms('a')]);
    expect(new Set(s.requests('CreateSnapshot').map(({ name }) => name)).size).toBe(1);
    await s.stop();
  });

  it('[csi-1.13#10] given a snapshot that is not ready and names topologies later only, then they are written then', async () => {
    const s = await taken({
      model: { snapshotProcessingMs: 2_500 },
      prepare: (it) => it.answer('CreateSnapshot', answering(), 2),
    });
    expect([s.content()?.status?.readyToUse, placesOf(s)]).toEqual([false, undefined]);
    await s.clock.advance(10_000);
    expect([s.content()?.status?.readyToUse, placesOf(s)]).toEqual([true, terms('a')]);
    await s.stop();
  });

  it('[csi-1.13#11] given other topologies in a later answer, then the content follows while it is not ready, and keeps what an administrator writes afterwards', async () => {
    const s = await taken({
      model: { snapshotProcessingMs: 2_500 },
      prepare: (it) => it.answer('CreateSnapshot', answering(...inZones('b')), 1),
    });
    expect(placesOf(s)).toEqual(terms('b'));
    await s.clock.advance(1_200);
    expect([s.content()?.status?.readyToUse, placesOf(s)]).toEqual([false, terms('a')]);
    await s.clock.advance(10_000);
    expect([s.content()?.status?.readyToUse, placesOf(s)]).toEqual([true, terms('a')]);
    const calls = s.calls().length;
    s.changeContent((it) => ({ ...it, spec: { ...it.spec, nodeAffinity: terms('a', 'b') } }));
    await s.clock.advance(3_600_000);
    expect([placesOf(s), s.calls().length]).toEqual([terms('a', 'b'), calls]);
    await s.stop();
  });

  it('given a snapshot that is polled, then its places are written once, and writing them causes no further call', async () => {
    const s = await taken({ model: { snapshotProcessingMs: 2_500 } });
    expect(s.calls()).toHaveLength(1);
    await s.clock.advance(10_000);
    expect(s.bodies().filter((body) => there(body as { readonly spec?: object }).spec !== undefined)).toHaveLength(1);
    expect(s.calls()).toHaveLength(3);
    await s.stop();
  });

  it('given a watch that lags, when topologies change while a snapshot is polled, then each write is based on the one before', async () => {
    const s = await taken({
      model: { snapshotProcessingMs: 2_500 },
      faults: [
        {
          when: ({ verb, resource }) => verb === 'watch' && resource === 'volumesnapshotcontents',
          fault: { kind: 'lag', ms: 30_000 },
          times: 9,
        },
      ],
      prepare: (it) => it.answer('CreateSnapshot', answering(...inZones('b')), 1),
    });
    await s.clock.advance(120_000);
    expect([placesOf(s), s.content()?.status?.readyToUse]).toEqual([terms('a'), true]);
    expect(s.writes().filter((line) => line.endsWith(' 409'))).toEqual([]);
    await s.stop();
  });

  it('given a content that is deleted during the call, then its places are not written any more', async () => {
    const s = await taken({
      prepare: (it) =>
        it.driver.faults.add({ method: 'CreateSnapshot', times: 1, action: { kind: 'delay', ms: 1_000 } }),
    });
    s.changeContent(asked);
    await s.clock.advance(2_000);
    expect(s.content()).toBe(undefined);
    expect(s.bodies().filter((body) => there(body as { readonly spec?: object }).spec !== undefined)).toEqual([]);
    await s.stop();
  });

  it.each(['zone-a', [{}], [{ matchLabelExpressions: 5 }], [{ matchLabelExpressions: [{ key: 'zone' }] }]])(
    'given a content whose places are %j, when its snapshot is taken, then they are replaced',
    async (nodeAffinity) => {
      const content = { ...aContent(), spec: { ...aContent().spec, nodeAffinity: nodeAffinity as never } };
      const s = await taken({ content });
      expect([placesOf(s), s.content()?.status?.readyToUse]).toEqual([terms('a'), true]);
      await s.stop();
    },
  );

  it.each([
    {
      given: 'thousands of topologies',
      answered: Array.from({ length: 3_000 }, (_, at) => ({ segments: { zone: `zone${at}` } })),
    },
    { given: 'a key without a name', answered: [{ segments: { '': 'a' } }] },
    { given: 'a value of 100,000 characters', answered: [{ segments: { zone: 'x'.repeat(100_000) } }] },
  ])('given $given, then the snapshot is ready without places, and a Warning says so', async ({ answered }) => {
    const s = await taken({ answered });
    expect([s.writes(), placesOf(s), s.content()?.status?.readyToUse]).toEqual([unrecorded, undefined, true]);
    expect(s.events).toEqual([
      expect.stringContaining(
        'Warning SnapshotTopologyNotRecorded content: where the snapshot can be used is not recorded: the topology that the driver answered cannot be stored',
      ),
    ]);
    await s.stop();
  });

  it('given the same topologies in another order with a later answer, then they are written once', async () => {
    const s = await taken({
      model: { snapshotProcessingMs: 2_500 },
      prepare: ({ driver }) => {
        const answer = (...zones: readonly string[]) =>
          ({ kind: 'answer', set: answering(...inZones(...zones)) }) as const;
        driver.faults.add({ method: 'CreateSnapshot', times: 1, action: answer('a', 'b') });
        driver.faults.add({ method: 'CreateSnapshot', skip: 1, action: answer('b', 'a') });
      },
    });
    await s.clock.advance(10_000);
    expect(s.calls()).toHaveLength(3);
    expect([s.content()?.status?.readyToUse, placesOf(s)]).toEqual([true, terms('a', 'b')]);
    await s.stop();
  });

  it('given a key without a value, then the empty value counts', async () => {
    const s = await taken({ answered: [{ segments: { zone: '' } }] });
    expect(placesOf(s)).toEqual(terms(''));
    await s.stop();
  });
});

describe('a patch that fails', () => {
  const affinity = (fault: Fault, times = 1): readonly FaultRule[] => [
    {
      when: ({ request, verb }) => verb === 'patch' && String(request.body).includes('nodeAffinity'),
      fault,
      times,
    },
  ];

  it.each([
    { given: 'an error of the API server', fault: internalError },
    { given: 'no connection', fault: { kind: 'break', point: 'before', failure: 'reset' } as const },
    { given: 'an answer that is lost', fault: { kind: 'break', point: 'after', failure: 'reset' } as const },
  ])(
    '[csi-1.13#9] given $given, then the intent stays, and the next answer is written with the status',
    async ({ fault }) => {
      const s = await taken({ faults: affinity(fault) });
      // The status is written after a conflict, if the answer was lost.
      await s.clock.advance(300);
      expect(s.content()?.status).toMatchObject({ readyToUse: false, error: {} });
      expect(there(s.content()?.status)).not.toHaveProperty('snapshotHandle');
      expect(Object.keys(s.content()?.metadata?.annotations ?? {})).toHaveLength(1);
      await s.clock.advance(1_200);
      expect([s.content()?.status?.readyToUse, placesOf(s)]).toEqual([true, terms('a')]);
      expect([s.driver.snapshots().length, s.content()?.metadata?.annotations ?? {}]).toEqual([1, {}]);
      await s.stop();
    },
  );

  it('[csi-1.13#9] given a process that dies at any write, when the next one works, then the content names its places', async () => {
    for (const moment of ['before', 'after'] as const) {
      for (let at = 0; at < recorded.length; at++) {
        let seen = 0;
        const s = await taken({
          interrupt: (operation, when) =>
            operation.startsWith('patch') && when === moment && seen++ === at ? 'crash' : undefined,
        });
        const next = await aSnapshotter({ topology: 'on', cluster: s.crash() });
        await next.clock.advance(60_000);
        expect([placesOf(next), next.content()?.status?.readyToUse], `${moment} ${at}`).toEqual([terms('a'), true]);
        expect(there(next.content()).metadata?.annotations ?? {}).toEqual({});
        await next.stop();
      }
    }
  });

  it('given a conflict, then the content is read again, and no call is repeated', async () => {
    const s = await taken({ faults: affinity(conflict) });
    await s.clock.advance(300);
    expect([placesOf(s), s.content()?.status?.readyToUse, s.calls().length]).toEqual([terms('a'), true, 1]);
    await s.stop();
  });

  it('given a conflict, and another replica has finished meanwhile, then what an administrator has written stays', async () => {
    const s = await taken({
      prepare: (it) => it.fault('patch volumesnapshotcontents', { kind: 'delay', ms: 100 }, 2),
    });
    await s.clock.advance(100);
    s.changeContent((it) => ({
      ...it,
      spec: { ...it.spec, nodeAffinity: terms('b') },
      status: { readyToUse: true, snapshotHandle: 'snapshot-4' },
    }));
    await s.clock.advance(10_000);
    expect([placesOf(s), s.content()?.status?.readyToUse]).toEqual([terms('b'), true]);
    await s.stop();
  });

  it.each([
    { code: 422, reason: 'Invalid' },
    { code: 403, reason: 'Forbidden' },
    { code: 400, reason: 'BadRequest' },
    { code: 413, reason: 'RequestEntityTooLarge' },
  ])('given $code, then the snapshot is ready without places, and a Warning says why', async ({ code, reason }) => {
    const s = await taken({ faults: affinity({ kind: 'status', point: 'before', code, reason }, 99) });
    await s.clock.advance(3_600_000);
    expect([s.content()?.status?.readyToUse, placesOf(s), s.calls().length]).toEqual([true, undefined, 1]);
    expect(s.events).toEqual([expect.stringContaining('Warning SnapshotTopologyNotRecorded content: ')]);
    await s.stop();
  });
});

describe('a definition that lacks the field', () => {
  it('[csi-1.13#12] given three snapshots, then each is ready, one line is logged, one drop counted, and nothing is repeated', async () => {
    const s = await taken({ definition: 'released' });
    for (const [at, name] of ['second', 'third'].entries()) {
      s.server.seed(aContent({ name, refUid: `00000000-0000-0000-0000-00000000000${at}` }));
      await s.settle();
    }
    await s.clock.advance(3_600_000);
    const contents = ['content', 'second', 'third'];
    expect(contents.map((name) => [s.content(name)?.status?.readyToUse, placesOf(s, name)])).toEqual(
      contents.map(() => [true, undefined]),
    );
    expect([droppedLines(s), dropped(s), s.events, s.calls().length]).toEqual([1, 1, [], 3]);
    expect(s.writes()).toHaveLength(recorded.length + 2 * unrecorded.length);
    await s.stop();
  });

  it('[csi-1.13#12] given a snapshot that is polled, then a further write follows after ten minutes at the earliest', async () => {
    const s = await taken({ definition: 'released', model: { snapshotProcessingMs: 3_000_000 } });
    await s.clock.advance(590_000);
    expect(dropped(s)).toBe(1);
    await s.clock.advance(1_800_000);
    expect(dropped(s)).toBeGreaterThan(1);
    expect(dropped(s)).toBeLessThan(5);
    expect(droppedLines(s)).toBe(1);
    await s.stop();
  });

  it('[csi-1.13#12] given a definition that gets the field later, then the next snapshot names its places, and a later drop is logged again', async () => {
    const s = await taken({ definition: 'released' });
    s.setDefinition('alpha');
    await s.clock.advance(600_000);
    s.server.seed(aContent({ name: 'second', refUid: '00000000-0000-0000-0000-000000000002' }));
    await s.settle();
    expect(placesOf(s, 'second')).toEqual(terms('a'));
    s.setDefinition('released');
    s.server.seed(aContent({ name: 'third', refUid: '00000000-0000-0000-0000-000000000003' }));
    await s.settle();
    expect([droppedLines(s), dropped(s)]).toEqual([2, 2]);
    await s.stop();
  });
});

describe('other contents', () => {
  it('given a pre-provisioned content, then its places are those of the administrator', async () => {
    for (const nodeAffinity of [undefined, terms('b')]) {
      const content = aContent({ handle: 'snapshot-4' });
      const s = await aSnapshotter({ topology: 'on', seed: [aClass()] });
      await s.driver
        .channel()
        .call('/csi.v1.Controller/CreateSnapshot', { name: 's', source_volume_id: 'volume-1' }, { timeoutMs: 1_000 });
      s.server.seed({ ...content, spec: { ...content.spec, ...(nodeAffinity && { nodeAffinity }) } });
      await s.settle();
      expect([s.content()?.status?.readyToUse, placesOf(s)]).toEqual([true, nodeAffinity]);
      await s.stop();
    }
  });

  it('[csi-1.13#22] given the instance of a node, then the label decides whose content it is, and its places do not', async () => {
    const label = (node: string): Readonly<Record<string, string>> => ({
      'snapshot.storage.kubernetes.io/managed-by': node,
    });
    const placed = (content: VolumeSnapshotContent, zone: string): VolumeSnapshotContent => ({
      ...content,
      spec: { ...content.spec, nodeAffinity: terms(zone) },
    });
    const elsewhere = aContent({ name: 'elsewhere', labels: label('node-b') });
    const here = aContent({ labels: label('node-a') });
    const s = await aSnapshotter({
      topology: 'on',
      settings: { nodeName: 'node-a' },
      seed: [aClass(), placed(here, 'b'), placed(elsewhere, 'a')],
    });
    expect([s.content()?.status?.readyToUse, s.calls().length]).toEqual([true, 1]);
    expect(there(s.content('elsewhere'))).not.toHaveProperty('status');
    expect(s.content()?.metadata?.labels).toEqual(label('node-a'));
    await s.stop();
  });
});

describe('snapshots of a group', () => {
  const filledIn = { snapshotHandle: 'snapshot-5', volumeGroupSnapshotHandle: 'group-4' };
  const member = (readyToUse: boolean): VolumeSnapshotContent =>
    aContent({ className: null, annotations: memberOf, status: { ...filledIn, readyToUse } });

  /** The driver has a group of two volumes in zone a: `group-4`, with the snapshots 5 and 6. */
  async function withGroup(content: VolumeSnapshotContent, options: FixtureOptions = {}): Promise<Fixture> {
    const s = await aSnapshotter({ topology: 'on', ...options, seed: [] });
    const request = { name: 'group', source_volume_ids: ['volume-1', 'volume-2'] };
    const channel = s.driver.channel();
    await channel.call('/csi.v1.GroupController/CreateVolumeGroupSnapshot', request, { timeoutMs: 1_000 });
    s.driver.forgetCalls();
    s.server.seed(content);
    await s.settle();
    return s;
  }

  it.each([true, false])(
    '[csi-1.13#21] [csi-snapshotter#C28] given a member that is ready when its content is made: %j, then its places are written on its own content',
    async (isReady) => {
      const s = await withGroup(member(isReady));
      expect([s.calls(), placesOf(s), s.content()?.status?.readyToUse]).toEqual([
        ['ListSnapshots OK'],
        terms('a'),
        true,
      ]);
      await s.clock.advance(3_600_000);
      expect([s.calls().length, s.events]).toEqual([1, []]);
      await s.stop();
    },
  );

  it('[csi-1.13#21] given a driver that names no topologies, then it is asked once about a member that is ready, until the member left the cache or the process restarts', async () => {
    const s = await withGroup(member(true), { model: { nodes: 'any' } });
    s.changeContent((it) => ({ ...it, metadata: { ...it.metadata, labels: { a: 'b' } } }));
    await s.clock.advance(3_600_000);
    expect([s.calls(), s.writes(), placesOf(s)]).toEqual([['ListSnapshots OK'], [], undefined]);
    s.server.objects.remove(volumeSnapshotContents, { name: 'content' });
    await s.settle();
    s.server.seed(member(true));
    await s.settle();
    expect(s.calls()).toHaveLength(2);
    const next = await aSnapshotter({ topology: 'on', cluster: s.crash() });
    expect(next.calls()).toHaveLength(3);
    await next.stop();
  });

  it.each([
    { given: 'the gate off', options: { settings: { snapshotTopology: false } } },
    { given: 'a driver without the capability', options: { topology: 'unsupported' as const } },
    { given: 'a driver that does not list', options: { controller: [] } },
  ])('given $given, then a member that is ready is not asked about', async ({ options }) => {
    const s = await withGroup(member(true), options);
    await s.clock.advance(3_600_000);
    expect([s.calls(), s.writes()]).toEqual([[], []]);
    await s.stop();
  });

  it('given a member of a pre-provisioned group that is ready, then it is not asked about', async () => {
    const content = member(true);
    const s = await withGroup({ ...content, spec: { ...content.spec, source: { snapshotHandle: 'snapshot-5' } } });
    expect([s.calls(), s.writes(), placesOf(s)]).toEqual([[], [], undefined]);
    await s.stop();
  });

  it('given places that an administrator has written, an empty list too, then a member that is ready is not asked about', async () => {
    for (const nodeAffinity of [terms('b'), []]) {
      const content = member(true);
      const s = await withGroup({ ...content, spec: { ...content.spec, nodeAffinity } });
      expect([s.calls(), s.writes(), placesOf(s)]).toEqual([[], [], nodeAffinity]);
      await s.stop();
    }
  });

  it('given a list that fails, then it is asked for again with the backoff, and the member stays ready', async () => {
    const s = await aSnapshotter({ topology: 'on', seed: [] });
    s.failCalls('Internal', { method: 'ListSnapshots', times: 2 });
    s.server.seed(member(true));
    await s.settle();
    expect([s.content()?.status, s.writes(), s.events]).toEqual([{ ...filledIn, readyToUse: true }, [], []]);
    await s.clock.advance(10_000);
    expect(s.calls().length).toBeGreaterThan(2);
    await s.stop();
  });

  it('given a definition that lacks the field, then one drop, and no member is asked about for ten minutes', async () => {
    const s = await withGroup(member(true), { definition: 'released' });
    await s.clock.advance(500_000);
    expect([s.calls().length, dropped(s), droppedLines(s)]).toEqual([1, 1, 1]);
    await s.stop();
  });
});
