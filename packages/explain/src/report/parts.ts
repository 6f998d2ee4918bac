// SPDX-License-Identifier: Apache-2.0
/** What the documents of explain, doctor and audit have in common. */
import type { Missing } from '../cluster/reader.ts';
import { forDocument } from '../command/printable.ts';

export type MissingJson = Omit<Missing, 'namespace'> & { readonly namespace: string | null };

export function missingJson({ verb, group, resource, namespace, because, notKnown }: Missing): MissingJson {
  return { verb, group, resource, namespace: namespace ?? null, because, notKnown: clean(notKnown) };
}

/** A text of another program, as it may stand in a document. */
export function clean(text: string): string {
  return forDocument(text).text;
}
