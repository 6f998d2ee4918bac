// SPDX-License-Identifier: Apache-2.0
/** The Explanation: the document that `-o json` prints, and that the screen is made from. All keys are there: null does not apply. */
import { codeFromNumber } from '@csi-sidecars/csi';
import type { KubeObject } from '@csi-sidecars/runtime';
import type { Missing } from '../cluster/reader.ts';
import { forDocument } from '../command/printable.ts';
import type { NodeMetrics } from '../metrics/node-metrics.ts';
import type { Judged } from '../rows/judged.ts';
import { type Failure, isProgram, type ObjectName, type Retry, type Verdict } from '../verdict.ts';
import {
  type Cost,
  type ErrorJson,
  type Explanation,
  type NameJson,
  type NodeMetricsJson,
  type Part,
  type RetryJson,
  type RiskJson,
  type SidecarJson,
  type SubjectJson,
  type TurnJson,
  verdicts,
} from './explanation.ts';
import { clean, missingJson } from './parts.ts';
import { stagesOf } from './stages.ts';

export interface Facts {
  readonly atMs: number;
  /** How far our clock is ahead of that of the server. */
  readonly localOffsetMs: number;
  readonly subject: {
    readonly kind: string;
    readonly apiVersion: string;
    readonly namespace: string | undefined;
    readonly name: string;
    readonly object: KubeObject | undefined;
  };
  readonly judged: Judged;
  /** Undefined: without `--node-metrics`. */
  readonly nodeMetrics: NodeMetrics | undefined;
  readonly exitCode: number;
  readonly missing: readonly Missing[];
  readonly cost: Cost;
}

export function explanationOf(facts: Facts): Explanation {
  const { judged, subject, cost } = facts;
  return {
    ...partOf(facts, judged),
    at: timeText(facts.atMs),
    clock: { localOffsetSeconds: facts.localOffsetMs / 1_000 },
    subject: subjectOf(subject),
    exitCode: facts.exitCode,
    volumes:
      judged.volumes === undefined
        ? null
        : judged.volumes.map((volume) => ({
            ...partOf(facts, volume),
            subject: subjectOf({
              kind: volume.kind,
              apiVersion: 'v1',
              namespace: volume.object.metadata?.namespace,
              name: volume.object.metadata?.name ?? '',
              object: volume.object,
            }),
          })),
    nodeMetrics: facts.nodeMetrics === undefined ? null : nodeMetricsJson(facts.nodeMetrics),
    missing: facts.missing.map(missingJson),
    cost: { requests: cost.requests, bytes: cost.bytes, seconds: cost.seconds },
  };
}

function partOf(
  facts: Facts,
  { verdict, driver, attachRequired, track, decision, leader }: Judged,
): Omit<Part, 'subject'> {
  const { stage, since } = verdict;
  return {
    apiVersion: 'csi-sidecars/v1',
    kind: 'Explanation',
    verdict: verdicts[verdict.exit],
    exitCode: verdict.exit,
    row: verdict.row,
    sentence: clean(verdict.sentence),
    driver:
      driver === undefined
        ? null
        : {
            name: clean(driver),
            namespace: verdict.liveness?.namespace ?? null,
            attachRequired: attachRequired ?? 'unknown',
            sidecars: sidecarsOf(verdict, leader),
          },
    stages: stagesOf(track, verdict).map((each) => ({
      id: each.id,
      state: each.state,
      since: each.state === 'now' && since !== undefined ? timeText(since.atMs) : null,
      object: null,
      actor: each.state === 'now' || (each.state === 'unknown' && each.id === stage) ? verdict.actor : null,
      detail: each.detail === undefined ? null : clean(each.detail),
    })),
    turn: verdict.exit === 0 || verdict.exit === 6 ? null : turnOf(verdict),
    error: verdict.failure === undefined ? null : errorOf(verdict.failure),
    retry: verdict.exit === 0 || verdict.exit === 6 ? null : retryOf(verdict.retry),
    changes: (verdict.changes ?? []).slice(0, 2).map(({ what, object, field }) => ({
      what: clean(what),
      object: object === undefined ? null : nameJson(object),
      field: field ?? null,
    })),
    risk: riskOf(facts, verdict),
    decision:
      decision === undefined
        ? null
        : { ...decision, sentence: clean(decision.sentence), assumed: decision.assumed.map(clean) },
    next:
      verdict.exit === 0 || verdict.exit === 6 || verdict.next === undefined
        ? null
        : { command: verdict.next.argv, sentence: clean(verdict.next.sentence) },
    findings: [...new Set(verdict.findings ?? [])],
    related: (verdict.related ?? []).map(({ why, ...object }) => ({ ...nameJson(object), why })),
  };
}

/** The program in charge: by its Lease and its pod, and by what its leader says of itself. */
function sidecarsOf({ actor, thenActor, liveness }: Verdict, leader: Judged['leader']): readonly SidecarJson[] {
  const named = [actor, thenActor].find((each) => each !== undefined && isProgram(each));
  const program = leader?.program ?? named;
  if (program === undefined || (leader === undefined && liveness === undefined)) return [];
  // A leader may be that of another program than the actor.
  const found = program === named ? liveness : undefined;
  const { pod, lease, container, version } = found ?? {};
  return [
    {
      program,
      flavour: leader === undefined ? 'unknown' : 'ours',
      version: leader?.version ?? nullOr(version),
      pod: leader?.pod ?? nullOr(pod),
      container: nullOr(container),
      lease: nullOr(lease),
      leading: leader !== undefined || found?.alive === 'yes',
      ...factsOf(leader),
    },
  ];
}

type LeaderFacts = Pick<SidecarJson, 'connected' | 'capabilities' | 'settings' | 'missingRights'>;

function factsOf(leader: Judged['leader']): LeaderFacts {
  const { driver = null, settings = null, rights = null } = leader ?? {};
  return {
    connected: driver === null ? null : driver.connected,
    capabilities: driver === null ? null : [...driver.capabilities],
    settings: settings && Object.fromEntries([...settings].map(([name, value]) => [name, clean(value)])),
    missingRights:
      rights &&
      rights.map(({ verb, group, resource, namespace }) => ({
        verb,
        group: clean(group),
        resource: clean(resource),
        namespace: namespace === null ? null : clean(namespace),
      })),
  };
}

/** Names of containers and tags are texts of the cluster. */
function nullOr(text: string | undefined): string | null {
  return text === undefined ? null : clean(text);
}

function subjectOf({ kind, apiVersion, namespace, name, object }: Facts['subject']): SubjectJson {
  return {
    kind,
    apiVersion,
    namespace: namespace ?? null,
    name: clean(name),
    uid: object?.metadata?.uid ?? null,
    deletionTimestamp: object?.metadata?.deletionTimestamp ?? null,
  };
}

function turnOf({ actor, thenActor, node, since, liveness }: Verdict): TurnJson {
  return {
    actor,
    role: thenActor === undefined ? null : `then ${thenActor}`,
    name: null,
    node: node ?? null,
    namespace: liveness?.namespace ?? null,
    pod: liveness?.pod ?? null,
    alive: liveness?.alive ?? 'unknown',
    aliveBecause: liveness === undefined ? null : clean(liveness.because),
    since: since === undefined ? 'unknown' : timeText(since.atMs),
    sinceIsAtLeast: since?.isAtLeast ?? false,
  };
}

function errorOf({ text, code, atMs, count, reason, source, object }: Failure): ErrorJson {
  const cut = forDocument(text);
  return {
    text: cut.text,
    truncated: cut.isCut,
    code: code ?? null,
    codeName: code === undefined ? null : codeFromNumber(code),
    at: atMs === undefined ? 'unknown' : timeText(atMs),
    atBy: source ?? null,
    count,
    reason: reason ?? null,
    source: source === undefined ? null : clean(source),
    object: nameJson(object),
    sanitized: false,
  };
}

function retryOf(retry: Retry | undefined): RetryJson {
  if (retry === undefined) return { will: 'unknown', earliest: null, latest: null, exact: false, because: null };
  const [earliest, latest] = retry.will === 'yes' ? [retry.earliestMs, retry.latestMs] : [undefined, undefined];
  return {
    will: retry.will,
    earliest: earliest === undefined ? null : timeText(earliest),
    latest: latest === undefined ? null : timeText(latest),
    exact: retry.will === 'yes' && retry.isExact === true,
    because: clean(retry.because),
  };
}

function riskOf({ judged }: Facts, verdict: Verdict): RiskJson {
  const risk =
    verdict.risk ??
    (verdict === judged.verdict && verdict.exit === 5
      ? { level: 'unknown' as const, of: undefined, ifYou: undefined, sentence: 'not known' }
      : undefined);
  const { level = 'none', of, ifYou, sentence = 'none' } = risk ?? {};
  return { level, of: of ?? null, ifYou: ifYou ?? null, sentence: clean(sentence) };
}

function nodeMetricsJson({ node, operations }: NodeMetrics): NodeMetricsJson {
  return {
    node: node ?? null,
    operations:
      operations?.map(({ operation, result, ...rest }) => ({
        ...rest,
        operation: clean(operation),
        result: clean(result),
      })) ?? 'unknown',
  };
}

function nameJson({ kind, namespace, name, uid }: ObjectName): NameJson {
  return { kind, namespace: namespace ?? null, name: clean(name), uid: uid ?? null };
}

function timeText(ms: number): string {
  return new Date(ms).toISOString().replace(/\.\d+Z$/, 'Z');
}

/** `-o json` of a command that has failed. */
export function failureDocument(message: string, exitCode: number, kind: 'Explanation' | 'Diagnosis'): object {
  return {
    apiVersion: 'csi-sidecars/v1',
    kind,
    verdict: 'failed',
    exitCode,
    error: { text: clean(message) },
  };
}
