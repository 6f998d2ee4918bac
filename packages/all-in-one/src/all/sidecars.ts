// SPDX-License-Identifier: Apache-2.0
/** The programs that talk to the API server, without the types of their values, which the table of their flags guarantees. */
import { attacherSidecar } from '@csi-sidecars/attacher';
import { healthMonitorSidecar } from '@csi-sidecars/health-monitor';
import { provisionerSidecar } from '@csi-sidecars/provisioner';
import { resizerSidecar } from '@csi-sidecars/resizer';
import type { Flags, PreparedController, SidecarProgram, SidecarValues, StartContext } from '@csi-sidecars/sidecar';
import { snapshotterSidecar } from '@csi-sidecars/snapshotter';
import type { SidecarName } from './programs.ts';

type Values = Readonly<Record<string, unknown>>;

export interface AnySidecar {
  readonly flags: Flags;
  /** Whether its requests to the API server are counted in metrics. */
  readonly requestMetrics: boolean;
  readonly refused: (values: Values) => string | undefined;
  /** Throws an ExitError. */
  readonly driver: (
    values: Values,
    env: Readonly<Record<string, string | undefined>>,
  ) => ReturnType<SidecarProgram<SidecarValues, never>['driver']>;
  readonly prepare: (context: AnyContext) => Promise<PreparedController>;
}

export interface AnyContext extends Omit<StartContext<never, never>, 'started'> {
  readonly started: Omit<StartContext<never, never>['started'], 'values' | 'gates'> & {
    readonly values: Values;
    readonly gates: Readonly<Record<string, boolean>>;
  };
}

function erased<V extends SidecarValues, G extends string>(sidecar: SidecarProgram<V, G>): AnySidecar {
  return {
    flags: { ...sidecar.program.flags },
    requestMetrics: sidecar.requestMetrics === true,
    refused: (values) => sidecar.refused?.(values as unknown as V),
    driver: (values, env) => sidecar.driver(values as unknown as V, env),
    prepare: (context) => sidecar.prepare(context as unknown as StartContext<V, G>),
  };
}

export type Sidecars = Readonly<Record<SidecarName, AnySidecar>>;

export const sidecars: Sidecars = {
  attacher: erased(attacherSidecar),
  'health-monitor': erased(healthMonitorSidecar),
  provisioner: erased(provisionerSidecar),
  resizer: erased(resizerSidecar),
  snapshotter: erased(snapshotterSidecar),
};
