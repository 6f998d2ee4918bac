// SPDX-License-Identifier: Apache-2.0
/** Kubeconfig files: JSON, which is YAML as well, with paths instead of embedded certificates so that they stay readable. */
import { writeFileSync } from 'node:fs';

export type Credentials =
  | { readonly kind: 'certificate'; readonly certFile: string; readonly keyFile: string }
  /** The file is read again by the client, so a token can be renewed under a running program. */
  | { readonly kind: 'tokenFile'; readonly path: string };

export interface Kubeconfig {
  readonly server: string;
  readonly caFile: string | undefined;
  readonly credentials: Credentials;
}

export function writeKubeconfig(path: string, { server, caFile, credentials }: Kubeconfig): string {
  const name = 'e2e';
  const content = {
    apiVersion: 'v1',
    kind: 'Config',
    'current-context': name,
    contexts: [{ name, context: { cluster: name, user: name } }],
    clusters: [{ name, cluster: { server, 'certificate-authority': caFile } }],
    users: [{ name, user: toUser(credentials) }],
  };
  writeFileSync(path, `${JSON.stringify(content, undefined, 2)}\n`, { mode: 0o600 });
  return path;
}

function toUser(credentials: Credentials): Record<string, string> {
  switch (credentials.kind) {
    case 'certificate':
      return { 'client-certificate': credentials.certFile, 'client-key': credentials.keyFile };
    case 'tokenFile':
      return { tokenFile: credentials.path };
  }
}
