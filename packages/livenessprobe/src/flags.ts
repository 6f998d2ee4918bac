// SPDX-License-Identifier: Apache-2.0
/** Command line of livenessprobe. */
import {
  automaxprocsFlag,
  csiAddressFlag,
  durationFlag,
  loggingFlags,
  metricsPathFlag,
  stringFlag,
} from '@csi-sidecars/sidecar';
import type { LoggingValues, ProgramFlags } from '@csi-sidecars/sidecar';

export interface LivenessprobeValues extends LoggingValues {
  readonly automaxprocs: boolean;
  readonly 'csi-address': string;
  /** Milliseconds. */
  readonly 'probe-timeout': number;
  readonly 'health-port': string;
  readonly 'http-endpoint': string;
  readonly 'metrics-address': string;
  readonly 'metrics-path': string;
}

export const livenessprobeProgram: ProgramFlags<LivenessprobeValues> = {
  name: 'livenessprobe',
  syntax: 'go',
  gates: {},
  flags: {
    ...loggingFlags,
    automaxprocs: automaxprocsFlag,
    'csi-address': csiAddressFlag,
    'probe-timeout': durationFlag(3_000, 'Budget of one health check, connecting included.'),
    'health-port': { ...stringFlag('9808', 'TCP port of /healthz.'), deprecated: 'use --http-endpoint' },
    'http-endpoint': {
      ...stringFlag('', 'The TCP address of /healthz and metrics.'),
      brief: 'The TCP address of /healthz and metrics. Empty: /healthz at port 9808.',
    },
    'metrics-address': {
      ...stringFlag('', 'The TCP address of the metrics server.'),
      deprecated: 'use --http-endpoint',
    },
    'metrics-path': metricsPathFlag,
  },
};
