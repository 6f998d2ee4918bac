// SPDX-License-Identifier: Apache-2.0
/**
 * The whole provisioner, its real loops, caches and client, between a fake API server and the driver's model, in virtual
 * time. There is no PV controller: a test binds and releases claims itself if it needs that.
 */
import type { AuditBoard } from '@csi-sidecars/csi';
import {
  type Clock,
  createEventRecorder,
  type EventRecorder,
  type KubeObject,
  type PersistentVolume,
  type PersistentVolumeClaim,
  persistentVolumeClaims,
  persistentVolumes,
} from '@csi-sidecars/runtime';
import type { AccessRule } from '@csi-sidecars/runtime/testing';
import { allCapabilities, driverInfoOf, type Settings } from '@csi-sidecars/test-driver';
import {
  createProcess,
  createTestCluster,
  type ProcessOptions,
  recordedEvents,
  type RunningController,
  type TestCluster,
} from '@csi-sidecars/test-driver/testing';
import { snapshotTypes } from '@csi-sidecars/volume/testing';
import { createCapacityGauges } from '../src/capacity/gauges.ts';
import type { CapacitySettings } from '../src/capacity/settings.ts';
import { createProvisioner } from '../src/provisioner.ts';
import { clusterRules, namespaceRules } from '../src/rbac.ts';
import type { ProvisionerSettings } from '../src/settings.ts';
import { referenceGrants } from '../src/source/grants.ts';
import { aClass, driverName, someSettings } from './builders.ts';

export interface FixtureOptions extends Partial<Pick<ProcessOptions, 'interrupt'>> {
  readonly settings?: Partial<ProvisionerSettings>;
  /** Controller capabilities; by default those for creating and deleting volumes, without attachment. */
  readonly controller?: readonly (typeof allCapabilities.controller)[number][];
  /** `off`, the default: without the topology capability. */
  readonly topology?: 'on' | 'off';
  readonly model?: Partial<Settings>;
  /** Objects that are in the API server before the provisioner starts. */
  readonly seed?: readonly KubeObject[];
  /** `absent`: the cluster does not know snapshots. */
  readonly snapshotApi?: 'absent';
  /** Default: exactly the rules of `rbac.ts`. */
  readonly rules?: readonly AccessRule[];
  /** `written` to the API server by the real recorder. Default `lines`. */
  readonly events?: 'lines' | 'written';
  /** The seed of its random decisions. Instances beside each other have different ones. */
  readonly randomSeed?: number;
  /** The environment of an earlier process. */
  readonly cluster?: TestCluster;
  /** Where a test asks for an audit. Default: nowhere. */
  readonly auditBoardOf?: (clock: Clock) => AuditBoard;
  /** Capacity is published, with these settings. Default: it is not. */
  readonly capacity?: CapacitySettings;
}

export interface Fixture extends RunningController {
  /** `Warning ProvisioningFailed team/data: text` */
  readonly events: readonly string[];
  /** Under the driver side's component. */
  readonly driverEvents: readonly string[];
  claim(name?: string): PersistentVolumeClaim | undefined;
  volume(name?: string): PersistentVolume | undefined;
  changeClaim(change: (claim: PersistentVolumeClaim) => PersistentVolumeClaim, name?: string): void;
  /** As by a user: at once without finalizers, else marked. */
  deleteClaim(name?: string): void;
}

export async function aProvisioner(options: FixtureOptions = {}): Promise<Fixture> {
  const cluster = options.cluster ?? clusterOf(options);
  for (const object of options.seed ?? [aClass()]) cluster.server.seed(object);
  const process = createProcess(cluster, {
    name: 'csi-provisioner',
    interrupt: options.interrupt,
    seed: options.randomSeed,
  });
  const { ports, death } = process;
  const events = recordedEvents(death);
  const driverEvents = recordedEvents(death);
  const recorderOf = (component: string): EventRecorder => createEventRecorder(ports, { component });
  const capacity = options.capacity && {
    settings: options.capacity,
    client: ports.client,
    gauges: createCapacityGauges(ports.metrics),
  };
  const provisioner = createProvisioner(
    {
      ...ports,
      capacity,
      auditBoard: options.auditBoardOf?.(ports.clock),
      events: options.events === 'written' ? recorderOf('provisioner') : events.recorder,
      driverEvents: options.events === 'written' ? recorderOf('external-provisioner') : driverEvents.recorder,
    },
    { driver: driverInfoOf(cluster.driver.settings), settings: someSettings(options.settings) },
  );
  return toFixture(await process.run(provisioner), { events: events.lines, driverEvents: driverEvents.lines });
}

function clusterOf({
  topology = 'off',
  controller,
  model,
  snapshotApi,
  capacity,
  rules = rulesFor(capacity),
}: FixtureOptions): TestCluster {
  const plugin = allCapabilities.plugin.filter(
    (name) => topology === 'on' || name !== 'VOLUME_ACCESSIBILITY_CONSTRAINTS',
  );
  const capabilities = {
    ...allCapabilities,
    plugin,
    controller: controller ?? (['CREATE_DELETE_VOLUME', 'MODIFY_VOLUME'] as const),
  };
  const cluster = createTestCluster({
    serviceAccount: 'csi:provisioner',
    rules,
    driver: { name: driverName, capabilities, ...model },
  });
  if (snapshotApi !== 'absent') cluster.server.addTypes(...snapshotTypes);
  cluster.server.addTypes({ ...referenceGrants, custom: true, status: 'absent' });
  return cluster;
}

/** Exactly what `rbac.ts` says, the rules of the Role in the namespace of the capacity objects only. */
export function rulesFor(capacity: CapacitySettings | undefined): readonly AccessRule[] {
  if (capacity === undefined) return clusterRules;
  return [...clusterRules, ...namespaceRules.map((rule) => ({ ...rule, namespace: capacity.namespace }))];
}

function toFixture(running: RunningController, events: Pick<Fixture, 'events' | 'driverEvents'>): Fixture {
  const { objects } = running.server;
  const claimRef = (name: string): { readonly namespace: string; readonly name: string } => ({
    namespace: 'team',
    name,
  });
  return {
    ...running,
    ...events,
    claim: (name = 'data') => objects.get(persistentVolumeClaims, claimRef(name)),
    volume: (name = 'pvc-uid-data') => objects.get(persistentVolumes, { name }),
    changeClaim: (change, name = 'data') => void objects.change(persistentVolumeClaims, claimRef(name), change),
    deleteClaim: (name = 'data') => objects.delete(persistentVolumeClaims, claimRef(name)),
  };
}
