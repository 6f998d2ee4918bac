// SPDX-License-Identifier: Apache-2.0
interface Serving {
  readonly port: number;
  /** The certificate of its authority, as PEM. */
  readonly ca: string;
  readonly token?: string;
}

/** The kubeconfig of an API server that a bench runs on this machine. */
export function kubeconfigText({ port, ca, token = 'bench' }: Serving): string {
  const cluster = {
    server: `https://127.0.0.1:${port}`,
    'certificate-authority-data': Buffer.from(ca).toString('base64'),
  };
  return JSON.stringify({
    apiVersion: 'v1',
    kind: 'Config',
    'current-context': 'bench',
    contexts: [{ name: 'bench', context: { cluster: 'bench', user: 'bench' } }],
    clusters: [{ name: 'bench', cluster }],
    users: [{ name: 'bench', user: { token } }],
  });
}
