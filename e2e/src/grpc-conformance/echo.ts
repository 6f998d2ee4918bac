// SPDX-License-Identifier: Apache-2.0
/** The service of the suite: one method that answers with what it got. grpc-peer speaks it without generated code. */
import { type UnaryServer, methodCodecs, serveUnary } from '@csi-sidecars/grpc';
import type { Clock } from '@csi-sidecars/runtime';

export const echoPath = '/test.Echo/Say';

export interface Text {
  readonly value: string;
}

const descriptor = {
  nested: {
    test: {
      nested: {
        Text: { fields: { value: { type: 'string', id: 1 } } },
        Echo: { methods: { Say: { requestType: 'Text', responseType: 'Text' } } },
      },
    },
  },
} as const;

const codec = methodCodecs(descriptor)(echoPath)!;

export const encodeText = (value: string): Buffer => codec.request.encode({ value });
export const decodeText = (bytes: Uint8Array): string => (codec.response.decode(bytes) as Text).value;

export function serveEcho(clock: Clock, socket: string): Promise<UnaryServer> {
  return serveUnary({ clock, methods: new Map([[echoPath, { codec, handle: (request: object) => request }]]) }, socket);
}
