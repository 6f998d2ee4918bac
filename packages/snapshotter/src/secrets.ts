// SPDX-License-Identifier: Apache-2.0
/** Where the secret of a call comes from. */
import { ok, refuse, type Result, type SecretReference } from '@csi-sidecars/volume';
import { contentNameOf } from './content-object.ts';
import type { AnyContent, ContentAnnotations } from './content-types.ts';
import * as messages from './messages.ts';

/** The secret that snapshot-controller, or the administrator, wrote to the annotations. One annotation alone counts as none. */
export function annotatedSecretOf(
  content: AnyContent,
  { secretName, secretNamespace }: ContentAnnotations,
  subject: string,
): Result<SecretReference | undefined> {
  const { [secretName]: name, [secretNamespace]: namespace } = content.metadata?.annotations ?? {};
  if (name === undefined || namespace === undefined) return ok(undefined);
  if (name === '' || namespace === '') return refuse(messages.noAnnotatedSecret(subject, contentNameOf(content)));
  return ok({ name, namespace });
}
