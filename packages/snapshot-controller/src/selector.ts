// SPDX-License-Identifier: Apache-2.0
/** A label selector as text: what the API server is asked with, and what messages show. */
import { isDnsSubdomain, ok, refuse, type Result } from '@csi-sidecars/volume';
import type { LabelSelector } from '@csi-sidecars/volume';

interface Requirement {
  readonly key: string;
  readonly text: string;
}

/**
 * The whole selector, as Go prints it: sorted by keys, and the values of each key too. Empty: everything is selected.
 *
 * The definition accepts any key and any value. A comma or a parenthesis in them would make another selector of the text, and an empty key
 * no requirement at all, so that other claims would be taken.
 */
export function selectorText({ matchLabels = {}, matchExpressions = [] }: LabelSelector): Result<string> {
  const requirements: Requirement[] = [];
  for (const [key, value] of Object.entries(matchLabels)) {
    const mistake = mistakeIn(key, [value]);
    if (mistake !== undefined) return refuse(mistake);
    requirements.push({ key, text: `${key}=${value}` });
  }
  for (const { key, operator, values = [] } of matchExpressions) {
    const text = expressionText(key, operator, values);
    if (text === undefined) return refuse(`${JSON.stringify(operator)} is not a valid label selector operator`);
    const mistake = mistakeInNumber(operator, values) ?? mistakeIn(key, values);
    if (mistake !== undefined) return refuse(mistake);
    requirements.push({ key, text });
  }
  return ok(
    requirements
      .toSorted((left, right) => (left.key < right.key ? -1 : Number(left.key > right.key)))
      .map(({ text }) => text)
      .join(','),
  );
}

function expressionText(key: string, operator: string, values: readonly string[]): string | undefined {
  const list = values.toSorted().join(',');
  switch (operator) {
    case 'In':
      return `${key} in (${list})`;
    case 'NotIn':
      return `${key} notin (${list})`;
    case 'Exists':
      return key;
    case 'DoesNotExist':
      return `!${key}`;
    default:
      return undefined;
  }
}

const name = /^([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]$/;
const nameRule =
  "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character";
const longest = 63;

/** The rules of Kubernetes for labels, in its words. */
function mistakeIn(key: string, values: readonly string[]): string | undefined {
  const inKey = mistakeInKey(key);
  if (inKey !== undefined) return `key: Invalid value: ${JSON.stringify(key)}: ${inKey}`;
  for (const [index, value] of values.entries()) {
    if (value === '' || (value.length <= longest && name.test(value))) continue;
    const rule = value.length > longest ? `must be no more than ${longest} characters` : undefined;
    const problem = rule ?? `a valid label must be an empty string or ${nameRule.replace('must ', '')}`;
    return `values[${index}][${key}]: Invalid value: ${JSON.stringify(value)}: ${problem}`;
  }
  return undefined;
}

function mistakeInKey(key: string): string | undefined {
  const parts = key.split('/');
  const last = parts.at(-1) ?? '';
  if (parts.length > 2) return `a valid label key ${nameRule} with an optional DNS subdomain prefix and '/'`;
  const [prefix] = parts.length === 2 ? parts : [];
  if (prefix === '') return 'prefix part must be non-empty';
  if (prefix !== undefined && !isDnsSubdomain(prefix)) return 'prefix part must be a lowercase RFC 1123 subdomain';
  if (last === '') return 'name part must be non-empty';
  if (last.length > longest) return `name part must be no more than ${longest} characters`;
  return name.test(last) ? undefined : `name part ${nameRule}`;
}

function mistakeInNumber(operator: string, values: readonly string[]): string | undefined {
  const takesValues = operator === 'In' || operator === 'NotIn';
  if (takesValues === values.length > 0) return undefined;
  const rule = takesValues
    ? "for 'in', 'notin' operators, values set can't be empty"
    : 'values set must be empty for exists and does not exist';
  return `values: Invalid value: ${JSON.stringify(values)}: ${rule}`;
}

/** For messages. */
export function selectorLabel(selector: LabelSelector): string {
  const text = selectorText(selector);
  return text.kind === 'error' ? '<error>' : text.value || '<none>';
}
