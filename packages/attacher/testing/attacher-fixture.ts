// SPDX-License-Identifier: Apache-2.0
/**
 * The whole attacher with its real loops, caches and client, between a fake API server and a model of the driver, in virtual time.
 * There is no attach/detach controller: tests create and delete VolumeAttachments themselves.
 */
import {
  type KubeObject,
  type PersistentVolume,
  persistentVolumes,
  type VolumeAttachment,
  volumeAttachments,
} from '@csi-sidecars/runtime';
import type { AccessRule, Fault, FaultRule } from '@csi-sidecars/runtime/testing';
import { allCapabilities, driverInfoOf, type Settings } from '@csi-sidecars/test-driver';
import {
  createProcess,
  createTestCluster,
  faultOn,
  prepareVolumes,
  type ProcessOptions,
  type RunningController,
  type TestCluster,
} from '@csi-sidecars/test-driver/testing';
import { createAttacher } from '../src/attacher.ts';
import { clusterRules } from '../src/rbac.ts';
import type { AttacherSettings } from '../src/settings.ts';
import { aCsiNode, anAttachment, aVolume, driverName, someSettings } from './builders.ts';

type ControllerCapability = (typeof allCapabilities.controller)[number];

export interface FixtureOptions extends Partial<Pick<ProcessOptions, 'interrupt'>> {
  readonly settings?: Partial<AttacherSettings>;
  /** Controller capabilities in addition to CREATE_DELETE_VOLUME. Default: PUBLISH_UNPUBLISH_VOLUME. */
  readonly controller?: readonly ControllerCapability[];
  readonly model?: Partial<Settings>;
  /** Objects in the API server before the attacher starts. Default: an attachment of `pv1`, which has our finalizer, and its node. */
  readonly seed?: readonly KubeObject[];
  /** Faults that are active from the first request on. */
  readonly faults?: readonly FaultRule[];
  /** The permissions of the attacher. Default: exactly those in `rbac.ts`. */
  readonly rules?: readonly AccessRule[];
  /** The API server and the driver of an earlier attacher. Default: new ones. */
  readonly cluster?: TestCluster;
}

export interface Fixture extends RunningController {
  /** The bodies of the requests in `writes()`, in order. */
  bodies(): readonly unknown[];
  attachment(name?: string): VolumeAttachment | undefined;
  volume(name?: string): PersistentVolume | undefined;
  /** The ids of the nodes where the driver has the volume published. */
  publishedOn(handle?: string): readonly string[];
  change(name: string, change: (attachment: VolumeAttachment) => VolumeAttachment): void;
  /** Deletes as a user would: an object with finalizers is only marked. */
  delete(name?: string): void;
  /** Applies the fault to the next requests of this kind, for example `patch volumeattachments/status`. */
  fault(what: string, fault: Fault, times?: number): void;
}

/** The handle of the volume that `aVolume()` names. */
export const handle = 'volume-1';

export const forbidden: Fault = { kind: 'status', point: 'before', code: 403, reason: 'Forbidden' };
export const internalError: Fault = { kind: 'status', point: 'before', code: 500, reason: 'InternalError' };

export async function anAttacher(options: FixtureOptions = {}): Promise<Fixture> {
  const cluster = options.cluster ?? (await clusterOf(options));
  const seed = options.seed ?? (options.cluster === undefined ? [anAttachment(), aVolume(), aCsiNode()] : []);
  for (const object of seed) cluster.server.seed(object);
  const process = createProcess(cluster, { name: 'csi-attacher', interrupt: options.interrupt });
  const attacher = createAttacher(process.ports, {
    driver: driverInfoOf(cluster.driver.settings),
    settings: someSettings(options.settings),
  });
  return toFixture(await process.run(attacher));
}

/** The driver has three volumes: `volume-1` to `volume-3`. */
async function clusterOf({
  controller,
  model,
  faults = [],
  rules = clusterRules,
}: FixtureOptions): Promise<TestCluster> {
  const capabilities = {
    ...allCapabilities,
    plugin: ['CONTROLLER_SERVICE'] as const,
    controller: ['CREATE_DELETE_VOLUME' as const, ...(controller ?? (['PUBLISH_UNPUBLISH_VOLUME'] as const))],
  };
  const driver = { name: driverName, capabilities, ...model };
  const cluster = createTestCluster({ serviceAccount: 'csi:attacher', rules, driver });
  await prepareVolumes(cluster);
  cluster.faults.push(...faults);
  return cluster;
}

function toFixture(running: RunningController): Fixture {
  const { server, driver } = running;
  return {
    ...running,
    bodies: () => server.writes().map(({ body }) => body),
    attachment: (name = 'va1') => server.objects.get(volumeAttachments, { name }),
    volume: (name = 'pv1') => server.objects.get(persistentVolumes, { name }),
    publishedOn: (id = handle) =>
      driver
        .volumes()
        .find((volume) => volume.id === id)
        ?.attachments.map(({ nodeId }) => nodeId) ?? [],
    change: (name, change) => void server.objects.change(volumeAttachments, { name }, change),
    delete: (name = 'va1') => server.objects.delete(volumeAttachments, { name }),
    fault: (what, fault, times) => void running.faults.push(faultOn(what, fault, times)),
  };
}
