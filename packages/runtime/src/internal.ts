// SPDX-License-Identifier: Apache-2.0
/**
 * Parts for code that assembles a process by itself: `sidecar`, the programs of the nodes, the simulated cluster, tests and
 * measurements. Controllers use `index.ts` only. Anything here may change with any version.
 */
// A process and its parts.
export type { RateLimit } from './api/request-limiter.ts';
export { connectApi } from './program/connect-api.ts';
export type { DialedConnection } from './api/cluster/connect-cluster.ts';
export type { ApiConnection, ClientLimits, CommandOptions } from './program/connect-api.ts';
export { serveDiagnostics } from './program/serve-diagnostics.ts';
export { namespaceOfLease, runUnderLease } from './program/under-lease.ts';
export type { LeasedWork } from './program/under-lease.ts';
export { runAssembly } from './program/assemble.ts';
export type { Assembly, PreparedAssembly, PreparedWork, WorkBeside } from './program/assemble.ts';
export { watchesOf } from './program/watches-of.ts';
export { listSettings, withCaches } from './program/with-caches.ts';
export { keepHeapSmall } from './process/heap.ts';
export { keepAlive } from './process/node-process.ts';
export { optimiseLate } from './process/late-optimisation.ts';
export { type Compiler, type HeapOptions, nodeCompilers, nodeHeap } from './process/node-heap.ts';
export { nodeProcess } from './process/node-process.ts';
export { runProcess } from './process/run-process.ts';
export type { Lifecycle } from './process/run-process.ts';
// What a process knows of a key.
export { debugExplainRoute } from './inspection/debug-explain.ts';
export { debugRoute } from './inspection/debug-route.ts';
export { shownText } from './inspection/shown-text.ts';
export type { ControllerAnswer, DebugExplanation } from './inspection/debug-explain.ts';
export type { LoopAnswer } from './inspection/answers.ts';
export { createInspection } from './inspection/inspection.ts';
export type { ControllerFacts, Inspection } from './inspection/inspection.ts';
// Dry runs.
export { dryRun } from './dry-run/dry-run.ts';
export type { DryPorts, DryRunOptions } from './dry-run/dry-run.ts';
export { noAnswer } from './dry-run/guarded-client.ts';
export type {
  DecidedRow,
  DryAction,
  DryOutcome,
  DryRunResult,
  DryWorld,
  KnownObjects,
  Reader,
} from './dry-run/world.ts';
// The log.
export { createLogger } from './log/create-logger.ts';
export type { LoggerDeps, LoggerOptions } from './log/create-logger.ts';
export { goQuote } from './log/go-quote.ts';
export { jsonOf } from './log/klog-text.ts';
export type { LineWriter, Sink } from './log/line-writer.ts';
export { createLogTime } from './log/open-log.ts';
export { openLog } from './log/open-log.ts';
export type { OpenLog } from './log/open-log.ts';
export { presentable } from './log/presentable.ts';
export { openStderr, stderrSink } from './log/stderr.ts';
// Metrics and diagnostics.
export { familyText } from './metrics/exposition.ts';
export type { Family } from './metrics/exposition.ts';
export { registerProcessMetrics } from './metrics/process-metrics.ts';
export { createRegistry } from './metrics/registry.ts';
export { metricsRoute } from './metrics/route.ts';
export { startDiagnosticsServer } from './diagnostics/diagnostics-server.ts';
export type { DiagnosticsServer } from './diagnostics/diagnostics-server.ts';
export { sharedHandler } from './diagnostics/shared-handler.ts';
export { createConnectionBudget } from './diagnostics/connection-budget.ts';
export { createHttpConnections } from './diagnostics/http-connections.ts';
export type { HttpExchange, HttpLimits } from './diagnostics/http-connections.ts';
export { profilingRoutes } from './diagnostics/profiling.ts';
// Servers with a certificate.
export { readPair, watchPair } from './tls/certificates.ts';
export type { CertificateFiles, Pair } from './tls/certificates.ts';
export { openSockets } from './tls/open-sockets.ts';
export type { OpenSockets } from './tls/open-sockets.ts';
export { conversionBytes, conversionIn } from './webhook/conversion-webhook.ts';
export { jsonFormat } from './webhook/media.ts';
export type { Format, Formats } from './webhook/media.ts';
export { startWebhookServer } from './webhook/server.ts';
export type { WebhookLimits, WebhookServer } from './webhook/server.ts';
// Leader election.
export { ElectionConfigError } from './lease/election-config.ts';
export { createElectionMetrics } from './lease/election-report.ts';
export { leaderHealthRoute } from './program/serve-diagnostics.ts';
export { createLeaderElector } from './lease/leader-elector.ts';
export type { LeaderElector } from './lease/leader-elector.ts';
export { leaseIdentity, leaseName } from './lease/names.ts';
// Queues, workers and caches.
export { growingPace, type GrowingPace } from './clock/growing-pace.ts';
export { runWhenSynced } from './controller/run-when-synced.ts';
export { runWorkers } from './controller/workers.ts';
export { openGate } from './controller/start-gate.ts';
export type { StartGate } from './controller/start-gate.ts';
export { createInformer } from './informer/create-informer.ts';
export type { Handler } from './informer/informer.ts';
export { createInformerHub } from './informer/shared/hub.ts';
export type { InformerHub } from './informer/shared/hub.ts';
export { keepersOf, unionOf } from './informer/shared/union.ts';
export { createWorkQueue } from './workqueue/create-work-queue.ts';
export { createWorkQueueMetrics } from './workqueue/queue-metrics.ts';
export type { WorkQueue } from './workqueue/workqueue.ts';
// The wire.
export { fenced } from './program/with-caches.ts';
export { parseJson, parseJsonText } from './api/json.ts';
export { readKubeconfig } from './api/cluster/kubeconfig-format.ts';
export type { TransportFailure, TransportRequest } from './api/transport.ts';
export { causesOf } from './api/errors.ts';
export { endpointOf } from './api/connection/endpoint.ts';
export { isLoopbackHost } from './api/connection/loopback.ts';
export { proxyFromEnvironment } from './api/connection/proxy.ts';
export { userAgent } from './api/user-agent.ts';
export { createRequestMetrics } from './api/request-metrics.ts';
export { withOutageLog } from './api/outage-log.ts';
export { collectionPath } from './api/resource-path.ts';
