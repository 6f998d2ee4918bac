// SPDX-License-Identifier: Apache-2.0
/** What the author of a controller needs. `./internal` has no promise of stability. */
// The program around loops.
export { runController } from './program/run-controller.ts';
export { openCluster } from './program/open-cluster.ts';
export type { OpenCluster, OpenClusterOptions } from './program/open-cluster.ts';
export type { ConnectionOptions } from './program/connections.ts';
export type { ExportedConfig, ProgramParts, RunControllerOptions, RunPorts, WebhookPorts } from './program/options.ts';
export type { ApiParts } from './program/connect-api.ts';
export type { LeaseOptions } from './program/under-lease.ts';
export { controllerAccess, controllerManifests } from './program/controller-manifests.ts';
export type { ControllerAccess, DeploymentOptions, Described } from './program/controller-manifests.ts';
// Traces.
export { isTraceparent } from './tracing/subject.ts';
export type { Attributes, AttributeValue, CallParent, Span, Tracer, TraceSubject } from './tracing/tracer.ts';
// Loops.
export { generationChanged, isResync, onlyIf } from './loop/change.ts';
export { createController } from './loop/create-controller.ts';
export type { CreateControllerOptions } from './loop/create-controller.ts';
export { defineLoop } from './loop/define-loop.ts';
export { conclude, concluded, ending, orEnd, perform } from './loop/flow.ts';
export type { Flow, FlowStep } from './loop/flow.ts';
export type {
  AnyPrimary,
  AnyRun,
  AssembledLoop,
  Cache,
  Caches,
  Change,
  ChangeHandler,
  ConcludedRun,
  EndedRun,
  Handlers,
  Loop,
  LoopPorts,
  LoopSpec,
  LoopTypes,
  ObjectOf,
  Primary,
  Run,
  TracedObjects,
  WakeSource,
  Watches,
  When,
} from './loop/loop.ts';
export { ownedBy } from './loop/owned-by.ts';
export { createTrigger } from './loop/trigger.ts';
export type { Trigger } from './loop/trigger.ts';
export { definePeriodicLoop } from './loop/periodic-loop.ts';
export type { Pass, PassTypes, PeriodicSpec } from './loop/periodic-loop.ts';
export type { Controller, LoopSettings } from './controller/controller.ts';
export type { ControllerPorts } from './controller/controller.ts';
export { runTogether } from './controller/run-together.ts';
export { done, dropped, postpone, requeueAfter, retry, retryWithin } from './controller/reconcile.ts';
export type { Conclusion, Outcome, Reconcile } from './controller/reconcile.ts';
export { createKeyedLock } from './workqueue/keyed-lock.ts';
export type { KeyedLock } from './workqueue/keyed-lock.ts';
export { bucket, defaultControllerLimiter, itemExponential, maxOf, retryLimiter } from './workqueue/rate-limiters.ts';
export type { ItemExponentialOptions, Jitter } from './workqueue/rate-limiters.ts';
export type { KeyState, QueueState, RateLimiter, WorkQueue } from './workqueue/workqueue.ts';
// Caches.
export type { Dependency, InformerDeps, InformerOptions, RefreshableInformer } from './informer/create-informer.ts';
export type {
  Deletion,
  Handler,
  HandlerRegistration,
  Indexers,
  Informer,
  Lister,
  SyncProgress,
} from './informer/informer.ts';
export { keyOf, splitKey, toObjectKey } from './informer/key.ts';
export type { ObjectKey, ObjectName } from './informer/key.ts';
export { identityOf } from './informer/transform.ts';
export type { Transform } from './informer/transform.ts';
// Webhooks are made by `@csi-sidecars/runtime/webhook`.
export type { ServedWebhooks, Webhooks } from './webhook/webhooks.ts';
export type { AdmissionDeclaration } from './webhook/webhook.ts';
// The API.
export type {
  ApiClient,
  CallOptions,
  DeleteOptions,
  JsonPatchOperation,
  ListOptions,
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
export type * from './api/objects.ts';
export * from './api/common-resources.ts';
export * from './api/resource.ts';
export { ApiError } from './api/errors.ts';
export type { ApiErrorFacts, StatusDetails } from './api/errors.ts';
export {
  isAlreadyExists,
  isConflict,
  isForbidden,
  isInvalid,
  isNamespaceTerminating,
  isNotFound,
  isTimeout,
  isTooManyRequests,
} from './api/error-predicates.ts';
export { applyObject } from './api/apply-object.ts';
export type { Application, Applied } from './api/apply-object.ts';
export { conditionOf, withCondition } from './api/conditions.ts';
export type { Condition } from './api/conditions.ts';
export { controllerOf, controllerReference, isOwnedBy, ownerReference } from './api/owner-references.ts';
export type { OwnerReference } from './api/owner-references.ts';
export { mayHaveHappened } from './api/may-have-happened.ts';
export { changeObject, changeObjectOnce } from './api/change-object.ts';
export type {
  ChangedOnce,
  ChangeObjectDeps,
  MergePatch,
  ObjectChange,
  PatchedFields,
  PatchOf,
} from './api/change-object.ts';
export { definedOnly } from './api/defined-only.ts';
export type { Defined } from './api/defined-only.ts';
export { findObject, gettingByList } from './api/find-object.ts';
export type { FindDeps } from './api/find-object.ts';
export { ignoreNotFound } from './api/ignore-not-found.ts';
export { stringifyJson } from './api/json.ts';
export { mergedRules, neededRules } from './api/policy-rule.ts';
export type { CheckedRule, PlacedRule, PolicyRule, RuleCondition, UsedRule } from './api/policy-rule.ts';
export { readSecret } from './api/read-secret.ts';
export { servesKind } from './api/served-kind.ts';
export { rereadOnConflict, retryOnConflict } from './api/retry-on-conflict.ts';
export type { ConflictRetry, ConflictRetryDeps, GuardedWrite, RereadDeps } from './api/retry-on-conflict.ts';
export { timestamp } from './api/timestamp.ts';
export { writeObject } from './api/write-object.ts';
export type { WrittenCache } from './api/write-object.ts';
export { toError } from './api/errors.ts';
// Events and finalizers.
export { createEventRecorder } from './event-recorder/create-event-recorder.ts';
export type { EventRecorderDeps, EventRecorderOptions } from './event-recorder/create-event-recorder.ts';
export type {
  AwaitableRecorder,
  Delivery,
  EventRecorder,
  RecordedEvent,
  WrittenEvents,
} from './event-recorder/recorder.ts';
export { finalizersWith, finalizersWithout } from './finalizer/finalizer-patch.ts';
export { addedFinalizer, removedFinalizer } from './finalizer/finalizer-patch.ts';
export type { Metadata } from './finalizer/finalizer-patch.ts';
export { addFinalizer, removeFinalizer } from './finalizer/write-finalizer.ts';
export type { FinalizerTarget, RemovedFinalizer } from './finalizer/write-finalizer.ts';
// The lease.
export type { LeadingWork } from './lease/leader-elector.ts';
export { sanitizedName } from './lease/names.ts';
export { leaseRules } from './lease/lease-client.ts';
// Ports, and what implements them.
export type { ClusterConfig, ExecCluster, ExecPlugin, Pem, TlsSettings, User } from './api/cluster/cluster-config.ts';
export { connectCluster } from './api/cluster/connect-cluster.ts';
export type { ClusterConnection, ConnectDeps, DialedConnection } from './api/cluster/connect-cluster.ts';
export { systemFiles } from './api/cluster/files.ts';
export type { Files } from './api/cluster/files.ts';
export { loadClusterConfig } from './api/cluster/load-cluster-config.ts';
export type { ClusterFlags } from './api/cluster/load-cluster-config.ts';
export { createApiClient } from './api/create-client.ts';
export type { ApiClientDeps, ApiClientOptions } from './api/create-client.ts';
export { TransportError, unlessAborted } from './api/transport.ts';
export type { Transport, TransportFailure, TransportRequest, TransportResponse } from './api/transport.ts';
export type { Clock, Timer } from './clock/clock.ts';
export { DeadlineError, linkSignals, whenAborted, withDeadline } from './clock/deadline.ts';
export type { Deadline, LinkedSignal } from './clock/deadline.ts';
export type { Random } from './clock/random.ts';
export { systemClock } from './clock/system-clock.ts';
export { systemRandom } from './clock/system-random.ts';
export type {
  HttpClient,
  HttpHandler,
  HttpRequest,
  HttpResponse,
  HttpRoute,
} from './diagnostics/diagnostics-server.ts';
export { createInformerFactory } from './informer/factory.ts';
export type { InformerFactory } from './informer/factory.ts';
export { goQuote } from './log/go-quote.ts';
export { silentLogger } from './log/logger.ts';
export type { Facts, Logger } from './log/logger.ts';
export { noMetrics } from './metrics/metrics.ts';
export type {
  Counter,
  Gauge,
  Histogram,
  Labels,
  MetricOptions,
  Metrics,
  NumberOptions,
  Sample,
  ScrapedMetrics,
} from './metrics/metrics.ts';
export { OrderlyStop } from './process/orderly-stop.ts';
export type { ProcessPort } from './process/run-process.ts';
// What these name.
export type { Endpoint } from './api/connection/endpoint.ts';
export type { MeasuredQueue, QueueInstruments, WorkQueueMetrics } from './workqueue/queue-metrics.ts';
export type { SyncedInformer } from './informer/sync-limit.ts';
export type { RunCounter, RunEnd, RunMetrics } from './controller/run-metrics.ts';
export type { LeaseGate, StartGate } from './controller/start-gate.ts';
export type { ControllerFacts, Inspection, InspectionState, LoopRecord, OpenRecord } from './inspection/inspection.ts';
export type { Doubt, Doubts } from './informer/doubts.ts';
export type { LeaderElectionOptions } from './lease/election-config.ts';
export type { LanePlace } from './workqueue/fair-lanes.ts';
export type { CrashOrigin, SignalName } from './process/shutdown.ts';
export type { Environment } from './api/connection/proxy.ts';
export type { ElectionResult } from './lease/election-state.ts';
export type { LoadDeps } from './api/cluster/in-cluster.ts';
export type { DryWorld, KnownObjects, Reader } from './dry-run/world.ts';
export type { RequestMetrics } from './api/request-metrics.ts';
export type { RateLimit } from './api/request-limiter.ts';
export type { InspectedCache, InspectedLoop, InspectedObject, Subject } from './inspection/inspected-loop.ts';
export type { LoopAnswer, QueueSummary } from './inspection/answers.ts';
export type { LaneState, WaitingPlace } from './workqueue/backlog.ts';
