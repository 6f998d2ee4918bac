// SPDX-License-Identifier: Apache-2.0
/** A program with controllers beside a CSI driver: run-controller-program.ts, which opens the driver first. */
import type { ProgramFlags } from '../programs/program.ts';
import { type Driver, type DriverOptions, connectDriver, endWithDriver } from './driver.ts';
import {
  type ControllerBody,
  type ControllerContext,
  type ControllerGate,
  type ControllerValues,
  type PreparedWork,
  type ProgramDeps,
  runControllerProgram,
} from './run-controller-program.ts';

export interface SidecarValues extends ControllerValues {
  readonly 'csi-address': string;
}

export interface SidecarBody<V, G extends string> extends Omit<ControllerBody<V, G, Driver>, 'open' | 'prepare'> {
  readonly driver: (values: V) => Omit<DriverOptions, 'address'>;
  readonly prepare: (context: SidecarContext<V, G>) => Promise<PreparedWork>;
}

export type SidecarContext<V, G extends string> = Parameters<ControllerBody<V, G, Driver>['prepare']>[0] & Driver;

export function runSidecar<V extends SidecarValues, G extends string>(
  deps: ProgramDeps,
  program: ProgramFlags<V, G | ControllerGate>,
  body: SidecarBody<V, G | ControllerGate>,
): Promise<number> {
  return runControllerProgram<V, G, Driver>(deps, program, {
    ...body,
    open: async (context: ControllerContext<V, G | ControllerGate>, stack) => {
      const { values } = context.started;
      const onLost = (): void => endWithDriver(context);
      const driver = await connectDriver(
        { ...context, onLost },
        { ...body.driver(values), address: values['csi-address'] },
      );
      stack.defer(driver.channel.close);
      return driver;
    },
    prepare: async (context, driver) => {
      await driver.whenReady();
      return body.prepare({ ...context, ...driver });
    },
  });
}
