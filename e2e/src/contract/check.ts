// SPDX-License-Identifier: Apache-2.0
/**
 * The form of an API contract check: one thing that every API server must do, simulated or real, said once and run on both.
 * A check knows no test runner; it throws an AssertionError with what it saw.
 */
import type { ApiClient } from '@csi-sidecars/runtime';
import type { Capability } from '../control-planes/control-plane.ts';

export interface ContractEnv {
  /** Exists, and is this run's own. */
  readonly namespace: string;
  /** A name for a cluster-scoped object that no other run uses; the runner removes what is called so. */
  readonly name: (suffix: string) => string;
  /** Lets so much time pass for the server. */
  readonly pass: (ms: number) => Promise<void>;
  readonly signal: AbortSignal;
}

export interface ContractCheck {
  /** Reads as a sentence about the API server. */
  readonly name: string;
  /** What a server may lack. Default: nothing. */
  readonly needs?: readonly Capability[];
  readonly run: (client: ApiClient, env: ContractEnv) => Promise<void>;
}
