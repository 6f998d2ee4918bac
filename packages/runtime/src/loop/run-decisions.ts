// SPDX-License-Identifier: Apache-2.0
/**
 * One run of a loop: decide, perform one step, learn, and decide again, until the decision is to conclude. The order of writes
 * is then a property of a pure function.
 *
 * No step is performed twice in one run: a decision that ignores what was learned would repeat it for ever, and throws instead.
 */
import type { AnyAction, ConclusionOf } from './loop.ts';

export interface Decisions<State, Action extends AnyAction> {
  /** For the message of that defect: `csi-attacher-va va1`. */
  readonly subject: string;
  /** Pure. */
  readonly decide: (state: State) => Action;
  /** Resolves with the state that includes what was learned. */
  readonly perform: (step: Exclude<Action, ConclusionOf<Action>>, state: State) => Promise<State>;
  readonly onDecision?: (action: Action) => void;
}

export interface Concluded<State, Action> {
  readonly state: State;
  readonly conclusion: ConclusionOf<Action>;
}

export async function runDecisions<State, Action extends AnyAction>(
  initial: State,
  { subject, decide, perform, onDecision }: Decisions<State, Action>,
): Promise<Concluded<State, Action>> {
  const performed = new Set<string>();
  let state = initial;
  for (;;) {
    const action = decide(state);
    onDecision?.(action);
    if (isConclusion(action)) return { state, conclusion: action };
    if (performed.has(action.kind)) {
      throw new Error(`${subject}: row ${action.row} decided ${action.kind} twice in one run`);
    }
    performed.add(action.kind);
    state = await perform(action as Exclude<Action, ConclusionOf<Action>>, state);
  }
}

function isConclusion<Action extends AnyAction>(action: Action): action is Action & ConclusionOf<Action> {
  return action.kind === 'conclude';
}
