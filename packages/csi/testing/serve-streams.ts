// SPDX-License-Identifier: Apache-2.0
/** The SnapshotMetadata service of a driver for tests, by grpc-js, on the server of `serveCsi`. */
import type { handleServerStreamingCall, ServerWritableStream } from '@grpc/grpc-js';
import type { StreamingMethods } from '../src/gen/csi.ts';

type Requests = { readonly [M in keyof StreamingMethods]: StreamingMethods[M]['decodedRequest'] };
type Responses = { readonly [M in keyof StreamingMethods]: StreamingMethods[M]['responseInput'] };

export type ServedStream<M extends keyof StreamingMethods> = ServerWritableStream<Requests[M], Responses[M]>;

/** By full method name. The handler writes, and ends the call or emits an error with a code. */
export type StreamHandlers = {
  readonly [M in keyof StreamingMethods]?: handleServerStreamingCall<Requests[M], Responses[M]>;
};
