// SPDX-License-Identifier: Apache-2.0
/**
 * `csi-sidecars explain` as a user with the rights on its page calls it, and what scenarios compare of its answers: row, exit code, whose turn
 * it is, and the sentence. The same is expected whether the sidecars are ours or upstream's.
 */
import assert from 'node:assert/strict';
import { appendFileSync } from 'node:fs';
import { join } from 'node:path';
import { explainRules } from '@csi-sidecars/explain';
import { type PolicyRule, sanitizedName } from '@csi-sidecars/runtime';
import { startApiProxy } from '../../faults/api-proxy.ts';
import { type Command, commandAccount, commandOf } from '../command.ts';
import type { ScenarioContext } from '../context.ts';

/** The parts of the document that scenarios look at. */
export interface Explanation {
  readonly row: string;
  readonly exitCode: number;
  readonly sentence: string;
  readonly turn: { readonly actor: string; readonly alive: string; readonly since: string } | null;
  readonly error: {
    readonly code: number | null;
    readonly text: string;
    readonly at: string;
    readonly count: number;
  } | null;
  readonly retry: {
    readonly will: string;
    readonly exact: boolean;
    readonly earliest: string | null;
    readonly latest: string | null;
  } | null;
  readonly risk: { readonly level: string; readonly of: string | null; readonly ifYou: string | null };
  readonly next: { readonly command: readonly string[] } | null;
  readonly findings: readonly string[];
  readonly nodeMetrics: {
    readonly operations: readonly { readonly operation: string; readonly result: string }[] | 'unknown';
  } | null;
  readonly missing: readonly { readonly verb: string; readonly resource: string; readonly because: string }[];
  readonly cost: { readonly requests: number };
}

export interface Wanted {
  readonly row: string;
  readonly code: number;
  readonly actor: string;
  /** With the words of `masked` in the place of names and counts. A pattern where a part of it is not ours. */
  readonly sentence: string | RegExp;
  /** Ids of checks that are to be among the findings. */
  readonly findings?: readonly string[];
}

export interface How {
  /** As if asked that much later. */
  readonly laterMs?: number;
  readonly args?: readonly string[];
}

/** Waits until the object is explained as wanted: what the answer is about, a Lease for example, may be seconds old. */
export type Explains = (subject: string, wanted: Wanted, how?: How) => Promise<Explanation>;

export interface Asker {
  /** The name of its ServiceAccount. Default: `explain`. */
  readonly name?: string;
  /** Default: those on the page. */
  readonly rules?: readonly PolicyRule[];
}

export const minuteMs = 60_000;

/** What csi-provisioner needs for classes that name a Secret, beyond upstream's role. */
export const readSecrets: PolicyRule = { apiGroups: [''], resources: ['secrets'], verbs: ['get'] };

export async function startExplaining(
  ctx: ScenarioContext,
  { name = 'explain', rules }: Asker = {},
): Promise<Explains> {
  const account = await commandAccount(ctx, name, rules ?? explainRules);
  const commands = new Map<number, Promise<Command>>();
  const commandAt = (laterMs: number): Promise<Command> => {
    let command = commands.get(laterMs);
    if (command === undefined) {
      command = laterMs === 0 ? commandOf(ctx, { name: 'explain', account }) : commandLater(ctx, account, laterMs);
      commands.set(laterMs, command);
    }
    return command;
  };
  return async (subject, wanted, { laterMs = 0, args = [] } = {}) => {
    const command = await commandAt(laterMs);
    let last: Explanation | undefined;
    const check = async (): Promise<Explanation | undefined> => {
      const answer = await command(subject, '-n', ctx.namespace, '-o', 'json', ...args);
      assert.notEqual(answer.stdout, '', answer.stderr);
      last = JSON.parse(answer.stdout) as Explanation;
      assert.equal(last.exitCode, answer.code);
      compare(subject, { ...comparable(ctx, last), findings: last.findings }, wanted);
      return last;
    };
    const found = await ctx
      .eventually(`${subject} is explained by ${wanted.row} with ${wanted.code}`, check, 60_000)
      .catch((error: unknown) => {
        throw new Error(`${String(error)}; the last answer: ${JSON.stringify(last)}`, { cause: error });
      });
    const refused = found.missing.filter(({ because }) => because === 'forbidden');
    if (rules === undefined) assert.deepEqual(refused, [], 'every right is there');
    record(ctx, { subject, laterMs, found });
    return found;
  };
}

/** The server's time is the present of the command, so that a proxy can make everything older. */
async function commandLater(
  ctx: ScenarioContext,
  account: Awaited<ReturnType<typeof commandAccount>>,
  aheadMs: number,
): Promise<Command> {
  const { controlPlane, clock } = ctx.testRun;
  const proxy = ctx.cleanUp.use(await startApiProxy(controlPlane, clock, { aheadMs }));
  return await commandOf(ctx, { name: 'explain', account, server: proxy.url });
}

type Compared = Omit<Wanted, 'sentence' | 'findings'> & { readonly sentence: string };

function compare(
  subject: string,
  { findings, ...found }: Compared & Pick<Explanation, 'findings'>,
  wanted: Wanted,
): void {
  const { sentence, findings: expectedFindings = [], ...others } = wanted;
  if (sentence instanceof RegExp) assert.match(found.sentence, sentence);
  const expected = { ...others, sentence: sentence instanceof RegExp ? found.sentence : sentence };
  assert.deepEqual({ subject, ...found }, { subject, ...expected });
  const lacking = expectedFindings.filter((id) => !findings.includes(id));
  assert.deepEqual(lacking, [], `findings: ${findings.join(', ')}`);
}

function comparable(ctx: ScenarioContext, { row, exitCode: code, turn, sentence }: Explanation): Compared {
  return { row, code, actor: turn?.actor ?? 'nobody', sentence: masked(ctx, sentence) };
}

/**
 * DRIVER, NS, NODE, POD, HASH and UID are names that differ between runs, POD is that of the driver on a real node, and N is a count that grows
 * while the scenario waits.
 */
function masked({ driverName, namespace, testRun }: ScenarioContext, text: string): string {
  const node = testRun.controlPlane.node?.name;
  return (node === undefined ? text : text.replaceAll(node, 'NODE'))
    .replaceAll(driverName, 'DRIVER')
    .replaceAll(sanitizedName(driverName), 'DRIVER')
    .replaceAll(new RegExp(String.raw`\b${namespace}\b`, 'g'), 'NS')
    .replaceAll(/\bcsi-node-[a-z0-9]{5}\b/g, 'POD')
    .replaceAll(/\bcsi-[0-9a-f]{64}\b/g, 'csi-HASH')
    .replaceAll(/[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/g, 'UID')
    .replaceAll(/(?<!at )\b(once|\d+ times)\b/g, 'N times');
}

/** One line for each answer, which a person can compare between runs: `explanations.txt` in the folder of the scenario. */
function record(
  ctx: ScenarioContext,
  { subject, laterMs, found }: { readonly subject: string; readonly laterMs: number; readonly found: Explanation },
): void {
  const { row, code, actor, sentence } = comparable(ctx, found);
  const { error, retry, risk, findings, next } = found;
  const parts = [
    `${subject} after ${laterMs / minuteMs} min`,
    [row, code, actor].join(' '),
    sentence,
    `error ${error?.code ?? '-'} ${error?.text ?? '-'}`,
    `retry ${retry?.will ?? '-'}`,
    `risk ${risk.level} ${risk.of ?? ''}`,
    `findings ${findings.join(', ')}`,
    `next ${next?.command.join(' ') ?? '-'}`,
  ];
  appendFileSync(join(ctx.folder, 'explanations.txt'), `${masked(ctx, parts.join(' | '))}\n`);
}
