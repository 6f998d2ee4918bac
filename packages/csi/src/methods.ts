// SPDX-License-Identifier: Apache-2.0
/**
 * The unary methods of CSI by full name, with their types. Conventions of decoded messages: field names as in the
 * declaration, int64 as decimal strings, enums by name (a number: a value this version does not know), unset messages
 * null, of a oneof the populated member and its name, lists and maps never absent.
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
