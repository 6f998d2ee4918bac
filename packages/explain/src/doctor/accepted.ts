// SPDX-License-Identifier: Apache-2.0
/**
 * `--accept FILE`: findings that are known. A line is an id, or an id and an object of it (`KIND NAME`, `KIND NAMESPACE/NAME`). Empty lines and what
 * follows `#` do not count.
 */
import type { ObjectName } from '../verdict.ts';
import type { Finding } from './examine.ts';

export interface Accepted {
  readonly findings: readonly Finding[];
  readonly accepted: readonly Finding[];
  /** Ids that no check has. */
  readonly unknown: readonly string[];
}

interface Line {
  readonly id: string;
  /** Undefined: all objects. */
  readonly object: string | undefined;
}

export function linesOf(text: string): readonly Line[] {
  return text
    .split('\n')
    .map((line) => line.replace(/#.*$/, '').trim())
    .filter((line) => line !== '')
    .map((line) => {
      const [id = '', ...object] = line.split(/\s+/);
      return { id, object: object.length === 0 ? undefined : object.join(' ') };
    });
}

/** A finding of which some objects are known stays with the others. */
export function withoutAccepted(
  findings: readonly Finding[],
  lines: readonly Line[],
  known: ReadonlySet<string>,
): Accepted {
  const left: Finding[] = [];
  const accepted: Finding[] = [];
  for (const finding of findings) {
    const own = lines.filter(({ id }) => id === finding.id);
    const isWhole = own.some(({ object }) => object === undefined);
    const names = new Set(own.map(({ object }) => object));
    const [inside, outside] = partition(finding.objects, (object) => isWhole || names.has(nameOf(object)));
    if (isWhole || (inside.length > 0 && outside.length === 0)) accepted.push(finding);
    else if (inside.length === 0) left.push(finding);
    else {
      left.push({ ...finding, objects: outside });
      accepted.push({ ...finding, objects: inside });
    }
  }
  return { findings: left, accepted, unknown: lines.map(({ id }) => id).filter((id) => !known.has(id)) };
}

function nameOf({ kind, namespace, name }: ObjectName): string {
  return `${kind} ${namespace === undefined ? '' : `${namespace}/`}${name}`;
}

function partition<T>(all: readonly T[], isIn: (each: T) => boolean): readonly [readonly T[], readonly T[]] {
  return [all.filter(isIn), all.filter((each) => !isIn(each))];
}
