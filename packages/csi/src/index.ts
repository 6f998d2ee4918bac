// SPDX-License-Identifier: Apache-2.0
export type { CsiCallOptions, CsiChannel } from './channel/channel.ts';
export { CsiError, codeFromNumber, codeNames } from './codes.ts';
export type { Code, CodeName } from './codes.ts';
export type * from './gen/csi.ts';
export type { PluginInfo, RegistrationMethods, RegistrationStatus } from './gen/plugin-registration.ts';
export type { DecodedRequestOf, Method, RequestOf, ResponseInputOf, ResponseOf } from './methods.ts';
