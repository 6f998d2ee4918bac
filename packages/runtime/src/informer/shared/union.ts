// SPDX-License-Identifier: Apache-2.0
/**
 * One transform out of several: an object is kept if one of them keeps it, with the fields that any of them keeps. Which ones keep it is
 * remembered with the object, so that each reader sees the objects that its own transform would have kept.
 *
 * Transforms must not change what they get: here several get the same object.
 *
 * | The results differ in | then |
 * |---|---|
 * | the fields of a part | the part has the fields of all |
 * | a value that is no part, or lists that do not match element by element | the object's own value |
 */
import type { KubeObject } from '../../api/objects.ts';
import type { Transform } from '../transform.ts';

/** A symbol, so that neither JSON nor a loop over names shows it. */
const keepers = Symbol('keepers');

/** Bit n stands for the transform at place n. */
export type Keepers = number;
/** A bit for each transform, in 31 bits. */
export const mostTransforms = 30;

export function keepersOf(object: KubeObject): Keepers {
  return (object as { readonly [keepers]?: Keepers })[keepers] ?? 0;
}

/** The transforms by their places; undefined: the whole object is kept. */
export function unionOf<T extends KubeObject>(transforms: readonly (Transform<T> | undefined)[]): Transform<T> {
  return {
    id: transforms.map((transform) => transform?.id ?? '').join('; '),
    apply: (object) => {
      let mask = 0;
      const kept: unknown[] = [];
      for (const [place, transform] of transforms.entries()) {
        const result = transform === undefined ? object : transform.apply(object);
        if (result === undefined) continue;
        mask |= 1 << place;
        kept.push(result);
      }
      if (mask === 0) return undefined;
      const union = merged(object, kept) as T & { [keepers]?: Keepers };
      union[keepers] = mask;
      return union;
    },
  };
}

/** `whole` is the value of the object itself at this place. */
function merged(whole: unknown, kept: readonly unknown[]): unknown {
  const [first] = kept;
  if (kept.every((part) => part === first)) return first;
  if (kept.includes(whole)) return whole;
  if (kept.every(Array.isArray)) return mergedLists(whole, kept as readonly (readonly unknown[])[]);
  if (!kept.every(isPart)) return whole ?? first;
  return mergedParts(whole, kept as readonly Fields[]);
}

type Fields = Readonly<Record<string, unknown>>;

function mergedParts(whole: unknown, kept: readonly Fields[]): Fields {
  const names = new Set(kept.flatMap((part) => Object.keys(part)));
  const own = isPart(whole) ? (whole as Fields) : {};
  const union: Record<string, unknown> = {};
  for (const name of names) {
    const values = kept.map((part) => part[name]).filter((value) => value !== undefined);
    if (values.length > 0) union[name] = merged(own[name], values);
  }
  return union;
}

function mergedLists(whole: unknown, kept: readonly (readonly unknown[])[]): unknown {
  const [first = []] = kept;
  if (kept.some((list) => list.length !== first.length)) return whole ?? first;
  const own: readonly unknown[] = Array.isArray(whole) && whole.length === first.length ? whole : [];
  return first.map((_, index) =>
    merged(
      own[index],
      kept.map((list) => list[index]),
    ),
  );
}

function isPart(value: unknown): boolean {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
