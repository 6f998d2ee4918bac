// SPDX-License-Identifier: Apache-2.0
/** The Explanation: the document that `-o json` prints. All keys are there: null does not apply, `unknown` is not known. Fields are added, never renamed. */
import type { Decision } from '../rows/decision.ts';
import type { NodeOperation } from '../metrics/node-operations.ts';
import type { Missing } from '../cluster/reader.ts';
import type { Actor, Program, Risk, Row, StageId } from '../verdict.ts';

export interface Cost {
  readonly requests: number;
  readonly bytes: number;
  readonly seconds: number;
}

export const verdicts = { 0: 'done', 3: 'waiting', 4: 'person', 5: 'unknown', 6: 'absent' } as const;

/** RFC 3339, UTC, whole seconds. */
export type Time = string;

export interface NameJson {
  readonly kind: string;
  readonly namespace: string | null;
  readonly name: string;
  readonly uid: string | null;
}

export interface SubjectJson extends NameJson {
  readonly apiVersion: string;
  readonly deletionTimestamp: Time | null;
}

export interface StageJson {
  readonly id: StageId;
  readonly state: 'done' | 'now' | 'next' | 'skip' | 'unknown';
  readonly since: Time | null;
  readonly object: NameJson | null;
  readonly actor: Actor | null;
  readonly detail: string | null;
}

export interface TurnJson {
  readonly actor: Actor;
  /** Who acts after the actor. */
  readonly role: string | null;
  readonly name: string | null;
  readonly node: string | null;
  readonly namespace: string | null;
  readonly pod: string | null;
  readonly alive: 'yes' | 'no' | 'unknown';
  readonly aliveBecause: string | null;
  /** `unknown` if no object says it. */
  readonly since: Time;
  readonly sinceIsAtLeast: boolean;
}

export interface ErrorJson {
  readonly text: string;
  readonly truncated: boolean;
  /** A gRPC code. */
  readonly code: number | null;
  readonly codeName: string | null;
  /** `unknown` if no object says it. */
  readonly at: Time;
  readonly atBy: string | null;
  readonly count: number;
  readonly reason: string | null;
  readonly source: string | null;
  readonly object: NameJson;
  readonly sanitized: boolean;
}

export interface RetryJson {
  readonly will: 'yes' | 'no' | 'onChange' | 'unknown';
  readonly earliest: Time | null;
  readonly latest: Time | null;
  readonly exact: boolean;
  readonly because: string | null;
}

export interface ChangeJson {
  readonly what: string;
  readonly object: NameJson | null;
  readonly field: string | null;
}

export interface RiskJson {
  readonly level: Risk['level'];
  readonly of: 'leak' | 'loss' | 'corruption' | null;
  readonly ifYou: string | null;
  readonly sentence: string;
}

export interface DriverJson {
  readonly name: string;
  readonly namespace: string | null;
  readonly attachRequired: boolean | 'unknown';
  readonly sidecars: readonly SidecarJson[];
}

export interface SidecarJson {
  readonly program: Program;
  readonly flavour: 'ours' | 'upstream' | 'unknown';
  readonly version: string | null;
  readonly pod: string | null;
  readonly container: string | null;
  readonly lease: string | null;
  readonly leading: boolean;
  /** As the leader itself says: whether it is connected to its driver. Null: it was not asked, or does not say. As are those below. */
  readonly connected: boolean | null;
  /** Of its driver. */
  readonly capabilities: readonly string[] | null;
  /** Its flags that are not the defaults. */
  readonly settings: Readonly<Record<string, string>> | null;
  /** Those that its account lacks. */
  readonly missingRights: readonly RightJson[] | null;
}

export interface RightJson {
  readonly verb: string;
  readonly group: string;
  readonly resource: string;
  readonly namespace: string | null;
}

/** What a kubelet has measured of the driver since it started. */
export interface NodeMetricsJson {
  /** Null: nothing waits for a node, so that no kubelet was asked. */
  readonly node: string | null;
  /** `unknown`: they could not be read. */
  readonly operations: readonly NodeOperation[] | 'unknown';
}

/** What is said of one object. */
export interface Part {
  readonly apiVersion: 'csi-sidecars/v1';
  readonly kind: 'Explanation';
  readonly subject: SubjectJson;
  readonly verdict: (typeof verdicts)[keyof typeof verdicts];
  readonly exitCode: number;
  readonly row: Row;
  readonly sentence: string;
  readonly driver: DriverJson | null;
  readonly stages: readonly StageJson[];
  readonly turn: TurnJson | null;
  readonly error: ErrorJson | null;
  readonly retry: RetryJson | null;
  readonly changes: readonly ChangeJson[];
  readonly risk: RiskJson;
  readonly decision: Decision | null;
  readonly next: { readonly command: readonly string[]; readonly sentence: string } | null;
  /** Ids of the checks of doctor that were seen failing. */
  readonly findings: readonly string[];
  readonly related: readonly (NameJson & { readonly why: string })[];
}

export interface Explanation extends Part {
  readonly at: Time;
  readonly clock: { readonly localOffsetSeconds: number };
  /** Of a pod: one for each volume, the one that decides first. */
  readonly volumes: readonly Part[] | null;
  /** With `--node-metrics`. */
  readonly nodeMetrics: NodeMetricsJson | null;
  readonly missing: readonly (Omit<Missing, 'namespace'> & { readonly namespace: string | null })[];
  readonly cost: Cost;
}
