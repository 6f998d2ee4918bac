// SPDX-License-Identifier: Apache-2.0
/** The whole attacher, its real loops, caches and client, between a fake API server and the driver's model, in virtual time. */
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
  type FakeApiServer,
  FakeClock,
  type FaultRule,
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
import { clusterRules } from '../src/rbac.ts';
import type { AttacherSettings } from '../src/settings.ts';
import { driverName, someSettings } from './builders.ts';

export interface FixtureOptions {
  readonly settings?: Partial<AttacherSettings>;
  /** Controller capabilities; by default attaching alone. */
  readonly controller?: readonly (typeof allCapabilities.controller)[number][];
  readonly model?: Partial<Settings>;
  /** Put into the API server before anything starts. */
  readonly seed?: readonly KubeObject[];
  /** From the first request on. */
  readonly faults?: readonly FaultRule[];
}

export interface Fixture {
  readonly clock: FakeClock;
  readonly server: FakeApiServer;
  readonly driver: DriverModel;
  readonly faults: FaultRule[];
  readonly metrics: RecordingMetrics;
  readonly logger: RecordingLogger;
  /** What was written so far: `patch volumeattachments/status va1 200`, in order. */
  writes(): readonly string[];
  /** What the driver was asked and said: `ControllerPublishVolume handle node OK`, in order. */
  calls(): readonly string[];
  attachment(name?: string): VolumeAttachment | undefined;
  volume(name?: string): PersistentVolume | undefined;
  /** Lets everything that can happen at this moment happen. */
  settle(): Promise<void>;
  /** The process stops in good order. */
  stop(): Promise<void>;
}

export async function anAttacher(options: FixtureOptions = {}): Promise<Fixture> {
  const clock = new FakeClock();
  const random = seededRandom(2);
  const server = createFakeApiServer({
    clock,
    random: seededRandom(1),
    authenticate: () => ({ user: 'system:serviceaccount:csi:attacher', rules: clusterRules }),
  });
  const capabilities = {
    ...allCapabilities,
    controller: options.controller ?? (['PUBLISH_UNPUBLISH_VOLUME'] as const),
  };
  const driver = createDriverModel({ clock, settings: { name: driverName, capabilities, ...options.model } });
  const faults: FaultRule[] = [...(options.faults ?? [])];
  for (const object of options.seed ?? []) server.seed(object);

  const logger = recordingLogger();
  const metrics = recordingMetrics();
  const api = createApiClient(
    { transport: withFaults(server.transport, { clock, decide: script(faults) }), clock, logger },
    { userAgent: 'csi-attacher/test', qps: -1, burst: 1 },
  );
  const informers = createInformerFactory({ client: api, clock, random, logger, objects: 'frozen' });
  const shared = { api, channel: driver.channel(), informers, clock, random, logger, metrics };
  const attacher = createAttacher(
    { ...shared, queueMetrics: createWorkQueueMetrics(metrics) },
    {
      driver: {
        name: driverName,
        pluginCapabilities: new Set(capabilities.plugin.map(String)),
        controllerCapabilities: new Set(capabilities.controller.map(String)),
      },
      settings: someSettings(options.settings),
    },
  );
  const stop = new AbortController();
  const running = [informers.start(stop.signal), attacher.run(stop.signal)];
  const fixture: Fixture = {
    clock,
    server,
    driver,
    faults,
    metrics,
    logger,
    writes: () =>
      server.writes().map(({ verb, resource, subresource, name = '', code }) => {
        const path = subresource === undefined ? resource : `${resource}/${subresource}`;
        return [verb, path, name, code].join(' ');
      }),
    calls: () =>
      driver.calls.map(({ method, request, outcome }) => {
        const { volume_id: volume = '', node_id: node = '' } = request as Readonly<Record<string, string>>;
        const said = outcome?.kind === 'answered' ? 'OK' : outcome?.kind === 'refused' ? outcome.code : 'no answer';
        return [method.split('/').at(-1), volume, node, said].filter((part) => part !== '').join(' ');
      }),
    attachment: (name = 'va1') => server.objects.get(volumeAttachments, { name }),
    volume: (name = 'pv1') => server.objects.get(persistentVolumes, { name }),
    settle: async () => {
      for (let turn = 0; turn < 30; turn++) await settle();
      await clock.advance(0);
    },
    stop: async () => {
      stop.abort(new OrderlyStop());
      await Promise.all(running);
    },
  };
  await fixture.settle();
  return fixture;
}
