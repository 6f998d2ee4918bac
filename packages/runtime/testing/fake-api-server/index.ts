// SPDX-License-Identifier: Apache-2.0
export { createFakeApiServer } from './server.ts';
export type { Extension, ExtensionRequest, FakeApiServer, FakeApiServerOptions } from './server.ts';
export type { RequestRecord } from './journal.ts';
export type { ObjectAccess } from './object-access.ts';
export type { Answer } from './answers.ts';
export type { AccessRule, Authenticate, Caller, Subject } from './access.ts';
export type { Admission, AdmissionRequest } from './write-request.ts';
export type { FieldCause } from './status.ts';
export type { ResourceType } from './resource-type.ts';
export type { StoredMeta, StoredObject } from './store.ts';
