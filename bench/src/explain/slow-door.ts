// SPDX-License-Identifier: Apache-2.0
/** An API server that is 20 ms away: a door on loopback that answers so much later, and counts the objects in its answers. */
import type { Clock, Transport } from '@csi-sidecars/runtime';
import { serveOverHttp } from '@csi-sidecars/runtime/testing';

/** Of one request. */
export const awayMs = 20;

export interface SlowDoor extends AsyncDisposable {
  readonly url: string;
  /** Objects in the answers since the last call. */
  takeObjects(): number;
}

/** All who come in have the rights of `admin`. */
export async function openSlowDoor(admin: Transport, clock: Clock): Promise<SlowDoor> {
  let objects = 0;
  const transport: Transport = async (request) => {
    await clock.sleep(awayMs, request.signal);
    const { accept } = request.headers;
    const headers = accept === undefined ? {} : { accept };
    const contentType = request.headers['content-type'];
    const answer = await admin({
      ...request,
      headers: { ...headers, ...(contentType !== undefined && { 'content-type': contentType }) },
    });
    const body = Buffer.concat(await Array.fromAsync(answer.body));
    const { items } = JSON.parse(body.toString()) as { readonly items?: readonly unknown[] };
    if (answer.status === 200) objects += items?.length ?? 1;
    const { 'transfer-encoding': _encoding, ...rest } = answer.headers;
    return {
      ...answer,
      headers: rest,
      body: (async function* () {
        yield body;
      })(),
    };
  };
  const endpoint = await serveOverHttp(transport, { port: 0 });
  return {
    url: endpoint.url,
    takeObjects: () => {
      const taken = objects;
      objects = 0;
      return taken;
    },
    [Symbol.asyncDispose]: () => endpoint.close(),
  };
}
