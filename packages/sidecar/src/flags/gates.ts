// SPDX-License-Identifier: Apache-2.0
/** Feature gates: what a program knows, what the user set, what holds. */
import type { GateSettings } from './flag.ts';

export interface Gate {
  readonly stage: 'ALPHA' | 'BETA' | 'GA';
  readonly defaultValue: boolean;
}
export type ResolvedGates<G extends string> =
  | {
      readonly kind: 'resolved';
      readonly enabled: Readonly<Record<G, boolean>>;
      readonly given: ReadonlySet<string>;
    }
  | { readonly kind: 'invalid'; readonly message: string };

/** `AllAlpha` and `AllBeta` set every gate of their stage that is not named itself. An unknown name is an error. */
export function resolveGates<G extends string>(
  gates: Readonly<Record<G, Gate>>,
  settings: GateSettings,
): ResolvedGates<G> {
  const enabled: Record<string, boolean> = {};
  for (const [name, gate] of Object.entries<Gate>(gates)) {
    const group =
      gate.stage === 'ALPHA' ? settings['AllAlpha'] : gate.stage === 'BETA' ? settings['AllBeta'] : undefined;
    enabled[name] = settings[name] ?? group ?? gate.defaultValue;
  }
  for (const name of Object.keys(settings)) {
    if (name === 'AllAlpha' || name === 'AllBeta' || Object.hasOwn(gates, name)) continue;
    return { kind: 'invalid', message: `unrecognized feature gate: ${name}` };
  }
  return {
    kind: 'resolved',
    enabled: enabled as Readonly<Record<G, boolean>>,
    given: new Set(Object.keys(settings)),
  };
}

/** The part of the `--feature-gates` usage text that lists the gates. */
export function gatesUsage(gates: Readonly<Record<string, Gate>>): string {
  const options = Object.entries({
    AllAlpha: { stage: 'ALPHA', defaultValue: false },
    AllBeta: { stage: 'BETA', defaultValue: false },
    ...gates,
  })
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([name, gate]) => `${name}=true|false (${gate.stage} - default=${gate.defaultValue})`);
  return `A set of key=value pairs that describe feature gates for alpha/experimental features. Options are:\n${options.join('\n')}`;
}
