// SPDX-License-Identifier: Apache-2.0
/** What the command line asks for: the controllers and their settings, or why it is refused. Nothing is opened before. */
import type { Logger } from '@csi-sidecars/runtime';
import {
  debugExplainRefused,
  eventsRefused,
  type EventsValues,
  ExitError,
  exitCodes,
  type GateSettings,
  nearest,
  type StandardValues,
  type Started,
} from '@csi-sidecars/sidecar';
import { type ProgramValues, prefixedFlagsOf, valuesOf } from './command-line.ts';
import type { OwnValues } from './own-flags.ts';
import { type ControllerName, controllerNames, isSidecar, type SidecarName } from './programs.ts';
import { type AnySidecar, type Sidecars, sidecars } from './sidecars.ts';

/** The flags of the process that are read by name; those of controllers are read through their programs. */
export interface AllValues extends OwnValues, StandardValues, EventsValues {
  readonly master: string;
  readonly 'feature-gates': GateSettings;
}

export type StartedAll = Started<AllValues, string>;

export interface PlannedSidecar extends ProgramValues {
  readonly name: SidecarName;
  readonly sidecar: AnySidecar;
}

export interface Plan {
  readonly controllers: readonly ControllerName[];
  readonly sidecars: readonly PlannedSidecar[];
  readonly onFailure: 'restart' | 'exit';
  readonly shutdownTimeoutMs: number;
}

/** Throws an ExitError. */
export function planOf(started: StartedAll, programs: Sidecars = sidecars): Plan {
  const { values, given, log } = started;
  const controllers = readControllers(values.controllers);
  if (values['http-endpoint'] !== '' && values['metrics-address'] !== '') {
    throw refusal('--http-endpoint and --metrics-address are mutually exclusive');
  }
  const refused = debugExplainRefused(values) ?? eventsRefused(values);
  if (refused !== undefined) throw refusal(refused);
  if (values['shutdown-timeout'] <= 0) throw refusal('--shutdown-timeout must be positive');
  const onFailure = values['controller-failure'];
  if (onFailure !== 'restart' && onFailure !== 'exit') {
    throw refusal(`--controller-failure must be restart or exit, not ${JSON.stringify(onFailure)}`);
  }
  const planned = controllerNames
    .filter(isSidecar)
    .flatMap((name) => planSidecar({ name, sidecar: programs[name] }, started, controllers) ?? []);
  // The leases have the unprefixed limit.
  if (planned.length > 0) checkLimit({ values: { ...values }, nameOf: (flag) => flag });
  logUnused(log, controllers, given);
  return { controllers, sidecars: planned, onFailure, shutdownTimeoutMs: values['shutdown-timeout'] };
}

/** In the order of the list, each once. Throws an ExitError. */
export function readControllers(list: string): readonly ControllerName[] {
  const asked = [...new Set(list.split(',').map((item) => item.trim()))].filter((item) => item !== '');
  const unknown = asked.filter((item) => !(controllerNames as readonly string[]).includes(item)).sort();
  const valid = controllerNames.join(', ');
  if (unknown.length > 0) {
    const meant = new Set(unknown.flatMap((item) => nearest(item, controllerNames) ?? []));
    const question = meant.size === 0 ? '' : `. Did you mean ${[...meant].join(', ')}?`;
    throw refusal(`unknown controllers: ${unknown.join(', ')}, valid values are: ${valid}${question}`);
  }
  if (asked.length === 0) {
    throw refusal(`no controllers enabled, --controllers must list at least one of: ${valid}`);
  }
  return asked as readonly ControllerName[];
}

/** The settings of one that is not enabled are checked if any of them was given by its prefixed name. */
function planSidecar(
  { name, sidecar }: Pick<PlannedSidecar, 'name' | 'sidecar'>,
  { values, given }: StartedAll,
  controllers: readonly ControllerName[],
): PlannedSidecar | undefined {
  const isEnabled = controllers.includes(name);
  if (!isEnabled && prefixedFlagsOf(name, given).length === 0) return undefined;
  const own = valuesOf(name, values as unknown as Readonly<Record<string, unknown>>, given);
  const refused = sidecar.refused(own.values);
  if (refused !== undefined) throw refusal(withNames(refused, own));
  checkLimit(own);
  return isEnabled ? { name, sidecar, ...own } : undefined;
}

/** Upstream's programs end when they make a client that could never send a request. */
function checkLimit({ values, nameOf }: Pick<ProgramValues, 'values' | 'nameOf'>): void {
  const [qps, burst] = ['kube-api-qps', 'kube-api-burst'] as const;
  if ((values[qps] as number) <= 0 || (values[burst] as number) >= 1) return;
  throw refusal(`--${nameOf(burst)} must be at least 1 while --${nameOf(qps)} is positive`);
}

/** The names of flags in a text of a program, as the user gave them. */
function withNames(text: string, { values, nameOf }: ProgramValues): string {
  return text.replaceAll(/--([a-z][a-z-]*[a-z])/g, (written, flag: string) =>
    Object.hasOwn(values, flag) ? `--${nameOf(flag)}` : written,
  );
}

function logUnused(log: Logger, controllers: readonly ControllerName[], given: ReadonlySet<string>): void {
  for (const controller of controllerNames.filter((name) => !controllers.includes(name))) {
    const flags = prefixedFlagsOf(controller, given).map((flag) => `--${flag}`);
    if (flags.length > 0)
      log.info(0, 'Flags of a controller that is not enabled have no effect', { controller, flags });
  }
}

function refusal(message: string): ExitError {
  return new ExitError(exitCodes.failure, message, { reason: 'commandLine' });
}
