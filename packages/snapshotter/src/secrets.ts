// SPDX-License-Identifier: Apache-2.0
/** Where the secret of a call comes from, and how it is read: before each call, never cached. */
import { type Answer, ask, type LoopPorts, readSecret } from '@csi-sidecars/runtime';
import { ok, refuse, type Result, type SecretReference } from '@csi-sidecars/volume';
import { contentNameOf, hasAnnotation } from './content-object.ts';
import type { AnyContent, ContentAnnotations, Secrets } from './content-types.ts';
import * as messages from './messages.ts';

/** The secret that snapshot-controller, or the administrator, wrote to the annotations. One annotation alone counts as none. */
export function annotatedSecretOf(
  content: AnyContent,
  { secretName, secretNamespace }: ContentAnnotations,
  subject: string,
): Result<SecretReference | undefined> {
  if (!hasAnnotation(content, secretName) || !hasAnnotation(content, secretNamespace)) return ok(undefined);
  const { [secretName]: name = '', [secretNamespace]: namespace = '' } = content.metadata?.annotations ?? {};
  if (name === '' || namespace === '') return refuse(messages.noAnnotatedSecret(subject, contentNameOf(content)));
  return ok({ name, namespace });
}

/** Never rejects. */
export async function readCallSecret(
  client: LoopPorts['client'],
  { namespace, name }: SecretReference,
  signal: AbortSignal,
): Promise<Answer<Secrets>> {
  const read = await ask(() => readSecret(client, { namespace, name }, { signal }));
  if ('value' in read) return read;
  const message = messages.secretUnreadable(name, namespace, read.failure.message);
  return { failure: new Error(message, { cause: read.failure }) };
}

/** The request with the secrets that were read; without any the field is absent. */
export function withSecrets<Request>(request: Request, secrets: Answer<Secrets>): Request {
  return typeof secrets === 'object' && 'value' in secrets ? { ...request, secrets: secrets.value } : request;
}
