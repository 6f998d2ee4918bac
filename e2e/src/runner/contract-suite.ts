// SPDX-License-Identifier: Apache-2.0
/**
 * The API contract suite on a control plane, through the product's own client: kubeconfig, credentials, transport. It runs over each
 * protocol that the server speaks, because programs behind proxies get HTTP/1.1.
 */
import {
  connectCluster,
  createApiClient,
  loadClusterConfig,
  silentLogger,
  systemFiles,
  type Clock,
} from '@csi-sidecars/runtime';
import { runContract } from '../contract/run-contract.ts';
import type { ControlPlane } from '../control-planes/control-plane.ts';
import type { Result } from './result.ts';

export interface ContractSuiteDeps {
  readonly controlPlane: ControlPlane;
  readonly clock: Clock;
  readonly signal: AbortSignal;
}

const protocols = [
  { name: 'HTTP/2', prefix: 'contract-h2', env: {} },
  { name: 'HTTP/1.1', prefix: 'contract-h1', env: { DISABLE_HTTP2: '1' } },
] as const;

export async function runContractSuite({ controlPlane, clock, signal }: ContractSuiteDeps): Promise<readonly Result[]> {
  const results: Result[] = [];
  // Without TLS the protocol cannot be negotiated, so only HTTP/1.1 is possible.
  const spoken = controlPlane.caFile === undefined ? protocols.slice(1) : protocols;
  for (const { name: protocol, prefix, env } of spoken) {
    const deps = { clock, env, files: systemFiles(), logger: silentLogger };
    const config = await loadClusterConfig(deps, { kubeconfig: controlPlane.adminKubeconfig });
    await using connection = await connectCluster(deps, config);
    const limits = { userAgent: 'csi-sidecars-contract', qps: -1, burst: 0 };
    const client = createApiClient({ ...deps, transport: connection.transport }, limits);
    const pass = (ms: number): Promise<void> => clock.sleep(ms, signal);
    const startedMs = clock.monotonicMs();
    const checks = await runContract(client, { prefix, pass, signal, has: controlPlane.has });
    const ranMs = (clock.monotonicMs() - startedMs) / checks.length;
    for (const { name, ...outcome } of checks) {
      results.push({ id: 'API', title: `${name} (${protocol})`, outcome, ranMs });
    }
  }
  return results;
}
