// SPDX-License-Identifier: Apache-2.0
export { createTestAuthority } from './certificates.ts';
export type { CertificateSubject, TestAuthority, TestCertificate } from './certificates.ts';
export { anAdmissionRequest } from './admission-request.ts';
export type { AdmissionParts } from './admission-request.ts';
export { aDryWorld } from './dry-world.ts';
export { FakeClock, settle, until } from './fake-clock.ts';
export { freePort } from './free-port.ts';
export {
  createCrashableProcess,
  type CrashPoints,
  crashableTransport,
  crashableCall,
  type CrashableProcess,
} from './crashable-process.ts';
export { failureAtStop, silentApi } from './failure-at-stop.ts';
export type { SilentApi } from './failure-at-stop.ts';
export { memoryFiles } from './memory-files.ts';
export type { MemoryFiles } from './memory-files.ts';
export { recordingLogger } from './recording-logger.ts';
export type { LogLine, RecordingLogger } from './recording-logger.ts';
export { recordedStderr } from './recorded-stderr.ts';
export { recordingMetrics } from './recording-metrics.ts';
export type { HistogramOptions, RecordingMetrics } from './recording-metrics.ts';
export { recordingTracer } from './recording-tracer.ts';
export type { RecordedTrace, RecordingTracer } from './recording-tracer.ts';
export { collectionErrors, listPage, ScriptedBody, ScriptedCollection, syncedStream } from './scripted-collection.ts';
export type { CollectionAnswer, CollectionRequest, ListPageFacts } from './scripted-collection.ts';
export { aVolume, scriptedInformer, recordCallsTo, syncedInformer } from './scripted-informer.ts';
export type { ScriptedInformer, ScriptedInformerOptions } from './scripted-informer.ts';
export { scriptedTransport } from './scripted-transport.ts';
export type { ScriptedAnswer, ScriptedStep, ScriptedTransport, SentRequest } from './scripted-transport.ts';
export { seededRandom } from './seeded-random.ts';
export { serveOverHttp } from './serve-over-http.ts';
export type { HttpEndpoint, ServeOverHttpOptions } from './serve-over-http.ts';
export { startTestServer } from './test-server.ts';
export type { TestExchange, TestServer, TestServerOptions, Wire } from './test-server.ts';
export * from './fake-api-server/index.ts';
export * from './faults/index.ts';
export * from './stories/index.ts';
export * from './world/index.ts';
export { walkFlow } from './walk-flow.ts';
export type { Answers, Walk } from './walk-flow.ts';
// What these name.
export type { Verb } from './fake-api-server/route.ts';
export type { Quantity } from './fake-api-server/quantities.ts';
