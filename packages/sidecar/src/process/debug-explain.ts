// SPDX-License-Identifier: Apache-2.0
/** `--debug-explain`: which command lines are refused, and the recorders and the route of a process. */
import { type AuditBoard, createAuditBoard, type DriverInfo } from '@csi-sidecars/csi';
import type { HttpRoute } from '@csi-sidecars/runtime';
import { createInspection, debugExplainRoute, type Inspection } from '@csi-sidecars/runtime/internal';
import type { Flags } from '../flags/flag.ts';
import type { DebugExplainValues } from '../programs/shared-flags.ts';
import type { Rights } from '../rights/rights.ts';
import { debugAuditRoute } from './debug-audit.ts';
import type { ProcessHost } from './host.ts';
import { changedSettings } from './settings.ts';

interface Values extends DebugExplainValues {
  readonly 'http-endpoint': string;
  readonly 'metrics-address'?: string;
}

const modes = ['off', 'loopback', 'any'] as const;

/** The reason why the command line cannot be run; undefined if it can. */
export function debugExplainRefused(values: Values): string | undefined {
  const mode = values['debug-explain'];
  if (!modes.some((each) => each === mode))
    return `--debug-explain must be ${modes.join(', ')}, not ${JSON.stringify(mode)}`;
  const address = values['http-endpoint'] || values['metrics-address'];
  return mode === 'off' || address ? undefined : `--debug-explain=${mode} needs --http-endpoint`;
}

export interface Inspections {
  /** Of the controller of that name; undefined: nothing is recorded. */
  readonly of: (program: string) => Inspection | undefined;
  /** Of the controller of that name; undefined: nobody can ask for an audit. */
  readonly auditOf: (program: string) => AuditBoard | undefined;
  /** None: there is no such page. */
  readonly routes: readonly HttpRoute[];
}

/** One inspection for each controller of the process. Assumes a command line that is not refused. */
export function openInspections(
  host: Pick<ProcessHost, 'clock' | 'version' | 'hostName'>,
  values: DebugExplainValues,
  programs: readonly string[],
): Inspections {
  const access = values['debug-explain'];
  if (access !== 'loopback' && access !== 'any') return { of: () => undefined, auditOf: () => undefined, routes: [] };
  const inspections = new Map(programs.map((program) => [program, createInspection(host, program)]));
  const boards = new Map(programs.map((program) => [program, createAuditBoard(host)]));
  const { version, hostName } = host;
  const explain = debugExplainRoute(host, { access, version, hostName, inspections: [...inspections.values()] });
  const controllers = [...inspections].flatMap(([program, inspection]) => {
    const board = boards.get(program);
    return board === undefined ? [] : [{ inspection, board }];
  });
  return {
    of: (program) => inspections.get(program),
    auditOf: (program) => boards.get(program),
    routes: [explain, debugAuditRoute(host, { access, controllers })],
  };
}

export interface DescribedController {
  /** Of the controller. */
  readonly flags: Flags;
  readonly values: object;
  /** Undefined: it works with none. */
  readonly driver: DriverInfo | undefined;
  readonly isConnected: () => boolean;
  readonly rights: Pick<Rights, 'missing'>;
}

/** What the page says of a controller beside its loops. */
export function describeController(
  inspection: Inspection | undefined,
  { flags, values, driver, isConnected, rights }: DescribedController,
): void {
  inspection?.describe(() => ({
    driver:
      driver === undefined
        ? null
        : {
            name: driver.name,
            connected: isConnected(),
            capabilities: [...driver.pluginCapabilities, ...driver.controllerCapabilities],
          },
    settings: changedSettings(flags, values),
    rights:
      rights
        .missing()
        ?.map(({ verb, group, resource, namespace }) => ({ verb, group, resource, namespace: namespace ?? null })) ??
      null,
  }));
}
