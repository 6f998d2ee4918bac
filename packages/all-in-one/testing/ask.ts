// SPDX-License-Identifier: Apache-2.0
/** The status and the body that a local port answers, or `refused`. */
export async function ask(port: number, path = '/healthz'): Promise<string> {
  const response = await fetch(`http://127.0.0.1:${port}${path}`).catch(() => undefined);
  return response === undefined ? 'refused' : `${response.status} ${await response.text()}`;
}
