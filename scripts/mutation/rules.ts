// SPDX-License-Identifier: Apache-2.0
/**
 * Classes of equivalent mutants: one reason for every place that a pattern matches. A rule has to be true wherever it matches; a place that needs
 * a second thought is judged alone, in equivalents.json. Absence that a user or another program can bring about (of `status`, `annotations`,
 * `labels`, and of a `spec` that no definition requires) is tested instead.
 */
import type { Mutant } from './mutants.ts';

export interface Rule {
  readonly reason: string;
  /** Matches paths of files. */
  readonly files: RegExp;
  /** Matches the change in its place: the code before it, `⟦kind: original ⇒ replacement⟧`, the code after it. */
  readonly pattern: RegExp;
}

/** They read Kubernetes objects only behind the client and the caches of packages/runtime, which refuse an answer without metadata. */
const readers = /^packages\/(provisioner|attacher|resizer|snapshotter|snapshot-controller|volume)\/src\//;
const metadataIsThere = 'The API server gives every object metadata; the condition only satisfies the type.';
/** They read claims, PersistentVolumes and the kinds of snapshots, nothing else that has a spec. */
const snapshotReaders = /^packages\/(snapshotter|snapshot-controller)\/src\//;
const specIsThere =
  'The API server gives every claim and PersistentVolume a spec, and the definitions of snapshots, contents and their groups require one with a source; the condition only satisfies the type.';
const nameIsThere =
  'The API server gives every object metadata with a name, a UID and a resource version, and the object is there; the default only satisfies the type.';

/** The metadata of an object that is there: no `?.`, call or index before it. */
const metadata = String.raw`(?<![\w$.?)\]])(?:[\w$]+\.)*metadata`;
/** Only these kinds have a namespace for sure; functions for every kind see cluster-scoped objects as well. */
const namespaced = String.raw`(?<![\w$.?)\]])(?:[\w$]+\.)*(?:claim|snapshot|group)\.metadata`;
const onGeneratedPage = 'It is on a generated page, and `npm run check` compares these pages.';
const always = '(?:name|uid|resourceVersion)';
const field = String.raw`(?:${metadata}\?\.${always}|${namespaced}\?\.namespace)`;

export const rules: readonly Rule[] = [
  {
    reason: metadataIsThere,
    files: readers,
    pattern: /⟦\?\. is removed: (.*)(?<![\w$])metadata\?\.(.*) ⇒ \1metadata\.\2⟧/s,
  },
  {
    reason: metadataIsThere,
    files: readers,
    pattern: new RegExp(String.raw`⟦left side only: (${metadata}) \?\? \{\} ⇒ \1⟧`),
  },
  {
    reason: specIsThere,
    files: snapshotReaders,
    pattern:
      /⟦\?\. is removed: (.*)(?<![\w$])(spec|source)\?\.(.*) ⇒ \1\2\.\3⟧|⟦left side only: ((?:[\w$]+\.)*spec) \?\? \{\} ⇒ \4⟧/s,
  },
  {
    reason: nameIsThere,
    files: readers,
    pattern: new RegExp(String.raw`⟦left side only: (${field}) \?\? '' ⇒ \1⟧`),
  },
  {
    reason: nameIsThere,
    files: readers,
    pattern: new RegExp(String.raw`${field} \?\? ⟦constant: '' ⇒ 'mutated'⟧`),
  },
  {
    reason: nameIsThere,
    files: readers,
    pattern: new RegExp(
      String.raw`[{,]\s*(?:${always} = ⟦constant: '' ⇒ 'mutated'⟧[^;{}]*\} = ${metadata}|namespace = ⟦constant: '' ⇒ 'mutated'⟧[^;{}]*\} = ${namespaced}) \?\? \{\}`,
    ),
  },
  {
    reason: onGeneratedPage,
    files: /^packages\/[^/]+\/src\/(?:.*\/)?flags\.ts$/,
    pattern:
      /⟦constant: (['"])[^'"]* .*\1 ⇒ ''⟧|\{ [^{}]*⟦[^⟦]*\b(?:stage|defaultValue)\b.*⟧|\b(?:stage|defaultValue): ⟦constant: |\n {2}name: ⟦constant: /,
  },
  {
    reason: onGeneratedPage,
    files: /^packages\/[^/]+\/src\/(?:.*\/)?rbac\.ts$/,
    pattern: /⟦constant: (['`]).*\1 ⇒ ''⟧|⟦property is removed: (?:when|without|text)\b/,
  },
  {
    // Only in a block that ends in the first column is it the end of a function, and not of a branch.
    reason: 'A function that ends returns undefined.',
    files: /\.ts$/,
    pattern: /\n {2}⟦statement is removed: return undefined; ⇒ ⟧\n\}/,
  },
];

const nearby = 300;

export function ruleFor(file: string, source: string, mutant: Mutant): Rule | undefined {
  const { start, end, kind, replacement } = mutant;
  const before = source.slice(Math.max(0, start - nearby), start);
  const text = `${before}⟦${kind}: ${source.slice(start, end)} ⇒ ${replacement}⟧${source.slice(end, end + nearby)}`;
  return rules.find(({ files, pattern }) => files.test(file) && pattern.test(text));
}
