// SPDX-License-Identifier: Apache-2.0
import { describe, expect, it } from 'vitest';
import {
  createFakeApiServer,
  FakeClock,
  recordingLogger,
  script,
  seededRandom,
  settle,
  withFaults,
  type Fault,
  type FaultRule,
  type FaultTarget,
} from '../../testing/index.ts';
import { createApiClient } from '../api/create-client.ts';
import type { Event, KubeObject, PersistentVolumeClaim } from '../api/objects.ts';
import { events, persistentVolumeClaims } from '../api/resource.ts';
import { createEventRecorder, type EventRecorderOptions } from './create-event-recorder.ts';
import type { RecordedEvent, WrittenEvents } from './recorder.ts';

const claim = (name: string, fields: Partial<NonNullable<KubeObject['metadata']>> = {}): KubeObject => ({
  apiVersion: 'v1',
  kind: 'PersistentVolumeClaim',
  metadata: { name, namespace: 'apps', uid: `uid-${name}`, resourceVersion: '7', ...fields },
});
const warning = (message: string, fields: Partial<RecordedEvent> = {}): RecordedEvent => ({
  type: 'Warning',
  reason: 'ProvisioningFailed',
  message,
  ...fields,
});
const broken: Fault = { kind: 'break', point: 'before', failure: 'refused' };

function aFixture(
  faults: readonly FaultRule[] = [],
  options: Partial<EventRecorderOptions> = {},
  writtenEvents?: WrittenEvents,
) {
  const clock = new FakeClock();
  const logger = recordingLogger();
  const server = createFakeApiServer({ clock, random: seededRandom(1) });
  const transport = withFaults(server.transport, { clock, decide: script(faults) });
  const client = createApiClient({ transport, clock, logger }, { userAgent: 'test', qps: -1, burst: 0 });
  let dropped = 0;
  const recorder = createEventRecorder(
    { client, clock, random: seededRandom(2), logger, writtenEvents, onDropped: () => (dropped += 1) },
    { component: 'driver.example.com', ...options },
  );
  return {
    clock,
    logger,
    server,
    client,
    recorder,
    dropped: () => dropped,
    stored: (): readonly Event[] => server.objects.list(events),
    counts: () => server.objects.list(events).map(({ message, count }) => `${count}x ${message}`),
    writes: () => server.writes().map(({ verb, name, code, body }) => ({ verb, name, code, body })),
    errors: () => logger.lines.filter(({ kind }) => kind === 'error').map(({ message }) => message),
  };
}
type Fixture = ReturnType<typeof aFixture>;

async function recordAll({ recorder, clock }: Fixture, messages: readonly string[], everyMs = 1000): Promise<void> {
  for (const message of messages) {
    recorder.record(claim('data'), warning(message));
    await clock.advance(everyMs);
  }
}
const numbered = (count: number): readonly string[] => Array.from({ length: count }, (_, index) => `m${index + 1}`);

describe('what is written', () => {
  it('given an event, then it has all fields of upstream, and is logged', async () => {
    const { clock, recorder, stored, logger } = aFixture();
    recorder.record(claim('data'), warning('no space'));
    await clock.advance(0);
    const [event] = stored();
    expect(event?.metadata?.name).toMatch(/^data\.188672[0-9a-f]+$/);
    expect(event).toMatchObject({
      metadata: { namespace: 'apps' },
      involvedObject: {
        apiVersion: 'v1',
        kind: 'PersistentVolumeClaim',
        namespace: 'apps',
        name: 'data',
        uid: 'uid-data',
        resourceVersion: '7',
      },
      type: 'Warning',
      reason: 'ProvisioningFailed',
      message: 'no space',
      source: { component: 'driver.example.com' },
      reportingComponent: 'driver.example.com',
      reportingInstance: '',
      firstTimestamp: '2026-01-01T00:00:00Z',
      lastTimestamp: '2026-01-01T00:00:00Z',
      count: 1,
    });
    expect(event).not.toHaveProperty('eventTime');
    expect(logger.lines).toEqual([
      {
        kind: 'info',
        level: 0,
        message: 'Event occurred',
        facts: {
          object: 'apps/data',
          fieldPath: '',
          kind: 'PersistentVolumeClaim',
          apiVersion: 'v1',
          type: 'Warning',
          reason: 'ProvisioningFailed',
          message: 'no space',
        },
      },
    ]);
  });

  it('[runtime#154] given an event three times, then it is created once and patched twice, with counts 1, 2, 3', async () => {
    const fixture = aFixture();
    await recordAll(fixture, ['same', 'same', 'same']);
    const name = fixture.stored()[0]?.metadata?.name;
    expect(fixture.writes()).toEqual([
      { verb: 'create', name: undefined, code: 201, body: expect.objectContaining({ count: 1 }) as unknown },
      { verb: 'patch', name, code: 200, body: { count: 2, lastTimestamp: '2026-01-01T00:00:01Z', message: 'same' } },
      { verb: 'patch', name, code: 200, body: { count: 3, lastTimestamp: '2026-01-01T00:00:02Z', message: 'same' } },
    ]);
    expect(fixture.server.writes()[1]?.contentType).toBe('application/strategic-merge-patch+json');
    expect(fixture.stored()[0]).toMatchObject({ firstTimestamp: '2026-01-01T00:00:00Z', count: 3 });
  });

  it.each(['a/b', 'Upper', 'x'.repeat(240)])(
    '[runtime#164] given an object called %s, then the name of its event is a UUID',
    async (name) => {
      const { clock, recorder, stored } = aFixture();
      recorder.record(claim(name), warning('x'));
      await clock.advance(0);
      expect(stored()[0]?.metadata?.name).toMatch(
        /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/,
      );
    },
  );

  it('[runtime#165] given an object without a namespace, then its event is in default', async () => {
    const { clock, recorder, stored, logger } = aFixture([], { host: 'node-1' });
    const volume = { apiVersion: 'v1', kind: 'PersistentVolume', metadata: { name: 'pv' } };
    recorder.record(volume, warning('x'));
    recorder.record(volume, warning('x', { fieldPath: 'spec' }));
    await clock.advance(0);
    expect(logger.lines.map(({ facts }) => [facts['object'], facts['fieldPath']])).toEqual([
      ['pv', ''],
      ['pv', 'spec'],
    ]);
    expect(stored()[0]?.reportingInstance).toBe('node-1');
    expect(stored()[0]?.metadata?.namespace).toBe('default');
    expect(stored()[0]?.involvedObject).toEqual({ apiVersion: 'v1', kind: 'PersistentVolume', name: 'pv' });
  });

  it('[runtime#166] given an unknown event type, then an error is logged and nothing is sent', async () => {
    const { clock, recorder, writes, errors } = aFixture();
    recorder.record(claim('data'), { type: 'Error' as 'Warning', reason: 'R', message: 'm' });
    await clock.advance(0);
    expect([writes(), errors()]).toEqual([[], ['Unsupported event type']]);
  });

  it('[runtime#167] given an object from a list, then its event still knows kind and apiVersion', async () => {
    const { clock, recorder, stored, server, client } = aFixture();
    server.seed<PersistentVolumeClaim>({ ...claim('data'), spec: {} });
    const { items } = await client.list(persistentVolumeClaims);
    recorder.record(items[0] ?? {}, warning('x'));
    await clock.advance(0);
    expect(stored()[0]?.involvedObject).toMatchObject({ apiVersion: 'v1', kind: 'PersistentVolumeClaim' });
  });

  it('given an object without kind and name, then an error is logged and the caller continues', async () => {
    const { recorder, errors } = aFixture();
    recorder.record({}, warning('x'));
    expect(errors()).toEqual(['Could not construct reference, will not report event']);
  });

  it('given two messages in the same millisecond, then both have a name of their own', async () => {
    const { clock, recorder, stored } = aFixture();
    for (const message of numbered(9)) recorder.record(claim('data'), warning(message));
    await clock.advance(0);
    expect(new Set(stored().map(({ metadata }) => metadata.name)).size).toBe(9);
  });
});

describe('events of one name', () => {
  const named = warning('node n1 is gone', { name: 'uid-data.1' });

  it('given two processes that record the same event, then there is one object, and the second one counts on in it without an error', async () => {
    const first = aFixture();
    const { client, clock, logger, stored, errors } = first;
    const second = createEventRecorder(
      { client, clock, random: seededRandom(3), logger },
      { component: 'driver.example.com_other' },
    );
    for (let round = 0; round < 3; round++) {
      for (const recorder of [first.recorder, second]) {
        recorder.record(claim('data'), named);
        await clock.advance(1000);
      }
    }
    expect(stored().map(({ metadata, source, count }) => [metadata.name, source?.component, count])).toEqual([
      ['uid-data.1', 'driver.example.com', 3],
    ]);
    first.server.objects.remove(events, { namespace: 'apps', name: 'uid-data.1' });
    second.record(claim('data'), named);
    await clock.advance(0);
    expect(stored().map(({ firstTimestamp, count }) => [firstTimestamp, count])).toEqual([['2026-01-01T00:00:00Z', 4]]);
    expect(errors()).toEqual([]);
  });
});

describe('aggregation and spam', () => {
  it('[runtime#155] given ten distinct messages and more within 10 min, then nine events and one aggregate that counts up', async () => {
    const fixture = aFixture();
    await recordAll(fixture, [...numbered(12), 'm12', 'm1']);
    expect(fixture.counts()).toEqual([
      '2x m1',
      ...numbered(9)
        .slice(1)
        .map((message) => `1x ${message}`),
      '4x (combined from similar events): m12',
    ]);
    const combined = fixture.stored().at(-1);
    expect(combined?.metadata?.name).toMatch(/^data\.[0-9a-f]+$/);
    expect(combined).not.toHaveProperty('reportingComponent');
    expect(combined).toMatchObject({
      source: { component: 'driver.example.com' },
      firstTimestamp: '2026-01-01T00:00:09Z',
    });
  });

  it('[runtime#156] given distinct messages more than 10 min apart, then they are never aggregated', async () => {
    const fixture = aFixture();
    await recordAll(fixture, numbered(15), 600_001);
    expect(fixture.counts()).toEqual(numbered(15).map((message) => `1x ${message}`));
  });

  it('[runtime#157] given the same message for several field paths, then they are counted separately', async () => {
    const { clock, recorder, counts, stored } = aFixture();
    for (const fieldPath of ['spec.a', 'spec.b', 'spec.a']) {
      recorder.record(claim('data'), warning('m', { fieldPath }));
      await clock.advance(1000);
    }
    expect(counts()).toEqual(['2x m', '1x m']);
    expect(stored().map(({ involvedObject }) => involvedObject.fieldPath)).toEqual(['spec.a', 'spec.b']);
  });

  it('given distinct messages for several field paths, then they are aggregated together', async () => {
    const { clock, recorder, counts } = aFixture();
    for (const [index, message] of numbered(11).entries()) {
      recorder.record(claim('data'), warning(message, { fieldPath: `spec.${index}` }));
      await clock.advance(1000);
    }
    expect(counts().at(-1)).toBe('2x (combined from similar events): m11');
  });

  it('[runtime#158] given 26 and more events of a type on an object, then 25 are written, then one per 300 s, with the full count', async () => {
    const fixture = aFixture();
    const { clock, recorder, counts, writes, errors } = fixture;
    for (let i = 0; i < 40; i += 1) recorder.record(claim('data'), warning('again'));
    await clock.advance(0);
    expect([counts(), writes().length]).toEqual([['25x again'], 25]);
    await clock.advance(300_000);
    recorder.record(claim('data'), warning('again'));
    recorder.record(claim('data'), warning('again'));
    await clock.advance(0);
    expect([counts(), writes().length]).toEqual([['41x again'], 26]);
    recorder.record(claim('data'), warning('again'));
    await clock.advance(300_000);
    recorder.record(claim('data'), warning('again'));
    await clock.advance(0);
    expect([counts(), writes().length, errors()]).toEqual([['44x again'], 27, []]);
  });

  it('given a first event that the spam filter dropped, then the next one that passes is created with the count', async () => {
    const { clock, recorder, counts, writes } = aFixture();
    for (let i = 0; i < 25; i += 1) recorder.record(claim('data'), warning('first'));
    recorder.record(claim('data'), warning('other'));
    await clock.advance(300_000);
    recorder.record(claim('data'), warning('other'));
    await clock.advance(0);
    expect(counts()).toEqual(['25x first', '2x other']);
    expect(
      writes()
        .slice(-2)
        .map(({ verb, code }) => `${verb} ${code}`),
    ).toEqual(['patch 404', 'create 201']);
  });

  it('[runtime#159] given normal events and warnings, then each type has its own budget', async () => {
    const { clock, recorder, counts } = aFixture();
    for (let i = 0; i < 30; i += 1) {
      recorder.record(claim('data'), warning('bad'));
      recorder.record(claim('data'), { type: 'Normal', reason: 'R', message: 'good' });
    }
    await clock.advance(0);
    expect(counts()).toEqual(['25x bad', '25x good']);
  });
});

describe('what goes wrong', () => {
  const isWrite = ({ verb }: FaultTarget) => verb === 'create' || verb === 'patch';

  it('[runtime#160] given an event that the server no longer has, then it is created again with the current count, and patched from then on', async () => {
    const fixture = aFixture();
    await recordAll(fixture, ['m', 'm']);
    const { metadata } = fixture.stored()[0]!;
    fixture.server.objects.remove(events, { namespace: metadata.namespace, name: metadata.name ?? '' });
    await recordAll(fixture, ['m', 'm']);
    expect(fixture.writes().map(({ verb, code }) => `${verb} ${code}`)).toEqual([
      'create 201',
      'patch 200',
      'patch 404',
      'create 201',
      'patch 200',
    ]);
    expect(fixture.counts()).toEqual(['4x m']);
    expect(fixture.writes()[3]?.body).not.toHaveProperty('metadata.resourceVersion');
  });

  it('[runtime#161] given a refusal, then one error is logged, the write is not retried, and the next event is written', async () => {
    const forbidden: Fault = { kind: 'status', point: 'before', code: 403, reason: 'Forbidden' };
    const fixture = aFixture([{ when: isWrite, fault: forbidden }]);
    await recordAll(fixture, ['a', 'b'], 60_000);
    expect([fixture.errors(), fixture.counts()]).toEqual([['Server rejected event (will not retry!)'], ['1x b']]);
  });

  it('[runtime#162] given a namespace that is being deleted, then the event is dropped silently', async () => {
    const clock = new FakeClock();
    const logger = recordingLogger();
    const body = JSON.stringify({
      kind: 'Status',
      apiVersion: 'v1',
      status: 'Failure',
      reason: 'Forbidden',
      code: 403,
      message: 'being terminated',
      details: { causes: [{ reason: 'NamespaceTerminating', message: 'gone soon' }] },
    });
    const client = createApiClient(
      {
        clock,
        logger,
        transport: async () => ({
          status: 403,
          headers: { 'content-type': 'application/json' },
          body: (async function* () {
            yield Buffer.from(body);
          })(),
        }),
      },
      { userAgent: 'test', qps: -1, burst: 0 },
    );
    const recorder = createEventRecorder({ client, clock, logger, random: seededRandom(1) }, { component: 'c' });
    recorder.record(claim('data'), warning('x'));
    await clock.advance(60_000);
    expect(logger.lines.map(({ kind, message }) => `${kind} ${message}`)).toEqual([
      'info Event occurred',
      'info Server rejected event (will not retry!)',
    ]);
    expect(clock.pending).toBe(0);
  });

  it('[runtime#163] given no API server, then 12 tries over about 2 min; a thousand events wait, and what is more is dropped', async () => {
    const fixture = aFixture([{ when: isWrite, fault: broken, times: Infinity }]);
    const { clock, recorder, errors, dropped } = fixture;
    for (const message of numbered(1002)) recorder.record(claim('data'), warning(message));
    const full = 'Unable to record event: too many queued events, dropped event';
    expect([errors().filter((message) => message === full).length, dropped()]).toEqual([2, 2]);
    const tries = () => errors().filter((message) => message.startsWith('Unable to write event')).length;
    await clock.advance(100_000);
    expect(tries()).toBeLessThan(12);
    await clock.advance(10_000);
    expect(errors().filter((message) => message === 'Unable to write event (retry limit exceeded!)')).toHaveLength(1);
    expect(tries()).toBeGreaterThanOrEqual(12);
    expect(dropped()).toBe(3);
  });

  it('given events of one object that cannot be written, then each is tried 12 times, and the first pause is a random part of the others', async () => {
    const triedMs: number[] = [];
    const when = (target: FaultTarget) => isWrite(target) && triedMs.push(clock.monotonicMs()) > 0;
    const { clock, recorder } = aFixture([{ when, fault: broken, times: Infinity }]);
    for (const message of numbered(2)) recorder.record(claim('data'), warning(message));
    await clock.advance(300_000);
    const pauses = triedMs.slice(1).map((ms, index) => Math.round(ms - triedMs[index]!));
    const tries = [
      expect.toSatisfy((ms: number) => ms > 0 && ms < 10_000),
      ...Array.from({ length: 10 }, () => 10_000),
    ];
    expect(pauses).toEqual([...tries, 0, ...tries]);
  });

  it('given a callback for dropped events that fails, then that is logged, and the next event is written', async () => {
    const { client, clock, logger, counts, errors } = aFixture([{ when: isWrite, fault: broken, times: 12 }]);
    const onDropped = () => {
      throw new Error('defect');
    };
    const recorder = createEventRecorder(
      { client, clock, logger, random: seededRandom(1), onDropped },
      { component: 'c' },
    );
    for (const message of numbered(1001)) recorder.record(claim('data'), warning(message));
    expect(errors()).toEqual([
      'Unable to record event: too many queued events, dropped event',
      'Unable to record event',
    ]);
    await clock.advance(120_000);
    expect(errors().slice(-2)).toEqual([
      'Unable to write event (retry limit exceeded!)',
      'Unable to write event (defect)',
    ]);
    expect(counts()[0]).toBe('1x m2');
  });

  it('given no callback for dropped events, then they are dropped, and the recorder is empty after a flush', async () => {
    const { client, clock, logger } = aFixture([
      { when: isWrite, fault: broken, times: 12 },
      { when: isWrite, fault: { kind: 'hang', point: 'before' }, times: Infinity },
    ]);
    const recorder = createEventRecorder({ client, clock, logger, random: seededRandom(1) }, { component: 'c' });
    for (const message of numbered(1001)) recorder.record(claim('data'), warning(message));
    await clock.advance(120_000);
    const flushed = recorder.flush();
    await clock.advance(2000);
    await flushed;
    await settle();
    const errors = logger.lines.filter(({ kind, message }) => kind === 'error' && !message.includes('may retry'));
    expect(errors.map(({ message, facts }) => [message, facts['count']])).toEqual([
      ['Unable to record event: too many queued events, dropped event', undefined],
      ['Unable to write event (retry limit exceeded!)', undefined],
      ['Dropped events that could not be written in time', 999],
      ['Unable to write event (retry limit exceeded!)', undefined],
    ]);
    void recorder.flush();
    expect(clock.pending).toBe(0);
  });

  it.each([
    ['kind', { ...claim('data'), kind: 'Pod' }],
    ['namespace', claim('data', { namespace: 'other' })],
    ['name', claim('other', { uid: 'uid-data' })],
    ['UID', claim('data', { uid: 'other' })],
    [
      'kind and namespace, of the same letters',
      { ...claim('data', { namespace: 'pps' }), kind: 'PersistentVolumeClaima' },
    ],
  ])('given an event that hangs, then one of an object of another %s is written', async (_, object) => {
    const hang: Fault = { kind: 'hang', point: 'before' };
    const { clock, recorder, counts } = aFixture([{ when: isWrite, fault: hang }]);
    recorder.record(claim('data'), warning('hangs'));
    recorder.record(object, warning('fine'));
    await clock.advance(0);
    expect(counts()).toEqual(['1x fine']);
  });

  it('given a delay, then first events of objects wait that long, twice at most, and what came meanwhile follows', async () => {
    const { clock, recorder, counts } = aFixture([], { delayMs: 40 });
    recorder.record(claim('data'), warning('first'));
    await clock.advance(40);
    recorder.record(claim('data'), warning('second'));
    recorder.record(claim('other'), warning('third'));
    await clock.advance(1);
    recorder.record(claim('tardy'), warning('fourth'));
    await clock.advance(38);
    expect([counts(), clock.pending]).toEqual([[], 2]);
    await clock.advance(1);
    expect(counts()).toEqual(['1x first', '1x second', '1x third']);
    await clock.advance(40);
    expect(counts()).toEqual(['1x first', '1x second', '1x third']);
    await clock.advance(1);
    expect(counts()).toEqual(['1x first', '1x second', '1x third', '1x fourth']);
  });

  it.each([
    [0, 0],
    [1, 2],
  ])('given a delay of %i ms, then an event is written after %i ms', async (delayMs, expectedMs) => {
    const { clock, recorder, counts } = aFixture([], { delayMs });
    recorder.record(claim('data'), warning('m'));
    await settle();
    expect([counts().length, clock.pending]).toEqual(expectedMs === 0 ? [1, 0] : [0, 1]);
    await clock.advance(expectedMs);
    expect(counts()).toEqual(['1x m']);
  });

  it('given a delay, when the end comes first, then the event is written without it', async () => {
    const { clock, recorder, counts } = aFixture([], { delayMs: 40 });
    recorder.record(claim('data'), warning('first'));
    await recorder.flush();
    expect(counts()).toEqual(['1x first']);
    expect(clock.pending).toBe(0);
  });

  it('given an event that cannot be written, then those of other objects are written, and its own object keeps its order', async () => {
    const isStuck = (target: FaultTarget) =>
      isWrite(target) &&
      Buffer.from(target.request.body ?? [])
        .toString()
        .includes('"name":"stuck"');
    const { clock, recorder, stored } = aFixture([{ when: isStuck, fault: broken, times: 3 }]);
    recorder.record(claim('stuck'), warning('first'));
    recorder.record(claim('stuck'), warning('second'));
    for (const name of numbered(10)) recorder.record(claim(name), warning('fine'));
    await clock.advance(0);
    expect(new Set(stored().map(({ involvedObject }) => involvedObject.name))).toEqual(new Set(numbered(10)));
    await clock.advance(30_000);
    expect(
      stored()
        .slice(10)
        .map(({ message }) => message),
    ).toEqual(['first', 'second']);
  });

  it('given many objects, then no more than four requests are on their way at once', async () => {
    const fixture = aFixture([{ when: isWrite, fault: { kind: 'delay', ms: 1000 }, times: Infinity }]);
    const { clock, recorder, stored } = fixture;
    for (const name of numbered(10)) recorder.record(claim(name), warning('m'));
    await clock.advance(1000);
    expect(stored()).toHaveLength(4);
    await clock.advance(2000);
    expect(stored()).toHaveLength(10);
    for (const name of numbered(10)) recorder.record(claim(name), warning('n'));
    await clock.advance(1000);
    expect(stored()).toHaveLength(14);
  });
});

describe('flush', () => {
  const isWrite = ({ verb }: FaultTarget) => verb === 'create';

  it('given queued events, then it resolves when they are written', async () => {
    const { clock, recorder, stored, errors } = aFixture([
      { when: isWrite, fault: { kind: 'delay', ms: 500 }, times: Infinity },
    ]);
    for (const name of numbered(8)) recorder.record(claim(name), warning('m'));
    const flushed = recorder.flush();
    await clock.advance(1000);
    await flushed;
    expect([stored().length, clock.pending, errors()]).toEqual([8, 0, []]);
  });

  it('[runtime#168] given a server that hangs, then it ends after 2 s, the rest is dropped, and nothing is left behind', async () => {
    const fixture = aFixture([{ when: isWrite, fault: { kind: 'hang', point: 'before' }, times: Infinity }]);
    const { clock, recorder, dropped, errors } = fixture;
    for (const name of numbered(8)) recorder.record(claim(name), warning('m'));
    recorder.record(claim('m1'), warning('another'));
    let endedMs: number | undefined;
    const flushed = recorder.flush().then(() => (endedMs = clock.monotonicMs()));
    await clock.advance(1999);
    expect(endedMs).toBeUndefined();
    await clock.advance(1);
    await flushed;
    await clock.advance(0);
    expect([endedMs, dropped(), clock.pending]).toEqual([2000, 9, 0]);
    const inTime = 'Dropped events that could not be written in time';
    expect(errors()[0]).toBe(inTime);
    recorder.record(claim('m1'), warning('last'));
    const again = recorder.flush();
    await clock.advance(2000);
    await again;
    await settle();
    expect([errors().filter((message) => message === inTime).length, dropped()]).toEqual([2, 10]);
  });

  it('given an event that waits for its next try, then it is tried at once, and not again', async () => {
    const { clock, recorder, writes, stored, dropped } = aFixture([{ when: isWrite, fault: broken, times: 2 }]);
    recorder.record(claim('data'), warning('m'));
    await clock.advance(0);
    await recorder.flush();
    expect([writes(), stored(), dropped(), clock.pending]).toEqual([[], [], 1, 0]);
    recorder.record(claim('data'), warning('later'));
    await recorder.flush();
    expect(stored()).toHaveLength(1);
  });

  it('given nothing queued, then it resolves at once', async () => {
    await aFixture().recorder.flush();
  });
});

describe('deliver', () => {
  const isCreate = ({ verb }: FaultTarget): boolean => verb === 'create';

  it('given an event that is written, with an annotation, then written, and the event has the annotation', async () => {
    const { clock, recorder, stored } = aFixture();
    const delivered = recorder.deliver(claim('data'), warning('x', { annotations: { 'example.com/kind': 'Foo' } }));
    await clock.advance(0);
    expect(await delivered).toBe('written');
    expect(stored().map(({ metadata }) => metadata?.annotations)).toEqual([{ 'example.com/kind': 'Foo' }]);
  });

  it('given a server that does not answer once, then dropped after one try, and a repetition is written', async () => {
    const { clock, recorder, stored } = aFixture([{ when: isCreate, fault: broken, times: 1 }]);
    const delivered = recorder.deliver(claim('data'), warning('x'));
    await clock.advance(0);
    expect(await delivered).toBe('dropped');
    expect([stored(), clock.pending]).toEqual([[], 0]);
    const again = recorder.deliver(claim('data'), warning('x'));
    await clock.advance(0);
    expect([await again, stored().length]).toEqual(['written', 1]);
  });

  it.each([408, 429, 500, 504])(
    'given a server that answers once with %i, then dropped after one try',
    async (code) => {
      const fault: Fault = { kind: 'status', point: 'before', code, reason: '' };
      const { clock, recorder, writes } = aFixture([{ when: isCreate, fault, times: 1 }]);
      const delivered = recorder.deliver(claim('data'), warning('x'));
      await clock.advance(0);
      expect([await delivered, writes().length, clock.pending]).toEqual(['dropped', 0, 0]);
    },
  );

  it('given a refusal by the server, or an object without a kind, then refused', async () => {
    const { clock, recorder } = aFixture([
      { when: isCreate, fault: { kind: 'status', point: 'before', code: 403, reason: 'Forbidden' } },
    ]);
    const delivered = recorder.deliver(claim('data'), warning('x'));
    await clock.advance(0);
    expect([await delivered, await recorder.deliver({ metadata: { name: 'a' } }, warning('x'))]).toEqual([
      'refused',
      'refused',
    ]);
  });

  it('given more events of an object than the filter lets through, then filtered', async () => {
    const { clock, recorder } = aFixture();
    const deliveries = numbered(26).map(() => recorder.deliver(claim('data'), warning('same')));
    await clock.advance(0);
    expect((await Promise.all(deliveries)).slice(24)).toEqual(['written', 'filtered']);
  });

  it('given a thousand events that wait, then the next one is dropped at once', async () => {
    const { clock, recorder } = aFixture([
      { when: isCreate, fault: { kind: 'hang', point: 'before' }, times: Infinity },
    ]);
    for (const name of numbered(1000)) recorder.record(claim(name), warning('x'));
    expect(await recorder.deliver(claim('one-more'), warning('x'))).toBe('dropped');
    const flushed = recorder.flush();
    await clock.advance(2000);
    await flushed;
  });

  it('given a flush that ends before the events are written, then they are dropped', async () => {
    const { clock, recorder } = aFixture([
      { when: isCreate, fault: { kind: 'hang', point: 'before' }, times: Infinity },
    ]);
    const deliveries = [1, 2].map(() => recorder.deliver(claim('data'), warning('x')));
    const flushed = recorder.flush();
    await clock.advance(2000);
    await flushed;
    expect(await Promise.all(deliveries)).toEqual(['dropped', 'dropped']);
  });
});

describe('which events are written', () => {
  const starting = { type: 'Normal', reason: 'Provisioning', message: 'begins', isStart: true } as const;

  it('[runtime#282] given a recorder that writes outcomes only, when an event says that something begins, then it is neither written, counted nor logged, and its sender gets filtered; warnings and results are written', async () => {
    const { clock, counts, logger, recorder } = aFixture([], {}, 'outcome');
    for (let i = 0; i < 26; i += 1) expect(await recorder.deliver(claim('data'), starting)).toBe('filtered');
    expect(logger.lines).toEqual([]);
    recorder.record(claim('data'), { type: 'Normal', reason: 'Provisioned', message: 'done' });
    recorder.record(claim('data'), warning('no space'));
    await clock.advance(0);
    expect(counts()).toEqual(['1x done', '1x no space']);
  });

  it.each(['all', undefined] as const)(
    'given a recorder that writes %s, then an event that says that something begins is written without its mark',
    async (written) => {
      const { clock, recorder, stored } = aFixture([], {}, written);
      recorder.record(claim('data'), starting);
      await clock.advance(0);
      expect(stored().map(({ message }) => message)).toEqual(['begins']);
      expect(stored()[0]).not.toHaveProperty('isStart');
    },
  );
});
