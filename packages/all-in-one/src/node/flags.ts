// SPDX-License-Identifier: Apache-2.0
/** One command line for the registrar and livenessprobe. A flag with the same name and different meanings gets a prefix. */
import { type LivenessprobeValues, livenessprobeProgram } from '@csi-sidecars/livenessprobe';
import { type NodeDriverRegistrarValues, nodeDriverRegistrarProgram } from '@csi-sidecars/node-driver-registrar';
import type { ProgramFlags } from '@csi-sidecars/sidecar';

type Colliding = 'http-endpoint' | 'health-port';

export interface NodeValues extends Omit<NodeDriverRegistrarValues, Colliding>, Omit<LivenessprobeValues, Colliding> {
  readonly 'registrar-http-endpoint': string;
  readonly 'registrar-health-port': number;
  readonly 'livenessprobe-http-endpoint': string;
  readonly 'livenessprobe-health-port': string;
}

const {
  'http-endpoint': registrarEndpoint,
  'health-port': registrarPort,
  ...registrarFlags
} = nodeDriverRegistrarProgram.flags;
const {
  'http-endpoint': livenessprobeEndpoint,
  'health-port': livenessprobePort,
  ...livenessprobeFlags
} = livenessprobeProgram.flags;

export const nodeProgram: ProgramFlags<NodeValues> = {
  name: 'csi-sidecars',
  syntax: 'go',
  gates: {},
  flags: {
    ...livenessprobeFlags,
    ...registrarFlags,
    'registrar-http-endpoint': registrarEndpoint,
    'registrar-health-port': { ...registrarPort, deprecated: 'use --registrar-http-endpoint' },
    'livenessprobe-http-endpoint': livenessprobeEndpoint,
    'livenessprobe-health-port': { ...livenessprobePort, deprecated: 'use --livenessprobe-http-endpoint' },
  },
};

export function registrarValues(values: NodeValues): NodeDriverRegistrarValues {
  return {
    ...values,
    'http-endpoint': values['registrar-http-endpoint'],
    'health-port': values['registrar-health-port'],
  };
}

export function livenessprobeValues(values: NodeValues): LivenessprobeValues {
  return {
    ...values,
    'http-endpoint': values['livenessprobe-http-endpoint'],
    'health-port': values['livenessprobe-health-port'],
  };
}
