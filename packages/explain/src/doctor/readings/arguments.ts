// SPDX-License-Identifier: Apache-2.0
/** The command line of a container, as far as it can be read from its spec. */
import { attacherProgram } from '@csi-sidecars/attacher';
import { dataSourceValidatorProgram } from '@csi-sidecars/data-source-validator';
import { healthMonitorProgram } from '@csi-sidecars/health-monitor';
import { provisionerProgram } from '@csi-sidecars/provisioner';
import { resizerProgram } from '@csi-sidecars/resizer';
import type { Pod } from '@csi-sidecars/runtime';
import type { AnyProgramFlags } from '@csi-sidecars/sidecar';
import { snapshotControllerProgram } from '@csi-sidecars/snapshot-controller';
import { snapshotterProgram } from '@csi-sidecars/snapshotter';
import type { Program } from '../../verdict.ts';

export type Container = NonNullable<Pod['spec']>['containers'][number];

export interface Arguments {
  /** By name, without dashes. A flag without a value is `true`. */
  readonly values: ReadonlyMap<string, string>;
  readonly words: readonly string[];
  /** False: a shell makes the command line, or a variable is not in the spec: a flag that is not seen may be set all the same. */
  readonly isWhole: boolean;
}

export const programFlags: Readonly<Record<Program, AnyProgramFlags>> = {
  'csi-provisioner': provisionerProgram,
  'csi-attacher': attacherProgram,
  'csi-resizer': resizerProgram,
  'csi-snapshotter': snapshotterProgram,
  'csi-external-health-monitor-controller': healthMonitorProgram,
  'snapshot-controller': snapshotControllerProgram,
  'volume-data-source-validator': dataSourceValidatorProgram,
};

/** Flags without a type take their value after `=` only. */
const boolFlags: ReadonlySet<string> = new Set(
  Object.values(programFlags).flatMap(({ flags }) =>
    Object.entries(flags)
      .filter(([, { type }]) => type === '')
      .map(([name]) => name),
  ),
);

const shell = /(^|\/)(ba|da|a)?sh$/;
const flag = /^--?([\w-]+)(?:=(.*))?$/s;

export function argumentsOf({ command = [], args = [], env = [] }: Container): Arguments {
  const variables = new Map(env.map(({ name, value }) => [name, value]));
  let isWhole = !command.some((word) => shell.test(word));
  const expanded = (word: string): string =>
    word.replaceAll(/\$\(([\w.-]+)\)/g, (whole, name: string) => {
      const value = variables.get(name);
      if (value === undefined) isWhole = false;
      return value ?? whole;
    });
  const words = [...command.slice(1), ...args].map(expanded);
  const values = new Map<string, string>();
  for (const [index, word] of words.entries()) {
    const [, name, value] = flag.exec(word) ?? [];
    if (name === undefined) continue;
    const next = words[index + 1];
    const isNextValue = value === undefined && !boolFlags.has(name) && next !== undefined && !next.startsWith('-');
    values.set(name, value ?? (isNextValue ? next : 'true'));
  }
  return { values, words, isWhole };
}
