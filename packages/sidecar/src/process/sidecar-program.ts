// SPDX-License-Identifier: Apache-2.0
/**
 * A sidecar as a value: its command line, what it asks driver and API server at its start, and its controller. A process of its own
 * runs it (`runSidecarProgram`), or one that runs several of them beside each other (all-in-one).
 */
import type { CsiChannel } from '@csi-sidecars/csi';
import type { DiagnosticsServer } from '@csi-sidecars/runtime/internal';
import type { ProgramFlags } from '../programs/manifest.ts';
import { connectDriver, type Driver, type DriverOptions, endWithDriver } from './driver.ts';
import type { ProgramHost } from './host.ts';
import {
  type ControllerBody,
  type ControllerContext,
  type ControllerGate,
  type ControllerValues,
  type PreparedController,
  type ProgramDeps,
  runControllerProgram,
} from './run-controller-program.ts';

export interface SidecarValues extends ControllerValues {
  readonly 'csi-address': string;
}

export interface SidecarProgram<V extends SidecarValues, G extends string> extends Omit<
  ControllerBody<V, G, Driver>,
  'open' | 'prepare'
> {
  readonly program: ProgramFlags<V, G>;
  /** Throws an ExitError for an environment in which the program cannot run. */
  readonly driver: (values: V, env: ProgramHost['env']) => Omit<DriverOptions, 'address'>;
  /** Rejects with an ExitError if the program cannot work with its driver or its cluster. */
  readonly prepare: (context: StartContext<V, G>) => Promise<PreparedController>;
}

/** What a controller has when its driver is ready. */
export type StartContext<V, G extends string> = Omit<ControllerContext<V, G>, 'cutShort'> &
  Pick<Driver, 'name'> & {
    readonly channel: CsiChannel;
    /** The program's own HTTP server, if it has one. */
    readonly diagnostics?: DiagnosticsServer | undefined;
  };

/** Runs the program in a process of its own, and opens the driver first. Resolves with the exit code. */
export function runSidecarProgram<V extends SidecarValues, G extends string>(
  deps: ProgramDeps,
  { program, driver: optionsOf, prepare, ...body }: SidecarProgram<V, G | ControllerGate>,
): Promise<number> {
  return runControllerProgram<V, G, Driver>(deps, program, {
    ...body,
    open: async (context, stack) => {
      const { values } = context.started;
      const onLost = (): void => endWithDriver(context);
      const options = { ...optionsOf(values, deps.host.env), address: values['csi-address'] };
      const driver = await connectDriver({ ...context, onLost }, options);
      stack.defer(driver.channel.close);
      context.tracing?.setDriver(driver.name);
      return driver;
    },
    prepare: async (context, driver) => {
      await driver.whenReady();
      return { ...(await prepare({ ...context, ...driver })), driverLost: driver.channel.lost };
    },
  });
}
