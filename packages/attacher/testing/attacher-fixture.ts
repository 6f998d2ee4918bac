// SPDX-License-Identifier: Apache-2.0
/**
 * The whole attacher, its real loops, caches and client, between a fake API server and the driver's model, in virtual time.
 * Nothing attaches or deletes by itself: a test plays the attach/detach controller where it needs one.
 */
import {
  createApiClient,
  createInformerFactory,
  createWorkQueueMetrics,
  type KubeObject,
  OrderlyStop,
  type PersistentVolume,
  persistentVolumes,
  type VolumeAttachment,
  volumeAttachments,
} from '@csi-sidecars/runtime';
import {
  createFakeApiServer,
  createLife,
  type FakeApiServer,
  FakeClock,
  type Fault,
  type FaultRule,
  mortal,
  mortalCall,
  recordingLogger,
  type RecordingLogger,
  recordingMetrics,
  type RecordingMetrics,
  script,
  seededRandom,
  settle,
  withFaults,
} from '@csi-sidecars/runtime/testing';
import { allCapabilities, createDriverModel, type DriverModel, type Settings } from '@csi-sidecars/test-driver';
import { createAttacher } from '../src/attacher.ts';
import { clusterRules, type PolicyRule } from '../src/rbac.ts';
import type { AttacherSettings } from '../src/settings.ts';
import { aCsiNode, anAttachment, aVolume, driverName, someSettings } from './builders.ts';

type ControllerCapability = (typeof allCapabilities.controller)[number];

export interface FixtureOptions {
  readonly settings?: Partial<AttacherSettings>;
  /** Controller capabilities beside CREATE_DELETE_VOLUME. Default: PUBLISH_UNPUBLISH_VOLUME. */
  readonly controller?: readonly ControllerCapability[];
  readonly model?: Partial<Settings>;
  /** Put into the API server before anything starts. Default: an attachment of `pv1`, which has our finalizer, and its node. */
  readonly seed?: readonly KubeObject[];
  /** From the first request on. */
  readonly faults?: readonly FaultRule[];
  /** Default: what `rbac.ts` asks for, and nothing more. */
  readonly rules?: readonly PolicyRule[];
  /** Asked around every API write and every call to the driver; `crash` ends the process there. Default: never. */
  readonly interrupt?: (operation: string, moment: 'before' | 'after') => 'crash' | undefined;
  /** A world that outlived the process that worked on it. */
  readonly world?: World;
}

/** What a crash of the attacher leaves as it is. */
export interface World {
  readonly clock: FakeClock;
  readonly server: FakeApiServer;
  readonly driver: DriverModel;
  readonly faults: FaultRule[];
}

export interface Fixture extends World {
  readonly metrics: RecordingMetrics;
  readonly logger: RecordingLogger;
  /** What was written so far: `patch volumeattachments/status va1 200`, in order. */
  writes(): readonly string[];
  /** The bodies of these, in order. */
  bodies(): readonly unknown[];
  /** What the driver was asked and said: `ControllerPublishVolume volume-1 id-of-node1 OK`, in order. */
  calls(): readonly string[];
  /** As sent to the driver. */
  requests(method: string): readonly Readonly<Record<string, unknown>>[];
  attachment(name?: string): VolumeAttachment | undefined;
  volume(name?: string): PersistentVolume | undefined;
  /** Node ids that the driver has the volume published on. */
  publishedOn(handle?: string): readonly string[];
  change(name: string, change: (attachment: VolumeAttachment) => VolumeAttachment): void;
  /** As by a user or the attach/detach controller: at once without finalizers, else marked. */
  delete(name?: string): void;
  /** The next so many requests of this kind, e.g. `patch volumeattachments/status`, meet this. */
  fault(what: string, fault: Fault, times?: number): void;
  /** Lets everything that can happen at this moment happen. */
  settle(): Promise<void>;
  /** The process stops in good order. */
  stop(): Promise<void>;
  /** The process is gone from one moment to the next: nothing it started is heard of again. */
  crash(): World;
}

/** Of the volume that `aVolume()` names. */
export const handle = 'volume-1';

export const forbidden: Fault = { kind: 'status', point: 'before', code: 403, reason: 'Forbidden' };
export const internalError: Fault = { kind: 'status', point: 'before', code: 500, reason: 'InternalError' };

export async function anAttacher(options: FixtureOptions = {}): Promise<Fixture> {
  const world = options.world ?? (await createWorld(options));
  const { clock, server, driver, faults } = world;
  const seed = options.seed ?? (options.world === undefined ? [anAttachment(), aVolume(), aCsiNode()] : []);
  for (const object of seed) server.seed(object);
  const random = seededRandom(2);
  const logger = recordingLogger();
  const metrics = recordingMetrics();
  const life = createLife(options.interrupt);
  const { stop } = life;
  const api = createApiClient(
    { transport: mortal(withFaults(server.transport, { clock, decide: script(faults) }), life), clock, logger },
    { userAgent: 'csi-attacher/test', qps: -1, burst: 1 },
  );
  const informers = createInformerFactory({ client: api, clock, random, logger, objects: 'frozen' });
  const channel = driver.channel();
  const attacher = createAttacher(
    {
      api,
      channel: {
        ...channel,
        call: (...call) => mortalCall(() => channel.call(...call), { ...life, operation: call[0] }),
      },
      informers,
      clock,
      random,
      logger,
      metrics,
      queueMetrics: createWorkQueueMetrics(metrics),
    },
    {
      driver: {
        name: driver.settings.name,
        pluginCapabilities: new Set(driver.settings.capabilities.plugin.map(String)),
        controllerCapabilities: new Set(driver.settings.capabilities.controller.map(String)),
      },
      settings: someSettings(options.settings),
    },
  );
  const watching = informers.start(stop.signal);
  const running = attacher.run(stop.signal);
  const fixture = toFixture(world, {
    metrics,
    logger,
    stop: async () => {
      stop.abort(new OrderlyStop());
      await running;
      await informers.shutdown();
      await watching;
    },
    crash: () => {
      life.end();
      return world;
    },
  });
  await fixture.settle();
  return fixture;
}

/** With three volumes that the driver made: `volume-1` to `volume-3`. */
async function createWorld({ controller, model, faults = [], rules = clusterRules }: FixtureOptions): Promise<World> {
  const clock = new FakeClock();
  const capabilities = {
    ...allCapabilities,
    plugin: ['CONTROLLER_SERVICE'] as const,
    controller: ['CREATE_DELETE_VOLUME' as const, ...(controller ?? (['PUBLISH_UNPUBLISH_VOLUME'] as const))],
  };
  const driver = createDriverModel({ clock, settings: { name: driverName, capabilities, ...model } });
  for (const name of ['a', 'b', 'c']) {
    const capability = { mount: {}, access_mode: { mode: 'MULTI_NODE_MULTI_WRITER' as const } };
    const request = { name, volume_capabilities: [capability] };
    await driver.channel().call('/csi.v1.Controller/CreateVolume', request, { timeoutMs: 1_000 });
  }
  driver.forgetCalls();
  const server = createFakeApiServer({
    clock,
    random: seededRandom(1),
    authenticate: () => ({ user: 'system:serviceaccount:csi:attacher', rules }),
  });
  return { clock, server, driver, faults: [...faults] };
}

function toFixture(world: World, own: Pick<Fixture, 'metrics' | 'logger' | 'stop' | 'crash'>): Fixture {
  const { clock, server, driver, faults } = world;
  return {
    ...world,
    ...own,
    writes: () =>
      server
        .writes()
        .map(({ verb, resource, subresource, name, code }) =>
          [verb, subresource === undefined ? resource : `${resource}/${subresource}`, name, code].join(' '),
        ),
    bodies: () => server.writes().map(({ body }) => body),
    calls: () =>
      driver.calls.map(({ method, request, outcome }) => {
        const { volume_id: volumeId = '', node_id: nodeId = '' } = request as Readonly<Record<string, string>>;
        const said = outcome?.kind === 'answered' ? 'OK' : outcome?.kind === 'refused' ? outcome.code : 'no answer';
        return [method.split('/').at(-1), volumeId, nodeId, said].filter((part) => part !== '').join(' ');
      }),
    requests: (method) =>
      driver.calls
        .filter((call) => call.method.endsWith(`/${method}`))
        .map(({ request }) => request as Readonly<Record<string, unknown>>),
    attachment: (name = 'va1') => server.objects.get(volumeAttachments, { name }),
    volume: (name = 'pv1') => server.objects.get(persistentVolumes, { name }),
    publishedOn: (id = handle) =>
      driver
        .volumes()
        .find((volume) => volume.id === id)
        ?.attachments.map(({ nodeId }) => nodeId) ?? [],
    change: (name, change) => void server.objects.change(volumeAttachments, { name }, change),
    delete: (name = 'va1') => {
      const attachment = server.objects.get(volumeAttachments, { name });
      if ((attachment?.metadata?.finalizers ?? []).length === 0) {
        server.objects.remove(volumeAttachments, { name });
        return;
      }
      const deletionTimestamp = new Date(clock.nowMs()).toISOString();
      server.objects.change(volumeAttachments, { name }, (object) => ({
        ...object,
        metadata: { ...object.metadata, deletionTimestamp },
      }));
    },
    fault: (what, fault, times = 1) => {
      const when: FaultRule['when'] = ({ verb, resource, subresource }) =>
        `${verb} ${subresource === undefined ? resource : `${resource}/${subresource}`}` === what;
      faults.push({ when, fault, times });
    },
    settle: async () => {
      for (let turn = 0; turn < 30; turn++) await settle();
      await clock.advance(0);
    },
  };
}
