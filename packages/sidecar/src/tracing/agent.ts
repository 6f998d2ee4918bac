// SPDX-License-Identifier: Apache-2.0
/** The connections to the collector: its authorities, the proxy that the environment asks for as API traffic does, and their end. */
import { readFileSync } from 'node:fs';
import { Agent as HttpAgent } from 'node:http';
import { Agent as HttpsAgent } from 'node:https';
import { endpointOf, proxyFromEnvironment } from '@csi-sidecars/runtime/internal';
import type { TracingDeps } from './tracing.ts';

export interface CollectorAgent {
  /** The agent for the next request. */
  readonly open: () => HttpAgent;
  /** Breaks all connections; requests that are under way fail. */
  readonly cutOff: () => void;
}

export function collectorAgent({ env, logger }: Pick<TracingDeps, 'env' | 'logger'>, endpoint: URL): CollectorAgent {
  const target = endpointOf(endpoint);
  const { scheme } = target;
  const proxy = proxyFromEnvironment(target, env);
  const options = {
    keepAlive: true,
    maxSockets: 4,
    ...(proxy === undefined ? {} : { proxyEnv: { [scheme === 'https' ? 'HTTPS_PROXY' : 'HTTP_PROXY']: proxy.href } }),
  };
  const read = (name: string): Buffer | undefined => {
    const path = env[`OTEL_EXPORTER_OTLP_TRACES_${name}`] || env[`OTEL_EXPORTER_OTLP_${name}`];
    if (path === undefined || path === '') return undefined;
    try {
      return readFileSync(path);
    } catch (error) {
      logger.error(error, 'Cannot read a certificate for the export of spans', { variable: name });
      return undefined;
    }
  };
  const agent =
    scheme === 'http'
      ? new HttpAgent(options)
      : new HttpsAgent({
          ...options,
          ca: read('CERTIFICATE'),
          cert: read('CLIENT_CERTIFICATE'),
          key: read('CLIENT_KEY'),
        });
  return { open: () => agent, cutOff: () => agent.destroy() };
}
