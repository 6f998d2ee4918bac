// SPDX-License-Identifier: Apache-2.0
/**
 * A dry run of a program: what its controller would do with one key if it led and began now. The program is not started: what it asks its driver
 * at its start is assumed by the caller.
 */
import { type Code, type CsiChannel, CsiError, type DriverInfo } from '@csi-sidecars/csi';
import type { ApiClient, EventRecorder, Logger, Loop } from '@csi-sidecars/runtime';
import { silentLogger } from '@csi-sidecars/runtime';
import { dryRun, type DryPorts, type DryRunResult, type DryWorld, noAnswer } from '@csi-sidecars/runtime/internal';
import type { GateSettings } from '../flags/flag.ts';
import type { ProgramFlags } from '../programs/manifest.ts';
import { type AssumedCommandLine, readAssumedCommandLine } from './assumed-command-line.ts';

export interface DryQuestion<LoopName extends string> {
  readonly loop: LoopName;
  /** A key of the loop's queue, which the program's page on dry runs describes. */
  readonly key: string;
  /** Arguments of the leader's container, variables expanded. Undefined: not known, so each flag has its default. */
  readonly args: readonly string[] | undefined;
  readonly signal?: AbortSignal | undefined;
  /** How the driver is known to have answered. The run goes on with it. Default: the first call ends the run. */
  readonly failure?: RecordedFailure | undefined;
}

export interface RecordedFailure {
  readonly code: Exclude<Code, 'OK'>;
  readonly detail: string;
}

/** A question about a program that has a driver. */
export interface DryDriverQuestion<LoopName extends string> extends DryQuestion<LoopName> {
  /** Name and capabilities: those that it is believed to have. */
  readonly driver: DriverInfo;
}

/** What a controller is assembled from. */
export interface DryParts<V, G extends string> {
  readonly started: AssumedCommandLine<V, G>;
  /** For questions that a program asks the API server at its start. */
  readonly client: Pick<ApiClient, 'raw' | 'list'>;
  readonly log: Logger;
  readonly signal: AbortSignal;
}

export interface DryControllerPorts extends DryPorts {
  /** Each call is reported, and gets no answer. */
  readonly channel: CsiChannel;
  readonly driverEvents: EventRecorder;
}

export interface DryController {
  /** The name of the queue that the question is about. */
  readonly queue: string;
  readonly loops: (ports: DryControllerPorts) => readonly Loop[];
  /** What is assumed beside the command line. */
  readonly assumed: readonly string[];
}

/** A program as a dry run needs it. */
export interface DryProgram<V extends object, G extends string> {
  readonly program: ProgramFlags<V, G>;
  readonly assemble: (parts: DryParts<V, G>) => DryController | Promise<DryController>;
}

/** Rejects as `dryRun` of the runtime does. */
export async function dryRunProgram<V extends { readonly 'feature-gates'?: GateSettings }, G extends string>(
  world: DryWorld,
  { key, args, signal, failure }: Omit<DryQuestion<string>, 'loop'>,
  { program, assemble }: DryProgram<V, G>,
): Promise<DryRunResult> {
  const started = readAssumedCommandLine(program, args);
  const { queue, loops, assumed } = await assemble({
    started,
    client: world.read,
    log: silentLogger,
    signal: signal ?? new AbortController().signal,
  });
  return dryRun(world, {
    queue,
    key,
    signal,
    assumed: [...started.assumed, ...assumed],
    loops: (ports) => loops({ ...ports, channel: channelOf(ports, failure), driverEvents: ports.events }),
  });
}

/** Capabilities as an assumption: the outside cannot ask a driver for them. */
export function assumedOf({ pluginCapabilities, controllerCapabilities }: DriverInfo): readonly string[] {
  const names = [...pluginCapabilities, ...controllerCapabilities];
  return [`the driver reports ${names.length === 0 ? 'no capability' : names.join(', ')}`];
}

function channelOf({ onAction }: DryPorts, failure: RecordedFailure | undefined): CsiChannel {
  return {
    call: (method) => {
      if (failure !== undefined) return Promise.reject(new CsiError({ method, ...failure }));
      onAction({ kind: 'call', method: method.slice(method.lastIndexOf('/') + 1) });
      return noAnswer();
    },
    lost: new AbortController().signal,
    close: () => undefined,
  };
}
