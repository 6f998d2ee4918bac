// SPDX-License-Identifier: Apache-2.0
import { ended, type ElectionState, type Input, type Step, type Turn } from './election-state.ts';
import { stepLeading } from './leading.ts';
import { stepReleasing } from './releasing.ts';
import { stepStandby } from './standby.ts';

/** Pure: what to do next, and the state after it. The only way from one state to another. */
export function step(turn: Turn, state: ElectionState, input: Input): Step {
  switch (state.kind) {
    case 'standby':
      return stepStandby(turn, state, input);
    case 'leading':
      return stepLeading(turn, state, input);
    case 'releasing':
      return stepReleasing(turn, state, input);
    case 'ended':
      return ended(state.result, []);
  }
}
