// SPDX-License-Identifier: Apache-2.0
export { connectClient } from './client/client.ts';
export type { CallOutcome, ClientConnection, ConnectDeps, ConnectResult, Target, UnaryCall } from './client/client.ts';
export { timeoutText } from './client/timeout-text.ts';
export { codeFromNumber, codeNames, numberOfCode } from './codes.ts';
export type { Code, CodeName } from './codes.ts';
export { serveUnary } from './server/server.ts';
export type { ListenAddress, ServeDeps, UnaryMethod, UnaryMethods, UnaryServer } from './server/server.ts';
export type { Header } from './hpack/hpack.ts';
export { frameMessage, maxMessageBytes } from './message-frame.ts';
export { codeOfReset, statusOf, statusOfHttp } from './status.ts';
export type { Status } from './status.ts';
export { lookUp, ownMember } from './wire/descriptor.ts';
export type { Descriptor, FieldDescriptor, Scope } from './wire/descriptor.ts';
export { messageCodecs } from './wire/message-codec.ts';
export type { MessageCodec } from './wire/message-codec.ts';
export { methodCodecs } from './wire/method-codecs.ts';
export type { MethodCodec, MethodCodecs } from './wire/method-codecs.ts';
