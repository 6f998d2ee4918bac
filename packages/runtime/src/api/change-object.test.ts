// SPDX-License-Identifier: Apache-2.0
import { expect, it } from 'vitest';
import {
  createFakeApiServer,
  FakeClock,
  type FakeApiServer,
  type FaultRule,
  script,
  seededRandom,
  settle,
  withFaults,
} from '../../testing/index.ts';
import { silentLogger } from '../log/logger.ts';
import {
  changeObject,
  type ChangedOnce,
  changeObjectOnce,
  type MergePatch,
  type ObjectChange,
} from './change-object.ts';
import type { CallOptions } from './client.ts';
import { createApiClient } from './create-client.ts';
import { isConflict, isNotFound } from './error-predicates.ts';
import type { KubeObject } from './objects.ts';
import type { Resource } from './resource.ts';

interface Widget extends KubeObject {
  readonly spec?: { readonly size?: number; readonly colour?: string };
  readonly status?: { readonly createdAt?: number | bigint; readonly ready?: boolean; readonly error?: string };
}

const widgets: Resource<Widget> = {
  group: 'test.io',
  version: 'v1',
  plural: 'widgets',
  kind: 'Widget',
  namespaced: true,
};
const ref = { namespace: 'team', name: 'a' };

function createSetting(widget: Partial<Widget> = {}) {
  const clock = new FakeClock();
  const random = seededRandom(1);
  const server: FakeApiServer = createFakeApiServer({ clock, random });
  const faults: FaultRule[] = [];
  server.addTypes({ ...widgets, custom: true, generation: true, status: 'statusOnly' });
  const client = createApiClient(
    { transport: withFaults(server.transport, { clock, decide: script(faults) }), clock, logger: silentLogger },
    { userAgent: 'test', qps: -1, burst: 0 },
  );
  const object = server.seed<Widget>({
    apiVersion: 'test.io/v1',
    kind: 'Widget',
    ...widget,
    metadata: { ...ref, ...widget.metadata },
  });
  const remembered: Widget[] = [];
  const doubted: Widget[] = [];
  const cache = {
    remember: (stored: Widget) => void remembered.push(stored),
    doubt: (written: Widget) => void doubted.push(written),
  };
  const lose = (point: 'before' | 'after'): void =>
    void faults.push({ when: ({ verb }) => verb === 'patch', fault: { kind: 'break', point, failure: 'eof' } });
  type Part = Omit<ObjectChange<Widget>, 'resource' | 'object'>;
  const start = (part: Part, from: Widget = object, options: CallOptions = {}): Promise<Widget> =>
    changeObject({ client, clock, random, cache }, { resource: widgets, object: from, ...part }, options);
  const change = async (part: Part, from: Widget = object): Promise<Widget> => {
    const changing = start(part, from);
    changing.catch(() => undefined);
    for (let turn = 0; turn < 6; turn++) await clock.advance(20);
    return await changing;
  };
  const once = (patch: MergePatch): Promise<ChangedOnce<Widget>> =>
    changeObjectOnce({ client, cache }, { resource: widgets, object, patch: () => patch });
  const refuse = (when: FaultRule['when'], code: number, reason: string): void =>
    void faults.push({ when, fault: { kind: 'status', point: 'before', code, reason } });
  const requests = (): readonly string[] =>
    server.requests.map(({ verb, subresource, code }) => [verb, subresource, code].filter(Boolean).join(' '));
  return { server, object, start, change, once, remembered, doubted, lose, refuse, requests };
}

it('given a copy that is current, then one request changes the named fields, and the cache has the answer', async () => {
  const { object, change, remembered, requests, server } = createSetting({ spec: { size: 1, colour: 'red' } });
  const stored = await change({ patch: () => ({ spec: { size: 2 } }) });
  expect(stored.spec).toEqual({ size: 2, colour: 'red' });
  expect(remembered).toEqual([stored]);
  expect(requests()).toEqual(['patch 200']);
  expect(server.writes()[0]?.body).toEqual({
    spec: { size: 2 },
    metadata: { uid: object.metadata?.uid, resourceVersion: object.metadata?.resourceVersion },
  });
});

it('given a change of labels, then they are changed in exactly this version', async () => {
  const { object, change, server } = createSetting();
  const stored = await change({ patch: () => ({ metadata: { labels: { a: 'b' } } }) });
  expect(stored.metadata?.labels).toEqual({ a: 'b' });
  const { uid, resourceVersion } = object.metadata ?? {};
  expect(server.writes()[0]?.body).toEqual({ metadata: { labels: { a: 'b' }, uid, resourceVersion } });
});

it('given an object without a name, then nothing is sent', async () => {
  const { change, requests } = createSetting();
  const nameless = { apiVersion: 'test.io/v1', kind: 'Widget' };
  const changed = change({ patch: () => ({ spec: { size: 2 } }) }, nameless);
  await expect(changed).rejects.toThrow('the name of a Widget must not be empty');
  expect(requests()).toEqual([]);
});

it('given a caller that cancels, before the write or between two of them, then nothing more is sent', async () => {
  const { server, object, start, requests } = createSetting({ spec: { size: 1 } });
  const resize = { patch: () => ({ spec: { size: 2 } }) };
  const early = start(resize, object, { signal: AbortSignal.abort('early') });
  await expect(early).rejects.toMatchObject({ failure: 'aborted', cause: 'early' });
  server.objects.change(widgets, ref, (widget) => ({ ...widget, spec: { size: 5 } }));
  const stop = new AbortController();
  const late = start(resize, object, { signal: stop.signal }).catch((reason: unknown) => reason);
  await settle();
  stop.abort('late');
  expect(await late).toBe('late');
  expect(requests()).toEqual(['patch 409']);
});

it('given nothing to change, then nothing is sent, and the copy is the answer', async () => {
  const { object, change, remembered, requests } = createSetting();
  expect(await change({ patch: () => undefined })).toBe(object);
  expect([requests(), remembered]).toEqual([[], []]);
});

it('given the object changed since, then it is read again, and the change is computed for what it is now', async () => {
  const { server, change, requests } = createSetting({ spec: { size: 1 } });
  server.objects.change(widgets, ref, (widget) => ({ ...widget, spec: { size: 5, colour: 'blue' } }));
  const seen: unknown[] = [];
  const stored = await change({
    patch: ({ spec }) => {
      seen.push(spec);
      return { spec: { size: (spec?.size ?? 0) + 1 } };
    },
  });
  expect(seen).toEqual([{ size: 1 }, { size: 5, colour: 'blue' }]);
  expect(stored.spec).toEqual({ size: 6, colour: 'blue' });
  expect(requests()).toEqual(['patch 409', 'get 200', 'patch 200']);
});

it('given a change that another writer made meanwhile, then the object as the server has it is the answer, and the cache has it', async () => {
  const { server, change, remembered, requests } = createSetting({ spec: { size: 1 } });
  server.objects.change(widgets, ref, (widget) => ({ ...widget, spec: { size: 2 } }));
  const stored = await change({ patch: ({ spec }) => (spec?.size === 2 ? undefined : { spec: { size: 2 } }) });
  expect(stored.spec).toEqual({ size: 2 });
  expect([requests(), remembered]).toEqual([['patch 409', 'get 200'], [stored]]);
});

it('given a time in nanoseconds that another writer set, then a change of the status beside it keeps every digit', async () => {
  const { change } = createSetting({ status: { createdAt: 1_763_836_800_123_456_789n, error: 'no' } });
  const stored = await change({ subresource: 'status', patch: () => ({ status: { ready: true, error: null } }) });
  expect(stored.status).toEqual({ createdAt: 1_763_836_800_123_456_789n, ready: true });
});

it('given five conflicts in a row, then the last one is thrown', async () => {
  const { server, change, requests } = createSetting({ spec: { size: 1 } });
  const always = (): MergePatch => {
    server.objects.change(widgets, ref, (widget) => ({ ...widget, spec: { size: (widget.spec?.size ?? 0) + 1 } }));
    return { spec: { colour: 'red' } };
  };
  const error = await change({ patch: always }).catch((thrown: unknown) => thrown);
  expect(isConflict(error)).toBe(true);
  expect(requests().filter((request) => request === 'patch 409')).toHaveLength(5);
});

it('given another object of the name, then it is left alone, and the conflict is thrown without further tries', async () => {
  const { server, object, change, requests } = createSetting({ spec: { size: 1 } });
  server.objects.remove(widgets, ref);
  const other = server.seed<Widget>({ apiVersion: 'test.io/v1', kind: 'Widget', metadata: ref });
  const error = await change({ patch: () => ({ spec: { size: 2 } }) }, object).catch((thrown: unknown) => thrown);
  expect(isConflict(error)).toBe(true);
  expect(requests()).toEqual(['patch 409', 'get 200']);
  expect(server.objects.get(widgets, ref)).toEqual(other);
});

it('given the object is gone, then NotFound is thrown', async () => {
  const { server, object, change } = createSetting();
  server.objects.remove(widgets, ref);
  const error = await change({ patch: () => ({ spec: { size: 2 } }) }, object).catch((thrown: unknown) => thrown);
  expect(isNotFound(error)).toBe(true);
});

it('given a built-in kind, then the patch may be a strategic one', async () => {
  const { server, change } = createSetting();
  const failed = await change({ type: 'strategic', patch: () => ({ spec: { size: 2 } }) }).catch(
    (error: unknown) => error,
  );
  expect([failed, server.requests.map(({ code }) => code)]).toMatchObject([{ status: 415 }, [415]]);
});

it.each(['before', 'after'] as const)(
  '[runtime#201] given an answer that is lost %s the commit, then the error is thrown, nothing is sent again, and the object is in doubt',
  async (point) => {
    const { object, change, lose, doubted, remembered, requests } = createSetting({ spec: { size: 1 } });
    lose(point);
    const error = await change({ patch: () => ({ spec: { size: 2 } }) }).catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({ failure: 'eof' });
    expect([doubted, remembered, requests()]).toEqual([[object], [], point === 'before' ? [] : ['patch 200']]);
  },
);

it('[runtime#201] given a refusal, then the object is not in doubt', async () => {
  const { change, doubted } = createSetting();
  const refused = change({ patch: () => ({ metadata: { labels: { 'not a name': 'x' } } }) });
  await expect(refused).rejects.toMatchObject({ status: 422 });
  expect(doubted).toEqual([]);
});

it('[runtime#221] given a write that a call will follow from, when the copy is current, then one request changes exactly that version', async () => {
  const { object, once, remembered, requests, server } = createSetting({ spec: { size: 1, colour: 'red' } });
  const changed = await once({ spec: { size: 2 } });
  expect([changed.written, changed.object.spec]).toEqual(['done', { size: 2, colour: 'red' }]);
  expect([remembered, requests()]).toEqual([[changed.object], ['patch 200']]);
  const { uid, resourceVersion } = object.metadata ?? {};
  expect(server.writes()[0]?.body).toEqual({ spec: { size: 2 }, metadata: { uid, resourceVersion } });
});

it('[runtime#221] given a write that a call will follow from, when others have changed the object, then it is read, and the caller decides again', async () => {
  const { server, once, remembered, requests } = createSetting({ spec: { size: 1 } });
  server.objects.change(widgets, ref, (widget) => ({ ...widget, spec: { size: 5 } }));
  const current = server.objects.get(widgets, ref);
  expect(await once({ spec: { size: 2 } })).toEqual({ written: 'changed', object: current });
  expect([remembered, requests()]).toEqual([[current], ['patch 409', 'get 200']]);
});

it('[runtime#221] given a 409 for an object that has not changed, or that cannot be read, then it is a failure, and the cache learns nothing', async () => {
  const { once, refuse, remembered, doubted, requests } = createSetting({ spec: { size: 1 } });
  for (const isReadable of [true, false]) {
    refuse(({ verb }) => verb === 'patch', 409, 'Conflict');
    if (!isReadable) refuse(({ verb }) => verb === 'get', 403, 'Forbidden');
    const error = await once({ spec: { size: 2 } }).catch((thrown: unknown) => thrown);
    expect(isConflict(error)).toBe(true);
  }
  expect([remembered, doubted, requests()]).toEqual([[], [], ['get 200']]);
});

it('[runtime#221] given another failure than a conflict, then it is thrown, nothing is read, and without an answer the object is in doubt', async () => {
  const { object, once, refuse, lose, doubted, requests } = createSetting({ spec: { size: 1 } });
  refuse(({ verb }) => verb === 'patch', 403, 'Forbidden');
  await expect(once({ spec: { size: 2 } })).rejects.toMatchObject({ status: 403 });
  expect(doubted).toEqual([]);
  lose('after');
  await expect(once({ spec: { size: 2 } })).rejects.toMatchObject({ failure: 'eof' });
  expect([doubted, requests()]).toEqual([[object], ['patch 200']]);
});
