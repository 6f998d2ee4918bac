// SPDX-License-Identifier: Apache-2.0
/**
 * The CSI driver of one scenario: a supervised process with a socket. Ours (packages/test-driver) has a control door for
 * faults, a journal of calls and an inventory; of a foreign one (`CSI_DRIVER_BIN`) only the process and its socket are known.
 */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { Clock } from '@csi-sidecars/runtime';
import {
  testDriverCommand,
  type DriverControl,
  type Settings,
  type TestDriverCommand,
} from '@csi-sidecars/test-driver';
import { supervise, type SupervisedProcess } from '../processes/supervised-process.ts';
import { eventually, type Patience } from '../eventually.ts';
import type { Environment } from '../tools/locate.ts';

/** How a running driver is addressed, wherever it runs. */
export interface DriverDoor {
  /** The name in GetPluginInfo. */
  readonly name: string;
  readonly socket: string;
  /** With a foreign driver every call of it fails: scenarios that use it need `driver-journal` or `driver-faults`. */
  readonly control: DriverControl;
}

export interface DriverInstance extends DriverDoor {
  /** The socket of one of its nodes, if these were named. */
  socketOf(nodeId: string): string;
  readonly process: SupervisedProcess;
}

export interface DriverOptions {
  /** Settings of our driver (needs `driver-settings`), except its name. By default it has no topology. */
  readonly settings?: Partial<Omit<Settings, 'name'>>;
  /** Ids of the nodes that there are, each with a socket of its own (needs `driver-settings`). */
  readonly nodes?: readonly string[];
  /** Further flags of our driver. */
  readonly flags?: readonly string[];
}

export interface DriverPlace {
  readonly name: string;
  /** Sockets and data; a short path. */
  readonly folder: string;
  readonly logs: string;
  /** Where Node.js keeps our driver in compiled form, which makes its next start three times as fast. */
  readonly compiled?: string;
}

export interface DriverDeps {
  readonly clock: Clock;
  readonly env: Environment;
  readonly patience: Patience;
}

/** The hostpath driver has this flag as well. */
const withoutTopology = '--enable-topology=false';

export async function startDriver(
  place: DriverPlace,
  options: DriverOptions,
  { clock, env, patience }: DriverDeps,
): Promise<DriverInstance> {
  const { name, folder, logs, compiled } = place;
  const { nodes = [] } = options;
  const flags = [
    '--journal-secrets',
    ...(options.settings?.nodes === undefined ? [withoutTopology] : []),
    ...nodes.map((id) => `--node=id=${id}`),
    ...(options.flags ?? []),
  ];
  const socketOf = (nodeId: string): string => join(folder, `${nodeId}.sock`);
  const nodeSockets = Object.fromEntries(nodes.map((id) => [id, socketOf(id)]));
  const own = await testDriverCommand({ folder, settings: { ...options.settings, name }, nodeSockets, flags });
  const { socket, control } = own;
  const foreign = env['CSI_DRIVER_BIN'] ?? '';
  const { program, args } = foreign === '' ? own : foreignCommand(foreign, name, own);
  const logFile = join(logs, 'driver.log');
  const environment = { ...env, ...(compiled !== undefined && { NODE_COMPILE_CACHE: compiled }) };
  const spec = { name: 'driver', command: program, args, logFile, env: environment };
  await using untilReady = new AsyncDisposableStack();
  const process = untilReady.use(await supervise(spec, clock));
  // The control door of ours opens before its socket does.
  await eventually(patience, { what: `the driver listens (${spec.logFile})`, check: () => existsSync(socket) });
  untilReady.move();
  return { name, socket, socketOf, process, control };
}

/** With the flags of the hostpath driver. */
function foreignCommand(
  program: string,
  name: string,
  { socket, stateFolder }: TestDriverCommand,
): Pick<TestDriverCommand, 'program' | 'args'> {
  const place = [`--drivername=${name}`, `--endpoint=unix://${socket}`, `--statedir=${stateFolder}`];
  return { program, args: [...place, '--nodeid=node-1', withoutTopology, '--v=5'] };
}
