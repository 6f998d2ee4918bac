// SPDX-License-Identifier: Apache-2.0
/** The whole csi-snapshotter over an API server that checks permissions, and the driver's model, in virtual time. */
import type { Code } from '@csi-sidecars/csi';
import { createEventRecorder, type KubeObject } from '@csi-sidecars/runtime';
import type { AccessRule, Fault, FaultRule } from '@csi-sidecars/runtime/testing';
import { allCapabilities, driverInfoOf, type Settings } from '@csi-sidecars/test-driver';
import {
  createProcess,
  createTestCluster,
  faultOn,
  prepareVolumes,
  type ProcessOptions,
  recordedEvents,
  type RunningController,
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

type FailingCode = Exclude<Extract<Code, string>, 'OK' | `Code(${number})`>;

export interface FixtureOptions extends Partial<Pick<ProcessOptions, 'interrupt' | 'defects'>> {
  readonly settings?: Partial<SnapshotterSettings>;
  /** Controller capabilities beside those of volumes and CREATE_DELETE_SNAPSHOT. Default: LIST_SNAPSHOTS. */
  readonly controller?: readonly (typeof allCapabilities.controller)[number][];
  readonly model?: Partial<Settings>;
  /** Put into the API server before anything starts. Default: a dynamic content, and the class `gold` of both kinds. */
  readonly seed?: readonly KubeObject[];
  /** From the first request on. */
  readonly faults?: readonly FaultRule[];
  /** Default: what `rbac.ts` asks for, and nothing more. */
  readonly rules?: readonly AccessRule[];
  /** `written` to the API server by the real recorder. Default `lines`. */
  readonly events?: 'lines' | 'written';
  /** A cluster that outlived the process that worked on it. */
  readonly cluster?: TestCluster;
}

export interface Fixture extends RunningController {
  /** `Warning SnapshotCreationFailed content: text` */
  readonly events: readonly string[];
  /** The bodies of `writes()`, in order. */
  bodies(): readonly unknown[];
  content(name?: string): VolumeSnapshotContent | undefined;
  group(name?: string): VolumeGroupSnapshotContent | undefined;
  /** As by snapshot-controller, a user or another controller. */
  changeContent(change: (content: VolumeSnapshotContent) => VolumeSnapshotContent, name?: string): void;
  changeGroup(change: (content: VolumeGroupSnapshotContent) => VolumeGroupSnapshotContent, name?: string): void;
  /** The next so many calls of this kind fail; default: one CreateSnapshot. */
  failCalls(
    code: FailingCode,
    options?: { readonly method?: string; readonly times?: number; readonly message?: string; readonly skip?: number },
  ): void;
  /** Every call of this kind is executed and answered with these fields. */
  answer(method: string, set: object, times?: number): void;
  /** The next so many requests of this kind, e.g. `patch volumesnapshotcontents/status`, meet this. */
  fault(what: string, fault: Fault, times?: number): void;
}

export const gib: bigint = 1024n ** 3n;
export const forbidden: Fault = { kind: 'status', point: 'before', code: 403, reason: 'Forbidden' };
export const conflict: Fault = { kind: 'status', point: 'before', code: 409, reason: 'Conflict' };

export async function aSnapshotter(options: FixtureOptions = {}): Promise<Fixture> {
  const cluster = options.cluster ?? (await clusterOf(options));
  const seed = options.seed ?? (options.cluster === undefined ? [aContent(), aClass(), aGroupClass()] : []);
  for (const object of seed) cluster.server.seed(object);
  const process = createProcess(cluster, {
    name: 'csi-snapshotter',
    interrupt: options.interrupt,
    defects: options.defects,
  });
  const lines = recordedEvents(process.death);
  const events =
    options.events === 'written'
      ? createEventRecorder(process.ports, { component: `csi-snapshotter ${driverName}` })
      : lines.recorder;
  const driver = driverInfoOf(cluster.driver.settings);
  const snapshotter = createSnapshotter(
    { ...process.ports, events },
    { driver, settings: someSettings(options.settings) },
  );
  return toFixture(await process.run(snapshotter), lines.lines);
}

/** With three volumes of 1Gi that the driver made: `volume-1` to `volume-3`. */
async function clusterOf({
  controller,
  model,
  faults = [],
  rules = clusterRules,
}: FixtureOptions): Promise<TestCluster> {
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
  cluster.faults.push(...faults);
  return cluster;
}

function toFixture(running: RunningController, events: readonly string[]): Fixture {
  const { server, faults, driver } = running;
  return {
    ...running,
    events,
    bodies: () => server.writes().map(({ body }) => body),
    content: (name = 'content') => server.objects.get(volumeSnapshotContents, { name }),
    group: (name = 'group') => server.objects.get(volumeGroupSnapshotContents, { name }),
    changeContent: (change, name = 'content') => void server.objects.change(volumeSnapshotContents, { name }, change),
    changeGroup: (change, name = 'group') => void server.objects.change(volumeGroupSnapshotContents, { name }, change),
    failCalls: (code, { method = 'CreateSnapshot', times = 1, message = 'no', skip } = {}) =>
      void driver.faults.add({
        method,
        times,
        ...(skip === undefined ? {} : { skip }),
        action: { kind: 'fail', code, message },
      }),
    answer: (method, set, times) =>
      void driver.faults.add({
        method,
        ...(times === undefined ? {} : { times }),
        action: { kind: 'answer', set },
      }),
    fault: (what, fault, times) => void faults.push(faultOn(what, fault, times)),
  };
}
