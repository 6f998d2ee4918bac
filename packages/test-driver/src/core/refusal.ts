// SPDX-License-Identifier: Apache-2.0
/** A call that the driver answers with a status other than OK. The message is for people. */
import type { CodeName } from '@csi-sidecars/csi';

export class Refusal extends Error {
  override readonly name = 'Refusal';
  readonly code: Exclude<CodeName, 'OK'>;
  constructor(code: Exclude<CodeName, 'OK'>, message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
  }
}

export function refuse(code: Exclude<CodeName, 'OK'>, message: string): never {
  throw new Refusal(code, message);
}

/** The status that a caller gets for an exception: a plain failure (a full disk, a failed mount) is INTERNAL. */
export function toRefusal(error: unknown): Refusal {
  if (error instanceof Refusal) return error;
  const message = error instanceof Error ? error.message : String(error);
  return new Refusal('Internal', message, { cause: error });
}
