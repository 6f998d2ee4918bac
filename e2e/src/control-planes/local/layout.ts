// SPDX-License-Identifier: Apache-2.0
/** Where everything of one local control plane is: ports, certificates, kubeconfigs, files. Made before anything starts. */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { ComponentName } from '../control-plane.ts';
import { writeKubeconfig } from '../kubeconfig.ts';
import { auditPolicy } from './audit-policy.ts';
import { createCertificates, type Certificates, type Identity, type KeyPair } from './certificates.ts';
import { freePorts } from './free-ports.ts';
import type { Call } from '../../suite-client/request.ts';

export const host = '127.0.0.1';

type Client = 'admin' | 'kube-controller-manager' | 'kube-scheduler';

export interface Layout {
  readonly ports: Readonly<Record<ComponentName | 'etcdPeer', number>>;
  readonly certificates: Certificates;
  readonly serverPair: KeyPair;
  readonly admin: KeyPair;
  readonly kubeconfigs: Readonly<Record<Client, string>>;
  readonly auditPolicy: string;
  readonly auditLog: string;
  readonly etcdData: string;
}

export async function prepareLayout(folder: string): Promise<Layout> {
  mkdirSync(folder, { recursive: true });
  const certificates = await createCertificates(join(folder, 'pki'));
  const ports = await freePorts(['etcd', 'etcdPeer', 'kube-apiserver', 'kube-controller-manager', 'kube-scheduler']);
  const server = `https://${host}:${ports['kube-apiserver']}`;
  const issue = async (identity: Identity): Promise<{ readonly pair: KeyPair; readonly kubeconfig: string }> => {
    const pair = await certificates.issueClient(identity);
    const path = join(folder, `${identity.file}.kubeconfig`);
    const credentials = { kind: 'certificate', ...pair } as const;
    return { pair, kubeconfig: writeKubeconfig(path, { server, caFile: certificates.ca.certFile, credentials }) };
  };
  const [serverPair, admin, controllerManager, scheduler] = await Promise.all([
    certificates.issueServer('kube-apiserver'),
    issue({ file: 'admin', commonName: 'admin', organization: 'system:masters' }),
    issue({ file: 'kube-controller-manager', commonName: 'system:kube-controller-manager' }),
    issue({ file: 'kube-scheduler', commonName: 'system:kube-scheduler' }),
  ]);
  const policyFile = join(folder, 'audit-policy.json');
  writeFileSync(policyFile, JSON.stringify(auditPolicy, undefined, 2));
  return {
    ports,
    certificates,
    serverPair,
    admin: admin.pair,
    kubeconfigs: {
      admin: admin.kubeconfig,
      'kube-controller-manager': controllerManager.kubeconfig,
      'kube-scheduler': scheduler.kubeconfig,
    },
    auditPolicy: policyFile,
    auditLog: join(folder, 'logs', 'audit.log'),
    etcdData: join(folder, 'etcd'),
  };
}

export function serverUrl({ ports }: Layout): string {
  return `https://${host}:${ports['kube-apiserver']}`;
}

/** How the suite itself asks the API server for something. */
export function adminCall(layout: Layout, path: string): Call {
  const { certificates, admin } = layout;
  return {
    url: `${serverUrl(layout)}${path}`,
    tls: {
      ca: readFileSync(certificates.ca.certFile),
      cert: readFileSync(admin.certFile),
      key: readFileSync(admin.keyFile),
    },
  };
}
