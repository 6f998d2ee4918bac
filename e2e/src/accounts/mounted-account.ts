// SPDX-License-Identifier: Apache-2.0
/**
 * The files of a ServiceAccount as a kubelet keeps them for a pod: a token bound to an object, the CA, the namespace, all
 * replaced in one step. Here the token is bound to a Secret, so that it can be made worthless before its time.
 */
import { mkdirSync, readFileSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { secrets, type ApiClient } from '@csi-sidecars/runtime';
import type { ControlPlane, ServiceAccountRef } from '../control-planes/control-plane.ts';

export interface MountedAccount {
  /** Writes a new token and makes the old one worthless, which it resolves with. */
  rotate(): Promise<string>;
}

export interface MountedAccountDeps {
  readonly controlPlane: ControlPlane;
  readonly api: ApiClient;
}

interface Generation {
  readonly token: string;
  readonly secret: string;
  readonly folder: string;
}

export async function mountAccount(
  { controlPlane, api }: MountedAccountDeps,
  { account, folder }: { readonly account: ServiceAccountRef; readonly folder: string },
): Promise<MountedAccount> {
  const { namespace } = account;
  let generations = 0;

  const next = async (): Promise<Generation> => {
    generations += 1;
    const secret = `token-holder-${generations}`;
    const { metadata } = await api.create(secrets, {
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: { name: secret, namespace },
    });
    const boundTo = { name: secret, uid: metadata?.uid ?? '' };
    const token = await controlPlane.tokenFor(account, { boundTo });
    const generation = { token, secret, folder: `..generation-${generations}` };
    write(generation);
    return generation;
  };
  const write = (generation: Generation): void => {
    const path = join(folder, generation.folder);
    mkdirSync(path);
    writeFileSync(join(path, 'token'), generation.token, { mode: 0o600 });
    writeFileSync(join(path, 'namespace'), namespace);
    if (controlPlane.caFile !== undefined) writeFileSync(join(path, 'ca.crt'), readFileSync(controlPlane.caFile));
    symlinkSync(generation.folder, join(folder, '..next'));
    renameSync(join(folder, '..next'), join(folder, '..data'));
  };

  mkdirSync(folder, { recursive: true });
  for (const file of ['token', 'namespace', 'ca.crt']) symlinkSync(join('..data', file), join(folder, file));
  let current = await next();
  return {
    rotate: async () => {
      const old = current;
      current = await next();
      rmSync(join(folder, old.folder), { recursive: true });
      await api.delete(secrets, { namespace, name: old.secret });
      return old.token;
    },
  };
}
