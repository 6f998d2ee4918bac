// SPDX-License-Identifier: Apache-2.0
/**
 * Reads the command line of a program: flags, logging, gates, version, exclusive endpoints. The order of the last three
 * differs between upstream's programs and decides which of several mistakes is reported.
 */
import type { Logger } from '@csi-sidecars/runtime';
import { type LineWriter, type LoggerOptions, openLog, type OpenLog } from '@csi-sidecars/runtime/internal';
import type { GateSettings } from '../flags/flag.ts';
import { resolveGates } from '../flags/gates.ts';
import { helpText, mistakeLines } from '../flags/help.ts';
import { type FlagSyntax, parseFlags } from '../flags/parse.ts';
import { invalidLogging, type LoggingValues } from '../programs/shared-flags.ts';
import type { ProgramFlags } from '../programs/manifest.ts';
import { exitCodes, leaveMessage } from './exit.ts';
import type { ProcessHost } from './host.ts';

/** What every program has on its command line. */
export interface StartValues extends LoggingValues {
  readonly version?: boolean;
  readonly 'http-endpoint'?: string;
  readonly 'metrics-address'?: string;
  readonly 'feature-gates'?: GateSettings;
}

export type StartStep = 'gates' | 'version' | 'endpoints';

export interface StartOptions {
  /** Default: gates, version, endpoints. */
  readonly order?: readonly StartStep[];
  /** The exit code of an unknown feature gate; default 1. */
  readonly gateExitCode?: number;
  /** Default: it is logged last. */
  readonly versionLine?: 'logged' | 'omitted';
  /** Arguments that are no flags are what a command works on. Default: they are ignored with a warning, as upstream ignores them. */
  readonly positionals?: 'used' | 'ignored';
}

export interface Started<V, G extends string> {
  readonly kind: 'started';
  readonly values: V;
  readonly given: ReadonlySet<string>;
  readonly gates: Readonly<Record<G, boolean>>;
  readonly givenGates: ReadonlySet<string>;
  /** Arguments that are no flags. */
  readonly positionals: readonly string[];
  readonly log: Logger;
  readonly stderr: LineWriter;
}
export interface Ended {
  readonly kind: 'ended';
  readonly code: number;
  readonly stderr: LineWriter;
}

export async function start<V extends StartValues, G extends string>(
  host: ProcessHost,
  program: ProgramFlags<V, G>,
  options: StartOptions = {},
): Promise<Started<V, G> | Ended> {
  const { order = ['gates', 'version', 'endpoints'], gateExitCode = exitCodes.failure, versionLine } = options;
  const parsed = parseFlags<V>(program.flags, program.syntax, host.args);
  const verbosity = parsed.kind === 'parsed' ? parsed.values.v : 0;
  const logOptions: LoggerOptions = { program: program.name, pid: host.pid, verbosity };
  const stderr = openLog(host, logOptions);
  const ended = (code: number): Ended => ({ kind: 'ended', code, stderr: stderr.writer });
  if (parsed.kind === 'help') {
    const { argv0, usageText } = host;
    const flags = { ...program.flags };
    const text = parsed.isForAll ? await usageText(argv0, flags) : helpText(argv0, flags);
    stderr.writer.write(`${text.trimEnd()}\n`);
    return ended(exitCodes.success);
  }
  if (parsed.kind === 'invalid') {
    const hint = parsed.unknown === undefined ? undefined : program.removed?.[parsed.unknown];
    const lines = mistakeLines(host.argv0, { ...program.flags }, { ...parsed, hint });
    for (const line of lines) stderr.writer.write(`${line}\n`);
    leaveMessage(host, lines.at(-1)!);
    return ended(exitCodes.usage);
  }
  const { values, positionals } = parsed;
  const log = values['logging-format'] === 'json' ? await logJson(stderr, logOptions) : stderr.log;
  const [problem] = invalidLogging(values);
  if (problem !== undefined) {
    log.error(new Error(problem), 'LoggingConfiguration is invalid');
    return ended(exitCodes.failure);
  }
  const gates = resolveGates<G>(program.gates, values['feature-gates'] ?? {});
  for (const step of order) {
    if (step === 'gates' && gates.kind === 'invalid') break;
    if (step === 'version' && values.version === true) {
      host.stdout(`${host.argv0} ${host.version}\n`);
      return ended(0);
    }
    if (step === 'endpoints' && values['http-endpoint'] && values['metrics-address']) {
      log.error(undefined, 'Only one of `--metrics-address` and `--http-endpoint` can be set');
      return ended(exitCodes.failure);
    }
  }
  if (gates.kind === 'invalid') {
    const { message, didYouMean } = gates;
    log.error(new Error(message), 'Failed to set feature gates', didYouMean === undefined ? {} : { didYouMean });
    leaveMessage(host, message);
    return ended(gateExitCode);
  }
  // Upstream ignores them in silence: `--leader-election false` turns the election on, and hides every flag behind it.
  if (positionals.length > 0 && options.positionals !== 'used')
    log.warn(ignoredTexts[program.syntax], { arguments: positionals });
  for (const featureGate of gates.finished) {
    const value = gates.enabled[featureGate as G];
    log.info(0, 'Warning: setting GA feature gate. It will be removed in a future release.', { featureGate, value });
  }
  if (versionLine !== 'omitted') log.info(0, 'Version', { version: host.version });
  return {
    kind: 'started',
    values,
    given: parsed.given,
    gates: gates.enabled,
    givenGates: gates.given,
    positionals,
    log,
    stderr: stderr.writer,
  };
}

const ignoredTexts: Readonly<Record<FlagSyntax, string>> = {
  go: 'Ignoring all arguments from the first one that is not a flag',
  pflag: 'Ignoring arguments that are not flags',
  mixed: 'Ignoring arguments that are not flags',
};

/** Loaded only when asked for. */
async function logJson({ replace }: OpenLog, options: LoggerOptions): Promise<Logger> {
  const { createJsonLogger } = await import('../logging/json-logger.ts');
  return replace((deps) => createJsonLogger(deps, options));
}
