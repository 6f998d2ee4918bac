// SPDX-License-Identifier: Apache-2.0
// For controllers.
export type { DriverInfo } from './identity/identity.ts';
export type { CsiCallOptions, CsiChannel } from './channel/channel.ts';
export { codeFromNumber, codeNames, numberOfCode } from '@csi-sidecars/grpc';
export type { Code, CodeName } from '@csi-sidecars/grpc';
export { CsiError } from './csi-error.ts';
export type * from './gen/csi.ts';
export { auditingOf, createAuditBoard } from './listing/audit-board.ts';
export type {
  AuditBoard,
  AuditDesk,
  AuditedPass,
  Auditing,
  AuditState,
  KeptPass,
  PassFinding,
} from './listing/audit-board.ts';
export { createAuditMetrics } from './listing/audit-metrics.ts';
export type { AuditMetrics } from './listing/audit-metrics.ts';
export { auditPass } from './listing/audit-pass.ts';
export type { AuditDeps, AuditSpec, PassComparison, PassPorts } from './listing/audit-pass.ts';
export { countCalls } from './listing/count-calls.ts';
export type { CountedChannel } from './listing/count-calls.ts';
export { listInto } from './listing/list-into.ts';
export type { Collected, ListCollector, ListFacts, ListPorts } from './listing/list-into.ts';
export type { ListedPage } from './listing/list-pages.ts';
export type { DecodedRequestOf, Method, RequestOf, ResponseInputOf, ResponseOf } from './methods.ts';
// For programs.
export { connectCsi } from './channel/connect.ts';
export type { ConnectCsiDeps, ConnectCsiOptions, CsiConnection } from './channel/connect-through.ts';
export { ConnectError } from './channel/connection.ts';
export type { LossPolicy } from './channel/connection.ts';
export {
  getControllerCapabilities,
  getDriverName,
  getGroupControllerCapabilities,
  getPluginCapabilities,
  probe,
} from './identity/identity.ts';
export { probeForever } from './identity/probe-forever.ts';
export type { ProbeDeps, ProbeOptions } from './identity/probe-forever.ts';
export { createCallMetrics } from './metrics/call-metrics.ts';
export type { CallMetrics, CallMetricsOptions, ObservedCall } from './metrics/call-metrics.ts';
export { createSanitizer } from './sanitizer/sanitizer.ts';
export type { Sanitizer } from './sanitizer/sanitizer.ts';
// For the service of csi-snapshot-metadata.
export { publicMetadataCodec } from './stream/public-metadata.ts';
export type { PublicMetadataRequest } from './stream/public-metadata.ts';
export { createDriverStreams } from './stream/driver-streams.ts';
export type { DriverStreams, StreamingMethod } from './stream/driver-streams.ts';
export { callStream } from './stream/server-stream.ts';
export type { MessageStream, StreamCall, StreamEnd } from './stream/server-stream.ts';
// For kubelet's side of the registration.
export type {
  PluginInfo,
  PluginInfoInput,
  RegistrationMethods,
  RegistrationStatus,
} from './gen/plugin-registration.ts';
// For the programs that run on every node.
export { connectIdentity } from './channel/connect-identity.ts';
export { connectRegistration } from './registration/client.ts';
export type { RegistrationClient } from './registration/client.ts';
export { serveRegistration } from './registration/server.ts';
export type { RegistrationHandlers } from './registration/server.ts';
