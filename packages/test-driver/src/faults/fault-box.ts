// SPDX-License-Identifier: Apache-2.0
/** The active rules, how often each was applied, and which calls hang because of them. */
import type { Clock } from '@csi-sidecars/runtime';
import { refuse } from '../core/refusal.ts';
import { matchesRule, patched, type FaultAction, type FaultRule, type FaultSubject, type Moment } from './rules.ts';

/** Thrown inside a call that will get no answer. */
export class Interruption extends Error {
  override readonly name = 'Interruption';
  readonly kind: 'drop' | 'crash';
  constructor(kind: 'drop' | 'crash') {
    super(kind === 'drop' ? 'the connection broke' : 'the driver crashed');
    this.kind = kind;
  }
}

export interface FaultStatus {
  readonly id: string;
  readonly rule: FaultRule;
  readonly matched: number;
  readonly acted: number;
  readonly hanging: number;
}

interface Entry {
  readonly id: string;
  readonly rule: FaultRule;
  matched: number;
  acted: number;
  readonly hanging: Set<() => void>;
}

export class FaultBox {
  readonly #clock: Clock;
  readonly #entries = new Map<string, Entry>();
  #lastId = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  add(rule: FaultRule): string {
    const id = `fault-${++this.#lastId}`;
    this.#entries.set(id, { id, rule, matched: 0, acted: 0, hanging: new Set() });
    return id;
  }

  /** Removes the rule; calls that hang because of it continue. */
  remove(id: string): boolean {
    this.release(id);
    return this.#entries.delete(id);
  }

  clear(): void {
    for (const id of this.#entries.keys()) this.remove(id);
  }

  /** Lets the calls that hang now continue; later calls hang again. Returns their number. */
  release(id: string): number {
    const hanging = [...(this.#entries.get(id)?.hanging ?? [])];
    for (const go of hanging) go();
    return hanging.length;
  }

  list(): readonly FaultStatus[] {
    return [...this.#entries.values()].map(({ hanging, ...entry }) => ({ ...entry, hanging: hanging.size }));
  }

  /** Applies the rules at one moment of a call; throws a `Refusal` or an `Interruption` if a rule ends the call. */
  async strike(at: Moment, subject: FaultSubject): Promise<void> {
    for (const entry of this.#due(
      subject,
      ({ action, at: when }) => action.kind !== 'answer' && (when ?? 'before') === at,
    )) {
      await this.#act(entry);
    }
  }

  /** The answer after the rules have changed it. */
  answer(response: object, subject: FaultSubject): object {
    return this.#due(subject, ({ action }) => action.kind === 'answer').reduce(
      (answer, { rule }) => patched(answer, rule.action as Extract<FaultAction, { readonly kind: 'answer' }>),
      response,
    );
  }

  /** Returns the rules that apply now, and counts them. */
  #due(subject: FaultSubject, concerns: (rule: FaultRule) => boolean): Entry[] {
    return [...this.#entries.values()].filter((entry) => {
      const { rule } = entry;
      if (!concerns(rule) || !matchesRule(rule, subject)) return false;
      entry.matched += 1;
      if (entry.matched <= (rule.skip ?? 0) || entry.acted >= timesOf(rule)) return false;
      entry.acted += 1;
      return true;
    });
  }

  async #act({ rule: { action }, hanging }: Entry): Promise<void> {
    switch (action.kind) {
      case 'delay':
        return await this.#clock.sleep(action.ms);
      case 'hang':
        return await new Promise<void>((resolve) => {
          const go = (): void => {
            hanging.delete(go);
            resolve();
          };
          hanging.add(go);
        });
      case 'fail':
        return refuse(action.code, action.message ?? `fault rule: ${action.code}`);
      case 'drop':
      case 'crash':
        throw new Interruption(action.kind);
      case 'answer':
        return;
    }
  }
}

function timesOf(rule: FaultRule): number {
  return rule.times ?? (rule.action.kind === 'crash' ? 1 : Infinity);
}
