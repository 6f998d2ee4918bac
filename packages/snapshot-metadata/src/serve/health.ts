// SPDX-License-Identifier: Apache-2.0
/** `grpc.health.v1.Health`: whether the driver is ready. Asking needs no token. */
import type { Server, ServerUnaryCall, ServerWritableStream, sendUnaryData } from '@grpc/grpc-js';
import { status } from '@grpc/grpc-js';
import { type MethodCodec, methodCodecs } from '@csi-sidecars/grpc';

export interface Health {
  readonly isServing: () => boolean;
  readonly setServing: () => void;
  /** For good. Ends the calls that watch. */
  readonly shutDown: () => void;
  readonly register: (server: Server) => void;
}

const type = 'HealthCheckResponse';
const schema = {
  nested: {
    grpc: {
      nested: {
        health: {
          nested: {
            v1: {
              nested: {
                Health: {
                  methods: {
                    Check: { requestType: 'HealthCheckRequest', responseType: type },
                    Watch: { requestType: 'HealthCheckRequest', responseType: type, responseStream: true },
                    List: { requestType: 'HealthListRequest', responseType: 'HealthListResponse' },
                  },
                },
                HealthCheckRequest: { fields: { service: { type: 'string', id: 1 } } },
                HealthCheckResponse: { fields: { status: { type: 'int32', id: 1 } } },
                HealthListRequest: { fields: {} },
                // On the wire a map is a list of entries.
                HealthListResponse: { fields: { statuses: { rule: 'repeated', type: 'Entry', id: 1 } } },
                Entry: { fields: { key: { type: 'string', id: 1 }, value: { type, id: 2 } } },
              },
            },
          },
        },
      },
    },
  },
};

const codecOf = /* @__PURE__ */ methodCodecs(schema);
const states = { serving: 1, notServing: 2, serviceUnknown: 3 } as const;

interface Asked {
  readonly service: string;
}
type Watching = ServerWritableStream<Asked, object>;

export function createHealth(): Health {
  let state: 'waiting' | 'serving' | 'ended' = 'waiting';
  const watching = new Set<Watching>();
  const idle = new Set<Watching>();
  const answer = (): object => ({ status: state === 'serving' ? states.serving : states.notServing });
  const change = (next: typeof state): void => {
    if (state === 'ended' || state === next) return;
    const before = answer();
    state = next;
    if (JSON.stringify(before) !== JSON.stringify(answer())) for (const call of watching) call.write(answer());
  };

  const check = (call: ServerUnaryCall<Asked, object>, respond: sendUnaryData<object>): void => {
    if (call.request.service === '') respond(null, answer());
    else respond({ code: status.NOT_FOUND, details: 'unknown service' });
  };
  const list = (_: ServerUnaryCall<object, object>, respond: sendUnaryData<object>): void => {
    respond(null, { statuses: [{ key: '', value: answer() }] });
  };
  const watch = (call: Watching): void => {
    // A call about a service that is not known stays open, too.
    const isKnown = call.request.service === '';
    call.write(isKnown ? answer() : { status: states.serviceUnknown });
    const calls = isKnown ? watching : idle;
    calls.add(call);
    call.once('cancelled', () => calls.delete(call));
  };
  return {
    isServing: () => state === 'serving',
    setServing: () => change('serving'),
    shutDown: () => {
      change('ended');
      for (const call of [...watching, ...idle]) {
        call.emit('error', { code: status.UNAVAILABLE, details: 'the sidecar is shutting down' });
      }
    },
    register: (server) => {
      const path = (name: string): string => `/grpc.health.v1.Health/${name}`;
      const codec = (name: string): Form => formOf(codecOf(path(name)));
      server.register(path('Check'), check, codec('Check').serialize, codec('Check').deserialize, 'unary');
      server.register(path('List'), list, codec('List').serialize, codec('List').deserialize, 'unary');
      server.register(path('Watch'), watch, codec('Watch').serialize, codec('Watch').deserialize, 'serverStream');
    },
  };
}

interface Form {
  readonly serialize: (message: object) => Buffer;
  readonly deserialize: (bytes: Buffer) => never;
}

function formOf(codec: MethodCodec | undefined): Form {
  if (codec === undefined) throw new Error('no such method');
  return {
    serialize: (message) => codec.response.encode(message),
    deserialize: (bytes) => codec.request.decode(bytes) as never,
  };
}
