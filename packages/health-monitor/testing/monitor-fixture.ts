// SPDX-License-Identifier: Apache-2.0
/**
 * The whole health monitor with its real loops, caches and client, between a fake API server and a driver that reports what a test says, in virtual
 * time.
 */
import type { ControllerListVolumeHealthResponseInput, CsiError } from '@csi-sidecars/csi';
import { aDriver, type FakeCsiChannel, fakeCsiChannel } from '@csi-sidecars/csi/testing';
import {
  type ApiClient,
  type ObjectRef,
  type Patch,
  type PersistentVolume,
  persistentVolumeClaims,
  persistentVolumes,
} from '@csi-sidecars/runtime';
import {
  createTestCluster,
  startController,
  type StartedController,
  type StartOptions,
  type TestCluster,
} from '@csi-sidecars/test-driver/testing';
import { createHealthMonitor } from '../src/health-monitor.ts';
import { clusterRules } from '../src/rbac.ts';
import { type Claim, healthOf, type HealthCondition } from '../src/report/health-status.ts';
import type { HealthMonitorSettings } from '../src/settings.ts';
import { aClaim, aVolume, driverName, type Entries, someSettings } from './builders.ts';

export { forbidden, internalError } from '@csi-sidecars/test-driver/testing';

type Gate = 'on' | 'off' | 'keeps';

export interface FixtureOptions extends StartOptions {
  readonly settings?: Partial<HealthMonitorSettings>;
  /** Default: `list`, a driver that lists and answers about single volumes. */
  readonly mode?: 'list' | 'get';
  /** The name of the driver. Default: that of the builders. */
  readonly driver?: string;
  /** By handle. Volumes that are not named are healthy. */
  readonly reports?: Readonly<Record<string, Entries | CsiError>>;
  /** Whether the API server stores the health of claims. `keeps`: it changes nothing. Default: `on`. */
  readonly gate?: Gate;
}

export interface Fixture extends StartedController {
  readonly channel: FakeCsiChannel;
  /** What the driver reports from now on, beside what it reported before; `[]`: the volume is healthy. */
  report(reports: Readonly<Record<string, Entries | CsiError>>): void;
  /** What the next list is, page by page. Later ones are again what is reported. */
  nextList(...pages: readonly (ControllerListVolumeHealthResponseInput | CsiError)[]): void;
  setGate(gate: Gate): void;
  claim(name?: string): Claim | undefined;
  /** The conditions that a claim shows. */
  shown(name?: string): readonly HealthCondition[] | undefined;
  changeClaim(change: (claim: Claim) => Claim, name?: string): void;
  changeVolume(change: (volume: PersistentVolume) => PersistentVolume, name?: string): void;
  /** Calls to the driver: `List`, `Get volume-1`. */
  asked(): readonly string[];
  /** Whole cycles pass: the default pause, with its jitter. */
  cycle(): Promise<void>;
}

/** Default seed: `pv1`, Bound to the claim `team/data`. */
export async function aMonitor(options: FixtureOptions = {}): Promise<Fixture> {
  const { mode = 'list' } = options;
  const settings = someSettings(options.settings);
  const reports = new Map(Object.entries(options.reports ?? {}));
  const gate = { state: options.gate ?? 'on' };
  const cluster =
    options.cluster ??
    createTestCluster({
      serviceAccount: 'csi:health-monitor',
      rules: options.rules ?? clusterRules,
      driver: {},
    });
  const channel = fakeCsiChannel({ clock: cluster.clock });
  answer(channel, reports);
  const started = await startController(options, {
    name: 'csi-external-health-monitor-controller',
    component: `csi-pv-monitor-controller-${driverName}`,
    call: 'ControllerGetVolumeHealth',
    seed: [aVolume(), aClaim()],
    newCluster: () => cluster,
    create: (ports) =>
      createHealthMonitor(
        {
          ...ports,
          channel,
          client: gated(ports.client, (ref) => gate.state === 'on' || (gate.state === 'off' && hasField(cluster, ref))),
        },
        {
          driver: {
            ...aDriver({
              controller: mode === 'list' ? ['GET_VOLUME_HEALTH', 'LIST_VOLUME_HEALTH'] : ['GET_VOLUME_HEALTH'],
            }),
            name: options.driver ?? driverName,
          },
          settings,
        },
      ),
  });
  const { server, clock } = started;
  const claim = (name = 'data'): Claim | undefined =>
    server.objects.get(persistentVolumeClaims, { namespace: 'team', name });
  const method = '/csi.v1.Controller/ControllerListVolumeHealth';
  return {
    ...started,
    channel,
    report: (more) => Object.entries(more).forEach(([handle, entries]) => reports.set(handle, entries)),
    nextList: (...pages) => pages.forEach((page) => channel.answerOnce(method, page)),
    setGate: (state) => void (gate.state = state),
    claim,
    shown: (name) => healthOf(claim(name))?.healthConditions,
    changeClaim: (change, name = 'data') =>
      void server.objects.change(persistentVolumeClaims, { namespace: 'team', name }, change),
    changeVolume: (change, name = 'pv1') => void server.objects.change(persistentVolumes, { name }, change),
    asked: () => channel.calls.map(nameOf),
    cycle: async () => {
      await clock.advance(mode === 'list' ? settings.listIntervalMs : settings.monitorIntervalMs);
      await started.settle();
    },
  };
}

function nameOf({ method, request }: FakeCsiChannel['calls'][number]): string {
  if (method === '/csi.v1.Controller/ControllerListVolumeHealth') return 'List';
  return `Get ${(request as { readonly volume_id?: string }).volume_id}`;
}

/** As the list of a driver that leaves healthy volumes out. */
function answer(channel: FakeCsiChannel, reports: ReadonlyMap<string, Entries | CsiError>): void {
  const isError = (report: Entries | CsiError): report is CsiError => report instanceof Error;
  channel.answer('/csi.v1.Controller/ControllerListVolumeHealth', () => ({
    entries: [...reports].flatMap(([handle, report]) =>
      isError(report) || report.length === 0 ? [] : [{ volume_id: handle, health_statuses: report }],
    ),
  }));
  channel.answer('/csi.v1.Controller/ControllerGetVolumeHealth', ({ volume_id: handle }) => {
    const report = reports.get(handle) ?? [];
    return isError(report) ? report : { volume_health: { volume_id: handle, health_statuses: report } };
  });
}

function hasField({ server }: TestCluster, ref: ObjectRef): boolean {
  return healthOf(server.objects.get(persistentVolumeClaims, ref)) !== undefined;
}

/** An API server whose gate CSIVolumeHealth is off drops the field in writes to claims that do not have it. */
function gated(client: ApiClient, stores: (ref: ObjectRef) => boolean): ApiClient {
  return {
    ...client,
    patch: (target, patch, options) => client.patch(target, stores(target.ref) ? patch : withoutHealth(patch), options),
  };
}

function withoutHealth(patch: Patch): Patch {
  if (patch.type !== 'merge') return patch;
  const { status: _status, ...rest } = patch.body as { readonly status?: object };
  return { type: 'merge', body: rest };
}
