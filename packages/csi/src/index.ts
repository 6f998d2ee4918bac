// SPDX-License-Identifier: Apache-2.0
export type { CsiCallOptions, CsiChannel } from './channel/channel.ts';
export { CsiError, codeFromNumber, codeNames } from './codes.ts';
export type { Code, CodeName } from './codes.ts';
export type { Method, RequestOf, ResponseOf } from './methods.ts';
