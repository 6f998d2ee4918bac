// SPDX-License-Identifier: Apache-2.0
/**
 * The whole provisioner, its real loops, caches and client, between a fake API server and the driver's model, in virtual
 * time. Nothing binds or releases by itself: a test plays the PV controller where it needs one.
 */
import {
  createApiClient,
  createEventRecorder,
  createInformerFactory,
  createWorkQueueMetrics,
  type EventRecorder,
  type KubeObject,
  OrderlyStop,
  type PersistentVolume,
  type PersistentVolumeClaim,
  persistentVolumeClaims,
  persistentVolumes,
} from '@csi-sidecars/runtime';
import {
  createFakeApiServer,
  createLife,
  type FakeApiServer,
  FakeClock,
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
import { createProvisioner } from '../src/provisioner.ts';
import { clusterRules, type PolicyRule } from '../src/rbac.ts';
import type { ProvisionerSettings } from '../src/settings.ts';
import { aClass, driverName, someSettings } from './builders.ts';

export interface FixtureOptions {
  readonly settings?: Partial<ProvisionerSettings>;
  /** Controller capabilities; by default those that matter here, without attachment. */
  readonly controller?: readonly (typeof allCapabilities.controller)[number][];
  /** `off`, the default: without the topology capability. */
  readonly topology?: 'on' | 'off';
  readonly model?: Partial<Settings>;
  /** Put into the API server before anything starts. */
  readonly seed?: readonly KubeObject[];
  /** Default: what `rbac.ts` asks for, and nothing more. */
  readonly rules?: readonly PolicyRule[];
  /** `written` to the API server by the real recorder. Default `lines`. */
  readonly events?: 'lines' | 'written';
  /** Asked around every API write and every call to the driver; `crash` ends the process there. Default: never. */
  readonly interrupt?: (operation: string, moment: 'before' | 'after') => 'crash' | undefined;
  /** A world that outlived the process that worked on it. */
  readonly world?: World;
}

/** What a crash of the provisioner leaves as it is. */
export interface World {
  readonly clock: FakeClock;
  readonly server: FakeApiServer;
  readonly driver: DriverModel;
  readonly faults: FaultRule[];
}

export interface Fixture extends World {
  /** `Warning ProvisioningFailed team/data: text` */
  readonly events: readonly string[];
  /** Under the driver side's component. */
  readonly driverEvents: readonly string[];
  readonly metrics: RecordingMetrics;
  readonly logger: RecordingLogger;
  /** What was written so far: `create persistentvolumes pvc-1 201`, in order. */
  writes(): readonly string[];
  /** What the driver was asked and said: `CreateVolume pvc-1 OK`, in order. */
  calls(): readonly string[];
  /** As sent to the driver. */
  requests(method: string): readonly Readonly<Record<string, unknown>>[];
  claim(name?: string): PersistentVolumeClaim | undefined;
  volume(name?: string): PersistentVolume | undefined;
  changeClaim(change: (claim: PersistentVolumeClaim) => PersistentVolumeClaim, name?: string): void;
  /** As by a user: at once without finalizers, else marked. */
  deleteClaim(name?: string): void;
  /** Lets everything that can happen at this moment happen. */
  settle(): Promise<void>;
  /** The process stops in good order. */
  stop(): Promise<void>;
  /** The process is gone from one moment to the next: nothing it started is heard of again. */
  crash(): World;
}

export async function aProvisioner(options: FixtureOptions = {}): Promise<Fixture> {
  const world = options.world ?? createWorld(options);
  const { clock, server, driver, faults } = world;
  for (const object of options.seed ?? [aClass()]) server.seed(object);
  const random = seededRandom(2);
  const logger = recordingLogger();
  const metrics = recordingMetrics();
  const life = createLife(options.interrupt);
  const { stop } = life;
  const events = recordedEvents(life.death);
  const driverEvents = recordedEvents(life.death);
  const api = createApiClient(
    {
      transport: mortal(withFaults(server.transport, { clock, decide: script(faults) }), life),
      clock,
      logger,
    },
    { userAgent: 'csi-provisioner/test', qps: -1, burst: 1 },
  );
  const recorderOf = (component: string): EventRecorder =>
    createEventRecorder({ client: api, clock, random, logger }, { component });
  const informers = createInformerFactory({ client: api, clock, random, logger, objects: 'frozen' });
  const channel = driver.channel();
  const provisioner = createProvisioner(
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
      events: options.events === 'written' ? recorderOf('provisioner') : events.recorder,
      driverEvents: options.events === 'written' ? recorderOf('external-provisioner') : driverEvents.recorder,
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
  const running = provisioner.run(stop.signal);
  const fixture = toFixture(world, {
    events: events.lines,
    driverEvents: driverEvents.lines,
    metrics,
    logger,
    stop: async () => {
      stop.abort(new OrderlyStop());
      await Promise.all([running, watching]);
    },
    crash: () => {
      life.end();
      return world;
    },
  });
  await fixture.settle();
  return fixture;
}

function createWorld({ topology = 'off', controller, model, rules = clusterRules }: FixtureOptions): World {
  const clock = new FakeClock();
  const plugin = allCapabilities.plugin.filter(
    (name) => topology === 'on' || name !== 'VOLUME_ACCESSIBILITY_CONSTRAINTS',
  );
  const capabilities = {
    ...allCapabilities,
    plugin,
    controller: controller ?? (['CREATE_DELETE_VOLUME', 'MODIFY_VOLUME'] as const),
  };
  return {
    clock,
    server: createFakeApiServer({
      clock,
      random: seededRandom(1),
      authenticate: () => ({ user: 'system:serviceaccount:csi:provisioner', rules }),
    }),
    driver: createDriverModel({ clock, settings: { name: driverName, capabilities, ...model } }),
    faults: [],
  };
}

function toFixture(
  world: World,
  own: Pick<Fixture, 'events' | 'driverEvents' | 'metrics' | 'logger' | 'stop' | 'crash'>,
): Fixture {
  const { clock, server, driver } = world;
  const claimRef = (name: string): { readonly namespace: string; readonly name: string } => ({
    namespace: 'team',
    name,
  });
  return {
    ...world,
    ...own,
    writes: () =>
      server
        .writes()
        .map(({ verb, resource, namespace, name, body, code }) =>
          [verb, resource, pathOf(namespace, name ?? nameIn(body)), code].join(' '),
        ),
    calls: () =>
      driver.calls.map(({ method, request, outcome }) => {
        const { name, volume_id: id } = request as Readonly<Record<string, string>>;
        const said = outcome?.kind === 'answered' ? 'OK' : outcome?.kind === 'refused' ? outcome.code : 'no answer';
        return `${method.split('/').at(-1) ?? ''} ${name ?? id ?? ''} ${said}`;
      }),
    requests: (method) =>
      driver.calls
        .filter((call) => call.method.endsWith(`/${method}`))
        .map(({ request }) => request as Readonly<Record<string, unknown>>),
    claim: (name = 'data') => server.objects.get(persistentVolumeClaims, claimRef(name)),
    volume: (name = 'pvc-uid-data') => server.objects.get(persistentVolumes, { name }),
    changeClaim: (change, name = 'data') => void server.objects.change(persistentVolumeClaims, claimRef(name), change),
    deleteClaim: (name = 'data') => {
      const claim = server.objects.get(persistentVolumeClaims, claimRef(name));
      if ((claim?.metadata?.finalizers ?? []).length === 0) {
        server.objects.remove(persistentVolumeClaims, claimRef(name));
        return;
      }
      const deletionTimestamp = new Date(clock.nowMs()).toISOString();
      server.objects.change(persistentVolumeClaims, claimRef(name), (object) => ({
        ...object,
        metadata: { ...object.metadata, deletionTimestamp },
      }));
    },
    settle: async () => {
      for (let turn = 0; turn < 30; turn++) await settle();
      await clock.advance(0);
    },
  };
}

function pathOf(namespace: string | undefined, name: string): string {
  return namespace === undefined ? name : `${namespace}/${name}`;
}

function nameIn(body: unknown): string {
  return (body as KubeObject | undefined)?.metadata?.name ?? '';
}

interface RecordedEvents {
  readonly lines: readonly string[];
  readonly recorder: EventRecorder;
}

function recordedEvents(death: AbortSignal): RecordedEvents {
  const lines: string[] = [];
  return {
    lines,
    recorder: {
      record: ({ metadata }, { type, reason, message }) => {
        if (!death.aborted)
          lines.push(`${type} ${reason} ${pathOf(metadata?.namespace, metadata?.name ?? '')}: ${message}`);
      },
      flush: () => Promise.resolve(),
    },
  };
}
