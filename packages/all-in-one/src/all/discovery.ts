// SPDX-License-Identifier: Apache-2.0
import type { ApiClient } from '@csi-sidecars/runtime';

/**
 * Which kinds the cluster serves is asked once for all controllers: they get clients that share the answers to discovery. A failure is not
 * remembered.
 */
export function sharedDiscovery(): (client: ApiClient) => ApiClient {
  const answers = new Map<string, Promise<unknown>>();
  return (client) => ({
    ...client,
    raw: (path, options) => {
      if (!path.startsWith('/apis/')) return client.raw(path, options);
      let answer = answers.get(path);
      if (answer === undefined) {
        answer = client.raw(path, options);
        answers.set(path, answer);
        answer.catch(() => answers.delete(path));
      }
      return answer;
    },
  });
}
