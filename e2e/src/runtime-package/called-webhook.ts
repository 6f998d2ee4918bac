// SPDX-License-Identifier: Apache-2.0
/** How the API server of these checks calls a webhook: at a port of loopback, because it runs in no pod and reaches no Service. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { ApiClient, KubeObject } from '@csi-sidecars/runtime';
import { createTestAuthority, freePort } from '@csi-sidecars/runtime/testing';
import { resourceOf } from './installed.ts';

export interface WebhookCertificate {
  /** With `tls.crt` and `tls.key`. */
  readonly folder: string;
  /** To listen on. */
  readonly address: string;
  readonly caBundle: string;
}

export async function certificateAt(folder: string): Promise<WebhookCertificate> {
  const authority = createTestAuthority();
  const { cert, key } = authority.issue({ commonName: 'webhooks', hosts: ['127.0.0.1'] });
  mkdirSync(folder);
  writeFileSync(join(folder, 'tls.crt'), cert);
  writeFileSync(join(folder, 'tls.key'), key);
  const address = `127.0.0.1:${await freePort()}`;
  return { folder, address, caBundle: Buffer.from(authority.ca).toString('base64') };
}

/** Replaces the Service in the one webhook of a configuration. */
export async function callAt(
  api: ApiClient,
  { kind, name }: { readonly kind: string; readonly name: string },
  { address, caBundle, path }: WebhookCertificate & { readonly path: string },
): Promise<void> {
  const object: KubeObject = { apiVersion: 'admissionregistration.k8s.io/v1', kind, metadata: { name } };
  const value = { url: `https://${address}${path}`, caBundle };
  const operations = [{ op: 'replace', path: '/webhooks/0/clientConfig', value }] as const;
  await api.patch({ resource: resourceOf(object), ref: { name } }, { type: 'json', operations });
}
