// SPDX-License-Identifier: Apache-2.0
/** The states of the controllers: for metrics, for health, and for the message at the end. */
import type { Metrics } from '@csi-sidecars/runtime';
import type { LeaderElector } from '@csi-sidecars/runtime/internal';

export const controllerStates = ['starting', 'standby', 'working', 'parked', 'backoff', 'stopped'] as const;
export type ControllerState = (typeof controllerStates)[number];

export interface States {
  of(controller: string): ControllerState;
  set(controller: string, state: ControllerState): void;
  countRestart(controller: string): void;
  /** Undefined when the run that it belongs to has ended. */
  setElector(controller: string, elector: LeaderElector | undefined): void;
  /** False for a leader that has not confirmed its lease for a long time. */
  isHealthy(controller: string): boolean;
  /** Those with a run that has not ended. */
  readonly running: Set<string>;
}

export function createStates(controllers: readonly string[], metrics: Metrics): States {
  const states = new Map<string, ControllerState>(controllers.map((name) => [name, 'starting']));
  const electors = new Map<string, LeaderElector | undefined>();
  metrics.gauge({
    name: 'csi_sidecars_controller_state',
    help: 'The state of a controller: 1 for the state that it is in, 0 for all others.',
    labels: ['controller', 'state'],
    collect: () =>
      controllers.flatMap((controller) =>
        controllerStates.map((state) => ({
          labels: { controller, state },
          value: Number(states.get(controller) === state),
        })),
      ),
  });
  const restarts = metrics.counter({
    name: 'csi_sidecars_controller_restarts_total',
    help: 'Runs of a controller that began after a failure.',
    labels: ['controller'],
  });
  for (const controller of controllers) restarts.inc({ controller }, 0);
  return {
    of: (controller) => states.get(controller) ?? 'stopped',
    set: (controller, state) => void states.set(controller, state),
    countRestart: (controller) => restarts.inc({ controller }),
    setElector: (controller, elector) => void electors.set(controller, elector),
    isHealthy: (controller) => electors.get(controller)?.isHealthy ?? true,
    running: new Set(),
  };
}
