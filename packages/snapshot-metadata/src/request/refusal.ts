// SPDX-License-Identifier: Apache-2.0
/** A request that is not served, with the status that its caller gets. */
import type { Code } from '@csi-sidecars/csi';

/** Rows of the table of refusals in docs/behaviour/snapshot-metadata.md. */
export type RefusalRow = keyof typeof steps;

/** The label of a metric: few, and not one for each row. */
const steps = {
  Q1: 'arguments',
  Q2: 'arguments',
  Q3: 'arguments',
  Q4: 'arguments',
  Q5: 'arguments',
  Q6: 'arguments',
  Q7: 'arguments',
  L1: 'limits',
  A1: 'authentication',
  A2: 'authentication',
  A3: 'authentication',
  A4: 'authorization',
  A5: 'authorization',
  L2: 'limits',
  L3: 'limits',
  R1: 'readiness',
  S1: 'snapshot',
  S2: 'snapshot',
  S3: 'snapshot',
  C1: 'content',
  C2: 'content',
  C3: 'content',
  C4: 'content',
  C5: 'content',
  K1: 'class',
  K2: 'class',
  K3: 'class',
  K4: 'class',
  X1: 'secret',
} as const;

export type RefusedStep = (typeof steps)[RefusalRow];

export interface RefusedStatus {
  readonly code: Exclude<Code, 'OK'>;
  readonly message: string;
}

export class Refusal extends Error {
  override readonly name = 'Refusal';
  readonly row: RefusalRow;
  readonly code: Exclude<Code, 'OK'>;
  constructor(row: RefusalRow, { code, message }: RefusedStatus, options?: ErrorOptions) {
    super(message, options);
    this.row = row;
    this.code = code;
  }
  get step(): RefusedStep {
    return steps[this.row];
  }
}
