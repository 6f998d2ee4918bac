// SPDX-License-Identifier: Apache-2.0
export { createFakeApiServer } from './server.ts';
export type { FakeApiServer, FakeApiServerOptions, ObjectAccess, RequestRecord } from './server.ts';
export type { AccessRule, Authenticate, Caller, Subject } from './access.ts';
export type { Admission, AdmissionRequest } from './write.ts';
export type { FieldCause } from './status.ts';
export type { ResourceType } from './resource-type.ts';
export type { StoredMeta, StoredObject } from './store.ts';
