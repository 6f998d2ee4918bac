// SPDX-License-Identifier: Apache-2.0
/** The pair of templates that the parameters of a class hold for one purpose. */
import { ok, refuse, type Result } from './result.ts';
import type { SecretTemplate } from './secret-templates.ts';

export interface SecretParameters {
  /** The purpose in upstream's messages. */
  readonly label: string;
  /** The key, and deprecated spellings of it. At most one of them may occur. */
  readonly names: readonly string[];
  readonly namespaces: readonly string[];
}

/** Undefined if there is no such pair. Refused: half of a pair, an empty value, two spellings of one key. */
export function secretTemplateOf(
  parameters: Readonly<Record<string, string>>,
  { label, names, namespaces }: SecretParameters,
): Result<SecretTemplate | undefined> {
  const [name, ...otherNames] = valuesOf(parameters, names);
  const [namespace, ...otherNamespaces] = valuesOf(parameters, namespaces);
  if (otherNames.length + otherNamespaces.length > 0) {
    return refuse(`${label} secrets specified in parameters with both "csi" and "csi.storage.k8s.io/" keys`);
  }
  if (name === undefined && namespace === undefined) return ok(undefined);
  if (name === undefined || namespace === undefined) {
    return refuse(`either name and namespace for ${label} secrets specified, Both must be specified`);
  }
  if (name === '' || namespace === '') {
    return refuse(`${label} secrets specified in parameters but value of either namespace or name is empty`);
  }
  return ok({ name, namespace });
}

function valuesOf(parameters: Readonly<Record<string, string>>, keys: readonly string[]): readonly string[] {
  return keys.filter((key) => Object.hasOwn(parameters, key)).map((key) => parameters[key] ?? '');
}
