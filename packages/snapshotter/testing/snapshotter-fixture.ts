// SPDX-License-Identifier: Apache-2.0
/** The whole csi-snapshotter over an API server that checks permissions, and the driver's model, in virtual time. */
import type { AuditBoard } from '@csi-sidecars/csi';
import type { ApiClient, Clock, Patch } from '@csi-sidecars/runtime';
import { allCapabilities, driverInfoOf, type Settings } from '@csi-sidecars/test-driver';
import {
  createTestCluster,
  gib,
  prepareVolumes,
  startController,
  type StartedController,
  type StartOptions,
  type TestCluster,
} from '@csi-sidecars/test-driver/testing';
import {
  volumeGroupSnapshotContents,
  type VolumeGroupSnapshotContent,
  volumeSnapshotContents,
  type VolumeSnapshotContent,
} from '@csi-sidecars/volume';
import { groupSnapshotTypes, snapshotTypes } from '@csi-sidecars/volume/testing';
import { clusterRules } from '../src/rbac.ts';
import type { SnapshotterSettings } from '../src/settings.ts';
import { createSnapshotter } from '../src/snapshotter.ts';
import { aClass, aContent, aGroupClass, driverName, someSettings } from './builders.ts';

export { conflict, forbidden, gib } from '@csi-sidecars/test-driver/testing';

/** Default seed: a dynamic content, and the class `gold` of both kinds. */
export interface FixtureOptions extends StartOptions {
  readonly settings?: Partial<SnapshotterSettings>;
  /** Controller capabilities beside those of volumes and CREATE_DELETE_SNAPSHOT. Default: LIST_SNAPSHOTS. */
  readonly controller?: readonly (typeof allCapabilities.controller)[number][];
  readonly model?: Partial<Settings>;
  /** Where a test asks for an audit. Default: nowhere. */
  readonly auditBoardOf?: (clock: Clock) => AuditBoard;
  /**
   * The gate VolumeSnapshotTopology is on, and the driver has nodes in the zones a and b; its volumes are in zone a. `unsupported`: it lacks the
   * plugin capability. Default: the gate is off, and it has the capability.
   */
  readonly topology?: 'on' | 'unsupported';
  /** `released`: the definition of contents lacks `nodeAffinity`, so the API server drops it. Default `alpha`. */
  readonly definition?: Definition;
}

export type Definition = 'released' | 'alpha';

export interface Fixture extends StartedController {
  content(name?: string): VolumeSnapshotContent | undefined;
  group(name?: string): VolumeGroupSnapshotContent | undefined;
  /** As by snapshot-controller, a user or another controller. */
  changeContent(change: (content: VolumeSnapshotContent) => VolumeSnapshotContent, name?: string): void;
  changeGroup(change: (content: VolumeGroupSnapshotContent) => VolumeGroupSnapshotContent, name?: string): void;
  /** Every call of this kind is executed and answered with these fields. */
  answer(method: string, set: object, times?: number): void;
  setDefinition(definition: Definition): void;
}

export async function aSnapshotter(options: FixtureOptions = {}): Promise<Fixture> {
  const definition = { state: options.definition ?? 'alpha' };
  const started = await startController(options, {
    name: 'csi-snapshotter',
    component: `csi-snapshotter ${driverName}`,
    call: 'CreateSnapshot',
    seed: [aContent(), aClass(), aGroupClass()],
    newCluster: () => clusterOf(options),
    create: (ports, { driver }) =>
      createSnapshotter(
        {
          ...ports,
          client: defined(ports.client, () => definition.state),
          auditBoard: options.auditBoardOf?.(ports.clock),
        },
        {
          driver: driverInfoOf(driver.settings),
          settings: someSettings({ snapshotTopology: options.topology !== undefined, ...options.settings }),
        },
      ),
  });
  return { ...toFixture(started), setDefinition: (state) => void (definition.state = state) };
}

/** With three volumes of 1Gi that the driver made: `volume-1` to `volume-3`. */
async function clusterOf({ controller, model, topology, rules = clusterRules }: FixtureOptions): Promise<TestCluster> {
  const capabilities = {
    ...allCapabilities,
    plugin: [
      ...allCapabilities.plugin,
      ...(topology === 'unsupported' ? [] : (['SNAPSHOT_ACCESSIBILITY_CONSTRAINTS'] as const)),
    ],
    controller: [
      'CREATE_DELETE_VOLUME' as const,
      'CREATE_DELETE_SNAPSHOT' as const,
      ...(controller ?? (['LIST_SNAPSHOTS'] as const)),
    ],
  };
  const cluster = createTestCluster({
    serviceAccount: 'csi:snapshotter',
    rules,
    driver: { name: driverName, capabilities, nodes: zones, ...model },
  });
  cluster.server.addTypes(...snapshotTypes, ...groupSnapshotTypes);
  await prepareVolumes(cluster, gib);
  return cluster;
}

const zones = ['a', 'b'].map((zone) => ({ id: `id-of-${zone}`, segments: { zone }, maxVolumes: 0 }));

/** An API server drops the fields that the definition of a kind lacks. */
function defined(client: ApiClient, definition: () => Definition): ApiClient {
  const known = (patch: Patch): Patch => {
    if (definition() === 'alpha' || patch.type !== 'merge') return patch;
    const { spec: _spec, ...body } = patch.body as { readonly spec?: object };
    return { ...patch, body };
  };
  return { ...client, patch: (target, patch, options) => client.patch(target, known(patch), options) };
}

function toFixture(running: StartedController): Omit<Fixture, 'setDefinition'> {
  const { server, driver } = running;
  return {
    ...running,
    content: (name = 'content') => server.objects.get(volumeSnapshotContents, { name }),
    group: (name = 'group') => server.objects.get(volumeGroupSnapshotContents, { name }),
    changeContent: (change, name = 'content') => void server.objects.change(volumeSnapshotContents, { name }, change),
    changeGroup: (change, name = 'group') => void server.objects.change(volumeGroupSnapshotContents, { name }, change),
    answer: (method, set, times) =>
      void driver.faults.add({
        method,
        ...(times === undefined ? {} : { times }),
        action: { kind: 'answer', set },
      }),
  };
}
