// SPDX-License-Identifier: Apache-2.0
/** A kubeconfig with a bound token of a ServiceAccount: exactly the rights under test, never the administrator's. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { ControlPlane, ServiceAccountRef, TokenOptions } from '../control-planes/control-plane.ts';
import { writeKubeconfig } from '../control-planes/kubeconfig.ts';

export interface KubeconfigOptions extends TokenOptions {
  readonly account: ServiceAccountRef;
  /** Distinguishes several of one account. */
  readonly name: string;
  readonly folder: string;
  /** In place of the control plane's own address, for example a proxy with faults. */
  readonly server?: string | undefined;
}

export async function kubeconfigOf(controlPlane: ControlPlane, options: KubeconfigOptions): Promise<string> {
  const { account, name, folder, server, ...token } = options;
  mkdirSync(folder, { recursive: true });
  const path = join(folder, `${name}.token`);
  writeFileSync(path, await controlPlane.tokenFor(account, token), { mode: 0o600 });
  return writeKubeconfig(join(folder, `${name}.kubeconfig`), {
    server: server ?? controlPlane.server,
    caFile: controlPlane.caFile,
    credentials: { kind: 'tokenFile', path },
  });
}
