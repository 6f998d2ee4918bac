// SPDX-License-Identifier: Apache-2.0
/**
 * The environment of one scenario: a namespace, a driver with its own name, programs with the permissions under test, and a client
 * with all permissions. Everything is created on request and removed at the end, in reverse order.
 */
import assert from 'node:assert/strict';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import {
  csiDrivers,
  namespaces,
  type ApiClient,
  type CSIDriver,
  type KubeObject,
  type PolicyRule,
  type Resource,
} from '@csi-sidecars/runtime';
import { startDriver, type DriverDoor, type DriverInstance, type DriverOptions } from '../driver/driver.ts';
import type { ControllerName } from '../processes/program.ts';
import type { RbacProfile } from '../rbac/profiles.ts';
import type { ServiceAccountRef } from '../control-planes/control-plane.ts';
import type { SupervisedProcess } from '../processes/supervised-process.ts';
import { deleteIfThere } from '../delete-if-there.ts';
import { consistently, eventually, type Patience, type Wait, type Window } from '../eventually.ts';
import { aCsiDriver } from './objects.ts';
import { createSidecars, type SidecarOptions, type Sidecars, type StartableName } from './sidecars.ts';
import type { TestRun } from './test-run.ts';

/** The parts of the environment. */
export interface ScenarioId {
  /** For example `P-01`. */
  readonly id: string;
  readonly driverName?: string;
  /** As in a scenario that runs once more with these rights. */
  readonly rights?: RbacProfile;
}

/** Its name in files and in the cluster, `P-01` or `P-01-minimal`. */
function placeOf({ id, rights }: ScenarioId): string {
  return rights === undefined ? id : `${id}-${rights}`;
}

/** The namespace of a scenario. */
export function namespaceOf(scenario: ScenarioId): string {
  return placeOf(scenario).toLowerCase();
}

/** The name of its driver. */
export function driverNameOf(scenario: ScenarioId): string {
  return scenario.driverName ?? `${namespaceOf(scenario)}.e2e.csi.test`;
}

export interface AnnouncedDriverOptions extends DriverOptions {
  /** Its CSIDriver object. By default volumes are mounted without being attached; otherwise a program must attach them. */
  readonly csiDriver?: Partial<CSIDriver['spec']>;
}

export interface ScenarioContext {
  readonly testRun: TestRun;
  readonly api: ApiClient;
  readonly signal: AbortSignal;
  readonly namespace: string;
  readonly driverName: string;
  /** Logs and, after a failure, artifacts. */
  readonly folder: string;
  /** For sockets, data and mounts; a short path. */
  readonly scratch: string;
  readonly driver: DriverInstance;
  /** Undefined if the scenario has started none. */
  readonly startedDriver: DriverDoor | undefined;
  /** A driver that was started elsewhere, for example in a pod. Undefined: it has been taken away again. */
  useDriver(door: DriverDoor | undefined): void;
  startDriver(options?: AnnouncedDriverOptions): Promise<DriverInstance>;
  /**
   * Checks the driver's side if the driver supports it: a foreign one does not, and then the result records that this
   * half was not checked.
   */
  onDriver(look: () => Promise<void>): Promise<void>;
  /** Whether something could not be checked. */
  readonly halfSeen: boolean;
  readonly sidecars: readonly SupervisedProcess[];
  startSidecar(name: StartableName, options?: SidecarOptions): Promise<SupervisedProcess>;
  startProvisioner(options?: SidecarOptions): Promise<SupervisedProcess>;
  startAttacher(options?: SidecarOptions): Promise<SupervisedProcess>;
  startResizer(options?: SidecarOptions): Promise<SupervisedProcess>;
  /** The ServiceAccount of a sidecar, with the permissions of the profile. */
  accountFor(name: ControllerName): Promise<ServiceAccountRef>;
  /** Permissions beyond the profile, named by the feature that needs them. */
  grant(name: ControllerName, need: string, rules: readonly PolicyRule[]): Promise<void>;
  /** A name for something cluster-wide, distinct from other scenarios'. */
  nameOf(what: string): string;
  /** Namespaced objects are created in the scenario's namespace; cluster-wide ones are deleted at the end. */
  create<T extends KubeObject>(resource: Resource<T>, object: T): Promise<T>;
  /** Deletes an object, in the scenario's namespace or cluster-wide; it may already be gone. */
  remove(resource: Resource, name: string): Promise<void>;
  eventually<T>(what: string, check: Wait<T>['check'], timeoutMs?: number): Promise<T>;
  consistently(window: Window): Promise<void>;
  /** This many with `--full`, a tenth of it otherwise. */
  many(full: number): number;
  /** Adds numbers for people to the result. */
  note(text: string): void;
  readonly notes: readonly string[];
  /** Disposes of resources that a scenario opens itself. */
  readonly cleanUp: AsyncDisposableStack;
}

export async function openContext(
  testRun: TestRun,
  scenario: ScenarioId,
  signal: AbortSignal,
): Promise<ScenarioContext> {
  const { api, clock, timeFactor } = testRun;
  const namespace = namespaceOf(scenario);
  const driverName = driverNameOf(scenario);
  const folder = join(testRun.reports, placeOf(scenario));
  const scratch = join(testRun.scratch, namespace);
  for (const path of [folder, scratch]) mkdirSync(path, { recursive: true });
  const patience: Patience = { clock, factor: timeFactor, signal };
  const cleanUp = new AsyncDisposableStack();
  let driver: DriverInstance | undefined;
  let door: DriverDoor | undefined;
  let sidecars: Sidecars | undefined;

  await api.create(namespaces, { apiVersion: 'v1', kind: 'Namespace', metadata: { name: namespace } });
  // The scenario does not wait for this: it takes the controller-manager seconds, and the name is not used again.
  cleanUp.defer(() => deleteIfThere(api, namespaces, { name: namespace }));

  let halfSeen = false;
  const notes: string[] = [];
  const theDriver = (): DriverInstance => {
    if (driver === undefined) throw new Error('this scenario has started no driver');
    return driver;
  };
  const theSidecars = (): Sidecars => {
    const socket = (): string => (door ?? theDriver()).socket;
    return (sidecars ??= createSidecars({ testRun, namespace, driverName, socket, logs: folder, scratch, cleanUp }));
  };

  const context: ScenarioContext = {
    testRun,
    api,
    signal,
    namespace,
    driverName,
    folder,
    scratch,
    cleanUp,
    get driver() {
      return theDriver();
    },
    get startedDriver() {
      return door;
    },
    useDriver: (used) => {
      door = used;
    },
    get halfSeen() {
      return halfSeen;
    },
    onDriver: async (look) => {
      if (testRun.has.has('driver-journal')) await look();
      else halfSeen = true;
    },
    get sidecars() {
      return sidecars?.started ?? [];
    },
    startDriver: async ({ csiDriver, ...options } = {}) => {
      const compiled = join(testRun.scratch, 'compiled');
      const place = { name: driverName, folder: scratch, logs: folder, compiled };
      const started = await startDriver(place, options, { clock, env: testRun.env, patience });
      driver = started;
      door = started;
      cleanUp.use(started.process);
      await context.create(csiDrivers, aCsiDriver(driverName, csiDriver));
      return started;
    },
    startSidecar: (name, options) => theSidecars().start(name, options),
    startProvisioner: (options) => theSidecars().start('csi-provisioner', options),
    startAttacher: (options) => theSidecars().start('csi-attacher', options),
    startResizer: (options) => theSidecars().start('csi-resizer', options),
    accountFor: (name) => theSidecars().accountFor(name),
    grant: (name, need, rules) => theSidecars().grant(name, need, rules),
    nameOf: (what) => `${namespace}-${what}`,
    create: async (resource, object) => {
      const metadata = resource.namespaced ? { ...object.metadata, namespace } : object.metadata;
      const created = await api.create(resource, { ...object, metadata });
      if (!resource.namespaced)
        cleanUp.defer(() => deleteIfThere(api, resource, { name: created.metadata?.name ?? '' }));
      return created;
    },
    remove: (resource, name) => deleteIfThere(api, resource, { name, ...(resource.namespaced && { namespace }) }),
    eventually: (what, check, timeoutMs) =>
      eventually(patience, { what, check, ...(timeoutMs !== undefined && { timeoutMs }) }),
    consistently: (window) => consistently(patience, window),
    many: (full) => (testRun.load === 'full' ? full : Math.ceil(full / 10)),
    note: (text) => void notes.push(text),
    notes,
  };
  return context;
}

/** The driver of the scenario, as a process or in a pod. */
export function doorOf({ startedDriver }: ScenarioContext): DriverDoor {
  assert.ok(startedDriver !== undefined, 'this scenario has a driver');
  return startedDriver;
}
