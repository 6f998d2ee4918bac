// SPDX-License-Identifier: Apache-2.0
/**
 * The whole resizer, its real loops, caches and client, between a fake API server and the driver's model, in virtual time. Nothing
 * expands file systems by itself: a test plays kubelet where it needs one.
 */
import type { Code } from '@csi-sidecars/csi';
import {
  createEventRecorder,
  type KubeObject,
  type PersistentVolume,
  persistentVolumeClaims,
  persistentVolumes,
} from '@csi-sidecars/runtime';
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
import type { Claim } from '../src/claim.ts';
import type { Expansion } from '../src/driver.ts';
import { clusterRules } from '../src/rbac.ts';
import { createResizer } from '../src/resizer.ts';
import { aClaim, aVolume, driverName, type SettingsOverrides, someSettings } from './builders.ts';

type FailingCode = Exclude<Extract<Code, string>, 'OK' | `Code(${number})`>;
type ControllerCapability = (typeof allCapabilities.controller)[number];

export interface FixtureOptions extends Partial<Pick<ProcessOptions, 'interrupt' | 'defects'>> {
  readonly settings?: SettingsOverrides;
  /** Controller capabilities beside CREATE_DELETE_VOLUME. Default: EXPAND_VOLUME and MODIFY_VOLUME. */
  readonly controller?: readonly ControllerCapability[];
  /** Node capabilities. Default: EXPAND_VOLUME, so that the node has to expand as well. */
  readonly node?: readonly (typeof allCapabilities.node)[number][];
  readonly expansion?: Expansion;
  readonly model?: Partial<Settings>;
  /** Put into the API server before anything starts. Default: a claim that asks for 2Gi and its volume of 1Gi. */
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
  /** `Warning VolumeResizeFailed team/data: text` */
  readonly events: readonly string[];
  /** The bodies of `writes()`, in order. */
  bodies(): readonly unknown[];
  claim(name?: string): Claim | undefined;
  volume(name?: string): PersistentVolume | undefined;
  /** As by a user, kubelet or another controller. */
  changeClaim(change: (claim: Claim) => Claim, name?: string): void;
  changeVolume(change: (volume: PersistentVolume) => PersistentVolume, name?: string): void;
  /** A user asks for another size. */
  ask(size: string, name?: string): void;
  /** The next so many calls of this kind fail; default: one ControllerExpandVolume. */
  failCalls(
    code: FailingCode,
    options?: { readonly method?: string; readonly times?: number; readonly message?: string },
  ): void;
  /** The sizes of all ControllerExpandVolume calls, in bytes. */
  sizes(): readonly string[];
  /** Somebody writes the claim just before the next request to its status arrives, so that a guarded one gets a conflict. */
  overtake(name?: string): void;
  /** The next so many requests of this kind, e.g. `patch persistentvolumeclaims/status`, meet this. */
  fault(what: string, fault: Fault, times?: number): void;
}

export const gib: bigint = 1024n ** 3n;
export const forbidden: Fault = { kind: 'status', point: 'before', code: 403, reason: 'Forbidden' };
export const conflict: Fault = { kind: 'status', point: 'before', code: 409, reason: 'Conflict' };

export async function aResizer(options: FixtureOptions = {}): Promise<Fixture> {
  const cluster = options.cluster ?? (await clusterOf(options));
  const seed = options.seed ?? (options.cluster === undefined ? [aClaim(), aVolume()] : []);
  for (const object of seed) cluster.server.seed(object);
  const process = createProcess(cluster, {
    name: 'csi-resizer',
    interrupt: options.interrupt,
    defects: options.defects,
  });
  const lines = recordedEvents(process.death);
  const events =
    options.events === 'written'
      ? createEventRecorder(process.ports, { component: `external-resizer ${driverName}` })
      : lines.recorder;
  const facts = driverInfoOf(cluster.driver.settings);
  const expansion = options.expansion ?? (facts.controllerCapabilities.has('EXPAND_VOLUME') ? 'controller' : 'trivial');
  const resizer = createResizer(
    { ...process.ports, events },
    { driver: { ...facts, expansion }, settings: someSettings(options.settings) },
  );
  return toFixture(await process.run(resizer), lines.lines);
}

/** With three volumes of 1Gi that the driver made: `volume-1` to `volume-3`. */
async function clusterOf({
  controller,
  node,
  model,
  faults = [],
  rules = clusterRules,
}: FixtureOptions): Promise<TestCluster> {
  const capabilities = {
    ...allCapabilities,
    plugin: ['CONTROLLER_SERVICE'] as const,
    controller: ['CREATE_DELETE_VOLUME' as const, ...(controller ?? (['EXPAND_VOLUME', 'MODIFY_VOLUME'] as const))],
    node: node ?? (['EXPAND_VOLUME'] as const),
  };
  const cluster = createTestCluster({
    serviceAccount: 'csi:resizer',
    rules,
    driver: { name: driverName, capabilities, ...model },
  });
  await prepareVolumes(cluster, gib);
  cluster.faults.push(...faults);
  return cluster;
}

function toFixture(running: RunningController, events: readonly string[]): Fixture {
  const { server, driver } = running;
  const changeClaim: Fixture['changeClaim'] = (change, name = 'data') =>
    void server.objects.change(persistentVolumeClaims, { namespace: 'team', name }, change);
  return {
    ...running,
    events,
    bodies: () => server.writes().map(({ body }) => body),
    claim: (name = 'data') => server.objects.get(persistentVolumeClaims, { namespace: 'team', name }),
    volume: (name = 'pv1') => server.objects.get(persistentVolumes, { name }),
    changeClaim,
    ask: (size, name) =>
      changeClaim((claim) => ({ ...claim, spec: { ...claim.spec, resources: { requests: { storage: size } } } }), name),
    failCalls: (code, { method = 'ControllerExpandVolume', times = 1, message = 'no' } = {}) =>
      void driver.faults.add({ method, times, action: { kind: 'fail', code, message } }),
    sizes: () =>
      running
        .requests('ControllerExpandVolume')
        .map((request) => (request['capacity_range'] as { readonly required_bytes: string }).required_bytes),
    changeVolume: (change, name = 'pv1') => void server.objects.change(persistentVolumes, { name }, change),
    overtake: (name) => {
      let isDue = true;
      const when: FaultRule['when'] = ({ verb, subresource }) => {
        if (!isDue || verb !== 'patch' || subresource !== 'status') return false;
        isDue = false;
        const labels = { overtaken: 'yes' };
        changeClaim((claim) => ({ ...claim, metadata: { ...claim.metadata, labels } }), name);
        return false;
      };
      running.faults.push({ when, fault: conflict });
    },
    fault: (what, fault, times) => void running.faults.push(faultOn(what, fault, times)),
  };
}
