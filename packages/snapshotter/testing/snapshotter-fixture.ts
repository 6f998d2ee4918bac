// SPDX-License-Identifier: Apache-2.0
/** The whole csi-snapshotter over an API server that checks permissions, and the driver's model, in virtual time. */
import type { AuditBoard } from '@csi-sidecars/csi';
import type { Clock } from '@csi-sidecars/runtime';
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
}

export interface Fixture extends StartedController {
  content(name?: string): VolumeSnapshotContent | undefined;
  group(name?: string): VolumeGroupSnapshotContent | undefined;
  /** As by snapshot-controller, a user or another controller. */
  changeContent(change: (content: VolumeSnapshotContent) => VolumeSnapshotContent, name?: string): void;
  changeGroup(change: (content: VolumeGroupSnapshotContent) => VolumeGroupSnapshotContent, name?: string): void;
  /** Every call of this kind is executed and answered with these fields. */
  answer(method: string, set: object, times?: number): void;
}

export async function aSnapshotter(options: FixtureOptions = {}): Promise<Fixture> {
  const started = await startController(options, {
    name: 'csi-snapshotter',
    component: `csi-snapshotter ${driverName}`,
    call: 'CreateSnapshot',
    seed: [aContent(), aClass(), aGroupClass()],
    newCluster: () => clusterOf(options),
    create: (ports, { driver }) =>
      createSnapshotter(
        { ...ports, auditBoard: options.auditBoardOf?.(ports.clock) },
        { driver: driverInfoOf(driver.settings), settings: someSettings(options.settings) },
      ),
  });
  return toFixture(started);
}

/** With three volumes of 1Gi that the driver made: `volume-1` to `volume-3`. */
async function clusterOf({ controller, model, rules = clusterRules }: FixtureOptions): Promise<TestCluster> {
  const capabilities = {
    ...allCapabilities,
    controller: [
      'CREATE_DELETE_VOLUME' as const,
      'CREATE_DELETE_SNAPSHOT' as const,
      ...(controller ?? (['LIST_SNAPSHOTS'] as const)),
    ],
  };
  const cluster = createTestCluster({
    serviceAccount: 'csi:snapshotter',
    rules,
    driver: { name: driverName, capabilities, ...model },
  });
  cluster.server.addTypes(...snapshotTypes, ...groupSnapshotTypes);
  await prepareVolumes(cluster, gib);
  return cluster;
}

function toFixture(running: StartedController): Fixture {
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
