// SPDX-License-Identifier: Apache-2.0
/** A whole controller in its cluster, in virtual time: what the tests of all controllers start with and look at. */
import type { Code } from '@csi-sidecars/csi';
import { type Controller, createEventRecorder, type EventRecorder, type KubeObject } from '@csi-sidecars/runtime';
import type { AccessRule, Fault, FaultRule } from '@csi-sidecars/runtime/testing';
import {
  type ControllerProcess,
  createProcess,
  type ProcessOptions,
  type RunningController,
} from './controller-process.ts';
import { recordedEvents } from './recorded-events.ts';
import { faultOn, type TestCluster } from './test-cluster.ts';

export interface StartOptions extends Partial<Pick<ProcessOptions, 'interrupt' | 'defects'>> {
  /** Put into the API server before anything starts. Default: what the controller works on most. */
  readonly seed?: readonly KubeObject[];
  /** From the first request on. */
  readonly faults?: readonly FaultRule[];
  /** Default: what the controller's `rbac.ts` asks for, and nothing more. */
  readonly rules?: readonly AccessRule[];
  /** `written` to the API server by the real recorder. Default `lines`. */
  readonly events?: 'lines' | 'written';
  /** A cluster that outlived the process that worked on it. */
  readonly cluster?: TestCluster;
}

export interface StartedController extends RunningController {
  /** `Warning VolumeResizeFailed team/data: text` */
  readonly events: readonly string[];
  /** The bodies of `writes()`, in order. */
  bodies(): readonly unknown[];
  /** The next so many calls of this kind fail; default: one, of the kind that the controller is about. */
  failCalls(
    code: FailingCode,
    options?: { readonly method?: string; readonly times?: number; readonly message?: string; readonly skip?: number },
  ): void;
  /** The next so many requests of this kind, e.g. `patch persistentvolumeclaims/status`, meet this. */
  fault(what: string, fault: Fault, times?: number): void;
}

type FailingCode = Exclude<Extract<Code, string>, 'OK' | `Code(${number})`>;

export interface ControllerUnderTest {
  /** `csi-resizer` */
  readonly name: string;
  /** The component of its events. */
  readonly component: string;
  /** The call that it is about: `ControllerExpandVolume`. */
  readonly call: string;
  readonly seed: readonly KubeObject[];
  readonly newCluster: () => TestCluster | Promise<TestCluster>;
  readonly create: (
    ports: ControllerProcess['ports'] & { readonly events: EventRecorder },
    cluster: TestCluster,
  ) => Controller;
}

export async function startController(
  options: StartOptions,
  { name, component, call, seed, newCluster, create }: ControllerUnderTest,
): Promise<StartedController> {
  const cluster = options.cluster ?? (await newCluster());
  if (options.cluster === undefined) cluster.faults.push(...(options.faults ?? []));
  for (const object of options.seed ?? (options.cluster === undefined ? seed : [])) cluster.server.seed(object);
  const { interrupt, defects } = options;
  const process = createProcess(cluster, { name, interrupt, defects });
  const { ports, death } = process;
  const { lines, recorder } = recordedEvents(death);
  const events = options.events === 'written' ? createEventRecorder(ports, { component }) : recorder;
  const running = await process.run(create({ ...ports, events }, cluster));
  return {
    ...running,
    events: lines,
    bodies: () => cluster.server.writes().map(({ body }) => body),
    failCalls: (code, { method = call, times = 1, message = 'no', skip } = {}) =>
      void cluster.driver.faults.add({
        method,
        times,
        ...(skip === undefined ? {} : { skip }),
        action: { kind: 'fail', code, message },
      }),
    fault: (what, fault, times) => void cluster.faults.push(faultOn(what, fault, times)),
  };
}

export const gib: bigint = 1024n ** 3n;

type StatusFault = Extract<Fault, { readonly kind: 'status' }>;
const refusal = (code: number, reason: string): StatusFault => ({ kind: 'status', point: 'before', code, reason });
export const forbidden: StatusFault = refusal(403, 'Forbidden');
export const conflict: StatusFault = refusal(409, 'Conflict');
export const internalError: StatusFault = refusal(500, 'InternalError');
