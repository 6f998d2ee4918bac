// SPDX-License-Identifier: Apache-2.0
/** The comments of a values.yaml, by the path of the key that they stand above. */

export interface KeyComment {
  /** After `--`, in one line. */
  readonly description: string;
  /** After `@schema`: merged over the schema that follows from the default. */
  readonly schema: Readonly<Record<string, unknown>>;
  /** After `@like`: the keys of this path are allowed too, `until` the named one, which is the last. */
  readonly like?: { readonly path: string; readonly until?: string };
}

const keyLine = /^(\s*)([A-Za-z][\w-]*):/;

export function commentsOf(text: string): ReadonlyMap<string, KeyComment> {
  const found = new Map<string, KeyComment>();
  const trail: { readonly indent: number; readonly key: string }[] = [];
  let pending: string[] = [];
  for (const line of text.split('\n')) {
    const comment = /^\s*# ?(.*)$/.exec(line);
    if (comment !== null) {
      pending.push(comment[1]!);
      continue;
    }
    const key = keyLine.exec(line);
    if (key !== null) {
      const indent = key[1]!.length;
      while (trail.length > 0 && trail.at(-1)!.indent >= indent) trail.pop();
      trail.push({ indent, key: key[2]! });
      if (pending.length > 0) found.set(trail.map((each) => each.key).join('.'), toComment(pending));
    }
    pending = [];
  }
  return found;
}

function toComment(lines: readonly string[]): KeyComment {
  const description: string[] = [];
  let schema: Readonly<Record<string, unknown>> = {};
  let like: KeyComment['like'];
  for (const line of lines) {
    if (line.startsWith('@schema ')) {
      schema = JSON.parse(line.slice('@schema '.length)) as Readonly<Record<string, unknown>>;
    } else if (line.startsWith('@like ')) {
      const [path = '', , until] = line.slice('@like '.length).split(' ');
      like = { path, ...(until !== undefined && { until }) };
    } else if (line.startsWith('-- ')) {
      description.push(line.slice('-- '.length));
    } else if (description.length > 0) {
      description.push(line);
    }
  }
  return { description: description.join(' '), schema, ...(like !== undefined && { like }) };
}
