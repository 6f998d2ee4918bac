// SPDX-License-Identifier: Apache-2.0
/** The randomness port: jitter, sampling, identifiers. Seeded in tests and simulation. */
export interface Random {
  /** Uniform in [0, 1). */
  next(): number;
  /** A random (version 4) UUID in lower case. */
  uuid(): string;
}
