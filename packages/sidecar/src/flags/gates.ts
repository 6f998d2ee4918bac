// SPDX-License-Identifier: Apache-2.0
/** Feature gates: those that a program knows, those that the user set, and the values that result. */
import { apiServerGates } from './api-server-gates.ts';
import type { GateSettings } from './flag.ts';
import { nearest } from './nearest.ts';

export interface Gate {
  readonly stage: 'ALPHA' | 'BETA' | 'GA';
  readonly defaultValue: boolean;
}
export type ResolvedGates<G extends string> =
  | {
      readonly kind: 'resolved';
      readonly enabled: Readonly<Record<G, boolean>>;
      readonly given: ReadonlySet<string>;
      /** Finished gates that the user sets: they cause a warning, as upstream's. */
      readonly finished: readonly string[];
    }
  | {
      readonly kind: 'invalid';
      readonly message: string;
      /** The gate of this program whose name is nearest. */
      readonly didYouMean: string | undefined;
    };

const groups: ReadonlySet<string> = new Set(['AllAlpha', 'AllBeta']);

/**
 * `AllAlpha` and `AllBeta` set every gate of their stage that is not named itself. Gates of the API server are accepted
 * and do nothing, because upstream's programs link them. Any other name is an error.
 */
export function resolveGates<G extends string>(
  gates: Readonly<Record<G, Gate>>,
  settings: GateSettings,
): ResolvedGates<G> {
  const declared: Readonly<Record<string, Gate>> = gates;
  const named = Object.entries(settings).filter(([name]) => !groups.has(name));
  const unknown = named.find(([name]) => !Object.hasOwn(declared, name) && !apiServerGates.has(name));
  if (unknown !== undefined) {
    const [name] = unknown;
    const didYouMean = nearest(name, [...Object.keys(declared), ...groups]);
    return { kind: 'invalid', message: `unrecognized feature gate: ${name}`, didYouMean };
  }
  const enabled = Object.entries(declared).map(([name, gate]) => {
    const group =
      gate.stage === 'ALPHA' ? settings['AllAlpha'] : gate.stage === 'BETA' ? settings['AllBeta'] : undefined;
    return [name, settings[name] ?? group ?? gate.defaultValue] as const;
  });
  return {
    kind: 'resolved',
    enabled: Object.fromEntries(enabled) as Readonly<Record<G, boolean>>,
    given: new Set(Object.keys(settings)),
    finished: named.map(([name]) => name).filter((name) => declared[name]?.stage === 'GA'),
  };
}

/** The part of the `--feature-gates` usage text that lists the gates. */
export function gatesUsage(gates: Readonly<Record<string, Gate>>): string {
  const options = Object.entries({
    AllAlpha: { stage: 'ALPHA', defaultValue: false },
    AllBeta: { stage: 'BETA', defaultValue: false },
    ...gates,
  })
    .map(([name, gate]) => `${name}=true|false (${gate.stage} - default=${gate.defaultValue})`)
    .sort();
  return `A set of key=value pairs that describe feature gates for alpha/experimental features. Options are:\n${options.join('\n')}`;
}
