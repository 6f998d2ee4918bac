// SPDX-License-Identifier: Apache-2.0
/** Command line of csi-node-driver-registrar. */
import {
  automaxprocsFlag,
  csiAddressFlag,
  durationFlag,
  intFlag,
  loggingFlags,
  pprofFlag,
  stringFlag,
  versionFlag,
} from '@csi-sidecars/sidecar';
import type { LoggingValues, ProgramFlags } from '@csi-sidecars/sidecar';

export interface NodeDriverRegistrarValues extends LoggingValues {
  readonly automaxprocs: boolean;
  readonly version: boolean;
  readonly 'csi-address': string;
  readonly 'kubelet-registration-path': string;
  readonly 'plugin-registration-path': string;
  /** Milliseconds. */
  readonly timeout: number;
  readonly 'http-endpoint': string;
  readonly 'health-port': number;
  readonly 'enable-pprof': boolean;
  readonly mode: string;
  /** Milliseconds. */
  readonly 'connection-timeout': number;
}

export const nodeDriverRegistrarProgram: ProgramFlags<NodeDriverRegistrarValues> = {
  name: 'csi-node-driver-registrar',
  syntax: 'go',
  gates: {},
  flags: {
    ...loggingFlags,
    automaxprocs: automaxprocsFlag,
    version: versionFlag,
    'csi-address': {
      ...csiAddressFlag,
      usage: 'Path of the CSI driver socket that the registrar connects to.',
    },
    'kubelet-registration-path': stringFlag(
      '',
      'Path of the CSI driver socket on the host, as kubelet sees it. Required.',
    ),
    'plugin-registration-path': stringFlag('/registration', 'Folder of the registration socket.'),
    timeout: durationFlag(1_000, 'Timeout of the calls that ask for the driver name.'),
    'http-endpoint': stringFlag(
      '',
      'The TCP address of /healthz and profiling. Empty: no server. Excludes --health-port.',
    ),
    'health-port': { ...intFlag(0, 'TCP port of /healthz; 0: none.'), deprecated: 'use --http-endpoint' },
    'enable-pprof': pprofFlag,
    mode: {
      ...stringFlag('', '"kubelet-registration-probe" exits 0 at once; else no effect.'),
      deprecated: 'no effect',
    },
    'connection-timeout': { ...durationFlag(0, 'No effect.'), deprecated: 'no effect' },
  },
};
