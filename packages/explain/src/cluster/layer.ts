// SPDX-License-Identifier: Apache-2.0
/**
 * A layer around the transport of a command. It counts requests and bytes, reads the time of the server from its answers, adds the headers of
 * impersonation, and lets no request through that could change an object.
 */
import type { Clock, Transport } from '@csi-sidecars/runtime';

export interface Meter {
  readonly requests: () => number;
  readonly bytes: () => number;
  /** How far the clock of the server is ahead of ours, in milliseconds. 0 until the server has answered. */
  readonly serverAheadMs: () => number;
}

export interface Impersonation {
  /** Empty: the user of the kubeconfig. */
  readonly user: string;
  readonly group: string;
}

export interface MeteredTransport {
  readonly layer: (transport: Transport) => Transport;
  /** The headers of impersonation, for a connection without the layer. */
  readonly identity: Readonly<Record<string, string>>;
  readonly meter: Meter;
}

/** Reviews of access store nothing, although they are POST requests. */
const reviews =
  /^\/apis\/authorization\.k8s\.io\/v1\/(selfsubjectaccessreviews|selfsubjectrulesreviews|subjectaccessreviews)$/;

/** The names and dates of secrets, and nothing of their content. */
const metadataOnly = 'application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1';

/** The header has whole seconds, so that smaller differences are not known. */
const knownFromMs = 1_000;

export function meteredTransport(clock: Pick<Clock, 'nowMs'>, { user, group }: Impersonation): MeteredTransport {
  let requests = 0;
  let bytes = 0;
  let aheadMs = 0;
  const identity: Readonly<Record<string, string>> = {
    ...(user !== '' && { 'impersonate-user': user }),
    ...(group !== '' && { 'impersonate-group': group }),
  };
  async function* counted(body: AsyncIterable<Uint8Array>): AsyncIterable<Uint8Array> {
    for await (const chunk of body) {
      bytes += chunk.byteLength;
      yield chunk;
    }
  }
  return {
    identity,
    layer: (transport) => async (request) => {
      if (request.method !== 'GET' && !(request.method === 'POST' && reviews.test(request.path))) {
        throw new Error(`a command that only reads sent ${request.method} ${request.path}`);
      }
      requests += 1;
      const isSecret = /\/secrets(\/|\?|$)/.test(request.path);
      const headers = { ...request.headers, ...identity, ...(isSecret && { accept: metadataOnly }) };
      const answer = await transport({ ...request, headers });
      const serverMs = Date.parse(answer.headers['date'] ?? '');
      if (Number.isFinite(serverMs)) {
        const differenceMs = serverMs - clock.nowMs();
        aheadMs = Math.abs(differenceMs) <= knownFromMs ? 0 : differenceMs;
      }
      return { ...answer, body: counted(answer.body) };
    },
    meter: { requests: () => requests, bytes: () => bytes, serverAheadMs: () => aheadMs },
  };
}
