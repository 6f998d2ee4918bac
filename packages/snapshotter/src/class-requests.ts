// SPDX-License-Identifier: Apache-2.0
/** What a class contributes to a request: its existence, its parameters, the secret for queries. */
import {
  classSecretOf,
  driverParametersOf,
  ok,
  refuse,
  type Result,
  type SecretKeys,
  type SecretReference,
} from '@csi-sidecars/volume';
import { contentNameOf } from './content-object.ts';
import type { AnyClass, AnyContent } from './content-types.ts';
import * as messages from './messages.ts';

/** Parameters of a creation; `metadata` is what `--extra-create-metadata` adds. */
export function parametersOf(
  { parameters = {} }: AnyClass,
  metadata: Readonly<Record<string, string>>,
): Result<Readonly<Record<string, string>>> {
  const own = driverParametersOf(parameters);
  return own.kind === 'error' ? refuse(messages.unknownParameters(own.message)) : ok({ ...own.value, ...metadata });
}

export interface QueryClass {
  readonly className: string | undefined;
  /** Undefined: it does not exist. */
  readonly class: AnyClass | undefined;
  readonly keys: SecretKeys;
  /** The only token of its templates. */
  readonly token: string;
  readonly texts: messages.Messages;
}

/** A content without a class has no secret for queries. */
export function querySecretOf(
  content: AnyContent,
  { className, class: found, keys, token, texts }: QueryClass,
): Result<SecretReference | undefined> {
  const name = contentNameOf(content);
  if (className === undefined) return ok(undefined);
  if (found === undefined) return refuse(texts.noQueryClass(className, name));
  const tokens = { [token]: name };
  const secret = classSecretOf(found.parameters ?? {}, keys, { name: tokens, namespace: tokens });
  return secret.kind === 'error' ? refuse(texts.noQueryReference(name, secret.message)) : secret;
}
