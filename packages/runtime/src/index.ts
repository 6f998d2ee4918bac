// SPDX-License-Identifier: Apache-2.0
// For controllers.
export type {
  ApiClient,
  CallOptions,
  DeleteOptions,
  JsonPatchOperation,
  ListPage,
  ListQuery,
  ObjectRef,
  Patch,
  PatchTarget,
  Priority,
  Selection,
  StreamRequest,
  WriteOptions,
} from './api/client.ts';
export {
  isAlreadyExists,
  isBadRequest,
  isConflict,
  isConnectionRefused,
  isExpired,
  isForbidden,
  isGone,
  isInternalError,
  isInvalid,
  isNamespaceTerminating,
  isNotFound,
  isServerTimeout,
  isServiceUnavailable,
  isTimeout,
  isTooLargeResourceVersion,
  isTooManyRequests,
  isUnauthorized,
  suggestsClientDelay,
} from './api/error-predicates.ts';
export { ApiError } from './api/errors.ts';
export type { StatusDetails } from './api/errors.ts';
export { definedOnly } from './api/defined-only.ts';
export { ignoreNotFound } from './api/ignore-not-found.ts';
export { parseJson, stringifyJson } from './api/json.ts';
export type * from './api/objects.ts';
export type { PolicyRule, UsedRule } from './api/policy-rule.ts';
export { readSecret } from './api/read-secret.ts';
export * from './api/resource.ts';
export { backoffConflictRetry, defaultConflictRetry, retryOnConflict } from './api/retry-on-conflict.ts';
export type { ConflictRetry } from './api/retry-on-conflict.ts';
export { servesKind } from './api/served-kind.ts';
export { timestamp } from './api/timestamp.ts';
export { toError } from './api/to-error.ts';
export type { Controller, LoopSettings } from './controller/controller.ts';
export type { ControllerPorts } from './controller/controller-ports.ts';
export { done, dropped, requeueAfter, retry } from './controller/reconcile.ts';
export type { Outcome, Reconcile } from './controller/reconcile.ts';
export { runDecisions } from './controller/run-decisions.ts';
export type { Concluded, Decisions } from './controller/run-decisions.ts';
export { runWhenSynced } from './controller/run-when-synced.ts';
export type { SyncedDeps } from './controller/run-when-synced.ts';
export { openGate } from './controller/start-gate.ts';
export type { StartGate } from './controller/start-gate.ts';
export { runWorkers } from './controller/workers.ts';
export type { WorkersOptions } from './controller/workers.ts';
export { ask, attempt, isFailed } from './loop/attempt.ts';
export type { Answer, Attempt, Failed } from './loop/attempt.ts';
export { isResync } from './loop/change.ts';
export { createController } from './loop/create-controller.ts';
export { defineLoop } from './loop/define-loop.ts';
export type {
  Cache,
  Caches,
  Change,
  Conclusion,
  EndedRun,
  Loop,
  LoopPorts,
  LoopSpec,
  LoopTypes,
  Performers,
  Step,
  WakeSource,
} from './loop/loop.ts';
export { definePeriodicLoop } from './loop/periodic-loop.ts';
export type { Pass, PeriodicSpec } from './loop/periodic-loop.ts';
export { createEventRecorder } from './event-recorder/create-event-recorder.ts';
export type { EventRecorderDeps, EventRecorderOptions } from './event-recorder/create-event-recorder.ts';
export type { EventRecorder, RecordedEvent } from './event-recorder/recorder.ts';
export { addedFinalizer, removedFinalizer } from './finalizer/finalizer-patch.ts';
export { addFinalizer, removeFinalizer } from './finalizer/write-finalizer.ts';
export type { FinalizerDeps, FinalizerTarget } from './finalizer/write-finalizer.ts';
export { filterHandler } from './informer/filter-handler.ts';
export { keyOf, splitKey, toObjectKey } from './informer/key.ts';
export type { ObjectName } from './informer/key.ts';
export { compareResourceVersions } from './informer/resource-version.ts';
export type {
  Deletion,
  Handler,
  HandlerRegistration,
  Indexers,
  Informer,
  Lister,
  ObjectKey,
} from './informer/informer.ts';
export type { InformerOptions } from './informer/create-informer.ts';
export type { InformerFactory } from './informer/factory.ts';
export { namespaceIndex } from './informer/lister.ts';
export { identityOf } from './informer/transform.ts';
export type { Transform } from './informer/transform.ts';
export { OrderlyStop } from './process/orderly-stop.ts';
export { createWorkQueue } from './workqueue/create-work-queue.ts';
export type { WorkQueueDeps, WorkQueueOptions } from './workqueue/create-work-queue.ts';
export type { LanePlace, LanesOptions } from './workqueue/fair-lanes.ts';
export { createWorkQueueMetrics } from './workqueue/queue-metrics.ts';
export type { WorkQueueMetrics } from './workqueue/queue-metrics.ts';
export {
  bucket,
  defaultControllerLimiter,
  fastSlow,
  itemExponential,
  maxOf,
  retryLimiter,
  withEarlyStart,
  withMaxWait,
} from './workqueue/rate-limiters.ts';
export type { ItemExponentialOptions, Jitter } from './workqueue/rate-limiters.ts';
export { createSlowSet } from './workqueue/slow-set.ts';
export type { SlowSet } from './workqueue/slow-set.ts';
export type { RateLimiter, WorkQueue } from './workqueue/workqueue.ts';
// Diagnostics over HTTP.
export { startDiagnosticsServer } from './diagnostics/diagnostics-server.ts';
export type {
  DiagnosticsServer,
  DiagnosticsServerOptions,
  HttpHandler,
  HttpRequest,
  HttpResponse,
  HttpRoute,
} from './diagnostics/diagnostics-server.ts';
export { parseListenAddress } from './diagnostics/listen-address.ts';
export type { ListenAddress } from './diagnostics/listen-address.ts';
export { profilingRoutes } from './diagnostics/profiling.ts';
export type { ProfilingDeps } from './diagnostics/profiling.ts';
// The life of a process.
export { keepHeapSmall } from './process/heap.ts';
export type { HeapPort } from './process/heap.ts';
export { nodeHeap } from './process/node-heap.ts';
export { nodeProcess } from './process/node-process.ts';
export { runProcess } from './process/run-process.ts';
export type { Lifecycle, LifecycleSettings, ProcessPort, Program, RunProcessDeps } from './process/run-process.ts';
export type { CrashOrigin, OnSignal, SignalName } from './process/shutdown.ts';
// Leader election.
export { createElectionMetrics } from './lease/election-report.ts';
export type { ElectionMetrics } from './lease/election-report.ts';
export type { LeaderElectionOptions } from './lease/election-config.ts';
export { LeadershipLost } from './lease/election-effects.ts';
export type { ElectionResult } from './lease/election-state.ts';
export { leaderHealthRoute } from './lease/health-route.ts';
export { createLeaderElector } from './lease/leader-elector.ts';
export type { LeaderElectionDeps, LeaderElector, LeadingWork } from './lease/leader-elector.ts';
export { leaseIdentity, leaseName, leaseNamespace, sanitizedName } from './lease/names.ts';
export type { LeaseNamespaceSources } from './lease/names.ts';
export { leaseRules } from './lease/rules.ts';
// For programs: ports and what implements them.
export type { ClusterConfig } from './api/cluster/cluster-config.ts';
export { connectCluster } from './api/cluster/connect-cluster.ts';
export type { ClusterConnection, ConnectDeps } from './api/cluster/connect-cluster.ts';
export { FileError, systemFiles } from './api/cluster/files.ts';
export type { Files } from './api/cluster/files.ts';
export type { LoadDeps } from './api/cluster/in-cluster.ts';
export { readKubeconfig } from './api/cluster/kubeconfig-format.ts';
export { loadClusterConfig } from './api/cluster/load-cluster-config.ts';
export type { ClusterFlags } from './api/cluster/load-cluster-config.ts';
export type { Environment } from './api/connection/proxy.ts';
export { createApiClient } from './api/create-client.ts';
export type { ApiClientDeps, ApiClientOptions } from './api/create-client.ts';
export { createRequestMetrics } from './api/request-metrics.ts';
export type { RequestMetrics } from './api/request-metrics.ts';
export type { RateLimit } from './api/request-limiter.ts';
export { abortError, TransportError } from './api/transport.ts';
export type { Transport, TransportFailure, TransportRequest, TransportResponse } from './api/transport.ts';
export type { Clock, Timer } from './clock/clock.ts';
export { userAgent } from './api/user-agent.ts';
export type { Build, Machine } from './api/user-agent.ts';
export { DeadlineError, deadlineOf, linkSignals, withDeadline } from './clock/deadline.ts';
export type { Deadline, LinkedSignal } from './clock/deadline.ts';
export type { Random } from './clock/random.ts';
export { createInformer } from './informer/create-informer.ts';
export type { InformerDeps } from './informer/create-informer.ts';
export { createInformerFactory } from './informer/factory.ts';
export { systemClock } from './clock/system-clock.ts';
export { systemRandom } from './clock/system-random.ts';
export { silentLogger } from './log/logger.ts';
export type { Facts, Logger } from './log/logger.ts';
export { noMetrics } from './metrics/metrics.ts';
export type {
  Counter,
  Gauge,
  Histogram,
  Labels,
  Metrics,
  MetricOptions,
  NumberOptions,
  Sample,
} from './metrics/metrics.ts';
