// SPDX-License-Identifier: Apache-2.0
/**
 * A sidecar as a value: its command line, what it asks driver and API server at its start, and its controller. A process of its own
 * runs it (`runSidecarProgram`), or one that runs several of them beside each other (all-in-one).
 */
import type { CsiChannel } from '@csi-sidecars/csi';
import type { ControllerPorts } from '@csi-sidecars/runtime';
import type { LeadingController } from '@csi-sidecars/runtime/internal';
import type { ProgramFlags } from '../programs/program.ts';
import type { Driver, DriverOptions } from './driver.ts';
import type { ProgramHost } from './host.ts';
import { leadingWork } from './leading-work.ts';
import type { ControllerBody, ControllerContext, ControllerGate, ProgramDeps } from './run-controller-program.ts';
import { runSidecar, type SidecarValues } from './run-sidecar.ts';

export interface SidecarProgram<V extends SidecarValues, G extends string> extends Pick<
  ControllerBody<V, G, Driver>,
  'start' | 'refused' | 'kubeconfig' | 'clientExitCode' | 'httpExitCode' | 'requestMetrics'
> {
  readonly program: ProgramFlags<V, G>;
  /** Throws an ExitError for an environment in which the program cannot run. */
  readonly driver: (values: V, env: ProgramHost['env']) => Omit<DriverOptions, 'address'>;
  /** Rejects with an ExitError if the program cannot work with its driver or its cluster. */
  readonly prepare: (context: StartContext<V, G>) => Promise<PreparedController>;
}

/** What a controller has when its driver is ready. */
export type StartContext<V, G extends string> = Omit<ControllerContext<V, G>, 'cutShort'> &
  Pick<Driver, 'name'> & { readonly channel: CsiChannel };

export interface PreparedController {
  /** Upstream's lock name, e.g. `external-attacher-leader-<driver>`. */
  readonly lockName: string;
  /** Called for each term as a leader. It starts nothing. */
  readonly assemble: (ports: ControllerPorts) => LeadingController;
}

/** Runs the program in a process of its own. Resolves with the exit code. */
export function runSidecarProgram<V extends SidecarValues, G extends string>(
  deps: ProgramDeps,
  { program, driver, prepare, ...body }: SidecarProgram<V, G | ControllerGate>,
): Promise<number> {
  return runSidecar<V, G>(deps, program, {
    ...body,
    driver: (values) => driver(values, deps.host.env),
    prepare: async (context) => {
      const { lockName, assemble } = await prepare(context);
      return { lockName, run: leadingWork(context, assemble) };
    },
  });
}
