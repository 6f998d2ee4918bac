// SPDX-License-Identifier: Apache-2.0
/** Tokens of ServiceAccounts, and the TokenRequest sub-resource that issues them. */
import { refusals, type Extension } from '@csi-sidecars/runtime/testing';
import type { Clock, Random } from '@csi-sidecars/runtime';
import { serviceAccounts } from './plain-types.ts';
import { toTime } from '../timestamps.ts';

export interface AccountRef {
  readonly namespace: string;
  readonly name: string;
}

export interface Tokens {
  /** Undefined for a token that was never issued, or has expired. */
  readonly accountOf: (token: string) => AccountRef | undefined;
  /** `POST .../serviceaccounts/<name>/token` */
  readonly extension: Extension;
}

const defaultSeconds = 3_600;

export function createTokens({ clock, random }: { readonly clock: Clock; readonly random: Random }): Tokens {
  const issued = new Map<string, AccountRef & { readonly expiresMs: number }>();
  return {
    accountOf(token) {
      const found = issued.get(token);
      return found === undefined || found.expiresMs <= clock.nowMs() ? undefined : found;
    },
    extension({ route, method, body, objects }) {
      if (method !== 'POST' || route.resource !== serviceAccounts.plural || route.subresource !== 'token')
        return undefined;
      const { namespace = '', name = '' } = route;
      if (objects.get(serviceAccounts, { namespace, name }) === undefined)
        throw refusals.notFound(serviceAccounts, name);
      const spec = (body as { readonly spec?: { readonly expirationSeconds?: number } } | undefined)?.spec ?? {};
      const expiresMs = clock.nowMs() + (spec.expirationSeconds ?? defaultSeconds) * 1000;
      const token = `sim.${namespace}.${name}.${random.uuid()}`;
      issued.set(token, { namespace, name, expiresMs });
      const status = { token, expirationTimestamp: toTime(expiresMs) };
      const metadata = { name, namespace, creationTimestamp: null };
      return {
        code: 201,
        body: { kind: 'TokenRequest', apiVersion: 'authentication.k8s.io/v1', metadata, spec, status },
      };
    },
  };
}
