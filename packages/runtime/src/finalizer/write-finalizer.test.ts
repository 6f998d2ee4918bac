// SPDX-License-Identifier: Apache-2.0
import { expect, it } from 'vitest';
import {
  createFakeApiServer,
  FakeClock,
  type FakeApiServer,
  type FaultRule,
  script,
  seededRandom,
  withFaults,
} from '../../testing/index.ts';
import type { ChangeObjectDeps } from '../api/change-object.ts';
import { createApiClient } from '../api/create-client.ts';
import { isInvalid, isNotFound } from '../api/error-predicates.ts';
import type { KubeObject, PersistentVolume, PersistentVolumeClaim } from '../api/objects.ts';
import { persistentVolumeClaims, persistentVolumes, type Resource } from '../api/resource.ts';
import { silentLogger } from '../log/logger.ts';
import { addFinalizer, removeFinalizer } from './write-finalizer.ts';

const finalizer = 'test.io/ours';

interface Setup<T extends KubeObject> extends ChangeObjectDeps<T> {
  readonly clock: FakeClock;
  readonly server: FakeApiServer;
  readonly remembered: readonly T[];
  readonly doubted: readonly T[];
  /** The next answer to a patch is lost after its commit. */
  readonly lose: () => void;
}

function createSetup<T extends KubeObject>(): Setup<T> {
  const clock = new FakeClock();
  const random = seededRandom(1);
  const server = createFakeApiServer({ clock, random });
  const faults: FaultRule[] = [];
  const transport = withFaults(server.transport, { clock, decide: script(faults) });
  const client = createApiClient({ transport, clock, logger: silentLogger }, { userAgent: 'test', qps: -1, burst: 0 });
  const remembered: T[] = [];
  const doubted: T[] = [];
  const lose = (): void =>
    void faults.push({
      when: ({ verb }) => verb === 'patch',
      fault: { kind: 'break', point: 'after', failure: 'eof' },
    });
  return {
    server,
    client,
    clock,
    random,
    remembered,
    doubted,
    lose,
    cache: { remember: (object) => void remembered.push(object), doubt: (object) => void doubted.push(object) },
  };
}

function aVolume(server: FakeApiServer, metadata: PersistentVolume['metadata'] = {}): PersistentVolume {
  return server.seed({ apiVersion: 'v1', kind: 'PersistentVolume', metadata: { name: 'pv1', ...metadata } });
}

it('given other finalizers, when ours is added, then it comes last, in one patch, and the cache has the answer', async () => {
  const setup = createSetup<PersistentVolume>();
  const object = aVolume(setup.server, { finalizers: ['z.io/a', 'a.io/b'] });
  const stored = await addFinalizer(setup, { resource: persistentVolumes, object, finalizer });
  expect(stored.metadata?.finalizers).toEqual(['z.io/a', 'a.io/b', finalizer]);
  expect(setup.server.writes().map(({ verb, path, code }) => [verb, path, code])).toEqual([
    ['patch', '/api/v1/persistentvolumes/pv1', 200],
  ]);
  expect(setup.remembered).toEqual([stored]);
});

it('given what is known is old, when ours is removed, then what others have changed since stays', async () => {
  const setup = createSetup<PersistentVolume>();
  const object = aVolume(setup.server, { finalizers: ['a.io/b', finalizer, 'c.io/d'] });
  setup.server.objects.change(persistentVolumes, { name: 'pv1' }, (volume) => ({
    ...volume,
    metadata: { ...volume.metadata, finalizers: [finalizer, 'e.io/f'] },
  }));
  const stored = await removeFinalizer(setup, { resource: persistentVolumes, object, finalizer });
  expect(stored.metadata?.finalizers).toEqual(['e.io/f']);
  expect(setup.remembered).toEqual([stored]);
});

it('given a namespaced object, then it is found in its namespace', async () => {
  const setup = createSetup<PersistentVolumeClaim>();
  const metadata = { namespace: 'team', name: 'data' };
  const object: PersistentVolumeClaim = setup.server.seed({
    apiVersion: 'v1',
    kind: 'PersistentVolumeClaim',
    metadata,
  });
  const stored = await addFinalizer(setup, { resource: persistentVolumeClaims, object, finalizer });
  expect([stored.metadata?.namespace, stored.metadata?.finalizers]).toEqual(['team', [finalizer]]);
});

it.each([
  { change: 'added', write: addFinalizer },
  { change: 'removed', write: removeFinalizer },
])(
  'given none or another object of the name, when ours is $change, then it is refused and nothing is remembered',
  async ({ write }) => {
    const setup = createSetup<PersistentVolume>();
    const object = aVolume(setup.server, { finalizers: [finalizer] });
    setup.server.objects.remove(persistentVolumes, { name: 'pv1' });
    const target = { resource: persistentVolumes, object, finalizer };
    expect(isNotFound(await write(setup, target).catch((error: unknown) => error))).toBe(true);
    const other = aVolume(setup.server, { finalizers: [finalizer] });
    expect(isInvalid(await write(setup, target).catch((error: unknown) => error))).toBe(true);
    expect(setup.server.objects.get(persistentVolumes, { name: 'pv1' })).toEqual(other);
    expect(setup.remembered).toEqual([]);
  },
);

it('given an aborted signal, then nothing is sent', async () => {
  const setup = createSetup<PersistentVolume>();
  const object = aVolume(setup.server);
  const adding = addFinalizer(setup, { resource: persistentVolumes, object, finalizer }, AbortSignal.abort());
  await expect(adding).rejects.toThrow();
  expect(setup.server.writes()).toEqual([]);
});

it.each([{}, { metadata: {} }])('given an object without a name, %o, then nothing is sent', async (object) => {
  const setup = createSetup<PersistentVolume>();
  const target = { resource: persistentVolumes, object, finalizer };
  await expect(addFinalizer(setup, target)).rejects.toThrow('the name of a PersistentVolume must not be empty');
  expect(setup.server.writes()).toEqual([]);
});

it.each([
  { change: 'added', write: addFinalizer, before: ['a.io/b'], after: ['a.io/b', finalizer] },
  { change: 'removed', write: removeFinalizer, before: [finalizer, 'a.io/b'], after: ['a.io/b'] },
])(
  '[runtime#205] given ours was $change and the answer was lost, then the object is in doubt, and the same patch again changes nothing',
  async ({ write, before, after }) => {
    const setup = createSetup<PersistentVolume>();
    const object = aVolume(setup.server, { finalizers: before });
    const target = { resource: persistentVolumes, object, finalizer };
    setup.lose();
    await expect(write(setup, target)).rejects.toThrow();
    expect([setup.doubted, setup.remembered]).toEqual([[object], []]);
    const stored = setup.server.objects.get(persistentVolumes, { name: 'pv1' });
    expect(await write(setup, target)).toEqual(stored);
    expect([stored?.metadata?.finalizers, setup.server.writes().map(({ code }) => code)]).toEqual([after, [200, 200]]);
  },
);

const widgets: Resource = { group: 'test.io', version: 'v1', plural: 'widgets', kind: 'Widget', namespaced: false };

it.each([
  { change: 'added', write: addFinalizer, before: ['a.io/b'], after: ['c.io/d', finalizer] },
  { change: 'removed', write: removeFinalizer, before: [finalizer, 'a.io/b'], after: ['c.io/d'] },
])(
  'given a custom resource that others have changed since, when ours is $change, then their finalizers stay as they are, and ours too when it is written again',
  async ({ write, before, after }) => {
    const setup = createSetup();
    setup.server.addTypes({ ...widgets, custom: true, status: 'absent' });
    const object = setup.server.seed({
      apiVersion: 'test.io/v1',
      kind: 'Widget',
      metadata: { name: 'a', finalizers: before },
    });
    setup.server.objects.change(widgets, { name: 'a' }, ({ metadata, ...widget }) => ({
      ...widget,
      metadata: { ...metadata, finalizers: [...before.filter((each) => each === finalizer), 'c.io/d'] },
    }));
    const writing = write(setup, { resource: widgets, object, finalizer });
    for (let turn = 0; turn < 6; turn += 1) await setup.clock.advance(20);
    const stored = await writing;
    expect(stored.metadata?.finalizers).toEqual(after);
    await write(setup, { resource: widgets, object: stored, finalizer });
    expect(setup.server.writes().map(({ code }) => code)).toEqual([409, 200]);
  },
);

it.each([
  { kind: 'a built-in kind', resource: persistentVolumes, apiVersion: 'v1', object: 'PersistentVolume' },
  { kind: 'a custom resource', resource: widgets, apiVersion: 'test.io/v1', object: 'Widget' },
])(
  'given $kind with finalizers of others, when two of them go with ours, then one request removes those that are there, and no other',
  async ({ resource, apiVersion, object: kind }) => {
    const setup = createSetup();
    setup.server.addTypes({ ...widgets, custom: true, status: 'absent' });
    const finalizers = ['a.io/b', finalizer, 'c.io/d'];
    const object = setup.server.seed<KubeObject>({ apiVersion, kind, metadata: { name: 'a', finalizers } });
    const stored = await removeFinalizer(setup, { resource, object, finalizer, others: ['a.io/b', 'e.io/f'] });
    expect([stored.metadata?.finalizers, setup.server.writes().map(({ code }) => code)]).toEqual([['c.io/d'], [200]]);
  },
);
