// SPDX-License-Identifier: Apache-2.0
/** Where everything of one local control plane is: ports, certificates, kubeconfigs, files. Made before anything starts. */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { CertificateSubject } from '@csi-sidecars/runtime/testing';
import { createCertificates, loopbackHosts, type KeyPair } from '../certificates.ts';
import type { LocalComponentName } from '../control-plane.ts';
import { writeKubeconfig } from '../kubeconfig.ts';
import { auditPolicy } from './audit-policy.ts';
import { freePorts } from './free-ports.ts';
import { writeServiceAccountKeys, type ServiceAccountKeys } from './service-account-keys.ts';
import type { Call } from '../../suite-client/request.ts';

export const host = '127.0.0.1';

type Client = 'admin' | 'kube-controller-manager' | 'kube-scheduler';

export interface Layout {
  readonly ports: Readonly<Record<LocalComponentName | 'etcdPeer', number>>;
  readonly caFile: string;
  readonly server: KeyPair;
  readonly admin: KeyPair;
  /** Who the API server is for kubelet. */
  readonly kubeletClient: KeyPair;
  readonly serviceAccounts: ServiceAccountKeys;
  readonly kubeconfigs: Readonly<Record<Client, string>>;
  /** A kubeconfig file with a new certificate of this subject; `name` is the base name of the files. */
  readonly kubeconfigFor: (name: string, subject: CertificateSubject) => string;
  readonly auditPolicy: string;
  readonly auditLog: string;
  readonly etcdData: string;
}

export async function prepareLayout(folder: string): Promise<Layout> {
  const pki = join(folder, 'pki');
  const certificates = createCertificates(pki);
  const { caFile } = certificates;
  const ports = await freePorts(['etcd', 'etcdPeer', 'kube-apiserver', 'kube-controller-manager', 'kube-scheduler']);
  const kubeconfig = (name: string, pair: KeyPair): string =>
    writeKubeconfig(join(folder, `${name}.kubeconfig`), {
      server: `https://${host}:${ports['kube-apiserver']}`,
      caFile,
      credentials: { kind: 'certificate', ...pair },
    });
  const kubeconfigFor = (name: string, subject: CertificateSubject): string =>
    kubeconfig(name, certificates.issue(name, subject));
  const controller = (name: 'kube-controller-manager' | 'kube-scheduler'): string =>
    kubeconfigFor(name, { commonName: `system:${name}` });
  const admin = certificates.issue('admin', { commonName: 'admin', organization: 'system:masters' });
  const policyFile = join(folder, 'audit-policy.json');
  writeFileSync(policyFile, JSON.stringify(auditPolicy, undefined, 2));
  return {
    ports,
    caFile,
    server: certificates.issue('kube-apiserver', { commonName: 'kube-apiserver', hosts: loopbackHosts }),
    admin,
    kubeletClient: certificates.issue('kubelet-client', {
      commonName: 'kube-apiserver-kubelet-client',
      organization: 'system:masters',
    }),
    serviceAccounts: writeServiceAccountKeys(pki),
    kubeconfigs: {
      admin: kubeconfig('admin', admin),
      'kube-controller-manager': controller('kube-controller-manager'),
      'kube-scheduler': controller('kube-scheduler'),
    },
    kubeconfigFor,
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
  const { caFile, admin } = layout;
  return {
    url: `${serverUrl(layout)}${path}`,
    tls: {
      ca: readFileSync(caFile),
      cert: readFileSync(admin.certFile),
      key: readFileSync(admin.keyFile),
    },
  };
}
