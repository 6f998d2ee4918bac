// SPDX-License-Identifier: Apache-2.0
export { commonTypes } from './common-types.ts';
export { createFakeApiServer } from './server.ts';
export type { Extension, ExtensionRequest, FakeApiServer, FakeApiServerOptions } from './server.ts';
export type { RequestRecord } from './journal.ts';
export type { ObjectAccess } from './object-access.ts';
export type { Answer } from './answers.ts';
export type { AccessRule, Authenticate, Caller, Subject } from './access.ts';
export type { Admission, AdmittedWrite, ObjectView } from './write-request.ts';
/** For admission and extensions: `throw refusals.forbidden(...)`. */
export * as refusals from './status.ts';
export type { FieldCause, RefusalFacts } from './status.ts';
export { parseQuantity } from './quantities.ts';
export type { Route } from './route.ts';
export type { ResourceType } from './resource-type.ts';
export type { StoredMeta, StoredObject } from './store.ts';
