// SPDX-License-Identifier: Apache-2.0
import { join } from 'node:path';
import { writeFileSync } from 'node:fs';
import { inject } from 'vitest';
import { writeKubeconfig } from '../control-planes/kubeconfig.ts';
import { kubectl } from './commands.ts';

/** A kubeconfig with a token of this ServiceAccount. */
export async function kubeconfigOf(namespace: string, account: string): Promise<string> {
  const { server, caFile, scratch } = inject('cluster');
  const path = join(scratch, `${namespace}-${account}.token`);
  writeFileSync(path, await kubectl(['create', 'token', account, `--namespace=${namespace}`]), { mode: 0o600 });
  return writeKubeconfig(join(scratch, `${namespace}-${account}.kubeconfig`), {
    server,
    caFile,
    credentials: { kind: 'tokenFile', path },
  });
}
