// SPDX-License-Identifier: Apache-2.0
import type { LeaderElector } from '@csi-sidecars/runtime/internal';
import { recordingMetrics } from '@csi-sidecars/runtime/testing';
import { expect, it } from 'vitest';
import { controllerStates, createStates } from './states.ts';

const state = 'csi_sidecars_controller_state';
const restarts = 'csi_sidecars_controller_restarts_total';

it('given two controllers, then each has one state at a time, from starting on, and its restarts are counted', () => {
  const metrics = recordingMetrics();
  const states = createStates(['attacher', 'resizer'], metrics);
  states.set('resizer', 'parked');
  states.countRestart('resizer');
  const found = (controller: string) => [
    states.of(controller),
    controllerStates.map((each) => metrics.value(state, { controller, state: each })),
    metrics.value(restarts, { controller }),
  ];
  expect(controllerStates).toEqual(['starting', 'standby', 'working', 'parked', 'backoff', 'stopped']);
  expect(found('attacher')).toEqual(['starting', [1, 0, 0, 0, 0, 0], 0]);
  expect(found('resizer')).toEqual(['parked', [0, 0, 0, 1, 0, 0], 1]);
  expect(states.of('unknown')).toBe('stopped');
  expect([metrics.names(), metrics.definition(state), metrics.definition(restarts)]).toEqual([
    [state, restarts],
    {
      help: 'The state of a controller: 1 for the state that it is in, 0 for all others.',
      labels: ['controller', 'state'],
    },
    { help: 'Runs of a controller that began after a failure.', labels: ['controller'] },
  ]);
});

it('given an election, then the health of its controller is that of the election until its run has ended', () => {
  const states = createStates(['attacher', 'resizer'], recordingMetrics());
  const health = () => [states.isHealthy('attacher'), states.isHealthy('resizer')];
  expect(health()).toEqual([true, true]);
  states.setElector('resizer', { isHealthy: false } as LeaderElector);
  expect(health()).toEqual([true, false]);
  states.setElector('resizer', undefined);
  expect(health()).toEqual([true, true]);
});
