// SPDX-License-Identifier: Apache-2.0
/**
 * References to secrets in class parameters: a name template and a namespace template, expanded with tokens of the
 * the objects involved. Provisioner, snapshotter and snapshot-controller differ only in keys, tokens and the words of one
 * error, which they pass in. Nothing is read here; a resolved secret need not exist.
 */
import { isDnsLabel, isDnsSubdomain } from './dns-names.ts';
import { ok, refuse, type Result } from './result.ts';

export interface SecretTemplate {
  readonly name: string;
  readonly namespace: string;
}

export interface SecretReference {
  readonly name: string;
  readonly namespace: string;
}

/** Token -> value. The two templates have different sets, because users control less of the namespace. */
export interface SecretTokens {
  readonly name: Readonly<Record<string, string>>;
  readonly namespace: Readonly<Record<string, string>>;
}

export function resolveSecret(template: SecretTemplate, tokens: SecretTokens): Result<SecretReference> {
  const namespace = resolve(template.namespace, {
    tokens: tokens.namespace,
    isValid: isDnsLabel,
    what: 'namespace name',
  });
  if (namespace.kind === 'error') return namespace;
  const name = resolve(template.name, { tokens: tokens.name, isValid: isDnsSubdomain, what: 'secret name' });
  if (name.kind === 'error') return name;
  return ok({ name: name.value, namespace: namespace.value });
}

interface Rule {
  readonly tokens: Readonly<Record<string, string>>;
  readonly isValid: (value: string) => boolean;
  readonly what: string;
}

function resolve(template: string, rule: Rule): Result<string> {
  const missing = new Set<string>();
  const value = expandTemplate(template, (token) => {
    if (Object.hasOwn(rule.tokens, token)) return rule.tokens[token] ?? '';
    missing.add(token);
    return '';
  });
  const quoted = JSON.stringify(template);
  if (missing.size > 0) {
    const list = [...missing].sort().map((token) => JSON.stringify(token));
    return refuse(`error resolving value ${quoted}: invalid tokens: [${list.join(' ')}]`);
  }
  if (rule.isValid(value)) return ok(value);
  return refuse(
    template === value
      ? `${quoted} is not a valid ${rule.what}`
      : `${quoted} resolved to ${JSON.stringify(value)} which is not a valid ${rule.what}`,
  );
}

const specialToken = /^[*#$@!?\-0-9]/;
const plainToken = /^[A-Za-z0-9_]+/;

/**
 * Shell-like expansion: `${token}` and `$token`. A `$` that is not followed by a token stays; `${}` and the `${` of an
 * unterminated token are removed. One pass: a value that contains `$` is not expanded again.
 */
export function expandTemplate(template: string, valueOf: (token: string) => string): string {
  let result = '';
  let rest = template;
  for (;;) {
    const dollar = rest.indexOf('$');
    if (dollar < 0) return result + rest;
    result += rest.slice(0, dollar);
    const token = nextToken(rest.slice(dollar + 1));
    if (token.name !== '') result += valueOf(token.name);
    else if (token.length === 0) result += '$';
    rest = rest.slice(dollar + 1 + token.length);
  }
}

/** The token that follows a `$` and its length in the text; an empty name with a length is text to remove. */
function nextToken(text: string): { readonly name: string; readonly length: number } {
  if (text.startsWith('{')) {
    const end = text.indexOf('}');
    return end < 0 ? { name: '', length: 1 } : { name: text.slice(1, end), length: end + 1 };
  }
  const name = (specialToken.exec(text) ?? plainToken.exec(text))?.[0] ?? '';
  return { name, length: name.length };
}
