// SPDX-License-Identifier: Apache-2.0
/** A GET of a port of a pod, through the API server, with the credentials of the command. */
import type { ApiConnection } from '@csi-sidecars/runtime/internal';
import { askHttp, type HttpAnswer, type HttpAsking } from '../leader-answer/http.ts';
import type { PodPort } from './websocket.ts';

/** `path` has its query. Rejects when there is no answer, when it has more bytes than it may have, and with the reason of the signal. */
export type AskPod = (target: PodPort, path: string, asking: HttpAsking) => Promise<HttpAnswer>;

/** `headers` are sent to the API server beside the credentials. */
export function askPodThrough(dial: ApiConnection['dial'], headers: Readonly<Record<string, string>>): AskPod {
  return async (target, path, asking) => {
    if (dial === undefined) throw new Error('this connection to the API server lets no port-forward through');
    // Loaded only for a port-forward.
    const [{ forwardTo }, dialed] = await Promise.all([import('./websocket.ts'), dial()]);
    const stream = await forwardTo({ ...dialed, headers: { ...dialed.headers, ...headers } }, target, asking.signal);
    try {
      // A request over a stream that has failed waits for ever.
      if (stream.errored !== null) throw stream.errored;
      // The port-forward ends on the loopback of the pod, and the host has to name it.
      return await askHttp(new URL(path, `http://127.0.0.1:${target.port}`), { ...asking, connect: () => stream });
    } finally {
      stream.destroy();
    }
  };
}
