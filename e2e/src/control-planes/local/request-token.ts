// SPDX-License-Identifier: Apache-2.0
/** A bound token of a ServiceAccount, from the API server's TokenRequest: what a pod of that account would be given. */
import type { ServiceAccountRef, TokenOptions } from '../control-plane.ts';
import { adminCall, type Layout } from './layout.ts';
import { request } from '../../suite-client/request.ts';

const hourMs = 3_600_000;

export async function requestToken(
  layout: Layout,
  { namespace, name }: ServiceAccountRef,
  { lifetimeMs = hourMs }: TokenOptions = {},
): Promise<string> {
  const { status, text } = await request({
    ...adminCall(layout, `/api/v1/namespaces/${namespace}/serviceaccounts/${name}/token`),
    method: 'POST',
    body: {
      apiVersion: 'authentication.k8s.io/v1',
      kind: 'TokenRequest',
      spec: { expirationSeconds: Math.ceil(lifetimeMs / 1000) },
    },
  });
  const answer = JSON.parse(text) as { readonly status?: { readonly token?: string }; readonly message?: string };
  const token = answer.status?.token;
  if (token === undefined) {
    throw new Error(`no token for ${namespace}/${name}: ${status} ${answer.message ?? ''}`);
  }
  return token;
}
