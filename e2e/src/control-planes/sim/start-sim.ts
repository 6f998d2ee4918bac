// SPDX-License-Identifier: Apache-2.0
/**
 * Control plane `sim`: the simulated API server with its core controllers in this process, served over HTTPS so that programs in
 * other processes, and kubectl, use it as they would a real one. Needs nothing but Node.js.
 */
import { join } from 'node:path';
import { systemRandom, type Clock } from '@csi-sidecars/runtime';
import { serveOverHttp, type RequestRecord } from '@csi-sidecars/runtime/testing';
import { startSim } from '@csi-sidecars/sim';
import type { AuditedRequest, PatchKind } from '../../audit/read-audit.ts';
import { openFront } from '../../faults/front.ts';
import { createCertificates, loopbackHosts } from '../certificates.ts';
import type { Capability, Component, ControlPlane } from '../control-plane.ts';
import { writeKubeconfig } from '../kubeconfig.ts';
import { requestToken } from '../request-token.ts';

export interface SimControlPlaneOptions {
  readonly clock: Clock;
  readonly folder: string;
}

const capabilities: readonly Capability[] = [
  'rbac',
  'scheduler',
  'audit',
  'api-server-control',
  'compaction',
  'attributes-classes',
  'volume-health',
  'expansion-recovery',
  'attachment-error-codes',
  'streaming-lists',
];

export async function startSimControlPlane({ clock, folder }: SimControlPlaneOptions): Promise<ControlPlane> {
  await using opening = new AsyncDisposableStack();
  const sim = opening.use(startSim({ clock, random: systemRandom() }));
  const { transport } = sim.server;
  const endpoint = opening.use(await serveOverHttp(transport, { port: 0 }));
  const certificates = createCertificates(join(folder, 'pki'));
  const { caFile } = certificates;
  const serverPair = certificates.issue('server', { commonName: 'sim', hosts: loopbackHosts });
  const front = await openFront({ innerPort: Number(new URL(endpoint.url).port), certificate: serverPair });
  opening.defer(() => front.close());

  const server = `https://127.0.0.1:${front.port}`;
  // A client without a token is the administrator of the simulation, which asks for no certificate; kubectl wants to have one.
  const admin = certificates.issue('admin', { commonName: 'admin' });
  const credentials = { kind: 'certificate', ...admin } as const;
  const adminKubeconfig = writeKubeconfig(join(folder, 'admin.kubeconfig'), { server, caFile, credentials });
  const apiServer: Component = {
    name: 'kube-apiserver',
    pid: process.pid,
    // There is no process to end: connections are refused and broken. Stored objects stay.
    kill: () => front.close(),
    stop: () => front.close(),
    start: () => front.open(),
    pause: notAProcess,
    resume: notAProcess,
  };
  const running = opening.move();
  return {
    name: 'sim',
    has: new Set(capabilities),
    server,
    caFile,
    serverPair,
    adminKubeconfig,
    admin: transport,
    audit: () => sim.server.requests.map(toAudited),
    logFiles: [],
    components: new Map([[apiServer.name, apiServer]]),
    tokenFor: (account, options) => requestToken(transport, account, options),
    compact: () => Promise.resolve(sim.server.compact()),
    [Symbol.asyncDispose]: () => running.disposeAsync(),
  };
}

function notAProcess(): never {
  throw new Error('the simulated API server cannot be frozen');
}

const patchKinds: Readonly<Record<string, PatchKind>> = {
  'application/json-patch+json': 'json',
  'application/merge-patch+json': 'merge',
  'application/strategic-merge-patch+json': 'strategic',
  'application/apply-patch+yaml': 'apply',
};

function toAudited(record: RequestRecord): AuditedRequest {
  const { user, userAgent, verb, group, resource, subresource = '', namespace = '', name = '', code, path } = record;
  const patch = verb === 'patch' ? patchKinds[record.contentType ?? ''] : undefined;
  return { user, userAgent, verb, group, resource, subresource, namespace, name, code, patch, uri: path };
}
