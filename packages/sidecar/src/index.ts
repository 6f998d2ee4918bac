// SPDX-License-Identifier: Apache-2.0
// Command lines.
export {
  boolFlag,
  durationFlag,
  featureGatesFlag,
  floatFlag,
  ignoredBoolFlag,
  inGroup,
  intFlag,
  labelsFlag,
  rare,
  stringFlag,
  uintFlag,
} from './flags/flag.ts';
export type { Flag, Flags, FlagsOf, GateSettings, StringMap } from './flags/flag.ts';
export { helpText } from './flags/help.ts';
export { nearest } from './flags/nearest.ts';
export { resolveGates } from './flags/gates.ts';
export type { Gate, ResolvedGates } from './flags/gates.ts';
export { parseFlags } from './flags/parse.ts';
export type { FlagSyntax, ParseResult } from './flags/parse.ts';
export { goUsageText } from './flags/go-usage.ts';
export { usageText } from './flags/usage.ts';
export type { AnyProgramFlags, DriverNeed, ProgramKind, ProgramManifest } from './programs/manifest.ts';
export type { ProgramFlags } from './programs/manifest.ts';
export {
  automaxprocsFlag,
  csiAddressFlag,
  debugExplainFlags,
  endpointFlags,
  eventsFlags,
  gatesFlag,
  kubeApiFlags,
  leaderElectionFlags,
  loggingFlags,
  masterFlag,
  metricsPathFlag,
  pprofFlag,
  releaseOnExitGate,
  retryFlags,
  rightsFlags,
  standardFlags,
  tracingFlags,
  versionFlag,
} from './programs/shared-flags.ts';
export type {
  DebugExplainValues,
  EndpointValues,
  EventsValues,
  KubeApiValues,
  LeaderElectionValues,
  LoggingValues,
  RetryValues,
  RightsValues,
  StandardValues,
  TracingValues,
} from './programs/shared-flags.ts';
// Logs. The metrics registry and the JSON format are imported lazily, from their own files.
export { invalidLogging } from './programs/shared-flags.ts';
// What a process knows of an object.
export { debugExplainRefused, describeController, openInspections } from './process/debug-explain.ts';
export type { Inspections } from './process/debug-explain.ts';
// Rights.
export { noticingRefusals } from './rights/noticing.ts';
export { openRights } from './rights/rights.ts';
export type { Rights } from './rights/rights.ts';
export { notGranted } from './rights/granted.ts';
export { wantedRights } from './rights/wanted.ts';
export type { NeededRights, WantedRight } from './rights/wanted.ts';
// Processes.
export { usesAttributesClasses } from './process/attributes-class-gate.ts';
export type { AttributesClassGate } from './process/attributes-class-gate.ts';
export { ExitError, exitCodes, orExit } from './process/exit.ts';
export { leaseOf, orRefusedElection } from './process/election.ts';
export type { ElectionOptions, ElectionValues } from './process/election.ts';
export type { ExitReason } from './process/exit.ts';
export { connectDriver } from './process/driver.ts';
export type { Driver, DriverDeps, DriverOptions } from './process/driver.ts';
export { runMain } from './process/run-main.ts';
export { runSidecarProgram } from './process/sidecar-program.ts';
export type { SidecarProgram, SidecarValues, StartContext } from './process/sidecar-program.ts';
export { runPlainProgram } from './process/run-in-process.ts';
export type { ProcessDeps } from './process/run-in-process.ts';
export { runControllerProgram } from './process/run-controller-program.ts';
export type {
  ControllerBeside,
  ControllerBody,
  ControllerContext,
  ControllerGate,
  ControllerValues,
  PreparedController,
  ProgramDeps,
} from './process/run-controller-program.ts';
export { openTracing } from './tracing/open.ts';
export { loadTracing } from './tracing/open.ts';
export type { Tracing } from './tracing/tracing.ts';
export { runProgram } from './process/run-program.ts';
export type { ProgramOptions } from './process/run-program.ts';
export { serveProgram } from './process/serve-program.ts';
export { start } from './process/start.ts';
export type { Ended, StartOptions, StartStep, StartValues, Started } from './process/start.ts';
export type { ApiConnection, ApiOptions, ProcessHost, ScrapedMetrics, ProgramHost } from './process/host.ts';
export { klogFlags } from './programs/klog-flags.ts';
export { endWithDriver } from './process/driver.ts';
export type { LossDeps } from './process/driver.ts';
// Dry runs.
export { readAssumedCommandLine } from './dry-run/assumed-command-line.ts';
export { assumedOf, dryRunProgram } from './dry-run/dry-run-program.ts';
export type {
  DryController,
  DryControllerPorts,
  DryDriverQuestion,
  DryParts,
  DryQuestion,
  RecordedFailure,
} from './dry-run/dry-run-program.ts';
export type {
  DecidedRow,
  DryAction,
  DryOutcome,
  DryRunResult,
  DryWorld,
  KnownObjects,
  Reader,
} from '@csi-sidecars/runtime/internal';
export { eventsRefused, writtenEventsOf } from './process/written-events.ts';
export { createSharedRelease } from './process/shared-release.ts';
export type { SharedRelease } from './process/shared-release.ts';
