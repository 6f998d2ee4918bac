// SPDX-License-Identifier: Apache-2.0
/**
 * The whole attacher with its real loops, caches and client, between a fake API server and a model of the driver, in virtual time.
 * There is no attach/detach controller: tests create and delete VolumeAttachments themselves.
 */
import {
  type PersistentVolume,
  persistentVolumes,
  type VolumeAttachment,
  volumeAttachments,
} from '@csi-sidecars/runtime';
import { allCapabilities, driverInfoOf, type Settings } from '@csi-sidecars/test-driver';
import {
  createTestCluster,
  prepareVolumes,
  startController,
  type StartedController,
  type StartOptions,
  type TestCluster,
} from '@csi-sidecars/test-driver/testing';
import { createAttacher } from '../src/attacher.ts';
import type { ProvisionerBeside } from '../src/pv-finalizer.ts';
import { clusterRules } from '../src/rbac.ts';
import type { AttacherSettings } from '../src/settings.ts';
import { aCsiNode, anAttachment, aVolume, driverName, someSettings } from './builders.ts';

export { forbidden, internalError } from '@csi-sidecars/test-driver/testing';

/** Default seed: an attachment of `pv1`, which has our finalizer, and its node. */
export interface FixtureOptions extends StartOptions {
  readonly settings?: Partial<AttacherSettings>;
  /** Controller capabilities in addition to CREATE_DELETE_VOLUME. Default: PUBLISH_UNPUBLISH_VOLUME. */
  readonly controller?: readonly (typeof allCapabilities.controller)[number][];
  readonly model?: Partial<Settings>;
  readonly sharedRelease?: ProvisionerBeside;
}

export interface Fixture extends StartedController {
  attachment(name?: string): VolumeAttachment | undefined;
  volume(name?: string): PersistentVolume | undefined;
  /** The ids of the nodes where the driver has the volume published. */
  publishedOn(handle?: string): readonly string[];
  change(name: string, change: (attachment: VolumeAttachment) => VolumeAttachment): void;
  /** Deletes as a user would: an object with finalizers is only marked. */
  delete(name?: string): void;
}

/** The handle of the volume that `aVolume()` names. */
export const handle = 'volume-1';

export async function anAttacher(options: FixtureOptions = {}): Promise<Fixture> {
  const started = await startController(options, {
    name: 'csi-attacher',
    component: `csi-attacher ${driverName}`,
    call: 'ControllerPublishVolume',
    seed: [anAttachment(), aVolume(), aCsiNode()],
    newCluster: () => clusterOf(options),
    create: (ports, { driver }) =>
      createAttacher(
        { ...ports, sharedRelease: options.sharedRelease },
        { driver: driverInfoOf(driver.settings), settings: someSettings(options.settings) },
      ),
  });
  return toFixture(started);
}

/** The driver has three volumes: `volume-1` to `volume-3`. */
async function clusterOf({ controller, model, rules = clusterRules }: FixtureOptions): Promise<TestCluster> {
  const capabilities = {
    ...allCapabilities,
    plugin: ['CONTROLLER_SERVICE'] as const,
    controller: ['CREATE_DELETE_VOLUME' as const, ...(controller ?? (['PUBLISH_UNPUBLISH_VOLUME'] as const))],
  };
  const driver = { name: driverName, capabilities, ...model };
  const cluster = createTestCluster({ serviceAccount: 'csi:attacher', rules, driver });
  await prepareVolumes(cluster);
  return cluster;
}

function toFixture(running: StartedController): Fixture {
  const { server, driver } = running;
  return {
    ...running,
    attachment: (name = 'va1') => server.objects.get(volumeAttachments, { name }),
    volume: (name = 'pv1') => server.objects.get(persistentVolumes, { name }),
    publishedOn: (id = handle) =>
      driver
        .volumes()
        .find((volume) => volume.id === id)
        ?.attachments.map(({ nodeId }) => nodeId) ?? [],
    change: (name, change) => void server.objects.change(volumeAttachments, { name }, change),
    delete: (name = 'va1') => server.objects.delete(volumeAttachments, { name }),
  };
}
