// SPDX-License-Identifier: Apache-2.0
/**
 * Ends a call whose caller does not read. grpc-js has no function for it: a status waits behind the messages before it, for ever. Its stream of
 * HTTP/2 is reached through two fields that are not part of its interface; a test holds each version of grpc-js to it.
 */
interface WithStream {
  readonly call?: { readonly stream?: { readonly close?: (code: number) => void } };
}

const cancel = 8;

export function resetStream(call: object): void {
  const { stream } = (call as WithStream).call ?? {};
  stream?.close?.(cancel);
}
