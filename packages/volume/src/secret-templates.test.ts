// SPDX-License-Identifier: Apache-2.0
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { expandTemplate, resolveSecret } from './secret-templates.ts';

describe('expansion', () => {
  it.each([
    ['plain', 'plain'],
    ['${a}-$b', '<a>-<b>'],
    ['$a_1.x', '<a_1>.x'],
    ["${pvc.annotations['k']}", "<pvc.annotations['k']>"],
    ['$$', '<$>'],
    ['$12', '<1>2'],
    ['$*x', '<*>x'],
    ['a$', 'a$'],
    ['a$.b', 'a$.b'],
    ['a${}b', 'ab'],
    ['a${b', 'ab'],
  ])('given %s, when expanded, then %s', (template, expected) => {
    expect(expandTemplate(template, (token) => `<${token}>`)).toBe(expected);
  });

  it('given a value with a dollar, when expanded, then it is not expanded again', () => {
    expect(expandTemplate('${a}', () => '${b}')).toBe('${b}');
  });

  it('given any text, when expanded, then expansion ends, and text without a dollar is unchanged', () => {
    fc.assert(
      fc.property(fc.string(), (text) => {
        const expanded = expandTemplate(text, () => '');
        return text.includes('$') || expanded === text;
      }),
      { seed: 20_261_122 },
    );
  });
});

describe('resolving', () => {
  const tokens = { name: { 'pv.name': 'pv-1', bad: 'A B' }, namespace: { 'pvc.namespace': 'ns' } };

  it('given both templates resolve, when resolved, then the reference', () => {
    expect(resolveSecret({ name: 'x-${pv.name}', namespace: '${pvc.namespace}' }, tokens)).toEqual({
      kind: 'ok',
      value: { name: 'x-pv-1', namespace: 'ns' },
    });
  });

  it.each([
    [{ name: 'a', namespace: '${pv.name}$z' }, 'error resolving value "${pv.name}$z": invalid tokens: ["pv.name" "z"]'],
    [{ name: 'a', namespace: '$z-${a}' }, 'error resolving value "$z-${a}": invalid tokens: ["a" "z"]'],
    [{ name: '${toString}', namespace: 'ns' }, 'error resolving value "${toString}": invalid tokens: ["toString"]'],
    [{ name: 'a', namespace: 'not.a.label' }, '"not.a.label" is not a valid namespace name'],
    [{ name: '${bad}', namespace: 'ns' }, '"${bad}" resolved to "A B" which is not a valid secret name'],
    [{ name: 'x'.repeat(254), namespace: 'ns' }, `"${'x'.repeat(254)}" is not a valid secret name`],
  ])('given %j, when resolved, then it is refused', (template, message) => {
    expect(resolveSecret(template, tokens)).toEqual({ kind: 'error', message });
  });
});
