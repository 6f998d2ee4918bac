// SPDX-License-Identifier: Apache-2.0
/** The secret of a call: read before each, never cached. */
import { type Answer, ask, type LoopPorts, readSecret } from '@csi-sidecars/runtime';
import type { SecretReference } from '@csi-sidecars/volume';

export type Secrets = Readonly<Record<string, string>>;

/** Never rejects. Upstream's text. */
export async function readCallSecret(
  client: LoopPorts['client'],
  { namespace, name }: SecretReference,
  signal: AbortSignal,
): Promise<Answer<Secrets>> {
  const read = await ask(() => readSecret(client, { namespace, name }, { signal }));
  if ('value' in read) return read;
  const message = `error getting secret ${name} in namespace ${namespace}: ${read.failure.message}`;
  return { failure: new Error(message, { cause: read.failure }) };
}
