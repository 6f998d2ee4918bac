// SPDX-License-Identifier: Apache-2.0
/**
 * Tracing of a process by its flags. Without `--tracing-endpoint` nothing is loaded and nothing is opened, whatever the environment says. The
 * library that exports spans is a bundle of its own, which scripts/bundle.ts makes of `otlp.ts`.
 */
import type { Logger, Metrics } from '@csi-sidecars/runtime';
import { ExitError, exitCodes, orExit } from '../process/exit.ts';
import type { ProgramHost } from '../process/host.ts';
import type { TracingValues } from '../programs/shared-flags.ts';
import { readTracing } from './settings.ts';
import type { OpenTracing, Tracing } from './tracing.ts';

export interface OpenedBy {
  readonly program: string;
  readonly values: TracingValues;
  readonly log: Logger;
  readonly metrics: Metrics;
}

/** Undefined: nothing is traced. Rejects with an ExitError for flags that are refused. */
export async function openTracing(host: ProgramHost, by: OpenedBy): Promise<Tracing | undefined> {
  const { values, program, log, metrics } = by;
  const read = readTracing(values, host.env);
  if (read.kind === 'refused') throw new ExitError(exitCodes.failure, read.reason, { reason: 'commandLine' });
  if (read.kind === 'off') return undefined;
  const { settings } = read;
  const { version, hostName } = host;
  const tracing = await orExit('Failed to set up tracing', async () => {
    const open = await (host.loadTracing ?? loadTracing)();
    return open({ ...host, logger: log, metrics }, { ...settings, program, version, hostName });
  });
  const { samplingRatio, traceIds } = settings;
  log.info(0, 'Tracing', { collector: settings.endpoint.host, samplingRatio, traceIds });
  return tracing;
}

export async function loadTracing(): Promise<OpenTracing> {
  const { openTracing: open } = await import('./otlp.ts');
  return open;
}
