// SPDX-License-Identifier: Apache-2.0
/**
 * The unary methods of CSI by full name, with their types. The form of decoded messages is described at the codec
 * (packages/grpc/src/wire/message-codec.ts).
 */
import type { Methods } from './gen/csi.ts';

export type { Methods };
export type Method = keyof Methods;
/** What the client sends: everything optional. */
export type RequestOf<M extends Method> = Methods[M]['request'];
/** What the client gets, decoded. */
export type ResponseOf<M extends Method> = Methods[M]['response'];
/** What a driver gets, decoded. */
export type DecodedRequestOf<M extends Method> = Methods[M]['decodedRequest'];
/** What a driver answers: everything optional. */
export type ResponseInputOf<M extends Method> = Methods[M]['responseInput'];
