// SPDX-License-Identifier: Apache-2.0
/**
 * Where the program listens, from three flags of which two are deprecated. First match wins:
 *
 * | --health-port | --http-endpoint | --metrics-address | Result |
 * |---|---|---|---|
 * | not 9808 | set | any | refused, exit code 1 |
 * | 9808 | set | set | refused, exit code 1 |
 * | 9808 | E | | health and metrics on E |
 * | P | | M | health on 0.0.0.0:P, metrics on M |
 * | P | | | health on 0.0.0.0:P, no metrics |
 *
 * A metrics path that cannot be served beside the health check is refused with exit code 2, where upstream panics.
 */
import { exitCodes } from '@csi-sidecars/sidecar';
import type { LivenessprobeValues } from './flags.ts';
import { messages } from './messages.ts';

export interface LivenessprobeSettings {
  readonly csiAddress: string;
  readonly probeTimeoutMs: number;
  readonly healthAddress: string;
  readonly metrics: MetricsPlace;
}

export type MetricsPlace =
  | { readonly kind: 'none' }
  | { readonly kind: 'besideHealth'; readonly path: string }
  | { readonly kind: 'apart'; readonly address: string; readonly path: string };

export type ReadSettings =
  | { readonly kind: 'settings'; readonly settings: LivenessprobeSettings }
  | { readonly kind: 'refused'; readonly exitCode: number; readonly message: string };

const defaultPort = '9808';
export const healthPath = '/healthz';

export function readSettings(values: LivenessprobeValues): ReadSettings {
  const port = values['health-port'];
  const endpoint = values['http-endpoint'];
  const metricsAddress = values['metrics-address'];
  const path = values['metrics-path'];
  if (endpoint !== '' && port !== defaultPort) return conflict(messages.exclusivePort);
  if (endpoint !== '' && metricsAddress !== '') return conflict(messages.exclusiveMetrics);
  const metrics = placeOf({ endpoint, metricsAddress, path });
  const unusable = unusablePath(metrics);
  if (unusable !== undefined) return { kind: 'refused', exitCode: exitCodes.panic, message: unusable };
  return {
    kind: 'settings',
    settings: {
      csiAddress: values['csi-address'],
      probeTimeoutMs: values['probe-timeout'],
      healthAddress: endpoint === '' ? `0.0.0.0:${port}` : endpoint,
      metrics,
    },
  };
}

function conflict(message: string): ReadSettings {
  return { kind: 'refused', exitCode: exitCodes.failure, message };
}

function placeOf(given: {
  readonly endpoint: string;
  readonly metricsAddress: string;
  readonly path: string;
}): MetricsPlace {
  const { endpoint, metricsAddress, path } = given;
  if (metricsAddress !== '') return { kind: 'apart', address: metricsAddress, path };
  return endpoint === '' ? { kind: 'none' } : { kind: 'besideHealth', path };
}

function unusablePath(metrics: MetricsPlace): string | undefined {
  if (metrics.kind === 'none') return undefined;
  if (!metrics.path.startsWith('/')) return messages.metricsPathRelative(metrics.path);
  const isTaken = metrics.kind === 'besideHealth' && metrics.path === healthPath;
  return isTaken ? messages.metricsPathTaken(metrics.path) : undefined;
}
