// SPDX-License-Identifier: Apache-2.0
/**
 * One run of a reconcile loop: decide, do one thing, learn, and decide again, until the decision is to end. The order of writes
 * is then a property of a pure function.
 *
 * Nothing is done twice in one run: a decision that does not take in what was learned would spin, and throws instead.
 */
export interface Decisions<State, Action extends { readonly kind: string }> {
  /** For the text of that defect: `claim 1234`. */
  readonly subject: string;
  /** Pure. */
  readonly decide: (state: State) => Action;
  /** Resolves with the state that knows what came of it. */
  readonly perform: (step: StepOf<Action>, state: State) => Promise<State>;
}

type ConclusionOf<Action> = Extract<Action, { readonly kind: 'conclude' }>;
type StepOf<Action> = Exclude<Action, { readonly kind: 'conclude' }>;

export interface Concluded<State, Action> {
  readonly state: State;
  readonly conclusion: ConclusionOf<Action>;
}

export async function runDecisions<State, Action extends { readonly kind: string }>(
  initial: State,
  { subject, decide, perform }: Decisions<State, Action>,
): Promise<Concluded<State, Action>> {
  const performed = new Set<string>();
  let state = initial;
  for (;;) {
    const action = decide(state);
    if (isConclusion(action)) return { state, conclusion: action };
    if (performed.has(action.kind)) throw new Error(`${subject}: ${action.kind} was decided twice in one run`);
    performed.add(action.kind);
    state = await perform(action as StepOf<Action>, state);
  }
}

function isConclusion<Action extends { readonly kind: string }>(action: Action): action is ConclusionOf<Action> {
  return action.kind === 'conclude';
}
