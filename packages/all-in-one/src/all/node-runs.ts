// SPDX-License-Identifier: Apache-2.0
/** livenessprobe and node-driver-registrar as controllers of the process. Each has its own connection to the driver. */
import {
  type LivenessprobeValues,
  readSettings as readLivenessprobe,
  runLivenessprobe,
} from '@csi-sidecars/livenessprobe';
import {
  type NodeDriverRegistrarValues,
  type Platform,
  readSettings as readRegistrar,
  runRegistrar,
  type SocketFiles,
} from '@csi-sidecars/node-driver-registrar';
import type { HttpRoute, Logger } from '@csi-sidecars/runtime';
import { ExitError, exitCodes, type ProcessHost } from '@csi-sidecars/sidecar';
import { type ProgramValues, valuesOf } from './command-line.ts';
import type { Run } from './process.ts';
import type { RunEnd } from './supervision.ts';

export interface PlannedNode {
  readonly name: NodeName;
  readonly run: NodeRun;
}

type NodeName = 'livenessprobe' | 'node-driver-registrar';
type NodeRun = (signal: AbortSignal) => Promise<RunEnd>;

/** Throws an ExitError for settings that one of them refuses. */
export function planNodeRuns(
  { plan, started, host, files, platform }: Run,
  add: (route: HttpRoute) => void,
): readonly PlannedNode[] {
  const { values, given, log } = started;
  const isOpen = values['http-endpoint'] !== '';
  const isEnabled = (name: NodeName): boolean => plan.controllers.includes(name);
  const partsOf = (name: NodeName): NodeParts => {
    const path = name === 'node-driver-registrar' && isEnabled('livenessprobe') ? `/healthz/${name}` : '/healthz';
    const serve = isOpen ? (route: HttpRoute) => add({ ...route, path }) : undefined;
    return { host, files, platform, serve, log: log.with({ controller: name }) };
  };
  const planners = { livenessprobe: planLivenessprobe, 'node-driver-registrar': planRegistrar } as const;
  return (['livenessprobe', 'node-driver-registrar'] as const).filter(isEnabled).flatMap((name) => {
    const own = valuesOf(name, values as unknown as Readonly<Record<string, unknown>>, given);
    const run = planners[name](partsOf(name), own);
    return run === undefined ? [] : [{ name, run }];
  });
}

interface NodeParts {
  readonly host: ProcessHost;
  readonly log: Logger;
  readonly files: SocketFiles;
  readonly platform: Platform;
  /** Where the controller answers `/healthz`: the server of the process. Undefined: it has none, or the controller has its own. */
  readonly serve: ((route: HttpRoute) => void) | undefined;
}

function planLivenessprobe(parts: NodeParts, { values, given }: ProgramValues): NodeRun {
  const hasOwnServer = given.has('health-port') || given.has('http-endpoint');
  const read = readLivenessprobe({ ...values, 'metrics-address': '' } as unknown as LivenessprobeValues);
  if (read.kind === 'refused') throw new ExitError(read.exitCode, read.message);
  const { host, log, serve } = parts;
  const shared = hasOwnServer ? undefined : serve;
  const deps = { clock: host.clock, log, host, ...(shared === undefined ? {} : { serve: shared }) };
  return (signal) => ended(runLivenessprobe(deps, read.settings, signal), signal);
}

/** Undefined if there is nothing to run. */
function planRegistrar(parts: NodeParts, { values, given }: ProgramValues): NodeRun | undefined {
  const hasOwnServer = given.has('health-port') || given.has('http-endpoint');
  const read = readRegistrar(values as unknown as NodeDriverRegistrarValues);
  if (read.kind === 'refused') throw new ExitError(exitCodes.failure, read.message);
  if (read.kind === 'probe') return undefined;
  const { host, log, files, platform, serve } = parts;
  const shared = hasOwnServer ? undefined : serve;
  const deps = {
    clock: host.clock,
    log,
    files,
    platform,
    argv: [host.argv0, ...host.args],
    onPublishing: () => undefined,
    ...(shared === undefined ? {} : { serve: shared }),
  };
  return (signal) => ended(runRegistrar(deps, read.settings, signal), signal);
}

async function ended(run: Promise<number>, signal: AbortSignal): Promise<RunEnd> {
  try {
    const code = await run;
    if (signal.aborted) return { kind: 'stopped' };
    return { kind: 'failed', error: new Error(`the controller ended with ${code}`) };
  } catch (error) {
    return signal.aborted ? { kind: 'stopped' } : { kind: 'failed', error };
  }
}
