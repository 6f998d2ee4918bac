// SPDX-License-Identifier: Apache-2.0
/** A bound token of a ServiceAccount, from the API server's TokenRequest: what a pod of that account would be given. */
import type { Transport } from '@csi-sidecars/runtime';
import type { ServiceAccountRef, TokenOptions } from './control-plane.ts';

const hourMs = 3_600_000;

export async function requestToken(
  admin: Transport,
  { namespace, name }: ServiceAccountRef,
  { lifetimeMs = hourMs, boundTo, audiences }: TokenOptions = {},
): Promise<string> {
  const request = {
    apiVersion: 'authentication.k8s.io/v1',
    kind: 'TokenRequest',
    spec: {
      expirationSeconds: Math.ceil(lifetimeMs / 1000),
      ...(audiences !== undefined && { audiences }),
      ...(boundTo !== undefined && { boundObjectRef: { apiVersion: 'v1', kind: 'Secret', ...boundTo } }),
    },
  };
  const { status, body } = await admin({
    method: 'POST',
    path: `/api/v1/namespaces/${namespace}/serviceaccounts/${name}/token`,
    headers: { accept: 'application/json', 'content-type': 'application/json', 'user-agent': 'csi-sidecars-e2e' },
    body: Buffer.from(JSON.stringify(request)),
    signal: new AbortController().signal,
  });
  const text = Buffer.concat(await Array.fromAsync(body)).toString('utf8');
  const answer = JSON.parse(text) as { readonly status?: { readonly token?: string }; readonly message?: string };
  const token = answer.status?.token;
  if (token === undefined) throw new Error(`no token for ${namespace}/${name}: ${status} ${answer.message ?? ''}`);
  return token;
}
