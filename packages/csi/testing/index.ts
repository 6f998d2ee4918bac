// SPDX-License-Identifier: Apache-2.0
export { aDriver, driverName } from './a-driver.ts';
export { codecOf, csiService, registrationService } from './definitions.ts';
export type { CsiService } from './definitions.ts';
export { csiError, fakeCsiChannel, hang } from './fake-channel.ts';
export type { Answer, FakeCsiChannel, RecordedCall, Reply } from './fake-channel.ts';
export { serveCsi } from './serve.ts';
export type { CsiServer, Handlers, ServedCall } from './serve.ts';
export { markedMessage, methodsOfService } from './marked-message.ts';
export type { MarkedMethod, Marks } from './marked-message.ts';
export type { ServedStream, StreamHandlers } from './serve-streams.ts';
