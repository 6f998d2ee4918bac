// SPDX-License-Identifier: Apache-2.0
/** Which values of a file have no effect: each is left out in turn, and changed if that makes no difference. */
import { readFileSync } from 'node:fs';
import { load } from 'js-yaml';
import { HelmError, renderText, type RenderOptions } from './helm.ts';

type Path = readonly (string | number)[];
type Leaf = string | number | boolean | null;

/** The paths of the values without which, and with another one in whose place, the same is rendered. A refusal is an effect. */
export async function idleValues(file: string, options: RenderOptions): Promise<readonly string[]> {
  const all = load(readFileSync(file, 'utf8'));
  const rendered = async (values: unknown): Promise<string> => {
    try {
      return await renderText({
        ...options,
        files: [],
        values: values as object,
        withTests: true,
        withoutSchema: true,
      });
    } catch (error) {
      if (error instanceof HelmError) return 'refused';
      throw error;
    }
  };
  const before = await rendered(all);
  if (before === 'refused') throw new Error(`${file} cannot be rendered`);
  const idle: string[] = [];
  const rest = leavesOf(all);
  const work = async (): Promise<void> => {
    for (let next = rest.shift(); next !== undefined; next = rest.shift()) {
      const { path, value } = next;
      const isIdle =
        (await rendered(edited(all, path, undefined))) === before &&
        (await rendered(edited(all, path, other(value)))) === before;
      if (isIdle) idle.push(path.join('.'));
    }
  };
  await Promise.all([work(), work()]);
  return idle.sort();
}

function leavesOf(value: unknown, path: Path = []): { readonly path: Path; readonly value: Leaf }[] {
  if (typeof value !== 'object' || value === null) return [{ path, value: value as Leaf }];
  const entries = Array.isArray(value) ? [...value.entries()] : Object.entries(value);
  return entries.flatMap(([key, each]) => leavesOf(each, [...path, key]));
}

/** Undefined: without it. */
function edited(value: unknown, [key, ...path]: Path, leaf: Leaf | undefined): unknown {
  if (key === undefined) return leaf;
  const all = value as Readonly<Record<string | number, unknown>>;
  const inner = edited(all[key], path, leaf);
  if (Array.isArray(value))
    return value.flatMap((each, at) => (at === key ? (inner === undefined ? [] : [inner]) : [each]));
  return Object.fromEntries(
    Object.entries(all).flatMap(([name, each]) =>
      name === key ? (inner === undefined ? [] : [[name, inner]]) : [[name, each]],
    ),
  );
}

function other(value: Leaf): Leaf {
  if (typeof value === 'boolean') return !value;
  return typeof value === 'number' ? value + 1 : `${value ?? ''}x`;
}
