// SPDX-License-Identifier: Apache-2.0
/** A label selector as text: what the API server is asked with, and what messages show. */
import { ok, refuse, type Result } from '@csi-sidecars/volume';
import type { LabelSelector } from '@csi-sidecars/volume';

interface Requirement {
  readonly key: string;
  readonly text: string;
}

/** The whole selector, as Go prints it: sorted by keys, and the values of each key too. Empty: everything is selected. */
export function selectorText({ matchLabels = {}, matchExpressions = [] }: LabelSelector): Result<string> {
  const requirements: Requirement[] = Object.entries(matchLabels).map(([key, value]) => ({
    key,
    text: `${key}=${value}`,
  }));
  for (const { key, operator, values = [] } of matchExpressions) {
    const text = expressionText(key, operator, values);
    if (text === undefined) return refuse(`${JSON.stringify(operator)} is not a valid label selector operator`);
    if ((operator === 'In' || operator === 'NotIn') === (values.length === 0)) {
      return refuse(`values of ${key}: for 'in', 'notin' operators, values set can't be empty`);
    }
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

/** For messages. */
export function selectorLabel(selector: LabelSelector): string {
  const text = selectorText(selector);
  return text.kind === 'error' ? '<error>' : text.value || '<none>';
}
